"""What an asynchronous function is given to answer with, and the function itself. Flink: ResultFuture, AsyncFunction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from flowsim.operators.runtime_context import UserFunction
from flowsim.operators.stream_operator import Value


class ResultFuture(Protocol):
    """Takes one answer, from wherever it comes; all later ones are ignored (rule 11.12). Flink: ResultFuture."""

    def complete(self, results: Sequence[Value]) -> None:
        """Any number of results; none at all is an answer too (rule 11.14)."""

    def complete_from(self, supplier: Callable[[], Sequence[Value]]) -> None:
        """As ``complete``, but the results are made in the task itself. Flink: complete(CollectionSupplier)."""

    def complete_exceptionally(self, error: BaseException) -> None:
        """Fails the job, the element named (rule 11.15)."""


class AsyncFunction(UserFunction, Protocol):
    """Asks somebody for the results of a record, without waiting. Flink: AsyncFunction, RichAsyncFunction."""

    def async_invoke(self, value: Value, result_future: ResultFuture) -> None:
        """Starts the call; what it raises fails the task (rule 11.4)."""

    def timeout(self, value: Value, result_future: ResultFuture) -> None:
        """The element's time ran out; may answer, fail, or do nothing at all (rule 11.17)."""

"""What an asynchronous function is given to answer with, and the function itself. Flink: ResultFuture, AsyncFunction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from flowsim.operators.stream_operator import Value
from flowsim.operators.user_functions import UserFunction

_TEXTS: Final = (str, bytes, bytearray, memoryview)


def wrong_results(results: object) -> TypeError | None:
    """What is wrong with them: they must be a list or another sequence.

    A string is refused too: it is a sequence of its characters, and nobody wants those as records.
    """
    if isinstance(results, (list, tuple)) or (isinstance(results, Sequence) and not isinstance(results, _TEXTS)):
        return None
    got = "None" if results is None else f"{results!r:.100} of type {type(results).__name__}"
    return TypeError(f"the results of an async call must be a list, empty to emit nothing: got {got}")


def checked_results(results: Sequence[Value]) -> Sequence[Value]:
    """``results`` themselves; raises TypeError for what is no list of them."""
    if (wrong := wrong_results(results)) is not None:
        raise wrong
    return results


def checked_error(error: object) -> BaseException:
    """``error`` itself, or for what is no exception one that says so: it is an outcome of the element all the same."""
    if isinstance(error, BaseException):
        return error
    return TypeError(
        f"complete_exceptionally must be given an exception: got {error!r:.100} of type {type(error).__name__}"
    )


class ResultFuture(Protocol):
    """Takes one answer, from wherever it comes; all later ones are ignored (rule 11.12). Flink: ResultFuture."""

    def complete(self, results: Sequence[Value]) -> None:
        """Any number of results; none at all is an answer too (rule 11.14). What is no list of them is an error."""

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

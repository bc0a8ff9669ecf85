"""The future that an asynchronous function completes, and the function itself. Flink: ResultFuture, AsyncFunction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from flowsim.operators.stream_operator import Value
from flowsim.operators.user_functions import UserFunction

_TEXTS: Final = (str, bytes, bytearray, memoryview)


def wrong_results(results: object) -> TypeError | None:
    """Returns the reason why results are invalid; valid results are a list or another sequence.

    A string is invalid, although it is a sequence: its characters are not records.
    """
    if isinstance(results, (list, tuple)) or (isinstance(results, Sequence) and not isinstance(results, _TEXTS)):
        return None
    got = "None" if results is None else f"{results!r:.100} of type {type(results).__name__}"
    return TypeError(f"the results of an async call must be a list, empty to emit nothing: got {got}")


def checked_results(results: Sequence[Value]) -> Sequence[Value]:
    """Returns ``results``; raises TypeError if they are not a list of results."""
    if (wrong := wrong_results(results)) is not None:
        raise wrong
    return results


def checked_error(error: object) -> BaseException:
    """Returns ``error``; if it is not an exception, returns an exception that describes it."""
    if isinstance(error, BaseException):
        return error
    return TypeError(
        f"complete_exceptionally must be given an exception: got {error!r:.100} of type {type(error).__name__}"
    )


class ResultFuture(Protocol):
    """Accepts one answer from any caller; later answers are ignored (rule 11.12). Flink: ResultFuture."""

    def complete(self, results: Sequence[Value]) -> None:
        """Completes with any number of results, including none (rule 11.14). An invalid list fails the element."""

    def complete_from(self, supplier: Callable[[], Sequence[Value]]) -> None:
        """Completes with results that the task computes. Flink: complete(CollectionSupplier)."""

    def complete_exceptionally(self, error: BaseException) -> None:
        """Fails the job and names the element (rule 11.15)."""


class AsyncFunction(UserFunction, Protocol):
    """Requests the results of a record without waiting. Flink: AsyncFunction, RichAsyncFunction."""

    def async_invoke(self, value: Value, result_future: ResultFuture) -> None:
        """Starts the call; an error fails the task (rule 11.4)."""

    def timeout(self, value: Value, result_future: ResultFuture) -> None:
        """Called when the element's timeout passes; may complete the element, fail it, or do nothing (rule 11.17)."""

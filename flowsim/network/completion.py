"""A result that arrives later, without an event loop. Flink: CompletableFuture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

Callback = Callable[[T | None, Exception | None], object]
"""Called with the result and None, or with None and the error."""


class Completion(Generic[T]):
    """Completes once, with a result or an error, and then calls its callbacks, the newest first.

    Unlike Java's, ``when_complete`` returns no further future, and an error of a callback reaches ``complete``. Flink:
    CompletableFuture.

    >>> completion: Completion[int] = Completion()
    >>> completion.when_complete(lambda result, error: print("first", result, error))
    >>> completion.when_complete(lambda result, error: print("second", result, error))
    >>> completion.complete(7), completion.complete(8)
    second 7 None
    first 7 None
    (True, False)
    """

    __slots__ = ("is_done", "result", "error", "_callbacks")

    def __init__(self) -> None:
        self.is_done: bool = False
        self.result: T | None = None
        """None before the end, and after an error."""
        self.error: Exception | None = None
        """None before the end, and after a result."""
        self._callbacks: list[Callback[T]] = []

    @staticmethod
    def completed() -> Completion[None]:
        """Returns a completion that is done, with the result None."""
        done: Completion[None] = Completion()
        done.complete(None)
        return done

    def complete(self, result: T) -> bool:
        """Sets the result; False, and no effect, if it was done before."""
        return self._finish(result, None)

    def complete_exceptionally(self, error: Exception) -> bool:
        """Sets the error; False, and no effect, if it was done before."""
        return self._finish(None, error)

    def when_complete(self, callback: Callback[T]) -> None:
        """Calls back when it is done; at once if it is."""
        if self.is_done:
            callback(self.result, self.error)
        else:
            self._callbacks.append(callback)

    def forward_to(self, other: Completion[T]) -> None:
        """Completes ``other`` as this one."""
        self.when_complete(other._finish)

    def _finish(self, result: T | None, error: Exception | None) -> bool:
        is_first = not self.is_done
        if is_first:
            self.result, self.error, self.is_done = result, error, True
        # As in Java, a callback that completes this one again calls the remaining callbacks.
        while self._callbacks:
            self._callbacks.pop()(self.result, self.error)
        return is_first

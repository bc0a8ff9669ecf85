"""A result that arrives later, without an event loop. Java: CompletableFuture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")

Completion = Callable[[T | None, BaseException | None], object]
"""Called with the result and None, or with None and the error."""


class CompletableFuture(Generic[T]):
    """Completes once, with a result or an error, and calls its completions in the order in which they were added.

    >>> future: CompletableFuture[int] = CompletableFuture()
    >>> future.when_complete(lambda result, error: print(result, error))
    >>> future.complete(7), future.complete(8)
    7 None
    (True, False)
    """

    __slots__ = ("_completions", "_error", "_is_done", "_result")

    def __init__(self) -> None:
        self._result: T | None = None
        self._error: BaseException | None = None
        self._is_done = False
        self._completions: list[Completion[T]] = []

    @property
    def is_done(self) -> bool:
        return self._is_done

    @property
    def result(self) -> T | None:
        """The result; None before it, and after an error."""
        return self._result

    @property
    def error(self) -> BaseException | None:
        """The error, if there is one."""
        return self._error

    def complete(self, result: T) -> bool:
        """Sets the result; False if the future was done before."""
        return self._finish(result, None)

    def complete_exceptionally(self, error: BaseException) -> bool:
        """Sets the error; False if the future was done before."""
        return self._finish(None, error)

    def when_complete(self, completion: Completion[T]) -> None:
        """Calls ``completion`` when the future is done, at once if it is."""
        if self._is_done:
            completion(self._result, self._error)
        else:
            self._completions.append(completion)

    def forward_to(self, other: CompletableFuture[T]) -> None:
        """Completes another future as this one."""
        self.when_complete(other._finish)

    def _finish(self, result: T | None, error: BaseException | None) -> bool:
        if self._is_done:
            return False
        self._result, self._error, self._is_done = result, error, True
        completions, self._completions = self._completions, []
        for completion in completions:
            completion(result, error)
        return True

"""An event that happens once, or fails. Flink: CompletableFuture."""

from __future__ import annotations

from collections.abc import Callable


class Completion:
    """Completes once; later completions and failures have no effect. Flink: CompletableFuture."""

    __slots__ = ("is_done", "failure", "_callbacks")

    def __init__(self) -> None:
        self.is_done = False
        self.failure: Exception | None = None
        self._callbacks: list[Callable[[Exception | None], None]] = []

    @staticmethod
    def completed() -> Completion:
        """Returns a completion that is done."""
        done = Completion()
        done.complete()
        return done

    def complete(self) -> None:
        self._finish(None)

    def fail(self, error: Exception) -> None:
        self._finish(error)

    def when_done(self, callback: Callable[[Exception | None], None]) -> None:
        """Calls back with the failure or None; at once if it is done."""
        if self.is_done:
            callback(self.failure)
        else:
            self._callbacks.append(callback)

    def _finish(self, failure: Exception | None) -> None:
        if self.is_done:
            return
        self.is_done = True
        self.failure = failure
        callbacks, self._callbacks = self._callbacks, []
        # A Java future calls its dependents in this order.
        for callback in reversed(callbacks):
            callback(failure)

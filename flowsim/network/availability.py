"""Whether something can be read, and who must be told when it can. Flink: AvailabilityProvider.AvailabilityHelper."""

from __future__ import annotations

from collections.abc import Callable


class AvailabilityHelper:
    """A flag that calls back once when it turns on. Flink: AvailabilityProvider.AvailabilityHelper.

    As the dependents of a Java future, callbacks run last registered first, each once, and at once when the flag is on.
    """

    __slots__ = ("available", "_waiting")

    def __init__(self) -> None:
        self.available = False
        self._waiting: list[Callable[[], None]] = []

    def when_available(self, callback: Callable[[], None]) -> None:
        """Calls back when the flag turns on, or now when it is."""
        if self.available:
            callback()
        else:
            self._waiting.append(callback)

    def set_available(self) -> None:
        """Turns the flag on; whoever waited is told."""
        self.available = True
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            for callback in reversed(waiting):
                callback()

    def reset_unavailable(self) -> None:
        self.available = False

"""A timer of a processing-time service that a test drives."""

from __future__ import annotations

from collections.abc import Callable


class SystemTimer:
    """Runs when its test says so, if it is still live."""

    def __init__(self, timestamp: int, callback: Callable[[int], None]) -> None:
        self.timestamp = timestamp
        self.callback = callback
        self.live = True

    def cancel(self) -> None:
        self.live = False

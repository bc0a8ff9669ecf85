"""What every window can be asked, whatever it is made of. Flink: Window."""

from __future__ import annotations

from typing import Protocol


class Window(Protocol):
    """A value: equal windows are the same window, so it can be the namespace of timers and state. Flink: Window.

    ``start`` and ``end`` are what a recording says of it, in ms; what triggers and cleanup go by is ``max_timestamp``.
    """

    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...

    def max_timestamp(self) -> int:
        """The last millisecond that belongs to the window."""

    def java_hash(self) -> int:
        """Java's hash code: what decides ties between timers of different windows, and which of merged windows is first."""

    def __hash__(self) -> int: ...

"""The next fire time that both continuous triggers keep for a key and window (rules 10.21, 10.22)."""

from __future__ import annotations

from typing import Final

from flowsim.errors import BadInput
from flowsim.operators.windowing.triggers.trigger import Trigger
from flowsim.operators.windowing.window import Window
from flowsim.state.descriptors import ReducingStateDescriptor
from flowsim.state.states import ReducingState
from flowsim.values import Types
from flowsim.values.java_long import remainder, wrapped


def _min(one: object, other: object) -> object:
    assert isinstance(one, int)
    assert isinstance(other, int)
    return min(one, other)


FIRE_TIME: Final = ReducingStateDescriptor("fire-time", _min, Types.LONG())
"""Of windows that merge, the earliest fire time counts."""


class ContinuousTrigger(Trigger):
    """Fires a window every ``interval_ms``; raises BadInput unless that is above 0."""

    __slots__ = ("interval_ms",)

    def __init__(self, interval_ms: int) -> None:
        if interval_ms < 1:
            raise BadInput(f"continuous trigger: expected an interval of at least 1 ms, got {interval_ms} ms")
        self.interval_ms = interval_ms

    def can_merge(self) -> bool:
        return True

    def first_base(self, time_ms: int) -> int:
        """The last multiple of the interval towards 0: Java's remainder has the sign of the time."""
        return time_ms - remainder(time_ms, self.interval_ms)

    def next_fire_time(self, base_ms: int, window: Window, fire_time: ReducingState) -> int:
        """Notes an interval after ``base_ms``, or the end of the window if that is earlier, and answers it."""
        next_ms = min(wrapped(base_ms + self.interval_ms), window.max_timestamp())
        fire_time.add(next_ms)
        return next_ms


def noted(fire_time: ReducingState) -> int | None:
    """The fire time that was noted, None if none was."""
    at = fire_time.get()
    assert at is None or isinstance(at, int)
    return at

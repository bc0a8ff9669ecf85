"""Windows of a number of records. PyFlink: CountTumblingWindowAssigner, CountSlidingWindowAssigner.

``count_window`` does not use them: as in Java it uses the global window with a count trigger.
"""

from __future__ import annotations

from typing import Final

from flowsim.errors import BadInput
from flowsim.operators.windowing.assigners.window_assigner import WindowAssigner, WindowAssignerContext
from flowsim.operators.windowing.triggers.count_triggers import CountTrigger
from flowsim.operators.windowing.triggers.trigger import AnyTrigger
from flowsim.operators.windowing.windows import TimeWindow
from flowsim.state.descriptors import ValueStateDescriptor
from flowsim.units import MAX_WATERMARK
from flowsim.values.types import Types


class CountWindow:
    """A window of a key, identified by a number; recordings show the number as the window's start.

    PyFlink: CountWindow.
    """

    __slots__ = ("id",)

    end: Final = MAX_WATERMARK

    def __init__(self, id: int) -> None:
        self.id: int = id

    @property
    def start(self) -> int:
        return self.id

    def max_timestamp(self) -> int:
        """Returns the end of event time, because only records complete the window."""
        return MAX_WATERMARK

    def java_hash(self) -> int:
        """Java's hash code."""
        return TimeWindow(self.id, 0).java_hash()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CountWindow) and self.id == other.id

    def __hash__(self) -> int:
        return self.id

    def __repr__(self) -> str:
        return f"CountWindow(id={self.id})"


class CountTumblingWindowAssigner(WindowAssigner[object, CountWindow]):
    """Assigns windows of ``window_size`` records of a key; an incomplete window never fires.

    PyFlink: CountTumblingWindowAssigner.
    """

    __slots__ = ("window_size",)

    def __init__(self, window_size: int) -> None:
        """Raises BadInput unless the size is at least 1."""
        self.window_size: int = _at_least_one(window_size, "CountTumblingWindowAssigner: window_size")

    @staticmethod
    def of(window_size: int) -> CountTumblingWindowAssigner:
        return CountTumblingWindowAssigner(window_size)

    def assign_windows(
        self, element: object, timestamp: int | None, context: WindowAssignerContext
    ) -> list[CountWindow]:
        return [CountWindow(_count(context, _TUMBLING) // self.window_size)]

    def get_default_trigger(self, env: object) -> AnyTrigger:
        return CountTrigger(self.window_size)

    def is_event_time(self) -> bool:
        return False


class CountSlidingWindowAssigner(WindowAssigner[object, CountWindow]):
    """Assigns windows of ``window_size`` records of a key, one every ``window_slide`` records.

    A window fires when it is complete. PyFlink: CountSlidingWindowAssigner.

    PyFlink: CountSlidingWindowAssigner.
    """

    __slots__ = ("window_size", "window_slide")

    def __init__(self, window_size: int, window_slide: int) -> None:
        """Raises BadInput unless size and slide are at least 1."""
        self.window_size: int = _at_least_one(window_size, "CountSlidingWindowAssigner: window_size")
        self.window_slide: int = _at_least_one(window_slide, "CountSlidingWindowAssigner: window_slide")

    @staticmethod
    def of(window_size: int, window_slide: int) -> CountSlidingWindowAssigner:
        return CountSlidingWindowAssigner(window_size, window_slide)

    def assign_windows(
        self, element: object, timestamp: int | None, context: WindowAssignerContext
    ) -> list[CountWindow]:
        """Returns the windows of a record, the newest first.

        A record in a gap between windows has none, if the size is below the slide.
        """
        count = _count(context, _SLIDING)
        newest = count // self.window_slide
        oldest = max(0, -((self.window_size - 1 - count) // self.window_slide))
        return [CountWindow(number) for number in range(newest, oldest - 1, -1)]

    def get_default_trigger(self, env: object) -> AnyTrigger:
        return CountTrigger(self.window_size)

    def is_event_time(self) -> bool:
        return False


_TUMBLING: Final = ValueStateDescriptor("tumble-count-assigner", Types.LONG())
_SLIDING: Final = ValueStateDescriptor("slide-count-assigner", Types.LONG())


def _count(context: WindowAssignerContext, descriptor: ValueStateDescriptor) -> int:
    """Returns the number of earlier records of the key."""
    state = context.get_runtime_context().get_state(descriptor)
    before = state.value()
    count = 0 if before is None else before
    assert isinstance(count, int)
    state.update(count + 1)
    return count


def _at_least_one(number: int, what: str) -> int:
    if type(number) is not int or number < 1:
        raise BadInput(f"{what}: expected an integer >= 1, got {number!r:.40}")
    return number

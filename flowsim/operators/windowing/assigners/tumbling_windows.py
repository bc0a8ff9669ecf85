"""Adjacent windows of one size, and their stagger. Flink: TumblingEventTimeWindows, WindowStagger.

Rules 10.1 to 10.3 and 10.6.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from random import Random

from flowsim.errors import BadInput
from flowsim.operators.windowing.assigners.window_assigner import (
    WindowAssigner,
    WindowAssignerContext,
    event_timestamp,
)
from flowsim.operators.windowing.described import described
from flowsim.operators.windowing.triggers.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from flowsim.operators.windowing.triggers.trigger import AnyTrigger
from flowsim.operators.windowing.windows import FAR, TimeWindow, window_from, window_start_with_offset
from flowsim.values.durations import Length, millis_of
from flowsim.values.java_long import remainder, wrapped


class WindowStagger(Enum):
    """The shift of a subtask's windows, so that not all subtasks fire at once. Flink: WindowStagger (rule 10.3).

    The value is the name in descriptions.
    """

    ALIGNED = "aligned"
    """Windows are not shifted."""
    RANDOM = "random"
    """Windows are shifted by a random number of ms below the size."""
    NATURAL = "natural"
    """A window begins at the processing time of the subtask's first record."""

    def stagger_offset(self, current_processing_time_ms: int, size_ms: int, random: Random) -> int:
        """Returns the shift in ms, from 0 to below the size; only RANDOM draws from ``random``."""
        match self:
            case WindowStagger.ALIGNED:
                return 0
            case WindowStagger.RANDOM:
                return int(random.random() * size_ms)
            case WindowStagger.NATURAL:
                start = window_start_with_offset(current_processing_time_ms, 0, size_ms)
                return max(0, wrapped(current_processing_time_ms - start))


class TumblingWindows(WindowAssigner[object, TimeWindow]):
    """Base of tumbling windows; raises BadInput unless size >= 1 ms and \\|offset\\| < size.

    The first record fixes the stagger: every subtask has its own copy of the assigner.
    """

    __slots__ = ("size_ms", "offset_ms", "stagger", "phase_ms", "_is_staggered")

    phase_ms: int
    """The start of windows in ms, with the sign of the offset as in Java. It excludes the stagger until the stagger is
    fixed."""

    def __init__(self, size: int, offset: int = 0, window_stagger: WindowStagger = WindowStagger.ALIGNED) -> None:
        """Sets size and offset in ms; ``of`` takes durations."""
        if size < 1 or abs(offset) >= size:
            raise BadInput(
                f"tumbling window: expected size >= 1 ms and |offset| < size, got size {size} ms, offset {offset} ms"
            )
        self.size_ms: int = size
        self.offset_ms: int = offset
        self.stagger: WindowStagger = window_stagger
        self.phase_ms = offset
        self._is_staggered = window_stagger is not WindowStagger.ALIGNED

    def window_of(self, time_ms: int, context: WindowAssignerContext) -> TimeWindow:
        """Returns the window that contains ``time_ms``."""
        if self._is_staggered:
            self._fix_stagger(context)
        size_ms = self.size_ms
        if -FAR < time_ms < FAR and size_ms < FAR:
            start = time_ms - (time_ms - self.phase_ms) % size_ms
            return TimeWindow(start, start + size_ms)
        return window_from(window_start_with_offset(time_ms, self.phase_ms, size_ms), size_ms)

    def _fix_stagger(self, context: WindowAssignerContext) -> None:
        size_ms = self.size_ms
        shift_ms = self.stagger.stagger_offset(context.get_current_processing_time(), size_ms, context.random())
        self.phase_ms = remainder(wrapped(self.offset_ms + shift_ms), size_ms)
        self._is_staggered = False


@described("tumbling_event_time", size_ms="size_ms", offset_ms="offset_ms", stagger="stagger")
class TumblingEventTimeWindows(TumblingWindows):
    """Tumbling windows by the records' timestamps.

    Raises BadInput for a record without timestamp. PyFlink: TumblingEventTimeWindows (rule 10.2).
    """

    __slots__ = ()

    @staticmethod
    def of(
        size: Length, offset: Length | None = None, window_stagger: WindowStagger = WindowStagger.ALIGNED
    ) -> TumblingEventTimeWindows:
        """Creates the assigner. Raises BadInput unless size >= 1 ms and |offset| < size."""
        return TumblingEventTimeWindows(*_checked("TumblingEventTimeWindows.of", size, offset, window_stagger))

    def assign_windows(
        self, element: object, timestamp: int | None, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        return (self.window_of(event_timestamp(timestamp), context),)

    def get_default_trigger(self, env: object) -> AnyTrigger:
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        return True


@described("tumbling_processing_time", size_ms="size_ms", offset_ms="offset_ms", stagger="stagger")
class TumblingProcessingTimeWindows(TumblingWindows):
    """Tumbling windows by the operator's clock; timestamps are ignored.

    PyFlink: TumblingProcessingTimeWindows (rule 10.6).
    """

    __slots__ = ()

    @staticmethod
    def of(
        size: Length, offset: Length | None = None, window_stagger: WindowStagger = WindowStagger.ALIGNED
    ) -> TumblingProcessingTimeWindows:
        """Creates the assigner. Raises BadInput unless size >= 1 ms and |offset| < size."""
        return TumblingProcessingTimeWindows(
            *_checked("TumblingProcessingTimeWindows.of", size, offset, window_stagger)
        )

    def assign_windows(
        self, element: object, timestamp: int | None, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        return (self.window_of(context.get_current_processing_time(), context),)

    def get_default_trigger(self, env: object) -> AnyTrigger:
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        return False


def _checked(
    what: str, size: Length, offset: Length | None, window_stagger: WindowStagger
) -> tuple[int, int, WindowStagger]:
    """Returns size and offset in ms. Raises TypeError naming ``what`` for arguments of other types."""
    size_ms = millis_of(size, f"{what}: size")
    offset_ms = 0 if offset is None else millis_of(offset, f"{what}: offset")
    if not isinstance(window_stagger, WindowStagger):
        raise TypeError(f"{what}: window_stagger: expected a WindowStagger, got {window_stagger!r:.60}")
    return size_ms, offset_ms, window_stagger

"""Session windows, which merge if records are close in time. Flink: EventTimeSessionWindows (rule 10.5)."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Protocol

from flowsim.errors import BadInput
from flowsim.operators.windowing.assigners.window_assigner import MergingWindowAssigner, WindowAssignerContext
from flowsim.operators.windowing.described import described
from flowsim.operators.windowing.triggers.time_triggers import EventTimeTrigger, ProcessingTimeTrigger
from flowsim.operators.windowing.triggers.trigger import AnyTrigger
from flowsim.operators.windowing.windows import MergeCallback, TimeWindow, window_from
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from flowsim.values.durations import Length, millis_of


class SessionWindowTimeGapExtractor(Protocol):
    """Computes the gap of a record: the record's session ends that long after the record.

    PyFlink: SessionWindowTimeGapExtractor.
    """

    def extract(self, element: object, /) -> int:
        """Returns the gap in milliseconds, above 0."""
        raise BadInput(f"{type(self).__name__}: define extract(element), which returns the gap in milliseconds")


Extractor = SessionWindowTimeGapExtractor | Callable[[object], int]


class SessionWindows(MergingWindowAssigner[object, TimeWindow]):
    """The base class of session windows: each record starts a session, and sessions that overlap or touch merge."""

    __slots__ = ()

    def merge_windows(self, windows: Collection[TimeWindow], callback: MergeCallback[TimeWindow]) -> None:
        TimeWindow.merge_windows(windows, callback)


class FixedGapSessionWindows(SessionWindows):
    """Session windows with one gap. Raises BadInput unless the gap is at least 1 ms."""

    __slots__ = ("gap_ms",)

    def __init__(self, session_gap: int) -> None:
        """Sets the gap in ms; ``with_gap`` takes a duration."""
        if session_gap < 1:
            raise BadInput(f"session window: expected a gap of at least 1 ms, got {session_gap} ms")
        self.gap_ms: int = session_gap


class DynamicGapSessionWindows(SessionWindows):
    """Session windows whose gap depends on the record."""

    __slots__ = ("extractor",)

    def __init__(self, session_window_time_gap_extractor: Extractor) -> None:
        self.extractor: SessionWindowTimeGapExtractor = _extractor(
            session_window_time_gap_extractor, type(self).__name__
        )

    def gap_of(self, element: object) -> int:
        """Returns the gap of this record's session. Raises BadInput unless it is a whole number of ms above 0."""
        gap_ms: object = self.extractor.extract(element)
        if type(gap_ms) is not int or not 1 <= gap_ms <= MAX_WATERMARK:
            raise BadInput(
                f"session window: expected the gap extractor to return 1 to 2**63 - 1 ms, got {gap_ms!r:.40} for "
                f"{element!r:.60}"
            )
        return gap_ms


@described("session_event_time", gap_ms="gap_ms")
class EventTimeSessionWindows(FixedGapSessionWindows):
    """Session windows by the records' timestamps; a record without timestamp has the lowest timestamp.

    PyFlink: EventTimeSessionWindows.
    """

    __slots__ = ()

    @staticmethod
    def with_gap(size: Length) -> EventTimeSessionWindows:
        """Creates windows with a fixed gap. Raises BadInput unless the gap is at least 1 ms."""
        return EventTimeSessionWindows(millis_of(size, "EventTimeSessionWindows.with_gap"))

    @staticmethod
    def with_dynamic_gap(extractor: Extractor) -> DynamicEventTimeSessionWindows:
        """Creates windows with a gap per record. A gap that is not above 0 fails the job with BadInput."""
        return DynamicEventTimeSessionWindows(_extractor(extractor, "EventTimeSessionWindows.with_dynamic_gap"))

    def assign_windows(
        self, element: object, timestamp: int | None, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        return (window_from(NO_TIMESTAMP if timestamp is None else timestamp, self.gap_ms),)

    def get_default_trigger(self, env: object) -> AnyTrigger:
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        return True


@described("session_processing_time", gap_ms="gap_ms")
class ProcessingTimeSessionWindows(FixedGapSessionWindows):
    """Session windows by the operator's clock; timestamps are ignored.

    PyFlink: ProcessingTimeSessionWindows (rule 10.6).
    """

    __slots__ = ()

    @staticmethod
    def with_gap(size: Length) -> ProcessingTimeSessionWindows:
        """Creates windows with a fixed gap. Raises BadInput unless the gap is at least 1 ms."""
        return ProcessingTimeSessionWindows(millis_of(size, "ProcessingTimeSessionWindows.with_gap"))

    @staticmethod
    def with_dynamic_gap(extractor: Extractor) -> DynamicProcessingTimeSessionWindows:
        """Creates windows with a gap per record. A gap that is not above 0 fails the job with BadInput."""
        what = "ProcessingTimeSessionWindows.with_dynamic_gap"
        return DynamicProcessingTimeSessionWindows(_extractor(extractor, what))

    def assign_windows(
        self, element: object, timestamp: int | None, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        return (window_from(context.get_current_processing_time(), self.gap_ms),)

    def get_default_trigger(self, env: object) -> AnyTrigger:
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        return False


@described("dynamic_session_event_time")
class DynamicEventTimeSessionWindows(DynamicGapSessionWindows):
    """Session windows by the records' timestamps, each record with its own gap.

    PyFlink: DynamicEventTimeSessionWindows.
    """

    __slots__ = ()

    @staticmethod
    def with_dynamic_gap(extractor: Extractor) -> DynamicEventTimeSessionWindows:
        """Creates windows with a gap per record. A gap that is not above 0 fails the job with BadInput."""
        return DynamicEventTimeSessionWindows(_extractor(extractor, "DynamicEventTimeSessionWindows.with_dynamic_gap"))

    def assign_windows(
        self, element: object, timestamp: int | None, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        return (window_from(NO_TIMESTAMP if timestamp is None else timestamp, self.gap_of(element)),)

    def get_default_trigger(self, env: object) -> AnyTrigger:
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        return True


@described("dynamic_session_processing_time")
class DynamicProcessingTimeSessionWindows(DynamicGapSessionWindows):
    """Session windows by the operator's clock, each record with its own gap.

    PyFlink: DynamicProcessingTimeSessionWindows (rule 10.6).
    """

    __slots__ = ()

    @staticmethod
    def with_dynamic_gap(extractor: Extractor) -> DynamicProcessingTimeSessionWindows:
        """Creates windows with a gap per record. A gap that is not above 0 fails the job with BadInput."""
        what = "DynamicProcessingTimeSessionWindows.with_dynamic_gap"
        return DynamicProcessingTimeSessionWindows(_extractor(extractor, what))

    def assign_windows(
        self, element: object, timestamp: int | None, context: WindowAssignerContext
    ) -> Sequence[TimeWindow]:
        now_ms = context.get_current_processing_time()
        return (window_from(now_ms, self.gap_of(element)),)

    def get_default_trigger(self, env: object) -> AnyTrigger:
        return ProcessingTimeTrigger()

    def is_event_time(self) -> bool:
        return False


class _FunctionExtractor(SessionWindowTimeGapExtractor):
    """Wraps a plain function as an extractor."""

    __slots__ = ("_function",)

    def __init__(self, function: Callable[[object], int]) -> None:
        self._function = function

    def extract(self, element: object) -> int:
        return self._function(element)


def _extractor(extractor: Extractor, what: str) -> SessionWindowTimeGapExtractor:
    if callable(getattr(extractor, "extract", None)):
        return extractor  # type: ignore[return-value]  # mypy does not narrow a union by getattr
    if callable(extractor):
        return _FunctionExtractor(extractor)
    raise TypeError(f"{what}: expected a function or a SessionWindowTimeGapExtractor, got {extractor!r:.60}")

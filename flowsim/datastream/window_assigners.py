"""Window assigners as PyFlink spells them; ``flowsim.datastream.window`` gives them out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection
from typing import Generic, TypeAlias, TypeVar

from flowsim.datastream.common.time import Duration, Time, millis_of
from flowsim.errors import BadInput
from flowsim.operators.windowing import assigners
from flowsim.operators.windowing.global_window import GlobalWindow
from flowsim.operators.windowing.time_window import TimeWindow
from flowsim.operators.windowing.triggers import Trigger
from flowsim.operators.windowing.window import Window
from flowsim.operators.windowing.window_stagger import WindowStagger

Length = Duration | Time


T = TypeVar("T")
W = TypeVar("W", bound=Window)


class WindowAssigner(assigners.WindowAssigner, Generic[T, W]):
    """Base of one's own assigners, of windows W to records T; no serializer is asked for. PyFlink: WindowAssigner."""

    __slots__ = ()

    WindowAssignerContext: TypeAlias = assigners.WindowAssignerContext

    @abstractmethod
    def assign_windows(  # type: ignore[override]  # it is the job that brings records of this kind
        self, element: T, timestamp: int | None, context: assigners.WindowAssignerContext, /
    ) -> Collection[W]:
        """Windows of one record, in the order in which they are to be handled."""

    def get_default_trigger(self, env: object) -> Trigger:
        """The trigger of a job that sets none; ``env`` is None."""
        return self.default_trigger()

    def default_trigger(self) -> Trigger:
        if type(self).get_default_trigger is WindowAssigner.get_default_trigger:
            raise BadInput(f"window assigner {type(self).__name__}: define get_default_trigger(env), or set a trigger")
        return self.get_default_trigger(None)


class MergingWindowAssigner(WindowAssigner[T, W], assigners.MergingWindowAssigner):
    """Base of one's own assigners whose windows merge: ``merge_windows`` too. PyFlink: MergingWindowAssigner."""

    __slots__ = ()

    MergeCallback: TypeAlias = assigners.MergeCallback

    def merge_windows(self, windows: Collection[Window], callback: assigners.MergeCallback) -> None:
        raise BadInput(f"window assigner {type(self).__name__}: define merge_windows(windows, callback)")


class SessionWindowTimeGapExtractor:
    """How long after a record its session stays open: define ``extract(element)``, which answers milliseconds.

    PyFlink: SessionWindowTimeGapExtractor.
    """

    def extract(self, element: object) -> int:
        raise BadInput(f"{type(self).__name__}: define extract(element), which answers the gap in milliseconds")


Extractor = assigners.SessionWindowTimeGapExtractor | Callable[[object], int]


class TumblingEventTimeWindows(assigners.TumblingEventTimeWindows, WindowAssigner[object, TimeWindow]):
    """Windows of one size, end to end (rules 10.2, 10.3). PyFlink: TumblingEventTimeWindows."""

    __slots__ = ()

    def __init__(self, size: int, offset: int = 0, window_stagger: WindowStagger = WindowStagger.ALIGNED) -> None:
        """In ms; ``of`` takes lengths of time."""
        super().__init__(size, offset, window_stagger)

    @staticmethod
    def of(
        size: Length, offset: Length | None = None, window_stagger: WindowStagger = WindowStagger.ALIGNED
    ) -> TumblingEventTimeWindows:
        """Raises BadInput unless size >= 1 ms and |offset| < size."""
        what = "TumblingEventTimeWindows.of"
        return TumblingEventTimeWindows(_size(size, what), _offset(offset, what), _stagger(window_stagger, what))


class TumblingProcessingTimeWindows(assigners.TumblingProcessingTimeWindows, WindowAssigner[object, TimeWindow]):
    """The same by the clock of the operator (rule 10.6). PyFlink: TumblingProcessingTimeWindows."""

    __slots__ = ()

    def __init__(self, size: int, offset: int = 0, window_stagger: WindowStagger = WindowStagger.ALIGNED) -> None:
        """In ms; ``of`` takes lengths of time."""
        super().__init__(size, offset, window_stagger)

    @staticmethod
    def of(
        size: Length, offset: Length | None = None, window_stagger: WindowStagger = WindowStagger.ALIGNED
    ) -> TumblingProcessingTimeWindows:
        """Raises BadInput unless size >= 1 ms and |offset| < size."""
        what = "TumblingProcessingTimeWindows.of"
        return TumblingProcessingTimeWindows(_size(size, what), _offset(offset, what), _stagger(window_stagger, what))


class SlidingEventTimeWindows(assigners.SlidingEventTimeWindows, WindowAssigner[object, TimeWindow]):
    """Windows of one size that begin every slide (rule 10.4). PyFlink: SlidingEventTimeWindows."""

    __slots__ = ()

    def __init__(self, size: int, slide: int, offset: int = 0) -> None:
        """In ms; ``of`` takes lengths of time."""
        super().__init__(size, slide, offset)

    @staticmethod
    def of(size: Length, slide: Length, offset: Length | None = None) -> SlidingEventTimeWindows:
        """Raises BadInput unless size >= 1 ms, |offset| < slide and size / slide is at most ten million."""
        what = "SlidingEventTimeWindows.of"
        return SlidingEventTimeWindows(_size(size, what), millis_of(slide, f"{what}: slide"), _offset(offset, what))


class SlidingProcessingTimeWindows(assigners.SlidingProcessingTimeWindows, WindowAssigner[object, TimeWindow]):
    """The same by the clock of the operator (rule 10.6). PyFlink: SlidingProcessingTimeWindows."""

    __slots__ = ()

    def __init__(self, size: int, slide: int, offset: int = 0) -> None:
        """In ms; ``of`` takes lengths of time."""
        super().__init__(size, slide, offset)

    @staticmethod
    def of(size: Length, slide: Length, offset: Length | None = None) -> SlidingProcessingTimeWindows:
        """Raises BadInput unless size >= 1 ms and |offset| < slide."""
        what = "SlidingProcessingTimeWindows.of"
        return SlidingProcessingTimeWindows(
            _size(size, what), millis_of(slide, f"{what}: slide"), _offset(offset, what)
        )


class DynamicEventTimeSessionWindows(
    assigners.DynamicEventTimeSessionWindows, MergingWindowAssigner[object, TimeWindow]
):
    """Sessions whose gap depends on the record (rule 10.5). PyFlink: DynamicEventTimeSessionWindows."""

    __slots__ = ()

    def __init__(self, session_window_time_gap_extractor: Extractor) -> None:
        super().__init__(_extractor(session_window_time_gap_extractor, "DynamicEventTimeSessionWindows"))

    @staticmethod
    def with_dynamic_gap(extractor: Extractor) -> DynamicEventTimeSessionWindows:
        """A gap that is not above 0 fails the job with BadInput."""
        return DynamicEventTimeSessionWindows(_extractor(extractor, "DynamicEventTimeSessionWindows.with_dynamic_gap"))


class DynamicProcessingTimeSessionWindows(
    assigners.DynamicProcessingTimeSessionWindows, MergingWindowAssigner[object, TimeWindow]
):
    """The same by the clock of the operator (rule 10.6). PyFlink: DynamicProcessingTimeSessionWindows."""

    __slots__ = ()

    def __init__(self, session_window_time_gap_extractor: Extractor) -> None:
        super().__init__(_extractor(session_window_time_gap_extractor, "DynamicProcessingTimeSessionWindows"))

    @staticmethod
    def with_dynamic_gap(extractor: Extractor) -> DynamicProcessingTimeSessionWindows:
        """A gap that is not above 0 fails the job with BadInput."""
        what = "DynamicProcessingTimeSessionWindows.with_dynamic_gap"
        return DynamicProcessingTimeSessionWindows(_extractor(extractor, what))


class EventTimeSessionWindows(assigners.EventTimeSessionWindows, MergingWindowAssigner[object, TimeWindow]):
    """Sessions that end when nothing came for the gap (rule 10.5). PyFlink: EventTimeSessionWindows."""

    __slots__ = ()

    def __init__(self, session_gap: int) -> None:
        """In ms; ``with_gap`` takes a length of time."""
        super().__init__(session_gap)

    @staticmethod
    def with_gap(size: Length) -> EventTimeSessionWindows:
        """Raises BadInput unless the gap is at least 1 ms."""
        return EventTimeSessionWindows(millis_of(size, "EventTimeSessionWindows.with_gap"))

    @staticmethod
    def with_dynamic_gap(extractor: Extractor) -> DynamicEventTimeSessionWindows:
        """A gap that is not above 0 fails the job with BadInput."""
        return DynamicEventTimeSessionWindows(_extractor(extractor, "EventTimeSessionWindows.with_dynamic_gap"))


class ProcessingTimeSessionWindows(assigners.ProcessingTimeSessionWindows, MergingWindowAssigner[object, TimeWindow]):
    """The same by the clock of the operator (rule 10.6). PyFlink: ProcessingTimeSessionWindows."""

    __slots__ = ()

    def __init__(self, session_gap: int) -> None:
        """In ms; ``with_gap`` takes a length of time."""
        super().__init__(session_gap)

    @staticmethod
    def with_gap(size: Length) -> ProcessingTimeSessionWindows:
        """Raises BadInput unless the gap is at least 1 ms."""
        return ProcessingTimeSessionWindows(millis_of(size, "ProcessingTimeSessionWindows.with_gap"))

    @staticmethod
    def with_dynamic_gap(extractor: Extractor) -> DynamicProcessingTimeSessionWindows:
        """A gap that is not above 0 fails the job with BadInput."""
        what = "ProcessingTimeSessionWindows.with_dynamic_gap"
        return DynamicProcessingTimeSessionWindows(_extractor(extractor, what))


class GlobalWindows(assigners.GlobalWindows, WindowAssigner[object, GlobalWindow]):
    """One window for all records of a key (rule 10.6). PyFlink: GlobalWindows."""

    __slots__ = ()

    @staticmethod
    def create() -> GlobalWindows:
        """It never fires by itself: set a trigger."""
        return GlobalWindows()

    @staticmethod
    def create_with_end_of_stream_trigger() -> GlobalWindows:
        """It fires once, when the stream has ended."""
        return GlobalWindows(end_of_stream=True)


class _Extracting:
    """A plain function in the place of an extractor."""

    __slots__ = ("extract",)

    def __init__(self, extract: Callable[[object], int]) -> None:
        self.extract = extract


def _extractor(extractor: Extractor, what: str) -> assigners.SessionWindowTimeGapExtractor:
    if callable(getattr(extractor, "extract", None)):
        return extractor  # type: ignore[return-value]  # mypy does not narrow a union by getattr
    if callable(extractor):
        return _Extracting(extractor)
    raise TypeError(f"{what}: expected a function or a SessionWindowTimeGapExtractor, got {extractor!r:.60}")


def _size(size: Length, what: str) -> int:
    return millis_of(size, f"{what}: size")


def _offset(offset: Length | None, what: str) -> int:
    return 0 if offset is None else millis_of(offset, f"{what}: offset")


def _stagger(stagger: WindowStagger, what: str) -> WindowStagger:
    if not isinstance(stagger, WindowStagger):
        raise TypeError(f"{what}: window_stagger: expected a WindowStagger, got {stagger!r:.60}")
    return stagger

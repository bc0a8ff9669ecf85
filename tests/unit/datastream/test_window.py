"""The classes for assigners, triggers and evictors, and their descriptions in recordings."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

import pytest

from flowsim.datastream import window as names
from flowsim.datastream.building.window_operator_builder import describe_window
from flowsim.datastream.common.time import Duration, Time
from flowsim.datastream.window import (
    AnyOfTrigger,
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountEvictor,
    CountTrigger,
    DeltaEvictor,
    DeltaTrigger,
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    Evictor,
    EvictorContext,
    GlobalWindow,
    GlobalWindows,
    MergingWindowAssigner,
    NeverTrigger,
    ProcessingTimeoutTrigger,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeEvictor,
    TimestampedValue,
    TimeWindow,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    Window,
    WindowAssigner,
    WindowStagger,
)
from flowsim.errors import BadInput
from flowsim.values.types import Types

SECOND, HALF = Duration.of_seconds(1), Time.milliseconds(500)


class ItsLength(SessionWindowTimeGapExtractor):
    """A gap as long as the record."""

    def extract(self, element: object) -> int:
        assert isinstance(element, str)
        return len(element)


class Distance:
    """As Java spells a delta function."""

    def get_delta(self, old_data_point: object, new_data_point: object) -> float:
        assert isinstance(old_data_point, int)
        assert isinstance(new_data_point, int)
        return float(new_data_point - old_data_point)


class Noon:
    """The clock of an operator."""

    def get_current_processing_time(self) -> int:
        return 12_000

    def random(self) -> None:
        raise AssertionError("nothing here is left to chance")


class Minutes(WindowAssigner[object, TimeWindow]):
    """An assigner as PyFlink's users write it."""

    def assign_windows(
        self, element: object, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        return [TimeWindow(context.get_current_processing_time() // 60_000, 1)]

    def get_default_trigger(self, env: object) -> Trigger:
        return CountTrigger.of(2)

    def is_event_time(self) -> bool:
        return False


class Impatient(EventTimeTrigger):
    """A trigger that is one of Flink's no more."""

    def on_element(
        self, element: object, timestamp: int | None, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return TriggerResult.FIRE


class Everything:
    """An evictor of one's own."""

    def evict_before(self, elements: list[TimestampedValue], size: int, window: Window, ctx: EvictorContext) -> None:
        elements.clear()

    def evict_after(self, elements: list[TimestampedValue], size: int, window: Window, ctx: EvictorContext) -> None:
        elements.clear()


def assigner_of(assigner: WindowAssigner) -> Mapping[str, object]:
    described = dict(describe_window(assigner, NeverTrigger(), 0, False))
    for other in ("trigger", "lateness_ms", "late_output"):
        del described[other]
    return described


def trigger_of(trigger: Trigger) -> object:
    return describe_window(GlobalWindows.create(), trigger, 0, False)["trigger"]


def evictor_of(evictor: Evictor) -> object:
    return describe_window(GlobalWindows.create(), NeverTrigger(), 0, False, evictor)["evictor"]


def test_module_exports_every_listed_name() -> None:
    assert [name for name in names.__all__ if not hasattr(names, name)] == []


def test_constructors_in_milliseconds_have_pyflinks_argument_names() -> None:
    length = Duration.of_millis
    for kind in (TumblingEventTimeWindows, TumblingProcessingTimeWindows):
        assert assigner_of(kind(size=7, offset=2)) == assigner_of(kind.of(length(7), length(2)))
    for slides in (SlidingEventTimeWindows, SlidingProcessingTimeWindows):
        made = slides(size=7, slide=3, offset=1)
        assert assigner_of(made) == assigner_of(slides.of(length(7), length(3), length(1)))
    for sessions in (EventTimeSessionWindows, ProcessingTimeSessionWindows):
        assert assigner_of(sessions(session_gap=7)) == assigner_of(sessions.with_gap(length(7)))
    for dynamic in (DynamicEventTimeSessionWindows, DynamicProcessingTimeSessionWindows):
        assert dynamic(session_window_time_gap_extractor=ItsLength()).extractor.extract("abc") == 3
    for continuous in (ContinuousEventTimeTrigger, ContinuousProcessingTimeTrigger):
        assert trigger_of(continuous(interval=7)) == trigger_of(continuous.of(length(7)))
    assert trigger_of(CountTrigger(window_size=7)) == {"kind": "count", "count": 7}


def test_tumbling_windows_are_described_with_offset_and_stagger() -> None:
    assert assigner_of(TumblingEventTimeWindows.of(SECOND)) == {
        "assigner": "tumbling_event_time", "size_ms": 1000, "offset_ms": 0, "stagger": "aligned",
    }  # fmt: skip
    assert assigner_of(TumblingProcessingTimeWindows.of(SECOND, HALF, WindowStagger.NATURAL)) == {
        "assigner": "tumbling_processing_time", "size_ms": 1000, "offset_ms": 500, "stagger": "natural",
    }  # fmt: skip


def test_sliding_windows_are_described_with_slide() -> None:
    assert assigner_of(SlidingEventTimeWindows.of(SECOND, HALF)) == {
        "assigner": "sliding_event_time", "size_ms": 1000, "slide_ms": 500, "offset_ms": 0,
    }  # fmt: skip
    assert assigner_of(SlidingProcessingTimeWindows.of(HALF, SECOND, Duration.of_millis(-3))) == {
        "assigner": "sliding_processing_time", "size_ms": 500, "slide_ms": 1000, "offset_ms": -3,
    }  # fmt: skip


def test_sessions_are_described_with_gap_unless_dynamic() -> None:
    assert assigner_of(EventTimeSessionWindows.with_gap(HALF)) == {"assigner": "session_event_time", "gap_ms": 500}
    assert assigner_of(ProcessingTimeSessionWindows.with_gap(HALF)) == {
        "assigner": "session_processing_time", "gap_ms": 500,
    }  # fmt: skip
    for event_time in (EventTimeSessionWindows, DynamicEventTimeSessionWindows):
        assert assigner_of(event_time.with_dynamic_gap(ItsLength())) == {"assigner": "dynamic_session_event_time"}
    for processing_time in (ProcessingTimeSessionWindows, DynamicProcessingTimeSessionWindows):
        assert assigner_of(processing_time.with_dynamic_gap(len_of)) == {
            "assigner": "dynamic_session_processing_time",
        }  # fmt: skip


def len_of(element: object) -> int:
    assert isinstance(element, str)
    return len(element)


def test_gap_extractor_may_be_object_or_function() -> None:
    for extractor in (ItsLength(), len_of):
        for assigner in (
            EventTimeSessionWindows.with_dynamic_gap(extractor),
            DynamicEventTimeSessionWindows.with_dynamic_gap(extractor),
        ):
            assert list(assigner.assign_windows("four", 10, Noon())) == [TimeWindow(10, 14)]  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected a function or a SessionWindowTimeGapExtractor, got 5"):
        EventTimeSessionWindows.with_dynamic_gap(5)  # type: ignore[arg-type]  # what the test is about

    class Undefined(SessionWindowTimeGapExtractor):
        pass

    with pytest.raises(BadInput, match="Undefined: define extract"):
        Undefined().extract("x")


def test_global_windows_are_described_with_end_of_stream() -> None:
    assert assigner_of(GlobalWindows.create()) == {"assigner": "global", "end_of_stream": False}
    at_the_end = GlobalWindows.create_with_end_of_stream_trigger()
    assert assigner_of(at_the_end) == {"assigner": "global", "end_of_stream": True}
    assert list(at_the_end.assign_windows("x", None, Noon())) == [GlobalWindow.get()]  # type: ignore[arg-type]
    assert trigger_of(at_the_end.get_default_trigger(None)) == {"kind": "end_of_stream"}
    assert trigger_of(GlobalWindows.create().get_default_trigger(None)) == {"kind": "never"}


def test_custom_assigner_is_described_by_class_and_has_default_trigger() -> None:
    assert assigner_of(Minutes()) == {"assigner": "Minutes"}
    assert trigger_of(Minutes().get_default_trigger(None)) == {"kind": "count", "count": 2}

    class Shifted(TumblingEventTimeWindows):
        def is_event_time(self) -> bool:
            return False

    assert assigner_of(Shifted(10)) == {"assigner": "Shifted"}

    class Untriggered(Minutes):
        get_default_trigger = WindowAssigner.get_default_trigger

    with pytest.raises(BadInput, match="Untriggered: define get_default_trigger"):
        Untriggered().get_default_trigger(None)


def test_custom_merging_assigner_needs_merge_windows() -> None:
    class Vague(MergingWindowAssigner, Minutes):
        pass

    with pytest.raises(BadInput, match=r"Vague: define merge_windows\(windows, callback\)"):
        Vague().merge_windows([], None)  # type: ignore[arg-type]  # never reached


TRIGGERS: list[tuple[Callable[[], Trigger], dict[str, object]]] = [
    (EventTimeTrigger.create, {"kind": "event_time"}),
    (ProcessingTimeTrigger.create, {"kind": "processing_time"}),
    (NeverTrigger, {"kind": "never"}),
    (lambda: CountTrigger.of(7), {"kind": "count", "count": 7}),
    (lambda: PurgingTrigger.of(CountTrigger.of(7)), {"kind": "purging", "of": {"kind": "count", "count": 7}}),
    (lambda: ContinuousEventTimeTrigger.of(HALF), {"kind": "continuous_event_time", "interval_ms": 500}),
    (lambda: ContinuousProcessingTimeTrigger.of(HALF), {"kind": "continuous_processing_time", "interval_ms": 500}),
    (lambda: DeltaTrigger.of(1.5, Distance()), {"kind": "delta", "threshold": 1.5}),
    (lambda: DeltaTrigger.of(2, lambda one, other: 0.0, Types.LONG()), {"kind": "delta", "threshold": 2}),
    (
        lambda: ProcessingTimeoutTrigger.of(EventTimeTrigger.create(), SECOND),
        {
            "kind": "timeout", "of": {"kind": "event_time"}, "interval_ms": 1000, "reset_on_element": False,
            "clear_on_timeout": True,
        },
    ),
    (
        lambda: ProcessingTimeoutTrigger.of(Impatient(), SECOND, True, False),
        {
            "kind": "timeout", "of": {"kind": "custom", "class": "Impatient"}, "interval_ms": 1000,
            "reset_on_element": True, "clear_on_timeout": False,
        },
    ),
    (
        lambda: AnyOfTrigger.of(CountTrigger.of(7), PurgingTrigger.of(Impatient())),
        {
            "kind": "any_of", "of": [
                {"kind": "count", "count": 7}, {"kind": "purging", "of": {"kind": "custom", "class": "Impatient"}},
            ],
        },
    ),
    (Impatient, {"kind": "custom", "class": "Impatient"}),
]  # fmt: skip


@pytest.mark.parametrize(("make", "described"), TRIGGERS, ids=[str(described)[:60] for _, described in TRIGGERS])
def test_trigger_is_instance_of_trigger_and_described(
    make: Callable[[], Trigger], described: dict[str, object]
) -> None:
    trigger = make()
    assert isinstance(trigger, Trigger)
    assert trigger_of(trigger) == described


def test_custom_trigger_is_generic_and_may_not_merge() -> None:
    class EveryTenth(Trigger[int, TimeWindow]):
        def on_element(
            self, element: int, timestamp: int | None, window: TimeWindow, ctx: Trigger.TriggerContext
        ) -> TriggerResult:
            return TriggerResult.FIRE if element % 10 == window.start else TriggerResult.CONTINUE

        def on_event_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
            return TriggerResult.CONTINUE

        def on_processing_time(self, time: int, window: TimeWindow, ctx: Trigger.TriggerContext) -> TriggerResult:
            return TriggerResult.CONTINUE

        def clear(self, window: TimeWindow, ctx: Trigger.TriggerContext) -> None:
            return

    assert trigger_of(EveryTenth()) == {"kind": "custom", "class": "EveryTenth"}
    assert not EveryTenth().can_merge()
    with pytest.raises(BadInput, match="EveryTenth does not support merging"):
        EveryTenth().on_merge(TimeWindow(0, 1), None)  # type: ignore[arg-type]  # never asked


def test_evictors_are_described_with_before_or_after() -> None:
    assert evictor_of(CountEvictor.of(3)) == {"kind": "count", "count": 3, "after": False}
    assert evictor_of(TimeEvictor.of(HALF, True)) == {"kind": "time", "window_ms": 500, "after": True}
    assert evictor_of(DeltaEvictor.of(2.5, Distance())) == {"kind": "delta", "threshold": 2.5, "after": False}
    assert evictor_of(Everything()) == {"kind": "custom", "class": "Everything"}


def test_window_description_has_lateness_late_output_and_all() -> None:
    windows = TumblingEventTimeWindows.of(SECOND)
    keyed = describe_window(windows, EventTimeTrigger.create(), 20, True)
    assert (keyed["lateness_ms"], keyed["late_output"]) == (20, True)
    assert "all" not in keyed
    assert "evictor" not in keyed
    assert describe_window(windows, EventTimeTrigger.create(), 20, True, window_all=True) == {**keyed, "all": True}


def test_invalid_size_stagger_or_distance_is_refused_by_name() -> None:
    with pytest.raises(TypeError, match=r"TumblingEventTimeWindows.of: size: expected a Duration or a Time"):
        TumblingEventTimeWindows.of(5)  # type: ignore[arg-type]  # what the test is about
    with pytest.raises(TypeError, match=r"TumblingEventTimeWindows.of: window_stagger: expected a WindowStagger"):
        TumblingEventTimeWindows.of(SECOND, None, "random")  # type: ignore[arg-type]  # what the test is about
    with pytest.raises(TypeError, match=r"DeltaTrigger.of: expected a function of two records, got 'far'"):
        DeltaTrigger.of(1, "far")  # type: ignore[arg-type]  # what the test is about
    with pytest.raises(BadInput, match=r"\|offset\| < size"):
        TumblingProcessingTimeWindows.of(HALF, SECOND)

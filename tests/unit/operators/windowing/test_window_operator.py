"""Windows on one subtask: when they fire, their records, and late records (rules 10.7-10.20)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from flowsim.errors import BadInput
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.operators.windowing.aligned_window_operator import AlignedWindowOperator, create_window_operator
from flowsim.operators.windowing.assigners.sliding_windows import SlidingEventTimeWindows
from flowsim.operators.windowing.assigners.tumbling_windows import TumblingEventTimeWindows
from flowsim.operators.windowing.assigners.window_assigner import WindowAssigner
from flowsim.operators.windowing.triggers.count_triggers import CountTrigger
from flowsim.operators.windowing.triggers.nested_triggers import PurgingTrigger
from flowsim.operators.windowing.triggers.time_triggers import EventTimeTrigger
from flowsim.operators.windowing.triggers.trigger import Trigger, TriggerContext, TriggerResult
from flowsim.operators.windowing.window_contents import (
    AggregatingContents,
    ListContents,
    ReducingContents,
    WindowContents,
)
from flowsim.operators.windowing.window_functions import (
    InternalApplyWindowFunction,
    InternalProcessWindowFunction,
    InternalWindowFunction,
    PassThroughWindowFunction,
    WindowContext,
)
from flowsim.operators.windowing.window_operator import WindowOperator
from flowsim.operators.windowing.windows import TimeWindow, Window
from flowsim.state.descriptors import ValueStateDescriptor
from flowsim.streamrecord.elements import OutputTag
from flowsim.testing.harness import OneInputOperatorHarness
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from flowsim.values.types import Types
from tests.support.operators.rows_of_windows import Rows

LATE = OutputTag("late")


def one_key(value: object) -> object:
    return "k"


def first_letter(value: object) -> object:
    return str(value)[0]


def windowed(
    size: int = 10, lateness: int = 0, late_tag: OutputTag | None = None, *, assigner: WindowAssigner | None = None,
    trigger: Trigger | None = None, contents: WindowContents | None = None,
    function: InternalWindowFunction | None = None,
) -> WindowOperator:  # fmt: skip
    return create_window_operator(
        assigner or TumblingEventTimeWindows(size), contents or ListContents(),
        function or InternalProcessWindowFunction(Rows()), trigger, lateness, late_tag,
    )  # fmt: skip


def test_window_fires_when_watermark_reaches_its_last_millisecond() -> None:
    """Rules 10.11, 10.17, I10.c."""
    with OneInputOperatorHarness(windowed(), key_selector=one_key) as harness:
        harness.process_elements([("a", 1), ("b", 9), ("c", 10)])
        harness.process_watermark(8)
        assert harness.take_output() == [("wm", 8)]
        harness.process_watermark(9)
        assert harness.take_output() == [("rec", ["a", "b"], 9), ("wm", 9)]
        harness.end_of_input()
        assert harness.take_output() == [("rec", ["c"], 19), ("wm", MAX_WATERMARK)]


def test_each_key_has_its_own_windows() -> None:
    with OneInputOperatorHarness(windowed(), key_selector=first_letter) as harness:
        harness.process_elements([("a1", 1), ("b1", 2), ("a2", 3)])
        harness.process_watermark(9)
        assert harness.output == [("rec", ["a1", "a2"], 9), ("rec", ["b1"], 9), ("wm", 9)]


def test_each_late_allowed_record_fires_whole_window_again() -> None:
    """Rule 10.12, the executed example: size 10, lateness 3, the watermark follows each record."""
    operator = windowed(10, 3)
    with OneInputOperatorHarness(operator, key_selector=one_key) as harness:
        watermark = -1
        fired = []
        for timestamp in (1, 3, 9, 10, 4, 12, 2, 15, 6, 25, 8):
            harness.process_element(timestamp, timestamp)
            watermark = max(watermark, timestamp - 1)
            harness.process_watermark(watermark)
            for emitted in harness.take_output():
                if emitted[0] == "rec":
                    fired.append((emitted[1], operator.timers.current_watermark, emitted[2]))
        harness.process_watermark(MAX_WATERMARK)
        assert harness.take_output() == [("rec", [25], 29), ("wm", MAX_WATERMARK)]
    assert fired == [([1, 3, 9], 9, 9), ([1, 3, 9, 4], 9, 9), ([1, 3, 9, 4, 2], 11, 9), ([10, 12, 15], 24, 19)]
    assert operator.records_dropped == 2


def test_late_record_goes_to_side_output_or_counter() -> None:
    """Rule 10.10: the side output keeps the record's timestamp."""
    for tag, side, dropped in ((LATE, [("side", "late", "late", 5)], 0), (None, [], 1)):
        with OneInputOperatorHarness(windowed(10, 0, tag), key_selector=one_key) as harness:
            harness.process_watermark(9)
            harness.take_output()
            harness.process_element("late", 5)
            assert harness.output == side
            assert harness.operator.records_dropped == dropped


def test_record_at_watermark_is_late_only_after_cleanup() -> None:
    """Rule 10.9."""
    with OneInputOperatorHarness(windowed(10, 0, LATE), key_selector=one_key) as harness:
        harness.process_watermark(8)
        harness.process_elements([("kept", 8), ("kept too", 2)])
        harness.process_watermark(9)
        assert harness.output == [("wm", 8), ("rec", ["kept", "kept too"], 9), ("wm", 9)]


def test_window_leaves_no_state_after_cleanup_time() -> None:
    """Rules 10.13, 10.15, I10.d: with lateness 0 one timer does both, with more there are two."""
    for lateness, timers in ((0, 1), (5, 2)):
        function = Rows()
        operator = windowed(10, lateness, function=InternalProcessWindowFunction(function))
        with OneInputOperatorHarness(operator, key_selector=one_key) as harness:
            harness.process_element("a", 3)
            assert operator.timers.num_event_time_timers == timers
            harness.process_watermark(9 + lateness - 1)
            assert list(operator.panes.by_window) == [TimeWindow(0, 10)]
            harness.process_watermark(9 + lateness)
            assert operator.panes.by_window == {}
            assert operator.timers.num_event_time_timers == 0
            assert function.cleared == TimeWindow(0, 10)


def test_lateness_beyond_max_watermark_never_cleans_up() -> None:
    """Rule 10.8."""
    operator = windowed(10, MAX_WATERMARK)
    with OneInputOperatorHarness(operator, key_selector=one_key) as harness:
        harness.process_element("a", 3)
        assert operator.timers.num_event_time_timers == 1
        harness.process_watermark(MAX_WATERMARK)
        assert harness.take_output() == [("rec", ["a"], 9), ("wm", MAX_WATERMARK)]
        assert list(operator.panes.by_window) == [TimeWindow(0, 10)]
        assert operator.timers.num_event_time_timers == 0


def test_record_at_max_watermark_is_late_for_any_lateness() -> None:
    """Rule 10.9: the sum of timestamp and lateness is a Java long."""
    with OneInputOperatorHarness(windowed(10, MAX_WATERMARK, LATE), key_selector=one_key) as harness:
        harness.process_watermark(MAX_WATERMARK)
        harness.process_element("late", 3)
        assert harness.output == [("wm", MAX_WATERMARK), ("side", "late", "late", 3)]


def test_record_without_timestamp_is_refused_with_advice() -> None:
    """Rule 10.2."""
    with OneInputOperatorHarness(windowed(), key_selector=one_key) as harness:
        for timestamp in (None, NO_TIMESTAMP):
            with pytest.raises(BadInput, match="the record has no timestamp"):
                harness.process_element("a", timestamp)


def test_sliding_windows_take_record_newest_first_and_gaps_drop_it() -> None:
    """Rule 10.4: and a gap between windows takes it into none, without calling it late."""
    assigner = SlidingEventTimeWindows(10, 5)
    with OneInputOperatorHarness(windowed(assigner=assigner), key_selector=one_key) as harness:
        harness.process_elements([("a", 3), ("b", 7)])
        harness.process_watermark(MAX_WATERMARK)
        assert harness.output == [
            ("rec", ["a"], 4), ("rec", ["a", "b"], 9), ("rec", ["b"], 14), ("wm", MAX_WATERMARK),
        ]  # fmt: skip
    gaps = windowed(10, 4, assigner=SlidingEventTimeWindows(2, 5))
    with OneInputOperatorHarness(gaps, key_selector=one_key) as harness:
        harness.process_watermark(6)
        harness.process_element("in the gap, behind the watermark, within the lateness", 3)
        assert harness.operator.records_dropped == 0
        harness.process_watermark(7)
        harness.process_element("in the gap and beyond the lateness", 3)
        assert harness.operator.records_dropped == 1


class Average:
    def create_accumulator(self) -> tuple[int, int]:
        return (0, 0)

    def add(self, value: Any, accumulator: Any) -> tuple[int, int]:
        return (accumulator[0] + value, accumulator[1] + 1)

    def get_result(self, accumulator: Any) -> float:
        return float(accumulator[0] / accumulator[1])


def add(first: Any, second: Any) -> object:
    return first + second


def test_contents_are_folded_record_by_record() -> None:
    for contents, expected in ((AggregatingContents(Average()), 2.0), (ReducingContents(add), 6)):
        operator = windowed(contents=contents, function=PassThroughWindowFunction())
        with OneInputOperatorHarness(operator, key_selector=one_key) as harness:
            harness.process_elements([(1, 1), (2, 2), (3, 3)])
            harness.end_of_input()
            assert harness.output == [("rec", expected, 9), ("wm", MAX_WATERMARK)]


def test_window_function_of_folded_window_gets_one_value() -> None:
    class Labelled(Rows):
        def process(self, key: object, context: WindowContext, elements: Iterable[object]) -> list[object]:
            return [[key, context.window().end, *elements]]

    function = InternalProcessWindowFunction(Labelled(), single_value=True)
    with OneInputOperatorHarness(
        windowed(contents=ReducingContents(add), function=function), key_selector=one_key
    ) as harness:
        harness.process_elements([(1, 1), (2, 2)])
        harness.process_watermark(9)
        assert harness.output[0] == ("rec", ["k", 10, 3], 9)


def test_plain_window_function_gets_key_window_and_records() -> None:
    class Applied:
        def open(self, runtime_context: RuntimeContext) -> None:
            self.is_open = True

        def close(self) -> None:
            self.is_open = False

        def apply(self, key: object, window: TimeWindow, inputs: Iterable[object]) -> Iterator[object]:
            yield [key, window.start, *inputs]
            yield LATE, "aside"

    operator = windowed(function=InternalApplyWindowFunction(Applied()))
    with OneInputOperatorHarness(operator, key_selector=one_key) as harness:
        harness.process_elements([("a", 1), ("b", 2)])
        harness.process_watermark(9)
        assert harness.output == [("rec", ["k", 0, "a", "b"], 9), ("side", "late", "aside", 9), ("wm", 9)]


def test_function_changing_its_list_does_not_change_the_window() -> None:
    class Greedy(Rows):
        def process(self, key: object, context: WindowContext, elements: Iterable[object]) -> list[object]:
            assert isinstance(elements, list)
            taken = list(elements)
            elements.clear()
            return [taken]

    operator = windowed(10, 5, function=InternalProcessWindowFunction(Greedy()))
    with OneInputOperatorHarness(operator, key_selector=one_key) as harness:
        harness.process_element("a", 1)
        harness.process_watermark(9)
        harness.process_element("b", 2)
        assert harness.output == [("rec", ["a"], 9), ("wm", 9), ("rec", ["a", "b"], 9)]


def test_function_has_state_per_window_and_per_key() -> None:
    """Per-window state ends with the window, global state does not."""
    firings = ValueStateDescriptor("firings", Types.LONG())

    class Counting(Rows):
        def process(self, key: object, context: WindowContext, elements: Iterable[object]) -> list[object]:
            counts = []
            for store in (context.window_state(), context.global_state()):
                state = store.get_state(firings)
                state.update(int(str(state.value() or 0)) + 1)
                counts.append(state.value())
            assert context.current_processing_time() == 1
            return [[*counts, context.current_watermark()]]

        def clear(self, context: WindowContext) -> None:
            context.window_state().get_state(firings).clear()

    operator = windowed(10, 5, function=InternalProcessWindowFunction(Counting()))
    with OneInputOperatorHarness(operator, key_selector=one_key) as harness:
        harness.process_element("a", 1)
        harness.process_watermark(9)
        harness.process_elements([("b", 2), ("c", 12)])
        harness.process_watermark(19)
        values = [emitted[1] for emitted in harness.output if emitted[0] == "rec"]
        assert values == [[1, 1, 9], [2, 2, 9], [1, 3, 19]]
        harness.process_watermark(24)
        assert [e.namespace for g in operator.state.key_groups() for e in operator.state.entries_of_key_group(g)] == [
            None
        ]


def test_count_trigger_accumulates_contents_unless_purged() -> None:
    """Rules 10.19, 10.20: cleanup itself emits nothing (rule 10.16)."""
    for trigger, second in ((CountTrigger(2), ["a", "b", "c", "d"]), (PurgingTrigger(CountTrigger(2)), ["c", "d"])):
        operator = windowed(trigger=trigger)
        with OneInputOperatorHarness(operator, key_selector=one_key) as harness:
            harness.process_elements([("a", 1), ("b", 2), ("c", 3), ("d", 4), ("e", 5)])
            harness.process_watermark(9)
            assert harness.output == [("rec", ["a", "b"], 9), ("rec", second, 9), ("wm", 9)]
            assert operator.panes.by_window == {}
            assert operator.state.key_groups() == []


def test_purged_window_without_records_emits_nothing() -> None:
    """Rules 10.13, 10.14: the trigger is asked, the contents are empty."""

    class FirstRowThenEnd(EventTimeTrigger):
        def on_element(self, element: Any, timestamp: Any, window: Any, ctx: Any) -> TriggerResult:
            super().on_element(element, timestamp, window, ctx)
            return TriggerResult.FIRE_AND_PURGE

    operator = windowed(trigger=FirstRowThenEnd())
    assert type(operator) is WindowOperator
    with OneInputOperatorHarness(operator, key_selector=one_key) as harness:
        harness.process_element("a", 1)
        harness.process_watermark(9)
        assert harness.output == [("rec", ["a"], 9), ("wm", 9)]


def test_processing_time_window_fires_by_clock_without_lateness() -> None:
    """Rules 10.8, 10.9, 10.13: cleanup at the window's last millisecond, in processing time."""

    class TumblingProcessingTime(WindowAssigner[object, TimeWindow]):
        def assign_windows(self, element: object, timestamp: int | None, context: Any) -> list[TimeWindow]:
            start = context.get_current_processing_time() // 10 * 10
            return [TimeWindow(start, start + 10)]

        def get_default_trigger(self, env: object) -> Trigger:
            return ByTheClock()

        def is_event_time(self) -> bool:
            return False

    class ByTheClock(EventTimeTrigger):
        def on_element(self, element: Any, timestamp: Any, window: TimeWindow, ctx: Any) -> TriggerResult:
            ctx.register_processing_time_timer(window.max_timestamp())
            return TriggerResult.CONTINUE

        def on_processing_time(self, timestamp: int, window: TimeWindow, ctx: Any) -> TriggerResult:
            assert ctx.get_current_processing_time() == timestamp
            return TriggerResult.FIRE

        def clear(self, window: TimeWindow, ctx: Any) -> None:
            ctx.delete_processing_time_timer(window.max_timestamp())

    operator = windowed(assigner=TumblingProcessingTime())
    with OneInputOperatorHarness(operator, key_selector=one_key) as harness:
        harness.process_watermark(MAX_WATERMARK)
        harness.process_elements([("a", None), ("b", 5)])
        harness.set_processing_time(9)
        assert harness.output == [("wm", MAX_WATERMARK), ("rec", ["a", "b"], 9)]
        assert operator.panes.by_window == {}


def test_fast_path_is_used_only_for_common_assigner_and_trigger() -> None:
    class Subclass(TumblingEventTimeWindows):
        """Adds nothing, as the DataStream API's own spelling does."""

    class Shifted(TumblingEventTimeWindows):
        def assign_windows(self, element: object, timestamp: int | None, context: Any) -> list[TimeWindow]:
            return [TimeWindow(0, 1)]

    assert type(windowed()) is AlignedWindowOperator
    assert type(windowed(assigner=Subclass(5), trigger=EventTimeTrigger())) is AlignedWindowOperator
    assert type(windowed(assigner=Shifted(5))) is WindowOperator
    assert type(windowed(trigger=CountTrigger(1))) is WindowOperator
    assert type(windowed(assigner=SlidingEventTimeWindows(10, 5))) is AlignedWindowOperator
    assert type(windowed(assigner=SlidingEventTimeWindows(12, 5))) is WindowOperator
    assert type(windowed(assigner=SlidingEventTimeWindows(5, 10))) is WindowOperator
    assert type(windowed(assigner=SlidingEventTimeWindows(5005, 5))) is WindowOperator


def test_negative_lateness_is_refused() -> None:
    with pytest.raises(ValueError, match="0 ms or more, got -1"):
        windowed(10, -1)


class _Forgetful(CountTrigger):
    """Says nothing, where it should say CONTINUE."""

    def on_element(self, element: object, timestamp: int | None, window: Window, ctx: TriggerContext) -> TriggerResult:
        return None  # type: ignore[return-value]


def test_trigger_without_trigger_result_is_refused_by_name() -> None:
    with (
        pytest.raises(BadInput, match="trigger _Forgetful: expected a TriggerResult, got None"),
        OneInputOperatorHarness(windowed(trigger=_Forgetful(2)), key_selector=one_key) as harness,
    ):
        harness.process_elements([("a", 1)])

"""Merging windows: their contents, triggers and timers, and refused merges (rules 10.24-10.29)."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest

from flowsim.errors import BadInput
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.operators.windowing.aligned_window_operator import create_window_operator
from flowsim.operators.windowing.assigners.session_windows import EventTimeSessionWindows, ProcessingTimeSessionWindows
from flowsim.operators.windowing.assigners.window_assigner import WindowAssigner
from flowsim.operators.windowing.evicting_window_operator import EvictingWindowOperator
from flowsim.operators.windowing.evictors import CountEvictor
from flowsim.operators.windowing.triggers.count_triggers import CountTrigger, DeltaTrigger
from flowsim.operators.windowing.triggers.nested_triggers import PurgingTrigger
from flowsim.operators.windowing.triggers.time_triggers import EventTimeTrigger
from flowsim.operators.windowing.triggers.trigger import OnMergeContext, Trigger, TriggerContext, TriggerResult
from flowsim.operators.windowing.window_contents import (
    AggregatingContents,
    ListContents,
    ReducingContents,
    WindowContents,
)
from flowsim.operators.windowing.window_functions import InternalProcessWindowFunction, WindowContext
from flowsim.operators.windowing.window_operator import WindowOperator
from flowsim.operators.windowing.windows import MergeCallback, TimeWindow, Window
from flowsim.state.descriptors import ListStateDescriptor, ValueStateDescriptor
from flowsim.streamrecord.elements import OutputTag
from flowsim.testing.harness import OneInputOperatorHarness
from flowsim.units import MAX_WATERMARK
from flowsim.values.types import Types


class Session:
    """(start, end, contents) of the window that fires."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.cleared: list[Window] = []

    def close(self) -> None:
        self.is_open = False

    def process(self, key: object, context: WindowContext, elements: Iterable[object]) -> list[object]:
        window = context.window()
        return [(window.start, window.end, list(elements))]

    def clear(self, context: WindowContext) -> None:
        self.cleared.append(context.window())


class Sum:
    def create_accumulator(self) -> object:
        return 0

    def add(self, value: Any, accumulator: Any) -> object:
        return accumulator + value

    def get_result(self, accumulator: object) -> object:
        return accumulator


class MergingSum(Sum):
    def merge(self, acc_a: Any, acc_b: Any) -> object:
        return acc_a + acc_b


def sessions(
    gap: int = 5, lateness: int = 0, late_tag: OutputTag | None = None, *, trigger: Trigger | None = None,
    contents: WindowContents | None = None, assigner: WindowAssigner | None = None, folded: bool = False,
) -> WindowOperator:  # fmt: skip
    function = InternalProcessWindowFunction(Session(), single_value=folded)
    return create_window_operator(
        assigner or EventTimeSessionWindows(gap), contents or ListContents(), function, trigger, lateness, late_tag
    )


def harness_of(operator: WindowOperator) -> OneInputOperatorHarness:
    return OneInputOperatorHarness(operator, key_selector=lambda value: str(value)[0])


def nothing_is_left(operator: WindowOperator) -> bool:
    timers = operator.timers.num_event_time_timers + operator.timers.num_processing_time_timers
    assert operator.merging is not None
    return (
        not operator.panes.by_window and not operator.merging.pairs and not timers and not operator.state.key_groups()
    )


def test_records_closer_than_gap_share_session_in_any_order() -> None:
    operator = sessions()
    with harness_of(operator) as harness:
        harness.process_elements([("a1", 0), ("a2", 8), ("b1", 3), ("a3", 4)])
        harness.process_watermark(12)
        # The contents of the later window come first: so Java's set of windows has it.
        assert harness.take_output() == [
            ("rec", (3, 8, ["b1"]), 7), ("rec", (0, 13, ["a2", "a1", "a3"]), 12), ("wm", 12),
        ]  # fmt: skip
        assert nothing_is_left(operator)


def test_contents_stay_under_state_window_while_session_grows() -> None:
    """Rules 10.25, 10.27."""
    operator = sessions()
    with harness_of(operator) as harness:
        harness.process_elements([("a1", 0), ("a2", 5), ("a3", 9)])
        assert list(operator.panes.by_window) == [TimeWindow(0, 5)]
        assert operator.merging is not None
        assert operator.merging.pairs == {"a": [(TimeWindow(0, 14), TimeWindow(0, 5))]}
        assert operator.timers.num_event_time_timers == 1


def test_timers_of_absorbed_windows_are_deleted() -> None:
    """Rules 10.26, 10.28: with a lateness each window has two."""
    operator = sessions(lateness=3)
    with harness_of(operator) as harness:
        harness.process_elements([("a1", 0), ("a2", 20)])
        assert operator.timers.num_event_time_timers == 4
        harness.process_elements([("a3", 5), ("a4", 10), ("a5", 15)])
        assert operator.timers.num_event_time_timers == 2
        harness.process_watermark(23)
        assert harness.take_output() == [("wm", 23)]
        harness.process_watermark(24)
        assert [each[0] for each in harness.take_output()] == ["rec", "wm"]
        harness.process_watermark(27)
        assert nothing_is_left(operator)


def test_timer_left_for_absorbed_window_is_ignored() -> None:
    """Rule 10.28."""

    class Careless(EventTimeTrigger):
        def clear(self, window: Window, ctx: TriggerContext) -> None:
            """Keeps its timer."""

    operator = sessions(trigger=Careless())
    with harness_of(operator) as harness:
        harness.process_elements([("a1", 0), ("a2", 4)])
        harness.process_watermark(4)
        assert harness.take_output() == [("wm", 4)]
        harness.process_watermark(8)
        assert harness.take_output() == [("rec", (0, 9, ["a1", "a2"]), 8), ("wm", 8)]


def test_late_record_merging_with_kept_window_fires_again() -> None:
    operator = sessions(lateness=10)
    with harness_of(operator) as harness:
        harness.process_element("a1", 10)
        harness.process_watermark(14)
        assert harness.take_output() == [("rec", (10, 15, ["a1"]), 14), ("wm", 14)]
        harness.process_element("a2", 8)
        assert harness.take_output() == [("rec", (8, 15, ["a1", "a2"]), 14)]
        harness.process_watermark(MAX_WATERMARK)
        assert nothing_is_left(operator)


def test_late_record_without_window_is_dropped_and_leaves_no_window() -> None:
    """Rule 10.27."""
    operator = sessions(late_tag=OutputTag("late"))
    with harness_of(operator) as harness:
        harness.process_watermark(20)
        harness.process_element("a1", 5)
        assert harness.output == [("wm", 20), ("side", "late", "a1", 5)]
        assert nothing_is_left(operator)


def test_purge_empties_session_and_keeps_window() -> None:
    """A purge does not touch the set of windows: the session goes on growing."""
    operator = sessions(trigger=PurgingTrigger(CountTrigger(2)))
    with harness_of(operator) as harness:
        harness.process_elements([("a1", 0), ("a2", 3), ("a3", 6)])
        assert harness.take_output() == [("rec", (0, 8, ["a1", "a2"]), 7)]
        harness.process_element("a4", 9)
        assert harness.take_output() == [("rec", (0, 14, ["a3", "a4"]), 13)]
        harness.process_watermark(13)
        assert harness.take_output() == [("wm", 13)]
        assert nothing_is_left(operator)


def test_counts_of_merged_windows_are_added_and_checked_at_next_record() -> None:
    """Rule 10.19."""
    operator = sessions(trigger=CountTrigger(4))
    with harness_of(operator) as harness:
        harness.process_elements([("a1", 0), ("a2", 1), ("a3", 10)])
        assert harness.take_output() == []
        harness.process_element("a4", 6)
        assert harness.take_output() == [("rec", (0, 15, ["a1", "a2", "a3", "a4"]), 14)]


def test_trigger_state_that_cannot_merge_is_refused_by_name() -> None:
    class Forgetful(EventTimeTrigger):
        def on_merge(self, window: Window, ctx: OnMergeContext) -> None:
            ctx.merge_partitioned_state(ValueStateDescriptor("last", Types.LONG()))  # type: ignore[arg-type]

    with harness_of(sessions(trigger=Forgetful())) as harness:
        harness.process_element("a1", 0)
        with pytest.raises(BadInput, match="trigger: the state 'last' cannot be merged"):
            harness.process_element("a2", 3)


def test_list_state_of_trigger_is_merged() -> None:
    listed = ListStateDescriptor("listed", Types.STRING())

    class Listing(EventTimeTrigger):
        def on_element(
            self, element: object, timestamp: int | None, window: Window, ctx: TriggerContext
        ) -> TriggerResult:
            ctx.get_partitioned_state(listed).add(element)
            result = TriggerResult.FIRE if len(ctx.get_partitioned_state(listed).get()) >= 3 else TriggerResult.CONTINUE
            return result if result is TriggerResult.FIRE else super().on_element(element, timestamp, window, ctx)

        def on_merge(self, window: Window, ctx: OnMergeContext) -> None:
            ctx.merge_partitioned_state(listed)
            super().on_merge(window, ctx)

        def clear(self, window: Window, ctx: TriggerContext) -> None:
            ctx.get_partitioned_state(listed).clear()
            super().clear(window, ctx)

    operator = sessions(trigger=Listing())
    with harness_of(operator) as harness:
        harness.process_elements([("a1", 0), ("a2", 8), ("a3", 4)])
        assert [each[0] for each in harness.take_output()] == ["rec"]
        harness.process_watermark(MAX_WATERMARK)
        assert nothing_is_left(operator)


@pytest.mark.parametrize("contents", [ReducingContents(lambda a, b: a + b), AggregatingContents(MergingSum())])  # type: ignore[operator]
def test_folded_contents_merge_with_same_function(contents: WindowContents) -> None:
    operator = create_window_operator(
        EventTimeSessionWindows(5), contents, InternalProcessWindowFunction(Session(), single_value=True)
    )
    with OneInputOperatorHarness(operator, key_selector=lambda value: "k") as harness:
        harness.process_elements([(1, 0), (10, 8), (100, 4)])
        harness.process_watermark(12)
        assert harness.output == [("rec", (0, 13, [111]), 12), ("wm", 12)]


def test_aggregate_without_merge_is_refused_when_built() -> None:
    with pytest.raises(BadInput, match=r"Sum has no merge\(acc_a, acc_b\), which merging windows need"):
        sessions(contents=AggregatingContents(Sum()))
    create_window_operator(
        EventTimeSessionWindows(5), AggregatingContents(MergingSum()), InternalProcessWindowFunction(Session())
    )


def test_trigger_that_cannot_merge_is_refused_when_built() -> None:
    """Rule 10.24."""
    with pytest.raises(BadInput, match=r"DeltaTrigger.*cannot"):
        sessions(trigger=DeltaTrigger(1.0, lambda a, b: 0.0, Types.STRING()))


class Shrinking(EventTimeSessionWindows):
    """The merged window ends where the first of them ended."""

    def merge_windows(self, windows: Collection[Window], callback: MergeCallback) -> None:
        class Ending:
            def merge(self, merged: Collection[Window], result: Window) -> None:
                callback.merge(merged, TimeWindow(result.start, min(window.end for window in merged)))

        super().merge_windows(windows, Ending())


def test_merge_into_expired_window_fails_with_window_key_and_watermark() -> None:
    """Rule 10.26."""
    with harness_of(sessions(assigner=Shrinking(5), lateness=2)) as harness:
        harness.process_element("a1", 10)
        harness.process_watermark(11)
        with pytest.raises(
            BadInput, match=r"key 'a' merged into TimeWindow\(start=5, end=10\).*the watermark is at 11"
        ):
            harness.process_element("a2", 5)


def test_lateness_near_max_watermark_overflows_at_merge_as_in_flink() -> None:
    """Rule 10.26: the sum of end and lateness is a Java long."""
    with harness_of(sessions(lateness=MAX_WATERMARK)) as harness:
        harness.process_element("a1", 10)
        harness.process_watermark(0)
        with pytest.raises(BadInput, match="should have been cleaned up already"):
            harness.process_element("a2", 12)


def test_merge_fails_after_allowed_lateness_became_shorter() -> None:
    """Rule 10.26: the timer at 64 ms is that of the longer lateness, and cleans up nothing."""
    operator = sessions(lateness=60)
    with harness_of(operator) as harness:
        harness.process_element("a1", 0)
        harness.process_watermark(7)
        operator.lifetime.allowed_lateness_ms = 0
        harness.process_watermark(8)
        with pytest.raises(BadInput, match="registered with a longer allowed lateness"):
            harness.process_element("a2", 4)


class OncePerBreak(EventTimeTrigger):
    """Fires in processing time, and deletes the timer of the end of the window, which is that of its cleanup."""

    def on_element(self, element: object, timestamp: int | None, window: Window, ctx: TriggerContext) -> TriggerResult:
        ctx.register_processing_time_timer(ctx.get_current_processing_time() + 1)
        return super().on_element(element, timestamp, window, ctx)

    def on_processing_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        self.clear(window, ctx)
        return TriggerResult.FIRE_AND_PURGE


def test_merge_fails_after_trigger_deleted_the_timer_of_the_cleanup() -> None:
    """Rules 10.15, 10.26."""
    operator = sessions(trigger=OncePerBreak())
    with harness_of(operator) as harness:
        harness.process_element("a1", 0)
        harness.set_processing_time(operator.timers.current_processing_time_ms() + 10)
        harness.process_watermark(9)
        with pytest.raises(BadInput, match="or deleted by the trigger"):
            harness.process_element("a2", 4)


def test_processing_time_sessions_merge_and_fire_by_clock() -> None:
    operator = sessions(assigner=ProcessingTimeSessionWindows(5))
    with harness_of(operator) as harness:
        harness.set_processing_time(100)
        harness.process_element("a1", None)
        harness.set_processing_time(103)
        harness.process_element("a2", 7)
        assert operator.timers.num_processing_time_timers == 1
        harness.set_processing_time(107)
        assert harness.take_output() == [("rec", (100, 108, ["a1", "a2"]), 107)]
        assert nothing_is_left(operator)


def test_window_state_of_merging_windows_is_refused() -> None:
    """Rule 10.29."""

    class Counting(Session):
        def process(self, key: object, context: WindowContext, elements: Iterable[object]) -> list[object]:
            seen = context.global_state().get_state(ValueStateDescriptor("seen", Types.LONG()))
            seen.update(1)
            context.window_state()
            return []

    operator = create_window_operator(
        EventTimeSessionWindows(5), ListContents(), InternalProcessWindowFunction(Counting())
    )
    with harness_of(operator) as harness:
        harness.process_element("a1", 0)
        with pytest.raises(BadInput, match="merging windows have no state per window: use global_state"):
            harness.process_watermark(4)


def test_evictor_sees_records_of_all_merged_windows() -> None:
    function = InternalProcessWindowFunction(Session())
    operator = EvictingWindowOperator(EventTimeSessionWindows(5), CountEvictor(2), function)
    with harness_of(operator) as harness:
        harness.process_elements([("a1", 0), ("a2", 8), ("a3", 4)])
        harness.process_watermark(12)
        assert harness.take_output() == [("rec", (0, 13, ["a1", "a3"]), 12), ("wm", 12)]
        assert nothing_is_left(operator)

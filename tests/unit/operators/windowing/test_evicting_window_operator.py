"""Windows with an evictor, which removes records before or after the function (rule 10.30)."""

from __future__ import annotations

import pytest

from flowsim.facts.kinds import Level, WindowResult
from flowsim.facts.schema import TABLES
from flowsim.facts.tracer import TaskTrace
from flowsim.operators.windowing.assigners.tumbling_windows import TumblingEventTimeWindows
from flowsim.operators.windowing.assigners.window_assigner import GlobalWindows, WindowAssigner
from flowsim.operators.windowing.evicting_window_operator import EvictingWindowOperator
from flowsim.operators.windowing.evictors import CountEvictor, EvictorContext, TimestampedValue
from flowsim.operators.windowing.triggers.count_triggers import CountTrigger
from flowsim.operators.windowing.triggers.nested_triggers import PurgingTrigger
from flowsim.operators.windowing.triggers.trigger import Trigger, TriggerResult
from flowsim.operators.windowing.window_functions import (
    FoldingWindowFunction,
    InternalProcessWindowFunction,
    InternalWindowFunction,
    PassThroughWindowFunction,
)
from flowsim.operators.windowing.windows import Window
from flowsim.recording.memory import MemoryRecorder
from flowsim.testing.harness import OneInputOperatorHarness
from flowsim.units import MAX_WATERMARK
from flowsim.values.encoding import fingerprint
from tests.support.operators.rows_of_windows import Rows


class Odd:
    """Takes records of odd timestamps out, before or after."""

    def __init__(self, after: bool) -> None:
        self.after = after

    def evict_before(self, elements: list[TimestampedValue], size: int, window: Window, ctx: EvictorContext) -> None:
        assert size == len(elements)
        if not self.after:
            self._evict(elements)

    def evict_after(self, elements: list[TimestampedValue], size: int, window: Window, ctx: EvictorContext) -> None:
        assert size == len(elements)
        if self.after:
            self._evict(elements)

    def _evict(self, elements: list[TimestampedValue]) -> None:
        elements[:] = [element for element in elements if element.timestamp is not None and element.timestamp % 2 == 0]


def evicting(
    after: bool = False, *, assigner: WindowAssigner | None = None, trigger: Trigger | None = None,
    function: InternalWindowFunction | None = None,
) -> EvictingWindowOperator:  # fmt: skip
    return EvictingWindowOperator(
        assigner or GlobalWindows(), Odd(after), function or InternalProcessWindowFunction(Rows()),
        trigger or CountTrigger(2),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("after", "fired"), [(False, [["b"], ["b", "d"]]), (True, [["a", "b"], ["b", "c", "d"]])], ids=["before", "after"]
)
def test_evicted_records_are_gone_for_later_firings(after: bool, fired: list[list[str]]) -> None:
    with OneInputOperatorHarness(evicting(after), key_selector=lambda value: 0) as harness:
        harness.process_elements([("a", 1), ("b", 2), ("c", 3), ("d", 4)])
        assert [each[1] for each in harness.output] == fired  # type: ignore[misc]


def test_function_is_called_although_evictor_left_nothing() -> None:
    operator = evicting(trigger=CountTrigger(1))
    with OneInputOperatorHarness(operator, key_selector=lambda value: 0) as harness:
        harness.process_element("a", 1)
        assert harness.take_output() == [("rec", [], MAX_WATERMARK)]
        assert operator.panes.by_window == {}


def test_empty_window_emits_nothing() -> None:
    operator = EvictingWindowOperator(
        TumblingEventTimeWindows(10), Odd(True), InternalProcessWindowFunction(Rows()), None, 5
    )
    with OneInputOperatorHarness(operator, key_selector=lambda value: 0) as harness:
        harness.process_element("a", 1)
        harness.process_watermark(9)
        assert harness.take_output() == [("rec", ["a"], 9), ("wm", 9)]
        harness.process_element("b", 3)
        assert harness.take_output() == [("rec", ["b"], 9)]
        harness.process_watermark(14)
        assert harness.take_output() == [("wm", 14)]
        assert operator.timers.num_event_time_timers == 0


def test_fold_is_computed_over_records_left_by_evictor() -> None:
    folded = FoldingWindowFunction(lambda values: "+".join(map(str, values)), PassThroughWindowFunction())
    with OneInputOperatorHarness(evicting(function=folded), key_selector=lambda value: 0) as harness:
        harness.process_elements([("a", 2), ("b", 4), ("c", 5), ("d", 6)])
        assert [each[1] for each in harness.output] == ["a+b", "a+b+d"]  # type: ignore[misc]


def test_recorded_firing_has_records_of_function_and_purge_has_purged_ones() -> None:
    class PurgeThird(CountTrigger):
        def on_element(self, element: object, timestamp: int | None, window: Window, ctx: object) -> TriggerResult:  # type: ignore[override]
            return TriggerResult.PURGE if element == "c" else TriggerResult.FIRE

    recorder = MemoryRecorder(Level.FULL)
    with OneInputOperatorHarness(
        evicting(trigger=PurgeThird(1)), key_selector=lambda value: 0, trace=lambda clock: TaskTrace(0, clock, recorder)
    ) as harness:
        harness.process_elements([("a", 1), ("b", 2), ("c", 3)])
    places = [TABLES["window_fire"].names.index(name) for name in ("rows", "fingerprint_xor", "result")]
    reported = [tuple(row[place] for place in places) for row in recorder.rows("window_fire")]
    b, c = fingerprint(2, "b"), fingerprint(3, "c")
    assert reported == [(0, 0, WindowResult.FIRE), (1, b, WindowResult.FIRE), (2, b ^ c, WindowResult.PURGE)]


def test_count_evictor_keeps_last_n_of_every_m_records() -> None:
    """Java's countWindow(3, 2)."""
    operator = EvictingWindowOperator(
        GlobalWindows(), CountEvictor(3), InternalProcessWindowFunction(Rows()), CountTrigger(2)
    )
    with OneInputOperatorHarness(operator, key_selector=lambda value: 0) as harness:
        harness.process_elements([(number, None) for number in range(6)])
        assert [each[1] for each in harness.output] == [[0, 1], [1, 2, 3], [3, 4, 5]]  # type: ignore[misc]


def test_purging_trigger_leaves_nothing_for_next_firing() -> None:
    operator = evicting(trigger=PurgingTrigger(CountTrigger(2)))
    with OneInputOperatorHarness(operator, key_selector=lambda value: 0) as harness:
        harness.process_elements([("a", 2), ("b", 4), ("c", 6), ("d", 8)])
        assert [each[1] for each in harness.output] == [["a", "b"], ["c", "d"]]  # type: ignore[misc]
        assert operator.panes.by_window == {}

"""Invariants of all windows, for any assigner and trigger: I10.a to I10.e."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsim.operators.runtime_context import RuntimeContext
from flowsim.operators.stream_operator import Value
from flowsim.operators.windowing.aligned_window_operator import create_window_operator
from flowsim.operators.windowing.assigners.session_windows import (
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
)
from flowsim.operators.windowing.assigners.sliding_windows import SlidingEventTimeWindows
from flowsim.operators.windowing.assigners.tumbling_windows import TumblingEventTimeWindows
from flowsim.operators.windowing.assigners.window_assigner import WindowAssigner, is_merging
from flowsim.operators.windowing.evicting_window_operator import EvictingWindowOperator
from flowsim.operators.windowing.evictors import CountEvictor
from flowsim.operators.windowing.triggers.continuous_triggers import ContinuousEventTimeTrigger
from flowsim.operators.windowing.triggers.count_triggers import CountTrigger, DeltaTrigger
from flowsim.operators.windowing.triggers.nested_triggers import ProcessingTimeoutTrigger, PurgingTrigger
from flowsim.operators.windowing.triggers.time_triggers import EventTimeTrigger
from flowsim.operators.windowing.triggers.trigger import Trigger
from flowsim.operators.windowing.window_contents import ListContents
from flowsim.operators.windowing.window_functions import InternalProcessWindowFunction, WindowContext
from flowsim.operators.windowing.window_operator import WindowOperator
from flowsim.streamrecord.elements import OutputTag
from flowsim.testing.harness import OneInputOperatorHarness
from flowsim.units import MAX_WATERMARK
from flowsim.values.types import Types

pytestmark = pytest.mark.property

Row = tuple[str, int, int]
"""Key, number, gap."""
Command = tuple[Row, int] | int
"""A row with its timestamp, or the watermark."""


class EmitsContents:
    """Emits (window, rows, watermark)."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.is_open = True

    def close(self) -> None:
        self.is_open = False

    def process(self, key: Value, context: WindowContext, elements: Iterable[Value]) -> list[object]:
        return [(context.window(), list(elements), context.current_watermark())]

    def clear(self, context: WindowContext) -> None:
        assert context.window().max_timestamp() <= context.current_watermark()


class GapOfRow:
    def extract(self, element: Value) -> int:
        assert isinstance(element, tuple)
        _, _, gap = element
        assert isinstance(gap, int)
        return gap


@st.composite
def streams(draw: st.DrawFn) -> list[Command]:
    """Rows around a watermark that goes on, and at last the end of event time."""
    commands: list[Command] = []
    watermark = -30
    for number in range(draw(st.integers(1, 60))):
        if draw(st.integers(0, 3)):
            row = (draw(st.sampled_from("ab")), number, draw(st.integers(1, 9)))
            commands.append((row, watermark + draw(st.integers(-15, 25))))
        else:
            watermark += draw(st.integers(0, 12))
            commands.append(watermark)
    return [*commands, MAX_WATERMARK]


SESSIONS = st.integers(1, 8).map(EventTimeSessionWindows)
"""Of one gap: with others a session may lose rows in Flink (rule 10.25)."""
ASSIGNERS: st.SearchStrategy[WindowAssigner] = st.one_of(
    SESSIONS,
    st.just(DynamicEventTimeSessionWindows(GapOfRow())),
    st.integers(1, 12).map(TumblingEventTimeWindows),
    st.builds(SlidingEventTimeWindows, st.integers(1, 12), st.integers(1, 6)),
)
MERGEABLE: st.SearchStrategy[Trigger] = st.one_of(
    st.just(EventTimeTrigger()), st.integers(1, 4).map(CountTrigger), st.integers(1, 9).map(ContinuousEventTimeTrigger),
    st.just(PurgingTrigger(EventTimeTrigger())), st.just(PurgingTrigger(CountTrigger(2))),
)  # fmt: skip
ANY_TRIGGER = st.one_of(
    MERGEABLE,
    st.just(DeltaTrigger(3, lambda one, two: float(two[1] - one[1]), Types.LONG())),  # type: ignore[index]
    st.just(ProcessingTimeoutTrigger(EventTimeTrigger(), 5, True, True)),
)
LATENESS = st.sampled_from([0, 0, 4, 20])


def harness_of(operator: WindowOperator) -> OneInputOperatorHarness:
    return OneInputOperatorHarness(operator, key_selector=lambda row: row[0], key_type="STRING")  # type: ignore[index]


def rows_of(operator: WindowOperator, key: str) -> Counter[Row]:
    """The rows in the contents of a key, once for each window."""
    return Counter(row for panes in operator.panes.by_window.values() for row in panes.get(key, []))  # type: ignore[attr-defined]


def check_nothing_is_overdue(operator: WindowOperator, watermark: int) -> None:
    """I10.d."""
    if operator.merging is None:
        windows = list(operator.panes.by_window)
    else:
        windows = [window for pairs in operator.merging.pairs.values() for window, _ in pairs]
    for window in windows:
        assert operator.lifetime.cleanup_time(window) > watermark
    if watermark == MAX_WATERMARK:
        assert not operator.panes.by_window
        assert operator.merging is None or not operator.merging.pairs
        assert operator.timers.num_event_time_timers == 0
        assert operator.state.key_groups() == []


@given(commands=streams(), assigner=ASSIGNERS, trigger=st.none() | ANY_TRIGGER, lateness=LATENESS, evicts=st.booleans())
def test_window_leaves_nothing_after_its_cleanup_time(
    commands: list[Command], assigner: WindowAssigner, trigger: Trigger | None, lateness: int, evicts: bool
) -> None:
    """I10.c, I10.d: neither contents nor timers, nor what triggers keep, nor a place in the set of windows.

    So a merge only finds windows that end later, and never fails (rule 10.26).
    """
    if trigger is not None and is_merging(assigner) and not trigger.can_merge():
        trigger = None
    emits_contents = InternalProcessWindowFunction(EmitsContents())
    operator = (
        EvictingWindowOperator(assigner, CountEvictor(2), emits_contents, trigger, lateness)
        if evicts
        else create_window_operator(assigner, ListContents(), emits_contents, trigger, lateness)
    )
    with harness_of(operator) as harness:
        for command in commands:
            if isinstance(command, int):
                harness.process_watermark(command)
                check_nothing_is_overdue(operator, command)
                if isinstance(trigger, EventTimeTrigger | None):
                    fired = [emitted for emitted in harness.take_output() if emitted[0] == "rec"]
                    assert all(timestamp <= command for _, _, timestamp in fired)  # type: ignore[misc, operator]
            else:
                harness.process_element(*command)


@given(commands=streams(), assigner=ASSIGNERS, lateness=LATENESS)
def test_record_is_either_in_a_window_or_late(commands: list[Command], assigner: WindowAssigner, lateness: int) -> None:
    """I10.a: a slide above the size leaves gaps, whose rows are in no window, and late once the lateness is over."""
    late = OutputTag("late")
    operator = create_window_operator(
        assigner, ListContents(), InternalProcessWindowFunction(EmitsContents()), None, lateness, late
    )
    in_gaps = isinstance(assigner, SlidingEventTimeWindows) and assigner.slide_ms > assigner.size_ms
    with harness_of(operator) as harness:
        for command in commands:
            harness.take_output()
            if isinstance(command, int):
                harness.process_watermark(command)
                continue
            row, timestamp = command
            harness.process_element(row, timestamp)
            sides = [value for kind, *rest in harness.output if kind == "side" for value in rest[1:2]]
            windows = rows_of(operator, row[0])[row]
            if windows:
                assert sides == []
            elif not in_gaps:
                assert sides == [row]
            if isinstance(assigner, SlidingEventTimeWindows) and not in_gaps and not lateness and not sides:
                assert windows <= -(-assigner.size_ms // assigner.slide_ms)
        assert operator.records_dropped == 0


@given(commands=streams(), assigner=SESSIONS, lateness=LATENESS)
def test_sessions_of_key_never_touch_and_keep_every_record(
    commands: list[Command], assigner: WindowAssigner, lateness: int
) -> None:
    """I10.e, and I10.b: with no lateness every row that is not late is fired exactly once."""
    late = OutputTag("late")
    operator = create_window_operator(
        assigner, ListContents(), InternalProcessWindowFunction(EmitsContents()), None, lateness, late
    )
    merging = operator.merging
    assert merging is not None
    kept: dict[str, list[tuple[Row, int]]] = {"a": [], "b": []}
    fired: Counter[Row] = Counter()
    with harness_of(operator) as harness:
        for command in commands:
            if isinstance(command, int):
                harness.process_watermark(command)
                for rows in kept.values():
                    rows[:] = [row for row in rows if rows_of(operator, row[0][0])[row[0]]]
            else:
                before = len([each for each in harness.output if each[0] == "side"])
                harness.process_element(*command)
                if len([each for each in harness.output if each[0] == "side"]) == before:
                    kept[command[0][0]].append(command)
            for key, rows in kept.items():
                assert rows_of(operator, key) == Counter(row for row, _ in rows)
                windows = sorted(window for window, _ in merging.pairs.get(key, ()))  # type: ignore[type-var]
                assert all(first.end < second.start for first, second in pairwise(windows))
                for _, timestamp in rows:
                    assert sum(window.start <= timestamp < window.end for window in windows) == 1
        for emitted in harness.output:
            if emitted[0] == "rec":
                fired.update(emitted[1][1])  # type: ignore[index]
        lost = Counter(emitted[2] for emitted in harness.output if emitted[0] == "side")
    if lateness == 0:
        assert fired + lost == Counter(command[0] for command in commands if not isinstance(command, int))

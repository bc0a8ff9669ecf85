"""The fast path of the window operator equals the general one: same output, timers, state and facts."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsim.facts.kinds import Level
from flowsim.facts.schema import FACT_TABLES
from flowsim.facts.tracer import TaskTrace
from flowsim.operators.windowing.aligned_window_operator import AlignedWindowOperator
from flowsim.operators.windowing.assigners.sliding_windows import SlidingEventTimeWindows
from flowsim.operators.windowing.assigners.tumbling_windows import TumblingEventTimeWindows
from flowsim.operators.windowing.triggers.time_triggers import EventTimeTrigger
from flowsim.operators.windowing.window_contents import (
    AggregatingContents,
    ListContents,
    ReducingContents,
    WindowContents,
)
from flowsim.operators.windowing.window_functions import PassThroughWindowFunction
from flowsim.operators.windowing.window_operator import WindowOperator
from flowsim.recording.memory import MemoryRecorder
from flowsim.streamrecord.elements import OutputTag
from flowsim.testing.harness import ManualClock, OneInputOperatorHarness
from flowsim.units import MAX_WATERMARK
from tests.support.examples import examples
from tests.support.operators.restored_subtasks import EncodedStreams, Keyed, Subtasks

pytestmark = pytest.mark.property

KEYS: tuple[object, ...] = ("a", 1, True)
LATE = OutputTag("late")

Command = tuple[object, int] | int
"""A record (key, distance of its timestamp from the watermark), or a watermark that moves on by that much."""

RECORDS = st.tuples(st.sampled_from(KEYS), st.integers(-12, 15))
COMMANDS = st.lists(st.one_of(RECORDS, RECORDS, RECORDS, st.integers(0, 12)), min_size=25, max_size=80)


class Appending:
    """An aggregate whose accumulator starts as something falsy and is replaced at each step."""

    def create_accumulator(self) -> object:
        return ()

    def add(self, value: object, accumulator: object) -> object:
        assert isinstance(accumulator, tuple)
        return (*accumulator, value)

    def get_result(self, accumulator: object) -> object:
        return accumulator


CONTENTS: dict[str, Callable[[], WindowContents]] = {
    "list": ListContents,
    "aggregate": lambda: AggregatingContents(Appending()),
    "reduce to None": lambda: ReducingContents(lambda first, second: None),
}


def play(
    operator: WindowOperator, commands: Iterable[Command], recorder: MemoryRecorder | None, cost_ns: int
) -> OneInputOperatorHarness:
    trace: Callable[[ManualClock], TaskTrace] | None = None
    if recorder is not None:
        trace = lambda clock: TaskTrace(0, clock, recorder)  # noqa: E731 - keeps the recorder narrowed
    harness = OneInputOperatorHarness(
        operator,
        key_selector=lambda value: value[0] if isinstance(value, tuple) else value,
        trace=trace,
        cost_ns=cost_ns,
    )
    watermark = -30
    with harness:
        for number, command in enumerate(commands):
            if isinstance(command, int):
                watermark += command
                harness.process_watermark(watermark)
            else:
                harness.process_element((command[0], number), watermark + command[1])
    return harness


def timers_of(operator: WindowOperator) -> object:
    groups = operator.ctx.key_group_range
    reported = [operator.timers.snapshot_timers_for_key_group(group) for group in range(groups.start, groups.end + 1)]
    return [
        (repr(key), timestamp, namespace) for group in reported for timestamp, key, _, namespace in group.event_time
    ]


@given(
    commands=COMMANDS,
    windows=st.sampled_from([1, 1, 2, 5]),
    slide=st.sampled_from([1, 3, 10]),
    offset=st.integers(-11, 11),
    lateness=st.sampled_from([0, 1, 7, MAX_WATERMARK]),
    side_output=st.booleans(),
    contents=st.sampled_from(sorted(CONTENTS)),
    recorded=st.booleans(),
)
def test_fast_path_equals_general_path(
    commands: list[Command],
    windows: int,
    slide: int,
    offset: int,
    lateness: int,
    side_output: bool,
    contents: str,
    recorded: bool,
) -> None:
    assigner: TumblingEventTimeWindows | SlidingEventTimeWindows
    if windows == 1:
        assigner = TumblingEventTimeWindows(slide, offset % slide)
    else:
        assigner = SlidingEventTimeWindows(windows * slide, slide, offset % slide)
    tag = LATE if side_output else None
    fast = AlignedWindowOperator(assigner, CONTENTS[contents](), PassThroughWindowFunction(), lateness, tag)
    general = WindowOperator(
        assigner, CONTENTS[contents](), PassThroughWindowFunction(), EventTimeTrigger(), lateness, tag
    )
    recorders = [MemoryRecorder(Level.FULL) if recorded else None for _ in range(2)]
    harnesses = [play(op, commands, recorder, 3) for op, recorder in zip((fast, general), recorders, strict=True)]
    assert harnesses[0].output == harnesses[1].output
    assert harnesses[0].clock.now_ns == harnesses[1].clock.now_ns
    assert timers_of(fast) == timers_of(general)
    assert list(fast.panes.by_window) == list(general.panes.by_window)
    assert [list(panes) for panes in fast.panes.by_window.values()] == [
        list(panes) for panes in general.panes.by_window.values()
    ]
    assert (fast.records_in, fast.records_dropped) == (general.records_in, general.records_dropped)
    if recorders[0] is not None and recorders[1] is not None:
        for table in FACT_TABLES:
            assert recorders[0].rows(table.name) == recorders[1].rows(table.name)
    fast.timers.validate()
    for harness in harnesses:
        harness.process_watermark(MAX_WATERMARK)
    assert harnesses[0].output == harnesses[1].output


NEAR_RECORDS = st.tuples(st.sampled_from(KEYS[:2]), st.integers(-5, 2))


@settings(max_examples=examples(200))
@given(
    commands=st.lists(st.one_of(NEAR_RECORDS, NEAR_RECORDS, st.integers(0, 4), st.none()), min_size=10, max_size=40),
    windows=st.sampled_from([1, 1, 3]),
    lateness=st.sampled_from([0, 7, MAX_WATERMARK]),
    next_lateness=st.sampled_from([0, 7, MAX_WATERMARK]),
)
def test_fast_path_equals_general_path_after_restores(
    commands: list[Command | None], windows: int, lateness: int, next_lateness: int
) -> None:
    """A watermark is no state (rule 12.120): restored contents can be those of a window that was fired, and is open again."""
    assigner = TumblingEventTimeWindows(5) if windows == 1 else SlidingEventTimeWindows(windows * 5, 5)

    def fast(lateness_ms: int) -> WindowOperator:
        return AlignedWindowOperator(assigner, ListContents(), PassThroughWindowFunction(), lateness_ms, LATE)

    def general(lateness_ms: int) -> WindowOperator:
        contents, function = ListContents(), PassThroughWindowFunction()
        return WindowOperator(assigner, contents, function, EventTimeTrigger(), lateness_ms, LATE)

    assert play_restored(fast, commands, lateness, next_lateness) == play_restored(
        general, commands, lateness, next_lateness
    )


def play_restored(
    make: Callable[[int], WindowOperator], commands: Iterable[Command | None], lateness: int, next_lateness: int
) -> list[list[str]]:
    """Returns the output of each command; None restores the operator with the next lateness, and without watermark."""
    streams = EncodedStreams()
    operators = Subtasks(Keyed(lambda: make(lateness), (lambda value: value[0],)), 1)
    operators.open(streams)
    watermark, outputs = -30, []
    for number, command in enumerate(commands):
        if command is None:
            operators.kind = replace(operators.kind, operator=lambda: make(next_lateness))
            operators = operators.restored(1, streams)
        elif isinstance(command, int):
            watermark += command
            operators.watermark(watermark)
        else:
            operators.element(1, (command[0], number), watermark + command[1])
        outputs.append(operators.take_output())
    operators.watermark(MAX_WATERMARK)
    return [*outputs, operators.take_output()]

"""Whole jobs that a real Flink cluster ran, replayed on operators alone: every record, watermark and status, in order.

A script's elements pass through the source's own operators, then each record goes to the harness of the subtask that owns
its key group and each watermark to all of them, through a valve as in a real task. Ties between timers are part of the order.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from flowsim.operators.functions.process import KeyedProcessOperator, ProcessContext
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.operators.stream_operator import StreamOperator
from flowsim.operators.timestamps_and_watermarks import TimestampsAndWatermarksOperator
from flowsim.operators.windowing.aligned_window_operator import create_window_operator
from flowsim.operators.windowing.assigners.session_windows import EventTimeSessionWindows
from flowsim.operators.windowing.assigners.sliding_windows import SlidingEventTimeWindows
from flowsim.operators.windowing.assigners.tumbling_windows import TumblingEventTimeWindows
from flowsim.operators.windowing.assigners.window_assigner import WindowAssigner
from flowsim.operators.windowing.window_contents import ListContents
from flowsim.operators.windowing.window_functions import InternalProcessWindowFunction, WindowContext
from flowsim.operators.windowing.window_operator import WindowOperator
from flowsim.streamrecord.elements import OutputTag, WatermarkStatus
from flowsim.testing.harness import Emitted, OneInputOperatorHarness
from flowsim.units import MAX_WATERMARK
from flowsim.watermark.status_watermark_valve import StatusWatermarkValve
from flowsim.watermark.watermark_strategy import WatermarkStrategy
from tests.support.flink.key_groups import assign_key_to_parallel_operator

DATA = Path(__file__).parent / "data" / "job"
MAX_PARALLELISM = 128
LATE = OutputTag("late")


def golden_jobs(*names: str) -> list[Any]:
    cases: list[dict[str, Any]] = []
    for name in names:
        with gzip.open(DATA / f"{name}.jsonl.gz", "rt") as lines:
            cases.extend(json.loads(line) for line in lines)
    return [pytest.param(case, id=case["id"]) for case in cases]


class WinFn:
    """[key, start, end, sum, count, ids in the order of the contents, current watermark]"""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def close(self) -> None:
        self.subtask = -1

    def process(self, key: object, context: WindowContext, elements: Iterable[Any]) -> Iterable[object]:
        rows = list(elements)
        window = context.window()
        total = sum(row[2] for row in rows)
        ids = [row[0] for row in rows]
        yield [key, window.start, window.end, total, len(rows), ids, context.current_watermark()]

    def clear(self, context: WindowContext) -> None:
        assert context.window().max_timestamp() <= context.current_watermark()


class TimerFn:
    """The record's extra is a list of (1 register | 2 delete, timestamp); a timer at a multiple of 5 sets another one."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def close(self) -> None:
        self.subtask = -1

    def process_element(self, value: Any, ctx: ProcessContext) -> Iterable[object]:
        timers, extra = ctx.timer_service(), value[3]
        for operation, timestamp in zip(extra[::2], extra[1::2], strict=True):
            if operation == 1:
                timers.register_event_time_timer(timestamp)
            else:
                timers.delete_event_time_timer(timestamp)
        yield ["elem", value[0], ctx.timestamp(), timers.current_watermark()]

    def on_timer(self, timestamp: int, ctx: ProcessContext) -> Iterable[object]:
        timers = ctx.timer_service()
        yield ["timer", ctx.get_current_key(), timestamp, ctx.timestamp(), timers.current_watermark()]
        if timestamp % 5 == 0 and timestamp < 200:
            timers.register_event_time_timer(timestamp + 3)


def operator_of(case: dict[str, Any]) -> StreamOperator:
    params = case["params"]
    if case["job"] == "timers":
        return KeyedProcessOperator(TimerFn())
    assigner: WindowAssigner
    if case["job"] == "tumbling":
        assigner = TumblingEventTimeWindows(params["size"], params.get("offset", 0))
    elif case["job"] == "session":
        assigner = EventTimeSessionWindows(params["gap"])
    else:
        assigner = SlidingEventTimeWindows(params["size"], params["slide"], params.get("offset", 0))
    late_tag = LATE if params.get("side_output") else None
    function = InternalProcessWindowFunction(WinFn())
    return create_window_operator(assigner, ListContents(), function, None, params.get("lateness", 0), late_tag)


def source_elements(source: dict[str, Any]) -> list[Emitted]:
    """What the source chain puts on its channels, from the script of its one subtask to the end of the input."""
    (script,) = source["script"]
    elements: list[Emitted] = []
    for _, operation, *arguments in script:
        if operation in ("r", "w") and elements and elements[-1] == ("st", WatermarkStatus.IDLE):
            elements.append(("st", WatermarkStatus.ACTIVE))
        if operation == "r":
            number, key, value, timestamp, *extra = arguments
            elements.append(("rec", (number, key, value, extra[0] if extra else []), timestamp))
        elif operation == "w":
            elements.append(("wm", arguments[0]))
        elif operation == "i":
            elements.append(("st", WatermarkStatus.IDLE))
    if elements[-1][0] != "st":
        elements.append(("wm", MAX_WATERMARK))
    if "bounded" not in source:
        return elements
    with OneInputOperatorHarness(
        TimestampsAndWatermarksOperator(WatermarkStrategy.for_each_record(source["bounded"]))
    ) as harness:
        for element in elements:
            feed(harness, element)
        return harness.take_output()


def feed(harness: OneInputOperatorHarness, element: Emitted) -> None:
    match element:
        case ("rec", value, timestamp):
            harness.process_element(value, timestamp)
        case ("wm", timestamp):
            harness.process_watermark(timestamp)


class TaskInput:
    """The valve of a task with one channel, in front of its operator."""

    def __init__(self, harness: OneInputOperatorHarness) -> None:
        self.harness = harness
        self.valve = StatusWatermarkValve(1, self)

    def emit_watermark(self, timestamp: int) -> None:
        self.harness.process_watermark(timestamp)

    def emit_watermark_status(self, status: WatermarkStatus) -> None:
        self.harness.process_watermark_status(status)

    def take(self, element: Emitted) -> None:
        match element:
            case ("rec", value, timestamp):
                self.harness.process_element(value, timestamp)
            case ("wm", timestamp):
                self.valve.input_watermark(timestamp, 0)
            case ("st", status):
                self.valve.input_watermark_status(status, 0)


def key_of(value: Any) -> object:
    return value[1]


def run(case: dict[str, Any]) -> list[OneInputOperatorHarness]:
    parallelism = case["params"]["parallelism"]
    subtasks = [
        OneInputOperatorHarness(
            operator_of(case), key_selector=key_of, subtask_index=index, parallelism=parallelism,
            max_parallelism=MAX_PARALLELISM,
        )
        for index in range(parallelism)
    ]  # fmt: skip
    inputs = [TaskInput(subtask) for subtask in subtasks]
    for subtask in subtasks:
        subtask.operator.open()
    (source,) = case["sources"]
    for element in source_elements(source):
        if element[0] == "rec":
            owner = assign_key_to_parallel_operator(key_of(element[1]), MAX_PARALLELISM, parallelism)
            inputs[owner].take(element)
        else:
            for task_input in inputs:
                task_input.take(element)
    for subtask in subtasks:
        subtask.operator.close()
    return subtasks


def probes(subtasks: list[OneInputOperatorHarness], with_late: bool) -> dict[str, list[object]]:
    """What probes behind the main and the late output would have seen."""
    seen: dict[str, list[object]] = {}
    for index, subtask in enumerate(subtasks):
        main = seen[f"out/{index}"] = []
        late = seen[f"late/{index}"] = []
        for element in subtask.output:
            match element:
                case ("rec", value, timestamp):
                    main.append(["rec", value, timestamp])
                case ("side", "late", (number, key, value, _), timestamp):
                    late.append(["rec", [number, key, value], timestamp])
                case ("wm", timestamp):
                    main.append(["wm", timestamp])
                    late.append(["wm", timestamp])
                case ("st", status):
                    main.append(["st", status.name])
                    late.append(["st", status.name])
                case _:
                    raise AssertionError(f"unexpected output {element}")
    return {name: heard for name, heard in seen.items() if with_late or name.startswith("out/")}


@pytest.mark.parametrize("case", golden_jobs("tumbling", "sliding", "session", "timers", "idle_end"))
def test_output_equals_flinks(case: dict[str, Any]) -> None:
    assert case["result"]["error"] is None
    subtasks = run(case)
    assert probes(subtasks, bool(case["params"].get("side_output"))) == case["result"]["out"]


@pytest.mark.parametrize("case", golden_jobs("tumbling", "sliding", "session"))
def test_no_window_state_or_timer_remains_at_end(case: dict[str, Any]) -> None:
    for subtask in run(case):
        operator = subtask.operator
        assert isinstance(operator, WindowOperator)
        assert operator.panes.by_window == {}
        assert operator.merging is None or operator.merging.pairs == {}
        assert operator.timers.num_event_time_timers == 0

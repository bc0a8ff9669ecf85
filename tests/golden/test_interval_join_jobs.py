"""Interval joins that a real Flink cluster ran, replayed on the operator: every pair, late record and watermark, in order.

The scripts of both sources interleave by their steps; a watermark goes to the same input of all subtasks, a record to the
subtask that owns its key group.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from flowsim.operators.functions.interval_join import IntervalBounds, IntervalJoinOperator, JoinContext
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.streamrecord.elements import OutputTag, WatermarkStatus
from flowsim.testing.harness import Emitted, MultipleInputOperatorHarness
from flowsim.units import MAX_WATERMARK
from tests.support.flink.key_groups import assign_key_to_parallel_operator

DATA = Path(__file__).parent / "data" / "job" / "interval_join.jsonl.gz"
LEFT, RIGHT = OutputTag("late_left"), OutputTag("late_right")


def cases() -> list[Any]:
    with gzip.open(DATA, "rt") as lines:
        return [pytest.param(case, id=case["id"]) for case in map(json.loads, lines)]


class JoinFn:
    """[left id, right id, left timestamp, right timestamp, timestamp]"""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def close(self) -> None:
        self.subtask = -1

    def process_element(self, left: Any, right: Any, ctx: JoinContext) -> Iterable[object]:
        yield [left[0], right[0], ctx.get_left_timestamp(), ctx.get_right_timestamp(), ctx.get_timestamp()]


def key_of(value: Any) -> object:
    return value[1]


def subtasks_of(params: dict[str, Any]) -> list[MultipleInputOperatorHarness]:
    bounds = IntervalBounds.between(
        params["lower"], params["upper"], lower_exclusive=params["lower_exclusive"],
        upper_exclusive=params["upper_exclusive"],
    )  # fmt: skip
    late = (LEFT, RIGHT) if params["side_output"] else (None, None)
    return [
        MultipleInputOperatorHarness(
            IntervalJoinOperator(JoinFn(), bounds, *late), key_selectors=(key_of, key_of), key_type="STRING"
        )
        for _ in range(params["parallelism"])
    ]


def steps(sources: list[dict[str, Any]]) -> list[tuple[int, list[Any]]]:
    """Input id and entry, in the order in which the sources were let go."""
    entries = [(entry, index + 1) for index, source in enumerate(sources) for entry in source["script"][0]]
    return [(input_id, entry) for entry, input_id in sorted(entries, key=lambda pair: pair[0][0])]


def run(case: dict[str, Any]) -> list[MultipleInputOperatorHarness]:
    subtasks = subtasks_of(case["params"])
    for subtask in subtasks:
        subtask.operator.open()
    for input_id, (_, operation, *arguments) in steps(case["sources"]):
        if operation == "r":
            number, key, value, timestamp = arguments[:4]
            owner = assign_key_to_parallel_operator(key, 128, len(subtasks), "STRING")
            subtasks[owner].element(input_id, (number, key, value), timestamp)
        elif operation in ("w", "end"):
            for subtask in subtasks:
                subtask.watermark(input_id, arguments[0] if arguments else MAX_WATERMARK)
        elif operation == "i":
            for subtask in subtasks:
                subtask.status(input_id, WatermarkStatus.IDLE)
    for subtask in subtasks:
        subtask.operator.close()
    return subtasks


def heard(emitted: list[Emitted]) -> dict[str, list[object]]:
    """What probes behind the three outputs would have heard."""
    probes: dict[str, list[object]] = {"out": [], "late_left": [], "late_right": []}
    for element in emitted:
        match element:
            case ("rec", value, timestamp):
                probes["out"].append(["rec", value, timestamp])
            case ("side", tag, (number, key, value), timestamp):
                probes[tag].append(["rec", [number, key, value], timestamp])
            case ("wm", timestamp):
                for probe in probes.values():
                    probe.append(["wm", timestamp])
            case ("st", status):
                for probe in probes.values():
                    probe.append(["st", status.name])
    return probes


@pytest.mark.parametrize("case", cases())
def test_output_equals_flinks(case: dict[str, Any]) -> None:
    assert case["result"]["error"] is None
    expected = case["result"]["out"]
    got = {f"{name}/{i}": list_ for i, s in enumerate(run(case)) for name, list_ in heard(s.output).items()}
    assert {name: got[name] for name in expected} == expected


@pytest.mark.parametrize("case", cases())
def test_no_record_and_no_timer_remain_at_end(case: dict[str, Any]) -> None:
    for subtask in run(case):
        operator = subtask.operator
        assert isinstance(operator, IntervalJoinOperator)
        assert operator.state.key_groups() == []
        assert all(not timers["CLEANUP_TIMER"].event_time for timers in operator.snapshot_timers().values())

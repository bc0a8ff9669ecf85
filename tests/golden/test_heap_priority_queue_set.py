"""Command sequences with the answers of Flink's HeapPriorityQueueSet: the order of ties must be Flink's (rule 9.3)."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from flowsim.timers.heap_priority_queue import HeapPriorityQueueSet
from flowsim.timers.internal_timer import InternalTimer

DATA = Path(__file__).parent / "data" / "component" / "heap_priority_queue_set.jsonl.gz"


def element(timer: InternalTimer | None) -> list[object] | None:
    return None if timer is None else [timer.key, timer.timestamp]


def run(queue: HeapPriorityQueueSet, command: list[object]) -> object:
    match command:
        case ["add", str(key), int(timestamp)]:
            return queue.add(InternalTimer(timestamp, key, key, None))
        case ["remove", str(key), int(timestamp)]:
            return queue.remove(InternalTimer(timestamp, key, key, None))
        case ["peek"]:
            return element(queue.peek())
        case ["poll"]:
            return element(queue.poll())
        case _:
            raise ValueError(f"unknown command {command}")


def test_every_step_equals_flinks() -> None:
    with gzip.open(DATA, "rt") as lines:
        cases = [json.loads(line) for line in lines]
    assert len(cases) == 400
    for case in cases:
        queue: HeapPriorityQueueSet = HeapPriorityQueueSet()
        for number, (command, expected) in enumerate(zip(case["cmds"], case["out"], strict=True)):
            assert [run(queue, command), len(queue)] == expected, (case["id"], number, command)
            queue.validate()

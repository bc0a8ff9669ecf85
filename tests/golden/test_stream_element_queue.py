"""Both queues of the async operator answer every command as the real classes did (rules 11.5-11.11)."""

from __future__ import annotations

from typing import Any

from flowsim.operators.async_wait.stream_element_queue import (
    OrderedStreamElementQueue,
    StreamElementQueue,
    StreamRecordQueueEntry,
    WatermarkQueueEntry,
)
from flowsim.operators.async_wait.unordered_stream_element_queue import UnorderedStreamElementQueue
from flowsim.testing.harness import CollectingOutput
from tests.support.flink.golden import cases

QUEUES = {"ordered": OrderedStreamElementQueue, "unordered": UnorderedStreamElementQueue}


class Driver:
    """One queue, and the entries that found a place in it by the number of their command."""

    def __init__(self, queue: StreamElementQueue) -> None:
        self.queue = queue
        self.output = CollectingOutput()
        self.waiting: dict[int, StreamRecordQueueEntry] = {}

    def answer(self, command: list[Any]) -> bool | None:
        match command:
            case ["put_rec", number, timestamp]:
                entry = StreamRecordQueueEntry(number, f"e{number}", timestamp)
                placed = self.queue.try_put(entry)
                if placed:
                    self.waiting[number] = entry
                return placed
            case ["put_wm", number, timestamp]:
                return self.queue.try_put(WatermarkQueueEntry(number, timestamp))
            case ["complete", number, values]:
                return self.queue.complete(self.waiting.pop(number), values)
            case ["emit"]:
                self.queue.emit_completed_element(self.output)
                return None
        raise AssertionError(f"unknown command {command}")

    def take_emitted(self) -> list[list[object]]:
        emitted, self.output.emitted = self.output.emitted, []
        return [list(element) for element in emitted]


def test_every_command_equals_flinks() -> None:
    commands = {"ordered": 0, "unordered": 0}
    for case in cases("component/stream_element_queue"):
        driver = Driver(QUEUES[case["mode"]](case["capacity"]))
        for command, expected in zip(case["cmds"], case["out"], strict=True):
            where = (case["id"], command)
            assert (where, driver.answer(command)) == (where, expected["res"])
            assert (where, driver.take_emitted()) == (where, expected["emitted"])
            queue = driver.queue
            assert (where, [len(queue), not len(queue), queue.has_completed_elements]) == (where, expected["state"])
            commands[case["mode"]] += 1
    assert min(commands.values()) > 10_000

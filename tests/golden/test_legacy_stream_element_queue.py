"""The queues of the legacy async design answer as Flink 1.9's did (``recorders/legacy_stream_element_queue.py``)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import pytest

from flowsim.errors import WouldBlock
from flowsim.legacy.stream_element_queues import (
    DoneWatermarkEntry,
    FutureEntry,
    FutureRecordEntry,
    LegacyOrderedStreamElementQueue,
    LegacyStreamElementQueue,
    LegacyUnorderedStreamElementQueue,
)
from tests.support.flink.golden import cases

CASES = list(cases("legacy_stream_element_queue"))


class Driver:
    """Ours, driven by the words of the recorder."""

    def __init__(self, kind: str, capacity: int) -> None:
        self.callbacks: deque[Callable[[], None]] = deque()
        ordered = kind == "ordered"
        made = LegacyOrderedStreamElementQueue if ordered else LegacyUnorderedStreamElementQueue
        self.queue: LegacyStreamElementQueue = made(capacity, self.callbacks.append)
        self.records: dict[str, FutureRecordEntry] = {}
        self.puts = 0

    def answer(self, command: str) -> str:
        word, *rest = command.split()
        queue = self.queue
        match word:
            case "record":
                self.records[rest[0]] = FutureRecordEntry(int(rest[0]), 1)
                return self.put(self.records[rest[0]])
            case "watermark":
                return self.put(DoneWatermarkEntry(int(rest[0])))
            case "complete":
                self.records[rest[0]].complete(["r"] * int(rest[1]))
                return str(len(self.callbacks))
            case "fail":
                self.records[rest[0]].complete_exceptionally(RuntimeError("broken"))
                return str(len(self.callbacks))
            case "run":
                if self.callbacks:
                    self.callbacks.popleft()()
                return str(len(self.callbacks))
            case "peek" | "poll":
                try:
                    return text_of(queue.peek() if word == "peek" else queue.poll())
                except WouldBlock:
                    return "none"
            case "values":
                return ",".join(name(entry) for entry in queue.values())
            case _:
                return f"{len(queue)} {str(len(queue) == 0).lower()}"

    def put(self, entry: FutureEntry) -> str:
        entry.number = self.puts
        self.puts += 1
        return str(self.queue.try_put(entry)).lower()


def name(entry: FutureEntry) -> str:
    return f"w{entry.timestamp}" if isinstance(entry, DoneWatermarkEntry) else f"r{entry.value}"


def text_of(entry: FutureEntry) -> str:
    if isinstance(entry, DoneWatermarkEntry):
        return name(entry)
    return f"{name(entry)} {'failed' if entry.error is not None else len(entry.results)}"


@pytest.mark.parametrize("kind", ["ordered", "unordered"])
def test_every_command_equals_flinks(kind: str) -> None:
    """Rules 11.33 to 11.35, 11.37."""
    compared = 0
    for number, case in enumerate(CASES):
        if case["kind"] == kind:
            driver = Driver(kind, case["capacity"])
            for step, (command, expected) in enumerate(case["steps"]):
                assert driver.answer(command) == expected, f"case {number}, step {step}: {command}"
                compared += 1
    assert compared > 20_000

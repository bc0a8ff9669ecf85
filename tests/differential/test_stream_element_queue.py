"""Both queues of the async operator beside the real ones, misuse and snapshots too (rules 11.5-11.11, 11.20).

A Java driver plays a script of commands with the real queue, and ours plays the same one. Entries are completed twice,
after they left, with nothing where results must be, and watermarks are completed. After each command everything that is in
the queue is compared, and in which segment. Only among those of a segment that are not done, whose order in Flink is a
hash set's, the order may differ.
"""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsim.errors import BadInput, InvariantViolation
from flowsim.operators.async_wait.stream_element_queue import (
    OrderedStreamElementQueue,
    QueueEntry,
    StreamElementQueue,
    StreamRecordQueueEntry,
    WatermarkQueueEntry,
)
from flowsim.operators.async_wait.unordered_stream_element_queue import UnorderedStreamElementQueue
from flowsim.streamrecord.elements import StreamElement, Watermark
from flowsim.testing.harness import CollectingOutput
from tests.support.flink.machine import Differential

times = st.integers(0, 99)
results = st.lists(st.sampled_from(["x", "y", "z"]), max_size=3)
records = st.tuples(st.just("r"), st.one_of(st.none(), times))
completions = st.tuples(st.just("complete"), st.integers(0, 11), results)
emissions = st.just(("emit",))
commands = st.lists(
    st.one_of(
        records, records, records, st.tuples(st.just("w"), times), completions, completions, completions, emissions,
        emissions, st.one_of(emissions, st.tuples(st.just("null"), st.integers(0, 11))),
    ),
    min_size=30, max_size=200,
)  # fmt: skip


class Queue:
    """One of ours, and all entries that found a place in it."""

    def __init__(self, queue: StreamElementQueue) -> None:
        self._queue = queue
        self._output = CollectingOutput()
        self._entries: list[QueueEntry] = []
        self._elements = 0

    def answer(self, command: tuple[Any, ...]) -> list[Any]:
        log = []
        try:
            log += self._play(command)
        except InvariantViolation:
            log.append("throws IllegalStateException")
        except TypeError:
            log.append("throws NullPointerException")
        queue = self._queue
        state = [len(queue), not len(queue), queue.has_completed_elements]
        return [log, state, [_shown(element) for element in queue.values()], self._segments()]

    def _play(self, command: tuple[Any, ...]) -> list[str]:
        match command:
            case ("r", timestamp):
                return [self._put(StreamRecordQueueEntry(self._elements, f"e{self._elements}", timestamp))]
            case ("w", timestamp):
                return [self._put(WatermarkQueueEntry(self._elements, timestamp))]
            case ("complete", back, answers) if self._entries:
                self._queue.complete(self._entry(back), answers)
            case ("null", back) if self._entries:
                self._queue.complete(self._entry(back), None)  # type: ignore[arg-type]  # what a user may do all the same
            case ("emit",):
                self._queue.emit_completed_element(self._output)
        emitted, self._output.emitted = self._output.emitted, []
        return [" ".join("null" if part is None else str(part) for part in element) for element in emitted]

    def _put(self, entry: QueueEntry) -> str:
        self._elements += 1
        if not self._queue.try_put(entry):
            return "full"
        self._entries.append(entry)
        return "put"

    def _entry(self, back: int) -> QueueEntry:
        return self._entries[len(self._entries) - 1 - back % min(len(self._entries), 12)]

    def _segments(self) -> list[list[list[str]]]:
        if not isinstance(self._queue, UnorderedStreamElementQueue):
            return []
        return [
            [
                [_shown(entry.element) for entry in segment.completed],
                sorted(_shown(entry.element) for entry in segment.incomplete.values()),
            ]
            for segment in self._queue._segments
        ]


def _shown(element: StreamElement) -> str:
    if isinstance(element, Watermark):
        return f"w {element.timestamp}"
    return f"{element.value} {'null' if element.timestamp is None else element.timestamp}"


def in_the_same_order(answer: list[Any]) -> list[Any]:
    """The answer with the values of each segment that are not done in the order of their names."""
    log, state, values, segments = answer
    if not segments:
        return answer
    ordered, begin = [], 0
    for completed, incomplete in segments:
        middle, end = begin + len(completed), begin + len(completed) + len(incomplete)
        ordered += values[begin:middle] + sorted(values[middle:end])
        begin = end
    return [log, state, ordered, segments]


def compare(differential: Differential, capacity: int, some: list[tuple[Any, ...]], *, ordered: bool) -> None:
    real = getattr(differential.flink.java.org.apache.flink.streaming.api.operators, "async").queue.ElementQueues
    make = OrderedStreamElementQueue if ordered else UnorderedStreamElementQueue
    script = {"ordered": ordered, "capacity": capacity, "commands": some}
    theirs = json.loads(real.run(json.dumps(script)))
    with differential.comparing(make.__name__, commands=len(theirs)):
        try:
            ours = Queue(make(capacity))
        except BadInput:
            assert theirs == []
            return
        for command, answer in zip(some, theirs, strict=True):
            assert in_the_same_order(ours.answer(command)) == in_the_same_order(answer), command


def long_script(chance: Random) -> list[tuple[Any, ...]]:
    """One in which the queue is now full, now empty, and everything in it is completed sooner or later."""
    share_in = chance.choice([0.2, 0.3, 0.5])
    most_back = chance.choice([1, 4, 11])

    def command() -> tuple[Any, ...]:
        if chance.random() < share_in:
            time = chance.randint(0, 99)
            return ("w", time) if chance.random() < 0.2 else ("r", chance.choice([None, time]))
        back = chance.randint(0, most_back)
        match chance.choices(["complete", "emit", "null"], [10, 10, 1])[0]:
            case "complete":
                return ("complete", back, [chance.choice("xyz") for _ in range(chance.randint(0, 3))])
            case "null":
                return ("null", back)
        return ("emit",)

    return [command() for _ in range(320)]


@pytest.mark.parametrize("ordered", [True, False], ids=["ordered", "unordered"])
def test_queue_and_segments_equal_flinks(differential: Differential, ordered: bool) -> None:
    @differential.settings(40)
    @given(st.sampled_from([1, 2, 3, 5, 8, 0, -1]), commands)
    def compare_one(capacity: int, some: list[tuple[Any, ...]]) -> None:
        compare(differential, capacity, some, ordered=ordered)

    compare_one()


@pytest.mark.parametrize("ordered", [True, False], ids=["ordered", "unordered"])
def test_queue_equals_flinks_in_long_scripts(differential: Differential, ordered: bool) -> None:
    """With the shorter ones more than 20,000 commands of each queue."""

    @differential.settings(65)
    @given(st.integers(0, 2**32 - 1))
    def compare_one(seed: int) -> None:
        chance = Random(seed)
        compare(differential, chance.choice([1, 2, 3, 5, 8, 20]), long_script(chance), ordered=ordered)

    compare_one()

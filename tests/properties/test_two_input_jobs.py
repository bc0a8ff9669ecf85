"""Two streams united into one input, and into two inputs: equal records and order per sender, one end per input (I7.b, I7.c)."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsim.cluster.job_execution import JobStatus
from flowsim.facts.kinds import ElementKind, Level, LifeEvent
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.operators.inputs.multiple_input import MultipleInputOperator
from flowsim.operators.inputs.reading_order import READINGS, Reading, reading_order
from flowsim.operators.stream_operator import Value
from flowsim.recording.memory import MemoryRecorder
from flowsim.testing.schedule import Schedule
from flowsim.testing.strategies import job_settings, schedules
from flowsim.units import MAX_WATERMARK
from tests.support.examples import examples
from tests.support.jobs.small_jobs import Arrivals, SmallJob, by_key

pytestmark = pytest.mark.property

Sent = tuple[int, int, int, str]
"""Stream, subtask, number in that subtask, filling."""


class Passing(MultipleInputOperator):
    """Emits records as they come; a record on the wrong input fails the job."""

    def process_element_of(self, input_id: int, value: Value, timestamp: int | None) -> None:
        assert isinstance(value, tuple)
        assert (value[0] > 0) == (input_id == 2)
        self.output.collect(value, timestamp)


@dataclass(frozen=True)
class Streams:
    widths: tuple[int, ...]
    """Subtasks of each stream; the first alone feeds the first input, the others are united in the second."""
    counts: tuple[int, ...]
    size: int
    readers: int
    keyed: bool
    settings: dict[str, int]
    schedule: Schedule


@st.composite
def streams(draw: st.DrawFn) -> Streams:
    number = draw(st.integers(2, 3))
    return Streams(
        tuple(draw(st.lists(st.integers(1, 2), min_size=number, max_size=number))),
        tuple(draw(st.lists(st.integers(0, 12), min_size=number, max_size=number))),
        draw(st.sampled_from([0, 5, 60])),
        draw(st.integers(1, 3)),
        draw(st.booleans()),
        draw(job_settings()),
        draw(schedules()),
    )


def sources(job: SmallJob, drawn: Streams) -> list[int]:
    def values(stream: int, subtask: int) -> list[Value]:
        return [(stream, subtask, n, "x" * drawn.size) for n in range(drawn.counts[stream])]

    return [
        job.values(lambda subtask, stream=stream: values(stream, subtask), parallelism=width)  # type: ignore[misc]
        for stream, width in enumerate(drawn.widths)
    ]


def run(drawn: Streams, reading: Reading | None, *, record: bool = True) -> tuple[Arrivals, MemoryRecorder]:
    """``reading`` None: all streams united in the single input of a map.

    Strict turns only with one reader: of several, each may wait for another input while its own senders wait for the
    other reader, which is a deadlock in Flink, too.
    """
    readers = 1 if reading == "alternate" else drawn.readers
    job = SmallJob(**{**drawn.settings, "budget_records": drawn.schedule.budget_records})
    first, *others = sources(job, drawn)
    by = by_key(lambda value: value[2] % 7, "LONG") if drawn.keyed else "REBALANCE"  # type: ignore[index]
    if reading is None:
        read = job.map([first, *others], lambda value: value, by=by, parallelism=readers)  # type: ignore[arg-type]
    else:
        read = job.inputs([first, others], lambda: Passing(2, reading_order(reading)), by=by, parallelism=readers)
    arrivals = job.sink(read, by="FORWARD", parallelism=readers)
    recorder = MemoryRecorder(Level.FULL)
    result = job.run(recorder=recorder if record else None, policy=drawn.schedule.policy, seed=drawn.schedule.seed)
    assert result.status is JobStatus.FINISHED, result.report
    return arrivals, recorder


@given(drawn=streams(), reading=st.sampled_from(READINGS))
def test_two_inputs_equal_their_union(drawn: Streams, reading: Reading) -> None:
    united, _ = run(drawn, None)
    apart, recorder = run(drawn, reading)
    assert Counter(apart.values) == Counter(united.values)
    readers = 1 if reading == "alternate" else drawn.readers
    if drawn.keyed and readers == drawn.readers:
        assert [Counter(apart.of(i)) for i in range(drawn.readers)] == [
            Counter(united.of(i)) for i in range(drawn.readers)
        ]
    for reader in range(readers):
        last: dict[tuple[int, int], int] = {}
        for stream, subtask, number, _ in apart.of(reader):  # type: ignore[misc]
            assert number > last.get((stream, subtask), -1)
            last[stream, subtask] = number
    assert sorted(apart.watermarks) == [(reader, MAX_WATERMARK) for reader in range(readers)]
    assert [outcome for outcome in check_all(recorder) if outcome.verdict is Verdict.VIOLATED] == []
    every_input_ends_once(recorder)


def every_input_ends_once(recorder: MemoryRecorder) -> None:
    """I7.c: as many ends as inputs, each after the last END_OF_DATA of one of them."""
    inputs = {row[0]: row[5] for row in recorder.static_rows("channels")}
    for task, *_, number in recorder.static_rows("tasks"):
        if number != 2:
            continue
        ended = [row[0] for row in recorder.rows("lifecycle") if row[1] == task and row[4] == LifeEvent.END_INPUT]
        ended = ended[:2]
        last = {0: -1, 1: -1}
        records = {0: -1, 1: -1}
        for seq, receiver, _, channel, _, kind, *_ in recorder.rows("received"):
            if receiver == task and kind == ElementKind.END_OF_DATA:
                last[inputs[channel]] = seq  # type: ignore[index]
            elif receiver == task and kind == ElementKind.RECORD:
                records[inputs[channel]] = seq  # type: ignore[index]
        assert all(records[index] < last[index] for index in (0, 1))
        assert len(ended) == 2
        assert all(end < seq for end, seq in zip(sorted(last.values()), ended, strict=True))


@settings(max_examples=examples(15))
@given(drawn=streams())
def test_recording_does_not_change_two_input_job(drawn: Streams) -> None:
    recorded, _ = run(drawn, "any", record=True)
    again, _ = run(drawn, "any", record=False)
    assert recorded == again

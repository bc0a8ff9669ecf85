"""A source that waits for the slowest source of its group (rules 8.22-8.24)."""

from __future__ import annotations

import pytest

from flowsim.connectors.script import Entry, ScriptedSource, end, idle, record, sleep
from flowsim.errors import BadInput
from flowsim.facts.kinds import Level
from flowsim.facts.tracer import TaskTrace
from flowsim.operators.sources.source import SourceOperator
from flowsim.operators.sources.source_output import ReaderOutput
from flowsim.operators.stream_operator import DataInputStatus, OperatorContext
from flowsim.recording.memory import MemoryRecorder
from flowsim.streamrecord.events import StopMode
from flowsim.testing.harness import OneInputOperatorHarness
from flowsim.units import MAX_WATERMARK
from flowsim.watermark.watermark_strategy import WatermarkAlignmentParams, WatermarkStrategy

ALIGNED = WatermarkStrategy.for_each_record(0).with_watermark_alignment(WatermarkAlignmentParams("group", 10, 100))
NOTHING, MORE, END = (
    DataInputStatus.NOTHING_AVAILABLE,
    DataInputStatus.MORE_AVAILABLE,
    DataInputStatus.END_OF_DATA,
)


class AlignedSource:
    """An aligned source in a harness, with its reports; without samples by default."""

    def __init__(self, *script: Entry, samples: int = 0, strategy: WatermarkStrategy = ALIGNED) -> None:
        self.recorder = MemoryRecorder(Level.ELEMENTS)
        self.source = SourceOperator(ScriptedSource(script).create_reader(), strategy, alignment_sample_count=samples)
        self.harness = OneInputOperatorHarness(self.source, trace=lambda clock: TaskTrace(3, clock, self.recorder))
        self.reports: list[int] = []
        assert self.source.alignment is not None
        self.source.alignment.report = self.reports.append
        self.woken = 0
        self.source.on_available = self.wake
        self.source.open()

    def wake(self) -> None:
        self.woken += 1

    def poll(self) -> DataInputStatus:
        self.harness.clock.batch_end_ns = MAX_WATERMARK
        return self.source.poll_next()

    def pauses(self) -> list[tuple[int, ...]]:
        """(split, paused, limit, watermark) of every change."""
        return [row[4:] for row in self.recorder.rows("alignment")]


def test_reading_stops_after_record_beyond_limit() -> None:
    aligned = AlignedSource(record("a", 5), record("b", 21), record("c", 30), record("d", 31))
    aligned.source.announce_limit(20)
    assert aligned.poll() is MORE
    assert aligned.harness.take_output() == [
        ("rec", "a", 5),
        ("wm", 4),
        ("rec", "b", 21),
        ("wm", 20),
        ("rec", "c", 30),
        ("wm", 29),
    ]
    assert aligned.poll() is NOTHING
    assert (aligned.source.wake_time_ns, aligned.woken) == (None, 0)
    aligned.source.announce_limit(29)
    assert aligned.woken == 1
    assert aligned.poll() is MORE
    assert aligned.harness.take_output() == [("rec", "d", 31), ("wm", 30)]
    aligned.source.announce_limit(40)
    assert aligned.poll() is END
    assert aligned.pauses() == [(-1, 1, 20, 29), (-1, 0, 29, 29), (-1, 1, 29, 30), (-1, 0, 40, 30)]


def test_oldest_watermark_sample_decides() -> None:
    """Rule 8.23: with two samples it takes two intervals until it waits, and as long until it notices that it need not."""
    aligned = AlignedSource(record("a", 50), sleep(10_000), samples=2)
    assert aligned.poll() is NOTHING
    aligned.source.announce_limit(20)
    assert aligned.source.wake_time_ns is not None
    aligned.harness.set_processing_time(101)
    assert aligned.source.wake_time_ns is not None
    aligned.harness.set_processing_time(201)
    assert aligned.source.wake_time_ns is None
    assert aligned.pauses() == [(-1, 1, 20, 49)]


def test_reports_start_with_first_watermark_and_idle_source_reports_max() -> None:
    """Rule 8.22."""
    strategy = ALIGNED.with_idleness(350)
    aligned = AlignedSource(sleep(150), record("a", 50), sleep(10_000), strategy=strategy)
    aligned.poll()
    aligned.harness.set_processing_time(101)
    assert aligned.reports == []
    aligned.harness.set_processing_time(160)
    aligned.poll()
    for now_ms in range(201, 1100, 100):
        aligned.harness.set_processing_time(now_ms)
    assert aligned.reports == [49] * 6 + [MAX_WATERMARK] * 3


def test_alignment_timer_keeps_job_alive_only_while_it_has_effect() -> None:
    aligned = AlignedSource(record("a", 50), sleep(10_000), samples=2)
    alignment = aligned.source.alignment
    assert alignment is not None
    aligned.poll()
    seen = []
    for now_ms in (101, 201, 301):
        seen.append(alignment.has_pending_effect())
        aligned.harness.set_processing_time(now_ms)
    assert seen == [True, True, False]
    assert aligned.reports == [49, 49, 49]


def test_waiting_for_alignment_is_not_idleness() -> None:
    """Rule 8.4."""
    aligned = AlignedSource(record("a", 50), record("b", 60), sleep(10_000), strategy=ALIGNED.with_idleness(300))
    aligned.source.announce_limit(20)
    aligned.poll()
    for now_ms in range(201, 3000, 200):
        aligned.harness.set_processing_time(now_ms)
    assert aligned.harness.take_output() == [("rec", "a", 50), ("wm", 49)]
    aligned.source.announce_limit(100)
    aligned.poll()
    assert aligned.harness.take_output() == [("rec", "b", 60), ("wm", 59)]


def test_ended_source_reports_max_watermark() -> None:
    """Rule 8.24."""
    aligned = AlignedSource(record("a", 50))
    assert aligned.poll() is END
    assert aligned.reports == []
    assert aligned.poll() is DataInputStatus.END_OF_INPUT
    assert aligned.reports == [MAX_WATERMARK]


@pytest.mark.parametrize(("mode", "status"), [(StopMode.DRAIN, END), (StopMode.NO_DRAIN, DataInputStatus.STOPPED)])
def test_paused_source_can_be_stopped(mode: StopMode, status: DataInputStatus) -> None:
    aligned = AlignedSource(record("a", 50), record("b", 60))
    aligned.source.announce_limit(20)
    aligned.poll()
    assert aligned.poll() is NOTHING
    assert aligned.source.stop(mode)
    assert aligned.woken == 1
    assert aligned.poll() is status
    assert aligned.poll() is DataInputStatus.END_OF_INPUT
    assert aligned.reports == [MAX_WATERMARK]
    assert aligned.harness.take_output() == [("rec", "a", 50), ("wm", 49)]


def test_split_ahead_is_paused_and_other_is_read() -> None:
    """Rule 8.24."""
    aligned = AlignedSource(
        record("a", 5, split="p"), record("b", 50, split="q"), record("c", 60, split="q"), record("d", 8, split="p"),
        record("e", 70, split="p"),
    )  # fmt: skip
    aligned.source.announce_limit(20)
    while aligned.poll() is MORE:
        """Until there is nothing left that may be read."""
    assert aligned.harness.take_output() == [
        ("rec", "a", 5), ("rec", "b", 50), ("wm", 4), ("rec", "d", 8), ("wm", 7), ("rec", "e", 70), ("wm", 49),
    ]  # fmt: skip
    assert aligned.pauses() == [(1, 1, 20, 49), (0, 1, 20, 69), (-1, 1, 20, 49)]
    aligned.source.announce_limit(55)
    while aligned.poll() is MORE:
        """As before."""
    assert aligned.harness.take_output() == [("rec", "c", 60), ("wm", 59)]
    assert aligned.pauses()[3:] == [(-1, 0, 55, 49), (1, 0, 55, 49), (1, 1, 55, 59), (-1, 1, 55, 59)]
    aligned.source.announce_limit(90)
    assert aligned.poll() is END


def test_idle_and_ended_splits_are_not_paused() -> None:
    """Rule 8.24."""
    script = (
        record("a", 50, split="p"), record("b", 60, split="q"), record("c", 5, split="r"), idle(split="p"), end(split="q"),
        sleep(10_000),
    )  # fmt: skip
    aligned = AlignedSource(*script)
    aligned.poll()
    aligned.source.announce_limit(20)
    assert aligned.pauses() == []
    aligned.source.announce_limit(3)
    assert aligned.pauses() == [(-1, 1, 3, 4), (2, 1, 3, 4)]


class UnpausableReader:
    hands_over = False
    wake_time_ns = None

    def open(self, ctx: OperatorContext) -> None:
        """Nothing."""

    def poll_next(self, output: ReaderOutput) -> DataInputStatus:
        output.create_output_for_split("a").collect("x", 50)
        return END

    def close(self) -> None:
        """Nothing."""


def test_reader_that_cannot_pause_splits_is_refused() -> None:
    source = SourceOperator(UnpausableReader(), ALIGNED, alignment_sample_count=0)
    with OneInputOperatorHarness(source):
        source.announce_limit(20)
        with pytest.raises(BadInput, match="watermark alignment needs a reader that can pause its splits"):
            source.poll_next()

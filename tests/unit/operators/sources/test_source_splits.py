"""A source whose splits have their own event time (rules 8.4-8.6)."""

from __future__ import annotations

from flowsim.connectors.script import Entry, ScriptedSource, end, idle, record, sleep, watermark
from flowsim.facts.kinds import ElementKind, Level
from flowsim.facts.tracer import TaskTrace
from flowsim.operators.sources.source import SourceOperator
from flowsim.operators.sources.source_output import ReaderOutput
from flowsim.operators.stream_operator import DataInputStatus, OperatorContext
from flowsim.recording.memory import MemoryRecorder
from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.testing.harness import OneInputOperatorHarness
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP, NS_PER_MS
from flowsim.watermark.watermark_strategy import WatermarkStrategy

ACTIVE, IDLE = WatermarkStatus.ACTIVE, WatermarkStatus.IDLE
MONOTONOUS = WatermarkStrategy.for_monotonous_timestamps()
PER_RECORD = WatermarkStrategy.for_each_record(0)


def playing(
    *script: Entry, strategy: WatermarkStrategy | None = None, recorder: MemoryRecorder | None = None
) -> OneInputOperatorHarness:  # fmt: skip
    operator = SourceOperator(ScriptedSource(script).create_reader(), strategy)
    trace = None if recorder is None else lambda clock: TaskTrace(7, clock, recorder)
    return OneInputOperatorHarness(operator, trace=trace)


def poll(harness: OneInputOperatorHarness) -> DataInputStatus:
    operator = harness.operator
    assert isinstance(operator, SourceOperator)
    status = DataInputStatus.MORE_AVAILABLE
    while status is DataInputStatus.MORE_AVAILABLE:
        harness.clock.batch_end_ns = MAX_WATERMARK
        status = operator.poll_next()
    return status


def test_split_without_watermark_delays_others() -> None:
    script = record("x", 9, split="a"), sleep(1), record("y", 5, split="b")
    with playing(*script, strategy=PER_RECORD) as harness:
        poll(harness)
        assert harness.take_output() == [("rec", "x", 9)]
        harness.clock.now_ns += NS_PER_MS
        poll(harness)
        assert harness.take_output() == [("rec", "y", 5), ("wm", 4)]


def test_periodic_watermark_needs_watermarks_of_all_splits() -> None:
    with playing(record("x", 9, split="a"), record("y", 5, split="b"), sleep(10_000), strategy=MONOTONOUS) as harness:
        poll(harness)
        assert harness.processing_time.keeps_alive()
        harness.set_processing_time(201)
        assert harness.output == [("rec", "x", 9), ("rec", "y", 5), ("wm", 4)]
        assert not harness.processing_time.keeps_alive()


def test_ended_split_releases_others_at_next_periodic_call() -> None:
    """Whatever the strategy: nothing tells the others that one has left."""
    script = record("x", 9, split="a"), record("y", 5, split="b"), end(split="b"), sleep(10_000)
    with playing(*script, strategy=PER_RECORD) as harness:
        poll(harness)
        assert harness.take_output() == [("rec", "x", 9), ("rec", "y", 5), ("wm", 4)]
        assert harness.processing_time.keeps_alive()
        harness.set_processing_time(201)
        assert harness.take_output() == [("wm", 8)]
        assert not harness.processing_time.keeps_alive()


def test_splits_are_idle_separately_and_source_when_all_are() -> None:
    """Rules 8.4, 8.6: the first quiet call notes the time, and 300 ms is not more than 300 ms."""
    script = (
        record("x", 9, split="a"), record("y", 5, split="b"), sleep(450), record("z", 20, split="a"), sleep(10_000),
    )  # fmt: skip
    with playing(*script, strategy=MONOTONOUS.with_idleness(300)) as harness:
        poll(harness)
        harness.set_processing_time(201)
        harness.set_processing_time(401)
        assert harness.take_output() == [("rec", "x", 9), ("rec", "y", 5), ("wm", 4)]
        harness.set_processing_time(455)
        poll(harness)
        harness.set_processing_time(601)
        harness.set_processing_time(801)
        assert harness.take_output() == [("rec", "z", 20), ("wm", 19)]  # b has become idle
        harness.set_processing_time(1001)
        harness.set_processing_time(1201)
        assert harness.take_output() == [("st", IDLE)]


class LateSplitReader:
    """Finds split b in the second poll, and reads it to its end."""

    hands_over = False
    wake_time_ns: int | None = None

    def __init__(self) -> None:
        self._polls = 0

    def open(self, ctx: OperatorContext) -> None:
        """Nothing."""

    def poll_next(self, output: ReaderOutput) -> DataInputStatus:
        self._polls += 1
        if self._polls == 1:
            output.create_output_for_split("a").collect("x", 9)
        elif self._polls == 2:
            output.create_output_for_split("b").collect("y", 5)
            output.create_output_for_split("a").collect("z", 20)
            output.release_output_for_split("b")
        return DataInputStatus.NOTHING_AVAILABLE

    def close(self) -> None:
        """Nothing."""


def test_periodic_calls_count_from_the_first_split() -> None:
    """It exists from 1 ms on, the second one from 151 ms on; the calls are at 201 ms, 401 ms, and so on."""
    with OneInputOperatorHarness(SourceOperator(LateSplitReader(), PER_RECORD)) as harness:
        poll(harness)
        assert harness.take_output() == [("rec", "x", 9), ("wm", 8)]
        harness.set_processing_time(151)
        poll(harness)
        harness.set_processing_time(200)
        assert harness.take_output() == [("rec", "y", 5), ("rec", "z", 20)]
        harness.set_processing_time(201)
        assert harness.take_output() == [("wm", 19)]


def test_record_without_split_uses_main_output() -> None:
    """The main output is merged with nothing: the higher watermark counts."""
    script = record("x", 9, split="a"), record("y", 30), record("z", 40, split="a")
    with playing(*script, strategy=PER_RECORD) as harness:
        poll(harness)
        assert harness.output == [
            ("rec", "x", 9), ("wm", 8), ("rec", "y", 30), ("wm", 29), ("rec", "z", 40), ("wm", 39),
        ]  # fmt: skip


def test_source_with_idle_splits_is_active_while_main_output_is() -> None:
    """Rule 8.6."""
    script = record("x", 9, split="a"), record("y", 30), idle(split="a"), sleep(1), idle()
    with playing(*script, strategy=PER_RECORD) as harness:
        poll(harness)
        assert harness.take_output() == [("rec", "x", 9), ("wm", 8), ("rec", "y", 30), ("wm", 29)]
        harness.clock.now_ns += NS_PER_MS
        poll(harness)
        assert harness.take_output() == [("st", IDLE)]


def test_watermarks_emitted_by_splits_are_merged() -> None:
    script = (
        record("x", 1, split="a"), watermark(10, split="a"), watermark(4, split="b"), idle(split="b"),
        idle(split="a"), record("y", 2, split="b"), watermark(12, split="b"), watermark(11, split="a"),
    )  # fmt: skip
    with playing(*script) as harness:
        assert poll(harness) is DataInputStatus.END_OF_DATA
        assert harness.output == [
            ("rec", "x", 1), ("wm", 4), ("wm", 10), ("st", IDLE), ("rec", "y", 2), ("st", ACTIVE), ("wm", 12),
        ]  # fmt: skip
        assert harness.operator.records_in == 2


def test_records_of_all_outputs_are_counted_and_cost_the_same() -> None:
    script = record("x", 1, split="a"), end(split="a"), record("y", 2), record("z", 3, split="b")
    for strategy in (None, MONOTONOUS):
        operator = SourceOperator(ScriptedSource(script).create_reader(), strategy)
        with OneInputOperatorHarness(operator, cost_ns=10) as harness:
            began_ns = harness.clock.now_ns
            operator.set_cost_ns(7)
            poll(harness)
            assert (operator.records_in, harness.clock.now_ns - began_ns) == (3, 21)


def test_generated_watermarks_are_recorded_with_split_and_count() -> None:
    recorder = MemoryRecorder(Level.ELEMENTS)
    script = (
        record("x", 9, split="a"), record("y", 5, split="b"), record("z", 7, split="b"), idle(split="b"),
        record("w", 30, split="b"),
    )  # fmt: skip
    with playing(*script, strategy=PER_RECORD, recorder=recorder) as harness:
        poll(harness)
    watermark_, status = ElementKind.WATERMARK, ElementKind.STATUS
    assert [row[4:] for row in recorder.rows("generated_watermark")] == [
        (0, status, 0, 0, NO_TIMESTAMP), (1, status, 0, 0, NO_TIMESTAMP),
        (0, watermark_, 8, 1, 9), (1, watermark_, 4, 1, 5), (-1, watermark_, 4, 2, 9),
        (1, watermark_, 6, 2, 7), (-1, watermark_, 6, 3, 9), (1, status, -1, 2, 7), (-1, watermark_, 8, 3, 9),
        (1, status, 0, 3, 30), (1, watermark_, 29, 3, 30),
    ]  # fmt: skip

"""The source operator around a reader (rules 4.10, 4.14, 8.1-8.5)."""

from __future__ import annotations

import pytest

from flowsim.errors import BadInput
from flowsim.operators.sources.source import SourceOperator
from flowsim.operators.sources.source_output import SourceOutput
from flowsim.operators.stream_operator import DataInputStatus, OperatorContext
from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.testing.harness import OneInputOperatorHarness
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from flowsim.watermark.watermark_strategy import WatermarkStrategy

ACTIVE, IDLE = WatermarkStatus.ACTIVE, WatermarkStatus.IDLE


class ListReader:
    """Reads (value, timestamp) pairs; None in the list is a moment without data, "idle" and integers speak for the stream."""

    hands_over = False

    def __init__(self, *items: tuple[object, int | None] | str | int | None) -> None:
        self.items = list(items)
        self.wake_time_ns: int | None = None
        self.calls: list[str] = []

    def open(self, ctx: OperatorContext) -> None:
        self.ctx = ctx
        self.calls.append("open")

    def poll_next(self, output: SourceOutput) -> DataInputStatus:
        clock = self.ctx.clock
        while self.items:
            item = self.items.pop(0)
            match item:
                case None:
                    self.wake_time_ns = clock.now_ns + 5
                    return DataInputStatus.NOTHING_AVAILABLE
                case int():
                    output.emit_watermark(item)
                case str():
                    output.mark_idle()
                case (value, timestamp):
                    output.collect(value, timestamp)
            if clock.now_ns >= clock.batch_end_ns:
                return DataInputStatus.MORE_AVAILABLE
        return DataInputStatus.END_OF_DATA

    def close(self) -> None:
        self.calls.append("close")


def polled(operator: SourceOperator) -> list[DataInputStatus]:
    """Polls until the input has ended."""
    statuses = [operator.poll_next()]
    while statuses[-1] is not DataInputStatus.END_OF_INPUT:
        statuses.append(operator.poll_next())
    return statuses


def test_reader_is_polled_to_end_of_input() -> None:
    """Rule 4.14: END_OF_INPUT is the answer after END_OF_DATA."""
    reader = ListReader(("a", 1), None, ("b", 2))
    operator = SourceOperator(reader)
    with OneInputOperatorHarness(operator) as harness:
        statuses = polled(operator)
        assert operator.wake_time_ns == harness.clock.now_ns + 5
        operator.advance_to_end_of_event_time()
        assert harness.output == [("rec", "a", 1), ("rec", "b", 2), ("wm", MAX_WATERMARK)]
        assert operator.records_in == 2
    assert [s.name for s in statuses] == ["NOTHING_AVAILABLE", "END_OF_DATA", "END_OF_INPUT"]
    assert reader.calls == ["open", "close"]


def test_batch_ends_with_record_whose_cost_reaches_its_end() -> None:
    operator = SourceOperator(ListReader(("a", 1), ("b", 2), ("c", 3)))
    with OneInputOperatorHarness(operator, cost_ns=10) as harness:
        harness.clock.batch_end_ns = harness.clock.now_ns + 20
        assert operator.poll_next() is DataInputStatus.MORE_AVAILABLE
        assert harness.take_output() == [("rec", "a", 1), ("rec", "b", 2)]
        operator.set_cost_ns(0)
        harness.clock.batch_end_ns = harness.clock.now_ns + 1
        assert operator.poll_next() is DataInputStatus.END_OF_DATA
        assert harness.take_output() == [("rec", "c", 3)]


def test_reader_without_strategy_becomes_active_with_next_record_or_watermark() -> None:
    """Flink's SourceContext: a watermark passes as it is, also one that goes back."""
    operator = SourceOperator(ListReader(("a", 1), "idle", "idle", ("b", 2), 7, 6, "idle", 8))
    with OneInputOperatorHarness(operator) as harness:
        polled(operator)
        assert harness.output == [
            ("rec", "a", 1), ("st", IDLE), ("st", ACTIVE), ("rec", "b", 2), ("wm", 7), ("wm", 6),
            ("st", IDLE), ("st", ACTIVE), ("wm", 8),
        ]  # fmt: skip


def test_strategy_emits_watermark_after_its_record() -> None:
    """Rules 8.3, 8.8."""
    strategy = WatermarkStrategy.for_each_record(0)
    operator = SourceOperator(ListReader(("a", 5), ("b", None)), strategy)
    with OneInputOperatorHarness(operator) as harness:
        polled(operator)
        assert harness.output == [("rec", "a", 5), ("wm", 4), ("rec", "b", NO_TIMESTAMP)]


def test_source_emits_periodic_watermarks() -> None:
    """Rule 8.2."""
    extracted = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: len(str(value)))
    operator = SourceOperator(ListReader(("abc", None), None), extracted)
    with OneInputOperatorHarness(operator) as harness:
        operator.poll_next()
        assert harness.processing_time.keeps_alive()
        harness.set_processing_time(201)
        assert harness.output == [("rec", "abc", 3), ("wm", 2)]
        assert not harness.processing_time.keeps_alive()
        assert harness.processing_time.live_timers_ms() == [401]


def test_strategy_ends_idleness_with_next_watermark() -> None:
    """Rule 8.5."""
    operator = SourceOperator(ListReader("idle", ("a", 5)), WatermarkStrategy.for_each_record(0))
    with OneInputOperatorHarness(operator) as harness:
        polled(operator)
        assert harness.output == [("st", IDLE), ("rec", "a", 5), ("st", ACTIVE), ("wm", 4)]


def test_processing_element_in_source_is_refused() -> None:
    with (
        OneInputOperatorHarness(SourceOperator(ListReader())) as harness,
        pytest.raises(TypeError, match="is a source"),
    ):
        harness.process_element("a", 1)


def test_timestamp_of_assigner_must_be_whole_milliseconds() -> None:
    strategy = WatermarkStrategy.for_each_record(0).with_timestamp_assigner(lambda value, _: value)  # type: ignore[return-value, arg-type]
    operator = SourceOperator(ListReader((1.5, None)), strategy)
    with (
        OneInputOperatorHarness(operator) as harness,
        pytest.raises(BadInput, match=r"SourceOperator: timestamp assigner: expected whole milliseconds .* got 1\.5"),
    ):
        polled(operator)
    assert harness.output == []

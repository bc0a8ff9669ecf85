"""A sink passes records to its writer and calls its life-cycle methods."""

from __future__ import annotations

from flowsim.operators.sink import InitContext
from flowsim.operators.sink_operator import SinkOperator
from flowsim.operators.stream_operator import Value
from flowsim.testing.harness import OneInputOperatorHarness
from flowsim.units import MAX_WATERMARK


class LogSink:
    """A sink that is its own writer."""

    def __init__(self) -> None:
        self.calls: list[object] = []

    def create_writer(self, context: InitContext) -> LogSink:
        self.calls.append(f"create {context.subtask_index}")
        return self

    def write(self, value: Value, timestamp: int | None) -> None:
        self.calls.append((value, timestamp))

    def flush(self, end_of_input: bool) -> None:
        self.calls.append(f"flush {end_of_input}")

    def close(self) -> None:
        self.calls.append("close")


def test_writer_gets_records_in_order_then_flush_and_close() -> None:
    writer = LogSink()
    with OneInputOperatorHarness(SinkOperator(writer)) as harness:
        harness.process_elements([("a", 1), ("b", None)])
        harness.end_of_input()
        assert harness.output == [("wm", MAX_WATERMARK)]
    assert writer.calls == ["create 0", ("a", 1), ("b", None), "flush True", "close"]
    assert harness.operator.records_in == 2


def test_failing_job_closes_writer_without_flush() -> None:
    writer = LogSink()
    harness = OneInputOperatorHarness(SinkOperator(writer))
    harness.operator.close()
    assert writer.calls == []
    harness.operator.open()
    harness.operator.close()
    harness.operator.close()
    assert writer.calls == ["create 0", "close"]

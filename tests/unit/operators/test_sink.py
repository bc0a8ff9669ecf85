"""A sink hands records to its writer and keeps its life cycle."""

from __future__ import annotations

from flowsim.operators.sink import SinkOperator
from flowsim.operators.stream_operator import OperatorContext, Value
from flowsim.testing.harness import OneInputOperatorHarness
from flowsim.units import MAX_WATERMARK


class Diary:
    def __init__(self) -> None:
        self.story: list[object] = []

    def open(self, ctx: OperatorContext) -> None:
        self.story.append(f"open {ctx.subtask_index}")

    def write(self, value: Value, timestamp: int | None) -> None:
        self.story.append((value, timestamp))

    def flush(self) -> None:
        self.story.append("flush")

    def close(self) -> None:
        self.story.append("close")


def test_writer_gets_records_in_order_then_flush_and_close() -> None:
    diary = Diary()
    with OneInputOperatorHarness(SinkOperator(diary)) as harness:
        harness.process_elements([("a", 1), ("b", None)])
        harness.end_of_input()
        assert harness.output == [("wm", MAX_WATERMARK)]
    assert diary.story == ["open 0", ("a", 1), ("b", None), "flush", "close"]
    assert harness.operator.records_in == 2


def test_failing_job_closes_writer_without_flush() -> None:
    diary = Diary()
    harness = OneInputOperatorHarness(SinkOperator(diary))
    harness.operator.close()
    assert diary.story == []
    harness.operator.open()
    harness.operator.close()
    harness.operator.close()
    assert diary.story == ["open 0", "close"]

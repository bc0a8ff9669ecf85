"""A subtask that reads or writes without a cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random

import pytest

from flowsim.operators.sources.source import SourceOperator, SourceReader
from flowsim.operators.sources.source_reader import CheckpointedReader
from flowsim.operators.stream_operator import DataInputStatus, OperatorContext, Value
from flowsim.state.key_group_range import KeyGroupRange
from flowsim.streamrecord.elements import LatencyMarker, OutputTag, WatermarkStatus
from flowsim.streamrecord.output import Output
from flowsim.testing.harness import ManualClock
from flowsim.values.encoding import decode_value, encode_value

NEVER = 1 << 62


class NoTimers:
    def current_processing_time_ms(self) -> int:
        return 0


class NoMailbox:
    pass


@dataclass
class Emitted(Output):
    """What came out, in order: ``(value, timestamp)``, ``("wm", timestamp)``, ``"IDLE"``, ``"ACTIVE"``."""

    elements: list[object] = field(default_factory=list)

    def collect(self, value: Value, timestamp: int | None) -> None:
        self.elements.append((value, timestamp))

    def collect_side(self, tag: OutputTag, value: Value, timestamp: int | None) -> None:
        self.elements.append((tag.tag_id, value, timestamp))

    def emit_watermark(self, timestamp: int) -> None:
        self.elements.append(("wm", timestamp))

    def emit_watermark_status(self, status: WatermarkStatus) -> None:
        self.elements.append(status.name)

    def emit_latency_marker(self, marker: LatencyMarker) -> None:
        self.elements.append(marker)


MakeContext = Callable[..., OperatorContext]


@pytest.fixture
def context() -> MakeContext:
    """``context(subtask, parallelism, cost_ns=..., seed=...)``"""

    def make(subtask: int = 0, parallelism: int = 1, *, cost_ns: int = 1000, seed: int = 0) -> OperatorContext:
        return OperatorContext(
            operator_name="test", operator_index=0, task_name="test", subtask_index=subtask, parallelism=parallelism,
            max_parallelism=128, key_group_range=KeyGroupRange(0, 127), key_selector=None, key_type=None, clock=ManualClock(1),
            processing_time=NoTimers(),  # type: ignore[arg-type]
            mailbox_executor=NoMailbox(),  # type: ignore[arg-type]
            random=Random(f"{seed}/{subtask}"), cost_ns=cost_ns, trace=None,
        )  # fmt: skip

    return make


@pytest.fixture
def output() -> Emitted:
    """An output that keeps what it is given."""
    return Emitted()


class Subtask:
    """A source subtask that is polled by hand."""

    def __init__(self, reader: SourceReader, ctx: OperatorContext) -> None:
        self.clock = ctx.clock
        self.reader = reader
        self.emitted = Emitted()
        self.operator = SourceOperator(reader)
        self.operator.setup(ctx, self.emitted)
        self.operator.open()

    def poll(self, records: int | None = None) -> DataInputStatus:
        """One poll, over when ``records`` records' time is spent."""
        self.clock.batch_end_ns = NEVER if records is None else self.clock.now_ns + records * self.operator.cost_ns
        return self.operator.poll_next()

    def take(self) -> list[object]:
        """What came out since the last call."""
        taken, self.emitted.elements = self.emitted.elements, []
        return taken

    def snapshot(self) -> Sequence[object]:
        """The splits of the reader, as a checkpoint stores them."""
        assert isinstance(self.reader, CheckpointedReader)
        splits = decode_value(encode_value(tuple(self.reader.snapshot_state(1))))
        assert isinstance(splits, tuple)
        return splits

    def drain(self) -> list[object]:
        """Polls to the end of data, going to each wake time."""
        while (status := self.poll()) is not DataInputStatus.END_OF_DATA:
            if status is DataInputStatus.NOTHING_AVAILABLE:
                wake = self.operator.wake_time_ns
                assert wake is not None
                assert wake > self.clock.now_ns
                self.clock.now_ns = wake
        self.operator.close()
        return self.take()


@pytest.fixture
def subtask(context: MakeContext) -> Callable[..., Subtask]:
    """``subtask(reader, index, parallelism, restored, ...)``: opened and ready to be polled."""

    def make(
        reader: SourceReader,
        index: int = 0,
        parallelism: int = 1,
        restored: Sequence[object] | None = None,
        **settings: int,
    ) -> Subtask:
        if restored is not None:
            assert isinstance(reader, CheckpointedReader)
            reader.add_splits(restored)
        return Subtask(reader, context(index, parallelism, **settings))

    return make

"""A blocking partition beside the real BoundedBlockingResultPartition with its files and readers (rules 5.11-5.14, 5.43)."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from flowsim.network.buffers.data_type import DataType
from flowsim.network.buffers.local_buffer_pool import UNLIMITED
from flowsim.network.buffers.network_buffer_pool import NetworkBufferPool
from flowsim.network.errors import IllegalState
from flowsim.network.partitions.blocking_result_partition import BlockingResultPartition
from flowsim.network.partitions.blocking_subpartition import (
    BoundedBlockingSubpartition,
    BoundedBlockingSubpartitionReader,
)
from flowsim.streamrecord.events import StopMode
from tests.support.flink.machine import Differential, DifferentialMachine, java_text
from tests.support.network import Listener, NeverWaits

SEGMENTS = 64


class BlockingResultPartitionMachine(DifferentialMachine):
    """A writer that never waits, the end, and readers from the begin on."""

    subject = "BoundedBlockingResultPartition"

    @initialize(count=st.integers(1, 3), size=st.sampled_from([5, 8, 32]))
    def begin(self, count: int, size: int) -> None:
        self.real = self.flink.java.org.apache.flink.runtime.io.network.partition.BlockingPartitionDriver(
            SEGMENTS, size, count
        )
        self.folder = Path(tempfile.mkdtemp())
        self.pool = NetworkBufferPool(SEGMENTS, size).create_buffer_pool(count + 1, UNLIMITED, count)
        self.partition = BlockingResultPartition(count, self.pool, NeverWaits(), self.folder / "spill")
        self.subpartitions = [self.partition.subpartition(index) for index in range(count)]
        self.views: list[BoundedBlockingSubpartitionReader] = []
        self.written = 0
        self.failed = False
        """A command has failed."""

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            for view in self.views:
                view.release()
            self.partition.release()
            try:
                self.same(self.real.clean(), lambda: len(list(self.folder.iterdir())))
            finally:
                shutil.rmtree(self.folder)

    @rule(pick=st.integers(0, 99), length=st.integers(1, 70), times=st.integers(1, 3))
    def emit(self, pick: int, length: int, times: int) -> None:
        index = pick % len(self.subpartitions)
        for _ in range(times):
            self.command(f"emit {index} {length}", lambda: self.partition.emit(self.next_bytes(length), index))

    @rule(length=st.integers(1, 70))
    def broadcast(self, length: int) -> None:
        self.command(f"broadcast {length}", lambda: self.partition.broadcast(self.next_bytes(length)))

    @rule(pick=st.integers(0, 99))
    def flush(self, pick: int) -> None:
        index = pick % len(self.subpartitions)
        self.command(f"flush {index}", lambda: self.partition.flush(index))

    @rule()
    def flush_all(self) -> None:
        self.command("flush_all", self.partition.flush_all)

    @rule(really=st.integers(0, 2))
    def end_of_data(self, really: int) -> None:
        if really == 0:
            self.command("end_of_data", lambda: self.partition.notify_end_of_data(StopMode.DRAIN))

    @rule(really=st.integers(0, 3))
    def finish(self, really: int) -> None:
        if really == 0:
            self.command("finish", self.partition.finish)

    @precondition(lambda self: len(self.views) < 5)
    @rule(pick=st.integers(0, 99))
    def view(self, pick: int) -> None:
        index = pick % len(self.subpartitions)

        def ours() -> None:
            found = self.subpartitions[index]
            assert isinstance(found, BoundedBlockingSubpartition)
            self.views.append(found.create_read_view(Listener()))

        self.command(f"view {index}", ours)

    @precondition(lambda self: bool(self.views))
    @rule(pick=st.integers(0, 99), times=st.integers(1, 12))
    def poll(self, pick: int, times: int) -> None:
        number = pick % len(self.views)
        for _ in range(times):
            self.command(f"poll {number}", lambda: self.polled(number))

    def next_bytes(self, length: int) -> bytes:
        data = bytes((self.written + i) % 256 for i in range(length))
        self.written += length
        return data

    def polled(self, number: int) -> str:
        polled = self.views[number].poll()
        if polled is None:
            return "none"
        buffer = polled.buffer
        content = f"event{len(buffer)}" if buffer.event is not None else buffer.payload.hex()
        buffer.recycle()
        more = polled.next_type is not DataType.NONE
        return ",".join(
            map(java_text, (content, polled.backlog, more, polled.next_type.is_event, polled.sequence_number))
        )

    @precondition(lambda self: not self.failed)
    @rule(pick=st.integers(0, 99))
    def load(self, pick: int) -> None:
        """What an adaptive writer compares; no writer writes after a failure."""
        index = pick % len(self.subpartitions)
        found = self.subpartitions[index]
        self.command(f"load {index}", lambda: f"{self.pool.buffers_of(index)},{found.bytes_in_queue}")

    def command(self, command: str, ours: Callable[[], str | None]) -> None:
        self.same(self.real.run(command), lambda: f"{self.outcome(ours)} {self.state()}")

    def outcome(self, ours: Callable[[], str | None]) -> str:
        try:
            return ours() or "-"
        except IllegalState:
            self.failed = True
            return "!IllegalStateException"

    def state(self) -> str:
        seen: list[object] = [self.pool.used_segments, self.partition.buffers_out, self.partition.bytes_out]
        for found in self.subpartitions:
            assert isinstance(found, BoundedBlockingSubpartition)
            seen.append(found.data_buffers)
        seen += [
            f"{java_text(view.is_available(False))},{java_text(view.is_available(True))},{view.reported_backlog}"
            for view in self.views
        ]
        return " ".join(map(java_text, seen))


def test_blocking_partition_equals_flinks(differential: Differential) -> None:
    differential.run(BlockingResultPartitionMachine, examples=30, steps=30)

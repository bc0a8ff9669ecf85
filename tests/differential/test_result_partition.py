"""PipelinedSubpartition behind a real ResultPartition with its pool and its readers (rules 5.11-5.32, 5.35, 6.24).

The bytes are any bytes: records of all lengths, whole buffers, many buffers, and nothing, as Flink's own framing with its
length prefix would be cut.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from flowsim.errors import FlowsimError
from flowsim.network.buffers.local_buffer_pool import UNLIMITED
from flowsim.network.buffers.network_buffer_pool import NetworkBufferPool
from flowsim.network.completion import Completion
from flowsim.network.errors import BufferPoolDestroyed, IllegalArgument, IllegalState
from flowsim.network.partitions.pipelined_subpartition import PipelinedSubpartition
from flowsim.network.partitions.result_partition import ResultPartition
from flowsim.network.partitions.result_subpartition import UNLIMITED_SIZE, Buffer
from flowsim.state.redistribution.channel_state_handles import ResultSubpartitionInfo
from flowsim.streamrecord.events import (
    CancelCheckpointMarker,
    CheckpointBarrier,
    Event,
    EventAnnouncement,
    StopMode,
)
from tests.support.barriers import ALIGNED, TIMEOUTABLE, UNALIGNED
from tests.support.flink.machine import Differential, DifferentialMachine, java_text
from tests.support.network import Listener, NeverWaits

ERRORS: dict[type[FlowsimError], str] = {
    IllegalState: "IllegalStateException",
    IllegalArgument: "IllegalArgumentException",
    BufferPoolDestroyed: "CancelTaskException",
}
SPARE_SEGMENTS = 64


def joined(payloads: Sequence[bytes]) -> str:
    return "kept:" + "/".join(payload.hex() or "." for payload in payloads)


def event(kind: int, checkpoint: int) -> Event:
    """0 aligned, 1 unaligned, 2 timeoutable barrier, 3 cancellation, 4 announcement."""
    if kind == 3:
        return CancelCheckpointMarker(checkpoint)
    if kind == 4:
        return EventAnnouncement(CheckpointBarrier(checkpoint, 1, TIMEOUTABLE), 7)
    alignment = (ALIGNED, UNALIGNED, TIMEOUTABLE)[kind]
    return CheckpointBarrier(checkpoint, 1, alignment)


class Recorder:
    """A channel state writer that tells what it was given."""

    def __init__(self, reported: list[str], futures: list[Completion[Sequence[bytes]]]) -> None:
        self.reported = reported
        self.futures = futures

    def add_output_data(self, checkpoint_id: int, info: ResultSubpartitionInfo, payloads: Sequence[bytes]) -> None:
        self.reported.append(f"state{checkpoint_id}:{info.subpartition}:{joined(payloads)}")

    def add_output_data_future(
        self, checkpoint_id: int, info: ResultSubpartitionInfo, future: Completion[Sequence[bytes]]
    ) -> None:
        self.futures.append(future)


class ResultPartitionMachine(DifferentialMachine):
    """A writer, a pool and up to four readers; barriers of all kinds; requests for small buffers; the end and what follows."""

    subject = "ResultPartition"

    @initialize(
        count=st.integers(1, 4),
        size=st.sampled_from([4, 8, 16, 32]),
        more=st.integers(2, 9),
        per_channel=st.sampled_from([UNLIMITED, UNLIMITED, 2, 3]),
        overdraft=st.sampled_from([0, 1, 2, 5]),
        exclusive=st.sampled_from([0, 2, 2]),
        buffer_size_bytes=st.sampled_from([UNLIMITED_SIZE, UNLIMITED_SIZE, 3, 12]),
    )
    def begin(
        self, count: int, size: int, more: int, per_channel: int, overdraft: int, exclusive: int, buffer_size_bytes: int
    ) -> None:
        required, maximum = count + 1, count + 1 + more
        segments = maximum + SPARE_SEGMENTS
        self.real = self.flink.java.org.apache.flink.runtime.io.network.partition.PartitionDriver(
            segments, size, required, maximum, count, per_channel, overdraft, exclusive, buffer_size_bytes
        )
        self.size, self.count = size, count
        self.network = NetworkBufferPool(segments, size)
        self.pool = self.network.create_buffer_pool(required, maximum, count, per_channel, overdraft)
        self.partition = ResultPartition(
            count, self.pool, NeverWaits(), zero_exclusive_buffers=exclusive == 0, buffer_size=buffer_size_bytes
        )
        self.reported: list[str] = []
        self.futures: list[Completion[Sequence[bytes]]] = []
        self.subpartitions: list[PipelinedSubpartition] = []
        for index in range(count):
            subpartition = self.partition.subpartition(index)
            assert isinstance(subpartition, PipelinedSubpartition)
            subpartition.set_channel_state_writer(Recorder(self.reported, self.futures), 0)
            self.subpartitions.append(subpartition)
        self.views: list[int] = []
        self.buffers: list[Buffer] = []
        self.held: list[int] = []
        self.written = 0
        self.checkpoint = 0
        self.over = False
        self.failed = False
        """A command has failed."""

    @precondition(lambda self: len(self.views) < self.count)
    @rule(count=st.sampled_from([1, 4]))
    def view(self, count: int) -> None:
        for index in range(len(self.views), min(len(self.views) + count, self.count)):
            self.create_view(index)

    def create_view(self, index: int) -> None:

        def ours() -> None:
            self.subpartitions[index].create_read_view(
                Listener(
                    lambda: self.reported.append(f"data{index}"),
                    lambda number: self.reported.append(f"priority{index}:{number}"),
                )
            )
            self.views.append(index)

        self.command(f"view {index}", ours)

    @rule(pick=st.integers(0, 99), length=st.integers(0, 40))
    def emit(self, pick: int, length: int) -> None:
        index = pick % self.count
        if self.has_room(length):
            self.command(f"emit {index} {length}", lambda: self.partition.emit(self.next_bytes(length), index))

    @rule(length=st.integers(1, 40))
    def broadcast(self, length: int) -> None:
        if self.has_room(length):
            self.command(f"broadcast {length}", lambda: self.partition.broadcast(self.next_bytes(length)))

    @rule(
        kind=st.sampled_from([0, 0, 1, 1, 2, 2, 3, 4]), priority=st.sampled_from([None, None, None, None, False, True])
    )
    def broadcast_event(self, kind: int, priority: bool | None) -> None:
        self.checkpoint += 1
        sent = event(kind, self.checkpoint)
        # An announcement and an unaligned barrier overtake, unless the sequence wants it otherwise.
        has_priority = kind in (1, 4) if priority is None else priority
        self.command(
            f"event {kind} {self.checkpoint} {int(has_priority)}",
            lambda: self.partition.broadcast_event(sent, has_priority),
        )

    @rule(ago=st.integers(0, 3))
    def barrier_timeout(self, ago: int) -> None:
        checkpoint = max(self.checkpoint - ago, 1)

        def ours() -> None:
            for subpartition in self.subpartitions:
                subpartition.aligned_barrier_timeout(checkpoint)

        self.command(f"barrier_timeout {checkpoint}", ours)

    @rule(ago=st.integers(0, 1))
    def abort(self, ago: int) -> None:
        checkpoint = max(self.checkpoint - ago, 1)

        def ours() -> None:
            for subpartition in self.subpartitions:
                subpartition.abort_checkpoint(checkpoint)

        self.command(f"abort {checkpoint}", ours)

    @rule(pick=st.integers(0, 99))
    def flush(self, pick: int) -> None:
        self.command(f"flush {pick % self.count}", lambda: self.partition.flush(pick % self.count))

    @rule()
    def flush_all(self) -> None:
        self.command("flush_all", self.partition.flush_all)

    @precondition(lambda self: bool(self.views))
    @rule(pick=st.integers(0, 99), times=st.integers(1, 4))
    def poll(self, pick: int, times: int) -> None:
        index = self.views[pick % len(self.views)]
        for _ in range(times):
            self.command(f"poll {index}", lambda: self.polled(index))

    @precondition(lambda self: bool(self.views))
    @rule(pick=st.integers(0, 99), resumes=st.booleans())
    def read_what_is_there(self, pick: int, resumes: bool) -> None:
        """Up to what blocks, perhaps beyond it."""
        index = self.views[pick % len(self.views)]
        for _ in range(20):
            if self.command(f"poll {index}", lambda: self.polled(index)).startswith("none"):
                break
        if resumes:
            self.command(f"resume {index}", self.subpartitions[index].resume_consumption)

    @precondition(lambda self: bool(self.held))
    @rule(pick=st.integers(0, 99))
    def recycle(self, pick: int) -> None:
        number = self.held.pop(pick % len(self.held))
        self.command(f"recycle {number}", self.buffers[number].recycle)

    @precondition(lambda self: bool(self.views))
    @rule(pick=st.integers(0, 99))
    def resume(self, pick: int) -> None:
        index = self.views[pick % len(self.views)]
        self.command(f"resume {index}", self.subpartitions[index].resume_consumption)

    @precondition(lambda self: bool(self.views))
    @rule(pick=st.integers(0, 99), buffer_size_bytes=st.sampled_from([-1, 0, 1, 2, 5, 9, 17, 33, UNLIMITED_SIZE]))
    def buffer_size(self, pick: int, buffer_size_bytes: int) -> None:
        index = self.views[pick % len(self.views)]
        self.command(
            f"buffer_size {index} {buffer_size_bytes}",
            lambda: self.subpartitions[index].notify_new_buffer_size(buffer_size_bytes),
        )

    @rule(drain=st.booleans(), really=st.integers(0, 3))
    def end_of_data(self, drain: bool, really: int) -> None:
        if really == 0:
            mode = StopMode.DRAIN if drain else StopMode.NO_DRAIN
            self.command(f"end_of_data {int(drain)}", lambda: self.partition.notify_end_of_data(mode))

    @rule(really=st.integers(0, 8))
    def finish(self, really: int) -> None:
        if really == 0:
            self.command("finish", self.partition.finish)

    @precondition(lambda self: not self.over)
    @rule(really=st.integers(0, 7), release=st.booleans())
    def end(self, really: int, release: bool) -> None:
        """The task is over; all that is held comes back."""
        if really == 0:
            self.over = True
            self.command("close", self.partition.close)
            if release:
                self.command("release", self.partition.release)

    @precondition(lambda self: not self.failed and not self.over)
    @rule(pick=st.integers(0, 99))
    def load(self, pick: int) -> None:
        """What an adaptive writer compares; no writer writes after a failure."""
        index = pick % self.count
        self.command(
            f"load {index}", lambda: f"{self.pool.buffers_of(index)},{self.subpartitions[index].bytes_in_queue}"
        )

    def has_room(self, length: int) -> bool:
        """Whether a record of ``length`` bytes can be written without waiting for a buffer."""
        pool = self.pool
        return self.over or pool.size + pool.overdraft - pool.used_segments >= length // self.size + 2

    def next_bytes(self, length: int) -> bytes:
        data = bytes((self.written + i) % 256 for i in range(length))
        self.written += length
        return data

    def polled(self, index: int) -> str:
        polled = self.subpartitions[index].poll()
        if polled is None:
            return "none"
        buffer = polled.buffer
        content = str(len(buffer))
        if buffer.event is None:
            content = buffer.payload.hex() or "."
            self.buffers.append(buffer)
            self.held.append(len(self.buffers) - 1)
        reported = (content, buffer.data_type.name, polled.backlog, polled.next_type.name, polled.sequence_number)
        return ",".join(map(str, reported))

    def command(self, command: str, ours: Callable[[], str | None]) -> str:
        self.reported.clear()
        theirs = str(self.real.run(command))
        self.same(theirs, lambda: f"{self.outcome(ours)} {self.state()}")
        return theirs

    def outcome(self, ours: Callable[[], str | None]) -> str:
        try:
            return ours() or "-"
        except FlowsimError as refusal:
            self.failed = True
            return "!" + ERRORS[type(refusal)]

    def state(self) -> str:
        partition, pool = self.partition, self.pool
        reported = "".join(f"{each}," for each in self.reported)
        seen = [
            f"[{reported}]",
            pool.available,
            pool.used_segments,
            self.network.available_segments,
            partition.buffers_out,
        ]
        seen.append(partition.bytes_out)
        for index, subpartition in enumerate(self.subpartitions):
            seen.append(f"{subpartition.queued_buffers},{subpartition.reported_backlog}")
            if index < len(self.views):
                seen.append(
                    f"{java_text(subpartition.is_available(False))},{java_text(subpartition.is_available(True))}"
                )
        for future in self.futures:
            seen.append("open" if not future.is_done else "failed" if future.error else joined(future.result or ()))
        return " ".join(map(java_text, seen))


def test_partition_and_subpartitions_equal_flinks(differential: Differential) -> None:
    differential.run(ResultPartitionMachine, examples=50, steps=50)

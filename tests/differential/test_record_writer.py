"""RecordWriter beside the real ChannelSelectorRecordWriter, BroadcastRecordWriter and AdaptiveLoadBasedRecordWriter.

Rules 2.3, 2.4, 5.2-5.7, 5.11-5.17.

Elements are encoded differently, so the real writer gets records as long as ours are on the wire, and of what is read only
the lengths are compared: where buffers end, when they are flushed, what is counted and reported must be the same.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from flowsim.network.buffers.local_buffer_pool import UNLIMITED
from flowsim.network.buffers.network_buffer_pool import NetworkBufferPool
from flowsim.network.partitions.pipelined_subpartition import PipelinedSubpartition
from flowsim.network.partitions.result_partition import ResultPartition
from flowsim.network.partitions.result_subpartition import UNLIMITED_SIZE, Buffer
from flowsim.network.writers.adaptive_load_based_partitioner import AdaptiveLoadBasedPartitioner
from flowsim.network.writers.partitioner import BroadcastPartitioner, CustomPartitionerWrapper, StreamPartitioner
from flowsim.network.writers.record_writer import NO_FLUSHER, RecordWriter
from flowsim.streamrecord.codec import encode_latency_marker_into, encode_watermark
from flowsim.streamrecord.elements import LatencyMarker
from flowsim.streamrecord.events import EndOfData, StopMode
from flowsim.values.encoding import encode_record
from tests.support.flink.machine import Differential, DifferentialMachine, java_text
from tests.support.network import Listener, NeverWaits

TIMESTAMP = 2**40
MARKER = LatencyMarker(TIMESTAMP, 1, 1)
SPARE_SEGMENTS = 64


def watermark_length(timestamp: int) -> int:
    frame = bytearray()
    frame += encode_watermark(timestamp)
    return len(frame)


def marker_length() -> int:
    frame = bytearray()
    encode_latency_marker_into(frame, MARKER)
    return len(frame)


class Chosen(Random):
    """A random generator that returns given numbers."""

    choice_made = 0

    def randrange(self, start: int, stop: int | None = None, step: int = 1) -> int:
        return self.choice_made


class RecordWriterMachine(DifferentialMachine):
    """One writer with a reader on each of its subpartitions; readers request buffers of all sizes."""

    subject = "RecordWriter"

    @initialize(
        count=st.integers(1, 4),
        size=st.sampled_from([16, 32, 64]),
        more=st.integers(3, 9),
        overdraft=st.sampled_from([0, 2, 5]),
        timeout_ms=st.sampled_from([0, 0, -1]),
        broadcast=st.booleans(),
        buffer_size_bytes=st.sampled_from([UNLIMITED_SIZE, UNLIMITED_SIZE, 20]),
    )
    def begin(
        self, count: int, size: int, more: int, overdraft: int, timeout_ms: int, broadcast: bool, buffer_size_bytes: int
    ) -> None:
        self.start(count, size, more, overdraft, timeout_ms, broadcast, buffer_size_bytes, 0)

    def start(
        self, count: int, size: int, more: int, overdraft: int, timeout_ms: int, broadcast: bool, buffer_size_bytes: int,
        max_traverse_size: int,
    ) -> None:  # fmt: skip
        """``max_traverse_size`` above 0: the writer is adaptive."""
        required, maximum = count + 1, count + 1 + more
        segments = maximum + SPARE_SEGMENTS
        java = self.flink.java.org.apache.flink.runtime.io.network
        output = java.partition.PartitionDriver(
            segments, size, required, maximum, count, UNLIMITED, overdraft, 2, buffer_size_bytes
        )
        self.real = java.api.writer.WriterDriver(output, timeout_ms, broadcast, max_traverse_size)
        self.size, self.count = size, count
        self.network = NetworkBufferPool(segments, size)
        self.pool = self.network.create_buffer_pool(required, maximum, count, UNLIMITED, overdraft)
        self.partition = ResultPartition(count, self.pool, NeverWaits(), buffer_size=buffer_size_bytes)
        self.reported: list[str] = []
        self.subpartitions: list[PipelinedSubpartition] = []
        for index in range(count):
            subpartition = self.partition.subpartition(index)
            assert isinstance(subpartition, PipelinedSubpartition)
            self.subpartitions.append(subpartition)
        chosen: StreamPartitioner = CustomPartitionerWrapper(
            count, lambda key, channels: self.target, lambda value: value
        )
        if max_traverse_size:
            chosen = self.adaptive = AdaptiveLoadBasedPartitioner(self.partition, max_traverse_size)
        self.target = 0
        self.chance = Chosen(0)
        self.writer = RecordWriter(
            self.partition,
            BroadcastPartitioner(count) if broadcast else chosen,
            timeout_ms,
            0,
            self.chance,
            None,
            NO_FLUSHER,
        )
        self.buffers: list[Buffer] = []
        self.held: list[int] = []
        for index in range(count):
            self.command(f"view {index}", lambda index=index: self.attach(index))  # type: ignore[misc]

    @rule(pick=st.integers(0, 99), length=st.integers(0, 50))
    def collect(self, pick: int, length: int) -> None:
        frame = len(encode_record(TIMESTAMP, bytes(length)))
        self.target = pick % self.count
        if self.has_room(frame):
            self.command(f"collect {self.target} {frame}", lambda: self.writer.collect(bytes(length), TIMESTAMP))

    @rule(later=st.integers(0, 5))
    def emit_watermark(self, later: int) -> None:
        frame = watermark_length(TIMESTAMP + later)
        if self.has_room(frame * self.count):
            self.command(f"to_all {frame}", lambda: self.writer.emit_watermark(TIMESTAMP + later))

    @rule(pick=st.integers(0, 99))
    def emit_latency_marker(self, pick: int) -> None:
        self.chance.choice_made = pick % self.count
        if self.has_room(marker_length()):
            self.command(
                f"to_one {pick % self.count} {marker_length()}", lambda: self.writer.emit_latency_marker(MARKER)
            )

    @rule(really=st.integers(0, 3))
    def broadcast_event(self, really: int) -> None:
        if really == 0:
            self.command("event_of_writer", lambda: self.writer.broadcast_event(EndOfData(StopMode.NO_DRAIN)))

    @rule(really=st.integers(0, 3))
    def end_of_data(self, really: int) -> None:
        if really == 0:
            self.command("end_of_data", lambda: self.writer.notify_end_of_data(StopMode.DRAIN))

    @rule()
    def flush_all(self) -> None:
        self.command("flush_writer", self.writer.flush_all)

    @rule()
    def run_flusher(self) -> None:
        """The flusher also detaches the open buffers; the writer's output must not change by that."""

        def ours() -> None:
            self.writer.flush_all()
            self.partition.detach_open_builders()

        self.command("flush_writer", ours)

    @rule(pick=st.integers(0, 99), times=st.integers(1, 6))
    def poll(self, pick: int, times: int) -> None:
        index = pick % self.count
        for _ in range(times):
            self.command(f"poll {index}", lambda: self.polled(index))

    @precondition(lambda self: bool(self.held))
    @rule(pick=st.integers(0, 99))
    def recycle(self, pick: int) -> None:
        number = self.held.pop(pick % len(self.held))
        self.command(f"recycle {number}", self.buffers[number].recycle)

    @rule(pick=st.integers(0, 99), buffer_size_bytes=st.sampled_from([0, 1, 15, 17, 30, 64, UNLIMITED_SIZE]))
    def buffer_size(self, pick: int, buffer_size_bytes: int) -> None:
        index = pick % self.count
        self.command(
            f"buffer_size {index} {buffer_size_bytes}",
            lambda: self.subpartitions[index].notify_new_buffer_size(buffer_size_bytes),
        )

    def attach(self, index: int) -> None:
        self.subpartitions[index].create_read_view(
            Listener(
                lambda: self.reported.append(f"data{index}"),
                lambda number: self.reported.append(f"priority{index}:{number}"),
            )
        )

    def has_room(self, length: int) -> bool:
        """Whether so many bytes can be written without waiting, to one subpartition or a watermark to each."""
        pool = self.pool
        return pool.size + pool.overdraft - pool.used_segments >= length // self.size + 2 + self.count

    def polled(self, index: int) -> str:
        polled = self.subpartitions[index].poll()
        if polled is None:
            return "none"
        buffer = polled.buffer
        if buffer.event is None:
            self.buffers.append(buffer)
            self.held.append(len(self.buffers) - 1)
        reported = (len(buffer), buffer.data_type.name, polled.backlog, polled.next_type.name, polled.sequence_number)
        return ",".join(map(str, reported))

    def command(self, command: str, ours: Callable[[], str | None]) -> None:
        self.reported.clear()
        self.same(self.real.run(command), lambda: f"{ours() or '-'} {self.state()}")

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
        for subpartition in self.subpartitions:
            seen.append(f"{subpartition.queued_buffers},{subpartition.reported_backlog}")
            if subpartition.listener is not None:
                seen.append(
                    f"{java_text(subpartition.is_available(False))},{java_text(subpartition.is_available(True))}"
                )
        seen += [f"{pool.buffers_of(each.index)},{each.bytes_in_queue}" for each in self.subpartitions]
        return " ".join(map(java_text, seen))


class AdaptiveWriterMachine(RecordWriterMachine):
    """An adaptive writer: the idlest channel before each record, and all that follows from the choice."""

    subject = "AdaptiveLoadBasedRecordWriter"

    @initialize(
        count=st.integers(1, 6),
        size=st.sampled_from([16, 32, 64]),
        more=st.integers(3, 20),
        overdraft=st.sampled_from([0, 2, 5]),
        timeout_ms=st.sampled_from([0, -1, -1]),
        buffer_size_bytes=st.sampled_from([UNLIMITED_SIZE, UNLIMITED_SIZE, 20]),
        max_traverse_size=st.integers(2, 7),
    )
    def begin(  # type: ignore[override]
        self, count: int, size: int, more: int, overdraft: int, timeout_ms: int, buffer_size_bytes: int,
        max_traverse_size: int,
    ) -> None:  # fmt: skip
        self.start(count, size, more, overdraft, timeout_ms, False, buffer_size_bytes, max_traverse_size)

    @rule(length=st.integers(0, 50), times=st.integers(1, 3))
    def collect(self, length: int, times: int) -> None:  # type: ignore[override]
        frame = len(encode_record(TIMESTAMP, bytes(length)))
        for _ in range(times):
            self.command("idlest", lambda: str(self.adaptive.idlest_channel()))
            if self.has_room(frame):
                self.command(f"collect 0 {frame}", lambda: self.writer.collect(bytes(length), TIMESTAMP))


def test_writers_equal_flinks(differential: Differential) -> None:
    differential.run(RecordWriterMachine, examples=40, steps=40)


def test_adaptive_writers_equal_flinks(differential: Differential) -> None:
    differential.run(AdaptiveWriterMachine, examples=60, steps=50)

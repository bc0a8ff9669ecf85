"""The output of one subtask to one edge: open builders and subpartitions.

Flink: ResultPartition, BufferWritingResultPartition, PipelinedResultPartition (rules 5.11-5.14, 5.17, 5.42).
"""

from __future__ import annotations

from flowsim.facts.tracer import TaskTrace
from flowsim.network.buffers.buffer_builder import BufferBuilder
from flowsim.network.buffers.local_buffer_pool import LocalBufferPool
from flowsim.network.channel_state_writer import ChannelStateWriter
from flowsim.network.completion import Completion
from flowsim.network.errors import IllegalState
from flowsim.network.partitions.partition_owner import PartitionOwner, SubpartitionConnector
from flowsim.network.partitions.pipelined_subpartition import PipelinedSubpartition, QueueLength
from flowsim.network.partitions.result_subpartition import REFUSED, UNLIMITED_SIZE, ResultSubpartition
from flowsim.streamrecord.events import EndOfData, Event, StopMode


class ResultPartition:
    """Writes bytes to buffers in subpartitions. Flink: PipelinedResultPartition.

    ``owner`` waits if a record needs a buffer and the pool has none (rule 5.42). ``connector`` connects each readable
    subpartition. ``finishes_at_flush``: a flush finishes the open buffers, so that a reader takes elements apart that one
    buffer would have. ``buffer_size`` is the buffer size in bytes until a reader requests another size. ``trace`` records
    queued buffers as facts of channels ``first_channel`` and following. Invariants: the bytes polled from a
    subpartition are those emitted to it, without gap or duplicate (I5.a); unicast builders and the broadcast builder
    are never open together (rule 5.12).
    """

    __slots__ = (
        "count",
        "pool",
        "unicast",
        "_detached",
        "_broadcast",
        "_open_unicast",
        "_subpartitions",
        "_owner",
        "_connector",
        "buffers_out",
        "bytes_out",
        "finished",
        "_end_of_data_sent",
        "_finishes_at_flush",
        "_zero_exclusive",
        "_buffer_size",
        "_trace",
        "_first_channel",
        "_length",
        "all_data_processed",
        "_unprocessed",
        "_state_writer",
    )

    def __init__(
        self,
        subpartitions: int,
        pool: LocalBufferPool,
        owner: PartitionOwner,
        *,
        connector: SubpartitionConnector | None = None,
        finishes_at_flush: bool = False,
        zero_exclusive_buffers: bool = False,
        buffer_size: int = UNLIMITED_SIZE,
        trace: TaskTrace | None = None,
        first_channel: int = 0,
    ) -> None:
        self.count = subpartitions
        self.pool = pool
        self.unicast: list[BufferBuilder | None] = [None] * subpartitions
        """The open builder of each subpartition; the record writer encodes directly into the builders."""
        self._detached: dict[int, BufferBuilder] = {}
        self._broadcast: BufferBuilder | None = None
        self._open_unicast: list[int] = []
        self._subpartitions: list[ResultSubpartition | None] = [None] * subpartitions
        self._owner = owner
        self._connector = connector
        self.buffers_out = 0
        self.bytes_out = 0
        self.finished = False
        self._end_of_data_sent = False
        self._finishes_at_flush = finishes_at_flush
        self._zero_exclusive = zero_exclusive_buffers
        self._buffer_size = buffer_size
        self._trace = trace
        self._first_channel = first_channel
        self._length = QueueLength()
        self._unprocessed = subpartitions
        self.all_data_processed: Completion[None] = Completion.completed()
        """Done when the readers of all subpartitions have processed all records (rule 4.15)."""
        self._state_writer: tuple[ChannelStateWriter, int] | None = None

    def await_all_data_processed(self) -> None:
        """Lets the readers acknowledge that they have processed all records; called before the first one."""
        self.all_data_processed = Completion()

    def set_channel_state_writer(self, writer: ChannelStateWriter, partition: int) -> None:
        """Lets unaligned checkpoints store queued data; called before the first subpartition is created."""
        self._state_writer = writer, partition

    def recover(self, index: int, payload: bytes) -> None:
        """Queues a stored buffer, before all new data (rule 12.92)."""
        rest = memoryview(payload)
        while rest:
            builder = self._request_builder(index)
            taken = builder.append_and_commit(rest)
            rest = rest[taken:]
            builder.finish()
            self.subpartition(index).add(builder.create_consumer_from_beginning())
            builder.close()

    def aligned_barrier_timeout(self, checkpoint_id: int) -> None:
        """Lets a queued barrier overtake the data before it (rule 12.90)."""
        for subpartition in self._subpartitions:
            if isinstance(subpartition, PipelinedSubpartition):
                subpartition.aligned_barrier_timeout(checkpoint_id)

    def abort_checkpoint(self, checkpoint_id: int) -> None:
        """Stores nothing more for a checkpoint (rule 12.90)."""
        for subpartition in self._subpartitions:
            if isinstance(subpartition, PipelinedSubpartition):
                subpartition.abort_checkpoint(checkpoint_id)

    def _on_subpartition_processed(self) -> None:
        self._unprocessed -= 1
        if not self._unprocessed:
            self.all_data_processed.complete(None)

    def subpartition(self, index: int) -> ResultSubpartition:
        """Returns the subpartition.

        It is created on first use, so that a million idle channels need little memory.
        """
        subpartition = self._subpartitions[index]
        if subpartition is None:
            subpartition = self._subpartitions[index] = self._create_subpartition(index)
            self._on_created(subpartition)
        return subpartition

    def _create_subpartition(self, index: int) -> ResultSubpartition:
        created = PipelinedSubpartition(
            index,
            self._zero_exclusive,
            buffer_size=self._buffer_size,
            trace=self._trace,
            channel_id=self._first_channel + index,
            length=self._length,
        )
        if not self.all_data_processed.is_done:
            created.on_all_data_processed = self._on_subpartition_processed
        if self._state_writer is not None:
            created.set_channel_state_writer(*self._state_writer)
        return created

    def _on_created(self, subpartition: ResultSubpartition) -> None:
        if self._connector is not None:
            self._connector.on_subpartition_created(subpartition)

    def request_unicast(self, index: int) -> BufferBuilder:
        """Returns the open builder of a subpartition, or a new builder.

        The consumer of a new builder is queued before it has data (rule 5.11).

        Raises IllegalState after the end.
        """
        builder = self.unicast[index]
        if builder is not None:
            return builder
        builder = self._detached.pop(index, None)
        if builder is not None:
            self.unicast[index] = builder
            return builder
        builder = self._open_unicast_builder(index)
        desired_bytes = self.subpartition(index).add(builder.create_consumer_from_beginning())
        if desired_bytes > 0:
            builder.trim_after_first_record(desired_bytes)
        return builder

    def _open_unicast_builder(self, index: int) -> BufferBuilder:
        self._check_in_produce_state()
        self._finish_broadcast()
        builder = self._request_builder(index)
        # The wait for the buffer ran no code of this task (D3), so the slot is still empty.
        self.unicast[index] = builder
        self._open_unicast.append(index)
        return builder

    def on_unicast_full(self, index: int, builder: BufferBuilder) -> None:
        """Finishes the full ``builder`` and writes the overflow to further buffers (rule 5.11)."""
        if builder.desired_size:
            builder.settle()
        self._enlarge_rather_than_block(builder, len(builder.data))
        if not builder.is_full:
            return
        rest = builder.cut_overflow()
        self._finish_unicast(index, builder)
        while rest:
            continuation = self._open_unicast_builder(index)
            taken = continuation.append_and_commit(rest)
            desired_bytes = self.subpartition(index).add(continuation.create_consumer_from_beginning())
            if desired_bytes > 0:
                continuation.trim(desired_bytes)
            rest = rest[taken:]
            if rest or continuation.is_full:
                self._finish_unicast(index, continuation)

    def emit(self, frame: bytes, index: int) -> None:
        """Appends the bytes of one element to one subpartition."""
        builder = self.request_unicast(index)
        builder.data += frame
        builder.committed = size = len(builder.data)
        if size >= builder.capacity:
            self.on_unicast_full(index, builder)

    def broadcast(self, frame: bytes) -> None:
        """Appends the bytes once, in a segment that all subpartitions share (rule 5.12)."""
        rest = memoryview(frame)
        builder = self._broadcast
        if builder is None:
            builder = self._open_broadcast_builder()
            self._queue_copies(builder, len(rest))
        rest = self._append(builder, rest)
        while rest:
            # Flink appends to a continuation before the consumer can see it, as for a unicast buffer (rule 5.11).
            self._finish_broadcast()
            builder = self._open_broadcast_builder()
            before = len(rest)
            rest = self._append(builder, rest)
            self._queue_copies(builder, before - len(rest))
        if builder.is_full:
            self._finish_broadcast()

    def broadcast_event(self, event: Event, has_priority: bool | None = None) -> None:
        """Queues the event after all earlier bytes of every subpartition, or before them with priority (rules 5.13,
        5.28).

        Raises IllegalState after the end.
        """
        self._check_in_produce_state()
        self._finish_broadcast()
        self._finish_all_unicast()
        for index in range(self.count):
            self.subpartition(index).add_event(event, has_priority)

    def notify_end_of_data(self, mode: StopMode) -> None:
        """Sends EndOfData once (rule 4.9)."""
        if not self._end_of_data_sent:
            self.broadcast_event(EndOfData(mode))
            self._end_of_data_sent = True

    def detach_open_builders(self) -> None:
        """Removes the open builders from ``unicast`` until the next ``request_unicast``.

        So a flusher is notified of the next record after its interval, even if the record goes into a buffer that was
        already open.
        """
        for index in self._open_unicast:
            builder = self.unicast[index]
            if builder is not None:
                self._detached[index] = builder
                self.unicast[index] = None

    def flush(self, index: int) -> None:
        if self._finishes_at_flush:
            self._finish_broadcast()
            self._finish_unicast_of(index)
        subpartition = self._subpartitions[index]
        if subpartition is not None:
            subpartition.flush()

    def flush_all(self) -> None:
        if self._finishes_at_flush:
            self._finish_broadcast()
            self._finish_all_unicast()
        for subpartition in self._subpartitions:
            if subpartition is not None:
                subpartition.flush()

    def finish(self) -> None:
        """Finishes open builders, then queues EndOfPartition in all subpartitions (rule 4.18).

        Raises IllegalState the second time.
        """
        self._finish_broadcast()
        self._finish_all_unicast()
        for index in range(self.count):
            self.subpartition(index).finish()
        self._check_in_produce_state()
        self.finished = True

    def close(self) -> None:
        """Closes the partition of an ended task.

        The pool returns unused memory now, and the other memory when it has been read (rule 5.37).
        """
        for builder in self._take_open_unicast():
            builder.close()
        if self._broadcast is not None:
            self._broadcast.close()
            self._broadcast = None
        self.pool.lazy_destroy()

    def release(self) -> None:
        """Drops all queued data without EndOfPartition (rule 4.26)."""
        self.close()
        for subpartition in self._subpartitions:
            if subpartition is not None:
                subpartition.release()

    @property
    def queued_buffers(self) -> int:
        return self._length.buffers

    def _append(self, builder: BufferBuilder, rest: memoryview) -> memoryview:
        """Writes the bytes that fit; returns the remaining bytes."""
        self._enlarge_rather_than_block(builder, len(builder.data) + len(rest))
        taken = builder.append_and_commit(rest)
        return rest[taken:]

    def _enlarge_rather_than_block(self, builder: BufferBuilder, size: int) -> None:
        """Enlarges a trimmed buffer to ``size`` bytes plus one if the pool has no other buffer (rule 5.17)."""
        if size >= builder.capacity and not self.pool.available:
            builder.trim(max(builder.capacity, size + 1))

    def _queue_copies(self, builder: BufferBuilder, least_bytes: int) -> None:
        """Queues the builder in all subpartitions.

        Uses the smallest size that any reader requested (rules 5.12, 5.17).
        """
        consumer = builder.create_consumer_from_beginning()
        desired_bytes = UNLIMITED_SIZE
        for index in range(self.count):
            size_bytes = self.subpartition(index).add(consumer.copy())
            if size_bytes != REFUSED:
                desired_bytes = min(desired_bytes, size_bytes)
        if desired_bytes > 0:
            builder.trim(max(desired_bytes, least_bytes))
        consumer.close()

    def _open_broadcast_builder(self) -> BufferBuilder:
        """Opens the broadcast builder; its buffer is counted for subpartition 0 (rule 5.12)."""
        self._check_in_produce_state()
        self._finish_all_unicast()
        builder = self._broadcast = self._request_builder(0)
        return builder

    def _request_builder(self, index: int) -> BufferBuilder:
        builder = self.pool.request_builder(index)
        while builder is None:
            self._owner.wait_for_buffer(self.pool)
            builder = self.pool.request_builder(index)
        return builder

    def _check_in_produce_state(self) -> None:
        if self.finished:
            raise IllegalState("Partition already finished.")

    def _finish_unicast(self, index: int, builder: BufferBuilder) -> None:
        """Finishes the open builder of a subpartition and counts the written bytes (rule 5.14)."""
        self._open_unicast.remove(index)
        self._detached.pop(index, None)
        self.unicast[index] = None
        self.bytes_out += builder.finish()
        self.buffers_out += 1
        builder.close()

    def _finish_broadcast(self) -> None:
        """Finishes the broadcast builder; its buffer counts once per subpartition (rule 5.14)."""
        builder = self._broadcast
        if builder is not None:
            self.bytes_out += builder.finish() * self.count
            self.buffers_out += self.count
            builder.close()
            self._broadcast = None

    def _finish_all_unicast(self) -> None:
        for builder in self._take_open_unicast():
            self.bytes_out += builder.finish()
            self.buffers_out += 1
            builder.close()

    def _finish_unicast_of(self, index: int) -> None:
        builder = self._detached.get(index) or self.unicast[index]
        if builder is not None:
            self._finish_unicast(index, builder)

    def _take_open_unicast(self) -> list[BufferBuilder]:
        """Removes and returns the open builders, in the order of their subpartitions."""
        taken = []
        for index in sorted(self._open_unicast):
            builder = self._detached.pop(index, None) or self.unicast[index]
            if builder is not None:
                taken.append(builder)
            self.unicast[index] = None
        self._open_unicast.clear()
        return taken

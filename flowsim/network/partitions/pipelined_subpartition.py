"""The queue between one producer and the reader of one subpartition. Flink: PipelinedSubpartition (rules 5.18-5.32)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

from flowsim.facts.kinds import BufferKind, BufferSide
from flowsim.facts.tracer import TaskTrace
from flowsim.network.buffers.buffer import wire_size
from flowsim.network.buffers.buffer_builder import EventConsumer
from flowsim.network.buffers.data_type import DataType, buffer_kind
from flowsim.network.channel_state_writer import NO_OP, ChannelStateWriter
from flowsim.network.completion import Completion
from flowsim.network.errors import IllegalArgument, IllegalState
from flowsim.network.partitions.prioritized_deque import PrioritizedList, PrioritizedQueue
from flowsim.network.partitions.result_subpartition import (
    REFUSED,
    UNLIMITED_SIZE,
    Buffer,
    BufferAndBacklog,
    BufferAvailabilityListener,
    Consumer,
)
from flowsim.state.redistribution.channel_state_handles import ResultSubpartitionInfo
from flowsim.streamrecord.events import CheckpointBarrier, EndOfPartitionEvent, Event


class QueueLength:
    """The number of buffers and events queued in all subpartitions that share this counter.

    It is read in every batch, so it is maintained incrementally.
    """

    __slots__ = ("buffers",)

    def __init__(self) -> None:
        self.buffers = 0


class PipelinedSubpartition:
    """A queue of consumers; at most the last one is still being filled (I5.b). Flink: PipelinedSubpartition.

    The subpartition is its own read view: ``create_read_view`` attaches the only reader, which is notified by rules
    5.21, 5.22 (data) and 5.28 (priority events).
    """

    __slots__ = (
        "index",
        "buffers",
        "backlog",
        "flush_requested",
        "finished",
        "released",
        "blocked",
        "sequence_number",
        "buffer_size_bytes",
        "zero_exclusive_buffers",
        "listener",
        "on_all_data_processed",
        "_state_writer",
        "_state_info",
        "_state_future",
        "_state_checkpoint",
        "_barrier_number",
        "_trace",
        "_channel_id",
        "_queued",
        "_length",
    )

    def __init__(
        self,
        index: int,
        zero_exclusive_buffers: bool = False,
        *,
        buffer_size: int = UNLIMITED_SIZE,
        trace: TaskTrace | None = None,
        channel_id: int = -1,
        length: QueueLength | None = None,
    ) -> None:
        self.index = index
        self._length = QueueLength() if length is None else length
        self.buffers: PrioritizedQueue[Consumer] = PrioritizedList()
        self.backlog = 0
        """Number of data buffers in the queue (I5.d)."""
        self.flush_requested = False
        self.finished = False
        self.released = False
        self.blocked = False
        """True if a blocking event was polled and the reader has not resumed (rule 5.27)."""
        self.sequence_number = 0
        self.buffer_size_bytes = buffer_size
        """The size in bytes that the reader requested for later buffers (rule 6.24)."""
        self.zero_exclusive_buffers = zero_exclusive_buffers
        self.listener: BufferAvailabilityListener | None = None
        self.on_all_data_processed: Callable[[], None] | None = None
        """Called when the reader has processed all records up to EndOfData (rule 7.12); None: the writer does not wait."""
        self._state_writer = NO_OP
        self._state_info = ResultSubpartitionInfo(-1, index)
        self._state_future: Completion[Sequence[bytes]] | None = None
        self._state_checkpoint = 0
        self._barrier_number = 0
        """The number of the timeoutable barrier among the queued buffers and events."""
        self._trace = trace
        self._channel_id = channel_id
        self._queued = 0

    def set_channel_state_writer(self, writer: ChannelStateWriter, partition: int) -> None:
        """Sets where unaligned checkpoints store overtaken data. Raises IllegalState the second time."""
        if self._state_writer is not NO_OP:
            raise IllegalState(f"subpartition {self.index} has a channel state writer already")
        self._state_writer, self._state_info = writer, ResultSubpartitionInfo(partition, self.index)

    # The reader's methods.

    def create_read_view(self, listener: BufferAvailabilityListener) -> PipelinedSubpartition:
        """Attaches the only reader (rule 5.31). The reader is not notified of queued data: it must check.

        Raises IllegalState if there was a reader before or the subpartition is released.
        """
        if self.released:
            raise IllegalState(f"subpartition {self.index} is released")
        if self.listener is not None:
            raise IllegalState(f"subpartition {self.index} is being (or was) consumed already")
        self.listener = listener
        return self

    @property
    def awaits_acknowledgement(self) -> bool:
        return self.on_all_data_processed is not None

    def acknowledge_all_data_processed(self) -> None:
        """Called by the reader when its task has processed all records up to EndOfData (rule 7.12)."""
        if self.on_all_data_processed is not None:
            self.on_all_data_processed()

    @property
    def finished_buffers(self) -> int:
        """Number of finished buffers in the queue (rule 5.19)."""
        count = len(self.buffers)
        return count - 1 if count > 1 else int(count == 1 and self.buffers[0].is_finished)

    @property
    def is_data_available(self) -> bool:
        """True if the subpartition is not blocked and has data to read (rule 5.20)."""
        return not self.blocked and (self.flush_requested or self.finished_buffers > 0)

    def is_available(self, has_credit: bool) -> bool:
        """True if data can be sent; without credit only an event at the head counts (rule 5.29)."""
        return self.is_data_available if has_credit else self._head_type.is_event

    @property
    def reported_backlog(self) -> int:
        """Number of data buffers that are reported to the receiver as backlog (rule 5.26)."""
        if self.blocked or not self.buffers:
            return 0
        tail_may_wait = self.buffers[-1].event is None and not self.flush_requested and not self.finished
        return max(self.backlog - 1, 0) if tail_may_wait else self.backlog

    @property
    def queued_buffers(self) -> int:
        return len(self.buffers)

    @property
    def bytes_in_queue(self) -> int:
        return sum(consumer.unread_bytes for consumer in self.buffers)

    def poll(self) -> BufferAndBacklog | None:
        """Returns the next bytes or event, including an unfinished last buffer (rules 5.23, 5.24)."""
        buffers = self.buffers
        if self.blocked and not buffers.priority_elements:
            return None
        if not buffers:
            self.flush_requested = False
        while buffers:
            head = buffers[0]
            barrier = _timeoutable(head)
            if barrier is not None:
                self._complete_in_line(barrier)
            piece = head.build()
            finished = head.is_finished
            if not finished and len(buffers) > 1:
                raise IllegalState(f"subpartition {self.index}: a buffer that is being filled is not the last one")
            if len(buffers) == 1:
                self.flush_requested = False
            if finished:
                buffers.popleft()
                self._length.buffers -= 1
                if head.event is None:
                    self.backlog -= 1
                head.close()
            if piece.event is not None or len(piece) or (finished and self.zero_exclusive_buffers):
                return self._polled(piece, finished)
            if self._trace is not None:
                self._trace.buffer(
                    self._channel_id, BufferSide.SKIPPED, -1, BufferKind.DATA, 0, self.backlog, -1, finished
                )
            piece.recycle()
            if not finished:
                break
        return None

    def _polled(self, buffer: Buffer, whole: bool) -> BufferAndBacklog:
        if buffer.data_type.is_blocking_upstream:
            self.blocked = True
        number = self.sequence_number
        self.sequence_number = number + 1
        following = self._head_type if self.is_data_available else DataType.NONE
        return BufferAndBacklog(buffer, self.reported_backlog, following, number, whole)

    def resume_consumption(self) -> None:
        """Makes data after the blocking event readable; the reader is not notified (rule 5.27). Raises IllegalState."""
        if not self.blocked:
            raise IllegalState(f"subpartition {self.index} is not blocked")
        self.blocked = False

    def notify_new_buffer_size(self, desired_bytes: int) -> None:
        """Sets the size in bytes of later buffers, which the reader requests (rules 5.17, 6.24). Flink: bufferSize."""
        if desired_bytes < 0:
            raise IllegalArgument(f"a buffer size is not negative: {desired_bytes}")
        self.buffer_size_bytes = desired_bytes

    # The writer's methods.

    def add(self, consumer: Consumer) -> int:
        """Queues a buffer; returns the size for the next buffer, or REFUSED after the end (rule 5.18)."""
        return self._add(consumer, False)

    def add_event(self, event: Event, has_priority: bool | None = None) -> int:
        """Queues an event; result as for ``add``.

        An unaligned barrier has priority unless ``has_priority`` is given.
        """
        if has_priority is None:
            has_priority = isinstance(event, CheckpointBarrier) and event.options.is_unaligned_checkpoint
        return self._add(EventConsumer(event, has_priority), False)

    def finish(self) -> int:
        """Queues EndOfPartition and always notifies the reader (rules 5.21, 5.30); returns the event's bytes."""
        self._add(EventConsumer(EndOfPartitionEvent()), True)
        return wire_size(EndOfPartitionEvent())

    def flush(self) -> None:
        """Makes an unfinished last buffer readable (rule 5.22)."""
        buffers = self.buffers
        if not buffers or self.flush_requested:
            return
        is_readable = len(buffers) > 1
        if not is_readable and not buffers[0].is_data_available:
            return
        self.flush_requested = True
        if self._trace is not None:
            self._trace.buffer(self._channel_id, BufferSide.FLUSHED, -1, BufferKind.DATA, -1, self.backlog, -1)
        if not is_readable and not self.blocked:
            self._notify()

    def aligned_barrier_timeout(self, checkpoint_id: int) -> None:
        """Makes the timeoutable barrier unaligned if it is still queued: it overtakes the data (rule 5.32)."""
        future = self._state_future
        if future is None or self._state_checkpoint != checkpoint_id:
            return
        overtaken: list[bytes] = []
        for consumer in islice(self.buffers, self.buffers.priority_elements, None):
            if consumer.event is None:
                overtaken.append(_bytes_of(consumer))
                continue
            barrier = _timeoutable(consumer)
            if barrier is not None and barrier.checkpoint_id == checkpoint_id:
                self._promote(consumer, barrier)
                break
        notify = self.buffers.priority_elements == 1
        self._state_future = None
        future.complete(overtaken)
        if notify:
            self._notify_priority(self.sequence_number)

    def abort_checkpoint(self, checkpoint_id: int) -> None:
        """Fails the future of the data before the timeoutable barrier; the barrier stays queued."""
        if self._state_future is not None and self._state_checkpoint == checkpoint_id:
            self._fail_future(f"checkpoint {checkpoint_id} was aborted")

    def release(self) -> None:
        """Drops all queued buffers: after a failure, a cancellation, or complete consumption."""
        if self.released:
            return
        for consumer in self.buffers:
            consumer.close()
        self._length.buffers -= len(self.buffers)
        self.buffers.clear()
        self._fail_future("the subpartition was released")
        self.released = True

    def _add(self, consumer: Consumer, finish: bool) -> int:
        if self.finished or self.released:
            consumer.close()
            return REFUSED
        notify_priority = self._queue(consumer)
        self._length.buffers += 1
        if consumer.event is None:
            self.backlog += 1
        if self._trace is not None:
            self._trace_queued(consumer)
        if finish:
            self.finished = True
        # Rule 5.21: exactly one finished buffer after the add.
        notify = finish or (not self.flush_requested and not self.blocked and self.finished_buffers == 1)
        desired_bytes = self.buffer_size_bytes
        if notify_priority:
            self._notify_priority(self.sequence_number)
        if notify:
            self._notify()
        return desired_bytes

    def _queue(self, consumer: Consumer) -> bool:
        """Inserts a buffer by priority; returns True if the reader must be notified of a priority event (rule 5.28)."""
        if consumer.data_type.has_priority:
            self.buffers.add_priority_element(consumer)
            if isinstance(consumer.event, CheckpointBarrier):
                self._keep_overtaken(consumer.event)
            return self.buffers.priority_elements == 1
        barrier = _timeoutable(consumer)
        if barrier is not None:
            self._await_timeout(barrier)
        self.buffers = self.buffers.appended(consumer)
        return False

    def _keep_overtaken(self, barrier: CheckpointBarrier) -> None:
        if not barrier.options.is_unaligned_checkpoint:
            raise IllegalState(f"only unaligned barriers overtake, not {barrier}")
        behind = islice(self.buffers, self.buffers.priority_elements, None)
        overtaken: Sequence[bytes] = [_bytes_of(consumer) for consumer in behind if consumer.event is None]
        if overtaken:
            self._state_writer.add_output_data(barrier.checkpoint_id, self._state_info, overtaken)

    def _await_timeout(self, barrier: CheckpointBarrier) -> None:
        self._fail_future(f"checkpoint {barrier.checkpoint_id} came before the barrier was read")
        self._state_checkpoint = barrier.checkpoint_id
        self._barrier_number = self._queued
        self._state_future = Completion()
        self._state_writer.add_output_data_future(barrier.checkpoint_id, self._state_info, self._state_future)

    def _promote(self, consumer: EventConsumer, barrier: CheckpointBarrier) -> None:
        self.buffers.get_and_remove(lambda queued: queued is consumer)
        self.buffers.add_priority_element(EventConsumer(barrier.as_unaligned(), True))
        if self._trace is not None:
            number, kind = self._barrier_number, BufferKind.PRIORITY_EVENT
            self._trace.buffer(self._channel_id, BufferSide.PRIORITIZED, number, kind, -1, self.backlog, -1)

    def _complete_in_line(self, barrier: CheckpointBarrier) -> None:
        """Completes the future without data: the barrier is read in order and overtook no data (rule 5.32)."""
        future = self._state_future
        if future is not None and barrier.checkpoint_id == self._state_checkpoint:
            self._state_future = None
            future.complete(())

    def _fail_future(self, reason: str) -> None:
        future, self._state_future = self._state_future, None
        if future is not None:
            future.complete_exceptionally(IllegalState(reason))

    @property
    def _head_type(self) -> DataType:
        return self.buffers[0].data_type if self.buffers else DataType.NONE

    def _notify(self) -> None:
        if self.listener is not None and not self.released:
            self.listener.notify_data_available()

    def _notify_priority(self, sequence_number: int) -> None:
        if self.listener is not None and not self.released:
            self.listener.notify_priority_event(sequence_number)

    def _trace_queued(self, consumer: Consumer) -> None:
        kind = buffer_kind(consumer.data_type)
        if self._trace is not None:
            self._trace.buffer(self._channel_id, BufferSide.QUEUED, self._queued, kind, -1, self.backlog, -1)
        self._queued += 1


def _timeoutable(consumer: Consumer) -> CheckpointBarrier | None:
    """Returns the timeoutable barrier in ``consumer``, otherwise None."""
    if consumer.data_type is DataType.TIMEOUTABLE_ALIGNED_CHECKPOINT_BARRIER:
        event = consumer.event
        return event if isinstance(event, CheckpointBarrier) else None
    return None


def _bytes_of(consumer: Consumer) -> bytes:
    """Returns the committed bytes that were not read yet, without consuming them."""
    copy = consumer.copy()
    piece = copy.build()
    payload = piece.payload
    piece.recycle()
    copy.close()
    return payload

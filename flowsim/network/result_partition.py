"""The output of one subtask to one edge: builders being filled, and their queues.

Flink: ResultPartition, BufferWritingResultPartition, PipelinedResultPartition (rules 5.11-5.14, 5.42).
"""

from __future__ import annotations

from collections.abc import Callable

from flowsim.network.buffer_builder import BufferBuilder
from flowsim.network.buffer_pool import LocalBufferPool
from flowsim.network.subpartition import PipelinedSubpartition
from flowsim.streamrecord.events import EndOfData, Event, StopMode


class ResultPartition:
    """Turns bytes into buffers in subpartitions. Flink: PipelinedResultPartition.

    ``wait_for_buffer`` is the blocking point of rule 5.42: it returns when the pool may have a segment again.
    Invariants: bytes polled from a subpartition are those emitted to it, no gap, no duplicate (I5.a); unicast builders and
    the broadcast builder are never open together (rule 5.12).
    """

    __slots__ = (
        "count", "pool", "unicast", "_resting", "_broadcast", "_open_unicast", "_subpartitions", "_wait_for_buffer",
        "on_subpartition_created", "buffers_out", "bytes_out", "_end_of_data_sent", "_zero_exclusive",
    )  # fmt: skip

    def __init__(
        self,
        subpartitions: int,
        pool: LocalBufferPool,
        wait_for_buffer: Callable[[LocalBufferPool], None],
        *,
        zero_exclusive_buffers: bool = False,
    ) -> None:
        self.count = subpartitions
        self.pool = pool
        self.unicast: list[BufferBuilder | None] = [None] * subpartitions
        """The open builder of each subpartition; the record writer encodes straight into them."""
        self._resting: dict[int, BufferBuilder] = {}
        self._broadcast: BufferBuilder | None = None
        self._open_unicast: list[int] = []
        self._subpartitions: list[PipelinedSubpartition | None] = [None] * subpartitions
        self._wait_for_buffer = wait_for_buffer
        self.on_subpartition_created: Callable[[PipelinedSubpartition], None] | None = None
        self.buffers_out = 0
        self.bytes_out = 0
        self._end_of_data_sent = False
        self._zero_exclusive = zero_exclusive_buffers

    def subpartition(self, index: int) -> PipelinedSubpartition:
        """Made when first used, so that a million idle channels cost little."""
        found = self._subpartitions[index]
        if found is None:
            found = PipelinedSubpartition(index, self._zero_exclusive)
            self._subpartitions[index] = found
            if self.on_subpartition_created is not None:
                self.on_subpartition_created(found)
        return found

    def request_unicast(self, index: int) -> BufferBuilder:
        """The open builder of a subpartition, or a new one, whose consumer is queued before data is in it (rule 5.11)."""
        builder = self.unicast[index]
        if builder is not None:
            return builder
        builder = self._resting.pop(index, None)
        if builder is not None:
            self.unicast[index] = builder
            return builder
        self._finish_broadcast()
        builder = self._request_builder(index)
        # Waiting for the buffer may have run nothing of ours (D3), so the slot is still empty.
        self.unicast[index] = builder
        self._open_unicast.append(index)
        self.subpartition(index).add(builder.create_consumer_from_beginning())
        return builder

    def on_unicast_full(self, index: int, builder: BufferBuilder) -> None:
        """``builder`` holds at least its capacity: finish it and carry what overflows into further buffers (rule 5.11)."""
        rest = builder.cut_overflow()
        self._finish(builder)
        self.unicast[index] = None
        self._open_unicast.remove(index)
        while rest:
            continuation = self._request_builder(index)
            taken = continuation.append_and_commit(rest)
            self.subpartition(index).add(continuation.create_consumer_from_beginning())
            rest = rest[taken:]
            if continuation.is_full:
                self._finish(continuation)
            else:
                self.unicast[index] = continuation
                self._open_unicast.append(index)

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
        while rest:
            builder = self._broadcast
            fresh = builder is None
            if builder is None:
                self._finish_all_unicast()
                builder = self._request_builder(0)
            taken = builder.append_and_commit(rest)
            rest = rest[taken:]
            if fresh:
                self._queue_copies(builder)
            if builder.is_full:
                self._finish(builder)
                self._broadcast = None
            else:
                self._broadcast = builder

    def broadcast_event(self, event: Event) -> None:
        """Queues the event behind all earlier bytes of every subpartition (rule 5.13)."""
        self._finish_broadcast()
        self._finish_all_unicast()
        for index in range(self.count):
            self.subpartition(index).add_event(event)

    def notify_end_of_data(self, mode: StopMode) -> None:
        """Sends EndOfData once (rule 4.9)."""
        if not self._end_of_data_sent:
            self._end_of_data_sent = True
            self.broadcast_event(EndOfData(mode))

    def rest(self) -> None:
        """Takes the open builders out of ``unicast`` until the next ``request_unicast``.

        So that a flusher, once it came round, hears of the next record that goes into a buffer which is open already.
        """
        for index in self._open_unicast:
            builder = self.unicast[index]
            if builder is not None:
                self._resting[index] = builder
                self.unicast[index] = None

    def flush(self, index: int) -> None:
        found = self._subpartitions[index]
        if found is not None:
            found.flush()

    def flush_all(self) -> None:
        for found in self._subpartitions:
            if found is not None:
                found.flush()

    def finish(self) -> None:
        """Rule 4.18: open builders are finished, then EndOfPartition is queued everywhere."""
        self._finish_broadcast()
        self._finish_all_unicast()
        for index in range(self.count):
            self.subpartition(index).finish()

    def release(self) -> None:
        """Drops everything; no EndOfPartition (rule 4.26)."""
        for builder in self._take_open_unicast():
            builder.close()
        if self._broadcast is not None:
            self._broadcast.close()
            self._broadcast = None
        for found in self._subpartitions:
            if found is not None:
                found.release()
        self.pool.lazy_destroy()

    @property
    def queued_buffers(self) -> int:
        return sum(len(s.buffers) for s in self._subpartitions if s is not None)

    def _queue_copies(self, builder: BufferBuilder) -> None:
        consumer = builder.create_consumer_from_beginning()
        for index in range(self.count):
            self.subpartition(index).add(consumer.copy())
        consumer.close()

    def _request_builder(self, index: int) -> BufferBuilder:
        builder = self.pool.request_builder(index)
        while builder is None:
            self._wait_for_buffer(self.pool)
            builder = self.pool.request_builder(index)
        return builder

    def _finish(self, builder: BufferBuilder) -> None:
        self.bytes_out += builder.finish()
        self.buffers_out += 1
        builder.close()

    def _finish_broadcast(self) -> None:
        if self._broadcast is not None:
            self._finish(self._broadcast)
            self._broadcast = None

    def _finish_all_unicast(self) -> None:
        for builder in self._take_open_unicast():
            self._finish(builder)

    def _take_open_unicast(self) -> list[BufferBuilder]:
        """The open builders in the order in which they were opened; afterwards none is open."""
        taken = []
        for index in self._open_unicast:
            builder = self._resting.pop(index, None) or self.unicast[index]
            if builder is not None:
                taken.append(builder)
            self.unicast[index] = None
        self._open_unicast.clear()
        return taken

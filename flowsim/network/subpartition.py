"""The queue between one producer and the reader of one subpartition. Flink: PipelinedSubpartition (rules 5.18-5.31)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from flowsim.errors import InvariantViolation
from flowsim.network.buffer import BufferSlice, EventBuffer
from flowsim.network.buffer_builder import BufferConsumer, EventConsumer
from flowsim.streamrecord.events import EndOfPartitionEvent, Event

Consumer = BufferConsumer | EventConsumer
Buffer = BufferSlice | EventBuffer


@dataclass(frozen=True, slots=True)
class BufferAndBacklog:
    """One polled buffer. Flink: ResultSubpartition.BufferAndBacklog.

    ``backlog``: data buffers waiting behind it (rule 5.26); ``next_is_event`` and ``next_is_data`` describe what can be
    polled next, both False when nothing can.
    """

    buffer: Buffer
    backlog: int
    next_is_data: bool
    next_is_event: bool
    sequence_number: int


class PipelinedSubpartition:
    """Consumers in order, at most the last one still being filled (I5.b). Flink: PipelinedSubpartition.

    ``on_data_available`` is called at the moments of rules 5.21 and 5.22 once a reader is attached.
    """

    __slots__ = (
        "index", "buffers", "backlog", "flush_requested", "finished", "released", "sequence_number", "on_data_available",
        "zero_exclusive_buffers",
    )  # fmt: skip

    def __init__(self, index: int, zero_exclusive_buffers: bool = False) -> None:
        self.index = index
        self.buffers: deque[Consumer] = deque()
        self.backlog = 0
        self.flush_requested = False
        self.finished = False
        self.released = False
        self.sequence_number = 0
        self.on_data_available: Callable[[], None] | None = None
        self.zero_exclusive_buffers = zero_exclusive_buffers

    def create_read_view(self, on_data_available: Callable[[], None]) -> None:
        """Attaches the one reader (rule 5.31). It is not told of what is queued already: it asks for that itself."""
        if self.on_data_available is not None:
            raise InvariantViolation(f"subpartition {self.index} is being (or was) consumed already")
        self.on_data_available = on_data_available

    def add(self, consumer: Consumer) -> bool:
        """Appends; False when finished or released (rule 5.18)."""
        if self.finished or self.released:
            consumer.close()
            return False
        self._append(consumer)
        if self._should_notify():
            self._notify()
        return True

    def add_event(self, event: Event) -> bool:
        return self.add(EventConsumer(event))

    def finish(self) -> None:
        """Appends EndOfPartition and always notifies (rules 5.21, 5.30)."""
        if self.finished or self.released:
            return
        self._append(EventConsumer(EndOfPartitionEvent()))
        self.finished = True
        self._notify()

    def flush(self) -> None:
        """Makes an unfinished tail readable (rule 5.22)."""
        buffers = self.buffers
        if not buffers or self.flush_requested:
            return
        if len(buffers) > 1:
            self.flush_requested = True
        elif buffers[0].is_data_available:
            self.flush_requested = True
            self._notify()

    @property
    def finished_buffers(self) -> int:
        """Rule 5.19."""
        count = len(self.buffers)
        return count - 1 if count > 1 else int(count == 1 and self.buffers[0].is_finished)

    @property
    def is_data_available(self) -> bool:
        """Rule 5.20."""
        return self.flush_requested or self.finished_buffers > 0

    def is_available(self, has_credit: bool) -> bool:
        """Rule 5.29: without credit only an event at the head counts."""
        if has_credit:
            return self.is_data_available
        return bool(self.buffers) and self.buffers[0].event is not None

    @property
    def reported_backlog(self) -> int:
        """Rule 5.26."""
        if not self.buffers:
            return 0
        tail_may_wait = self.buffers[-1].event is None and not self.flush_requested and not self.finished
        return max(self.backlog - 1, 0) if tail_may_wait else self.backlog

    def poll(self) -> BufferAndBacklog | None:
        """The next bytes or event, an unfinished tail included (rules 5.23, 5.24)."""
        buffers = self.buffers
        buffer: Buffer | None = None
        if not buffers:
            self.flush_requested = False
        while buffers:
            head = buffers[0]
            piece = head.build()
            if len(buffers) == 1:
                self.flush_requested = False
            finished = head.is_finished
            if finished:
                buffers.popleft()
                if head.event is None:
                    self.backlog -= 1
                head.close()
            if piece.event is not None or len(piece) or (finished and self.zero_exclusive_buffers):
                buffer = piece
                break
            piece.recycle()
            if not finished:
                break
        if buffer is None:
            return None
        number = self.sequence_number
        self.sequence_number = number + 1
        readable = self.is_data_available
        next_event = readable and buffers[0].event is not None
        return BufferAndBacklog(buffer, self.reported_backlog, readable and not next_event, next_event, number)

    def release(self) -> None:
        """Drops everything (failure, cancellation, or consumed to the end)."""
        self.released = True
        for consumer in self.buffers:
            consumer.close()
        self.buffers.clear()
        self.backlog = 0

    def _append(self, consumer: Consumer) -> None:
        self.buffers.append(consumer)
        if consumer.event is None:
            self.backlog += 1

    def _should_notify(self) -> bool:
        """Rule 5.21: exactly one finished buffer after the add."""
        return not self.flush_requested and self.finished_buffers == 1

    def _notify(self) -> None:
        if self.on_data_available is not None:
            self.on_data_available()

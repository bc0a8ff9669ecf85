"""The receiving half of a channel. Flink: InputChannel, RemoteInputChannel, BufferManager, LocalInputChannel (section 6)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from flowsim.errors import InvariantViolation
from flowsim.facts.kinds import BufferKind, BufferSide, CreditKind
from flowsim.facts.tracer import TaskTrace
from flowsim.network.buffer import EventBuffer, MemorySegment
from flowsim.network.subpartition import Buffer, PipelinedSubpartition

if TYPE_CHECKING:
    from flowsim.network.input_gate import SingleInputGate


class ReceivedBuffer:
    """Bytes in a buffer of the receiver; ``recycle`` frees that buffer. ``floating`` is None for an exclusive one."""

    __slots__ = ("payload", "_channel", "_floating")

    event: None = None

    def __init__(self, payload: bytes, channel: RemoteInputChannel, floating: MemorySegment | None) -> None:
        self.payload = payload
        self._channel = channel
        self._floating = floating

    def recycle(self) -> None:
        self._channel.recycle(self._floating)


Received = ReceivedBuffer | Buffer


class InputChannel:
    """One channel of a gate. Flink: InputChannel.

    ``index``: flattened index inside the task input, as the valve counts. ``tail``: undecoded bytes of a partial element
    (rule 7.16). ``position``: elements and events decoded so far.
    """

    __slots__ = ("gate", "index", "channel_id", "enqueued", "finished", "tail", "position", "trace")

    def __init__(self, gate: SingleInputGate, index: int, channel_id: int, trace: TaskTrace | None) -> None:
        self.gate = gate
        self.index = index
        self.channel_id = channel_id
        self.enqueued = False
        self.finished = False
        self.tail = b""
        self.position = 0
        self.trace = trace

    def next_buffer(self) -> tuple[Received, bool] | None:
        """The next buffer or event, and whether more can be read now."""
        raise NotImplementedError

    def release(self) -> None:
        """EndOfPartition was read, or the task is going away (rule 7.6)."""
        self.finished = True
        self.tail = b""

    @property
    def queued_buffers(self) -> int:
        raise NotImplementedError


class RemoteInputChannel(InputChannel):
    """A channel with credits. Flink: RemoteInputChannel with its BufferManager (rules 6.1-6.8).

    Exclusive buffers are reserved in the cluster's pool and counted here; floating ones are segments of the gate's pool.
    ``on_credit`` is called when unannounced credit turns positive; ``get_and_reset_unannounced_credit`` is what a message
    carries, so increments coalesce (rule 6.8); ``announce_credit`` takes the message to the sender.
    """

    __slots__ = (
        "received", "_expected", "initial_credit", "exclusive_available", "_floating", "required_buffers", "_waiting",
        "unannounced_credit", "on_credit", "announce_credit",
    )  # fmt: skip

    def __init__(
        self, gate: SingleInputGate, index: int, channel_id: int, exclusive_buffers: int, trace: TaskTrace | None
    ) -> None:
        super().__init__(gate, index, channel_id, trace)
        self.received: deque[Received] = deque()
        self._expected = 0
        self.initial_credit = exclusive_buffers
        self.exclusive_available = exclusive_buffers
        self._floating: deque[MemorySegment] = deque()
        self.required_buffers = 0
        self._waiting = False
        self.unannounced_credit = 0
        self.on_credit: Callable[[RemoteInputChannel], None] | None = None
        self.announce_credit: Callable[[int], None] = _drop_credit
        if trace is not None:
            trace.credit(channel_id, CreditKind.INITIAL_GRANTED, exclusive_buffers, -1)

    @property
    def available_buffers(self) -> int:
        return self.exclusive_available + len(self._floating)

    @property
    def queued_buffers(self) -> int:
        return len(self.received)

    def on_buffer(self, buffer: Buffer, sequence_number: int, backlog: int) -> None:
        """A buffer arrives: it moves into memory reserved here, and the sender's is free (rules 6.12, 6.14)."""
        if sequence_number != self._expected:
            raise InvariantViolation(
                f"channel {self.channel_id}: expected buffer {self._expected}, received {sequence_number}"
            )
        self._expected += 1
        is_data = buffer.event is None
        if self.trace is not None:
            kind = BufferKind.DATA if is_data else BufferKind.EVENT
            self.trace.buffer(self.channel_id, BufferSide.RECEIVED, sequence_number, kind, len(buffer), backlog, -1)
        if self.finished:
            buffer.recycle()
            return
        arrived: Received = ReceivedBuffer(buffer.payload, self, self._request_buffer()) if is_data else buffer
        buffer.recycle()
        self.received.append(arrived)
        self.gate.notify_channel_non_empty(self)
        self.on_sender_backlog(backlog)

    def on_sender_backlog(self, backlog: int) -> None:
        """Rule 6.4: reserve floating buffers for what the sender has waiting."""
        if self.finished:
            return
        self.required_buffers = backlog + self.initial_credit
        self._grant(self._request_floating())

    def notify_buffer_available(self, segment: MemorySegment) -> bool:
        """A segment of the gate's pool came back (rule 6.6)."""
        self._waiting = False
        if self.finished or self.available_buffers >= self.required_buffers:
            return False
        self._floating.append(segment)
        self._grant(1 + self._request_floating())
        return True

    def recycle(self, floating: MemorySegment | None) -> None:
        """A received buffer was consumed (rule 6.5)."""
        if floating is not None:
            self.gate.pool.recycle(floating)
            return
        if self.finished:
            return
        self.exclusive_available += 1
        if self.available_buffers > self.required_buffers and self._floating:
            self.gate.pool.recycle(self._floating.popleft())
        else:
            self._grant(1)

    def get_and_reset_unannounced_credit(self) -> int:
        credit, self.unannounced_credit = self.unannounced_credit, 0
        if self.trace is not None and credit:
            self.trace.credit(self.channel_id, CreditKind.ANNOUNCED, credit, -1)
        return credit

    def next_buffer(self) -> tuple[Received, bool] | None:
        if not self.received:
            return None
        return self.received.popleft(), bool(self.received)

    def release(self) -> None:
        super().release()
        for waiting in self.received:
            waiting.recycle()
        self.received.clear()
        while self._floating:
            self.gate.pool.recycle(self._floating.popleft())

    def _request_buffer(self) -> MemorySegment | None:
        """Memory for an arriving buffer: floating first (rule 6.3); None stands for an exclusive one."""
        self.required_buffers = max(self.required_buffers - 1, 0)
        if self._floating:
            return self._floating.popleft()
        if self.exclusive_available <= 0:
            raise InvariantViolation(f"channel {self.channel_id} received a data buffer without a reserved buffer")
        self.exclusive_available -= 1
        return None

    def _request_floating(self) -> int:
        got = 0
        while not self._waiting and self.available_buffers < self.required_buffers:
            segment = self.gate.pool.request_segment()
            if segment is not None:
                self._floating.append(segment)
                got += 1
            elif self.gate.pool.add_listener(self):
                self._waiting = True
        return got

    def _grant(self, credits: int) -> None:
        if credits <= 0:
            return
        first = self.unannounced_credit == 0
        self.unannounced_credit += credits
        if first and self.on_credit is not None:
            self.on_credit(self)


def _drop_credit(credits: int) -> None:
    """Before the channel is connected nobody listens."""


class LocalInputChannel(InputChannel):
    """Reads the producer's subpartition directly: no credits, no copies (rule 6.17). Flink: LocalInputChannel.

    ``is_sealed`` answers True while the producer's running batch is not published yet (D4): then nothing can be read,
    and ``on_data_available`` is called at its end.
    """

    __slots__ = ("subpartition", "is_sealed")

    def __init__(
        self,
        gate: SingleInputGate,
        index: int,
        channel_id: int,
        subpartition: PipelinedSubpartition,
        is_sealed: Callable[[LocalInputChannel], bool],
        trace: TaskTrace | None,
    ) -> None:
        super().__init__(gate, index, channel_id, trace)
        self.subpartition = subpartition
        self.is_sealed = is_sealed

    @property
    def queued_buffers(self) -> int:
        return len(self.subpartition.buffers)

    def on_data_available(self) -> None:
        if not self.finished:
            self.gate.notify_channel_non_empty(self)

    def next_buffer(self) -> tuple[Received, bool] | None:
        if self.is_sealed(self):
            return None
        polled = self.subpartition.poll()
        if polled is None:
            return None
        if self.trace is not None:
            kind = BufferKind.EVENT if isinstance(polled.buffer, EventBuffer) else BufferKind.DATA
            size = len(polled.buffer)
            self.trace.buffer(
                self.channel_id, BufferSide.RECEIVED, polled.sequence_number, kind, size, polled.backlog, -1
            )
        return polled.buffer, polled.next_is_data or polled.next_is_event

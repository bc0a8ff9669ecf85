"""A channel that replays the stored in-flight data of a receiver. Flink: RecoveredInputChannel (rule 12.92)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from flowsim.facts.schema import RECOVERED_FIRST
from flowsim.network.buffers.buffer import FREEING, EventBuffer, MemorySegment
from flowsim.network.buffers.data_type import DataType
from flowsim.network.errors import IllegalState
from flowsim.network.gates.input_channel import (
    BufferAndAvailability,
    ChannelGate,
    InputChannel,
    Received,
    ReceivedBuffer,
)
from flowsim.streamrecord.checkpoint_exception import CheckpointException, CheckpointFailureReason
from flowsim.streamrecord.events import CheckpointBarrier, EndOfInputChannelStateEvent, Event


class RecoveredInputChannel(InputChannel):
    """Delivers the stored data of one channel, then is replaced by the real one. Flink: RecoveredInputChannel.

    ``on_consumed`` is called when all of it has been read.
    """

    __slots__ = ("_buffers", "_on_consumed")

    def __init__(
        self,
        gate: ChannelGate,
        index: int,
        channel_id: int,
        contents: Sequence[bytes | Event],
        on_consumed: Callable[[], None],
    ) -> None:
        super().__init__(gate, index, channel_id, None)
        self.position = RECOVERED_FIRST
        self._buffers: deque[Received] = deque(map(_buffer, (*contents, EndOfInputChannelStateEvent())))
        self._on_consumed = on_consumed

    def next_buffer(self) -> BufferAndAvailability | None:
        if not self._buffers:
            return None
        buffer = self._buffers.popleft()
        # Not delivered: the real channel takes over at its turn in the gate's queue (rule 12.92).
        if isinstance(buffer.event, EndOfInputChannelStateEvent):
            self._on_consumed()
            return None
        return BufferAndAvailability(buffer, self._buffers[0].data_type if self._buffers else DataType.NONE, 0)

    @property
    def queued_buffers(self) -> int:
        return len(self._buffers)

    def checkpoint_started(self, barrier: CheckpointBarrier) -> None:
        """Raises CheckpointException: the task is not running yet (rule 12.93)."""
        raise CheckpointException(CheckpointFailureReason.CHECKPOINT_DECLINED_TASK_NOT_READY)

    def checkpoint_stopped(self, checkpoint_id: int) -> None:
        """Does nothing: no checkpoint has started."""

    def resume_consumption(self) -> None:
        raise IllegalState("RecoveredInputChannel should never be blocked.")

    def announce_buffer_size(self, size_bytes: int) -> None:
        """Does nothing: no sender is connected."""

    def release(self) -> None:
        super().release()
        self._buffers.clear()


def _buffer(content: bytes | Event) -> Received:
    if isinstance(content, bytes):
        return ReceivedBuffer(content, MemorySegment(len(content)), FREEING)
    return EventBuffer(content)

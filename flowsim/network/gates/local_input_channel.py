"""A channel inside one task manager. Flink: LocalInputChannel (rule 6.17)."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.facts.kinds import BufferKind, BufferSide
from flowsim.facts.tracer import TaskTrace
from flowsim.network.gates.input_channel import BufferAndAvailability, ChannelGate, InputChannel
from flowsim.network.misuse import IllegalState
from flowsim.network.partitions.result_subpartition import SubpartitionView


class LocalInputChannel(InputChannel):
    """Reads the producer's subpartition directly: no credits, no copies (rule 6.17). Flink: LocalInputChannel.

    ``is_sealed`` answers True while the producer's running batch is not published yet (D4): then nothing can be read,
    and ``on_data_available`` is called at its end.
    """

    __slots__ = ("subpartition", "is_sealed")

    def __init__(
        self,
        gate: ChannelGate,
        index: int,
        channel_id: int,
        subpartition: SubpartitionView,
        is_sealed: Callable[[LocalInputChannel], bool],
        trace: TaskTrace | None,
    ) -> None:
        super().__init__(gate, index, channel_id, trace)
        self.subpartition = subpartition
        self.is_sealed = is_sealed

    @property
    def queued_buffers(self) -> int:
        return 0 if self.released else self.subpartition.queued_buffers

    def on_data_available(self) -> None:
        if not self.released:
            self.gate.notify_channel_non_empty(self)

    def on_priority_event(self, sequence_number: int) -> None:
        if not self.released:
            self.gate.notify_priority_event(self, sequence_number)

    def resume_consumption(self) -> None:
        """The view reads on behind the event that blocked it (rules 5.27, 6.17)."""
        if self.released:
            raise IllegalState(f"channel {self.channel_id} was resumed after its end")
        self.subpartition.resume_consumption()
        if self.subpartition.is_available(True):
            self.on_data_available()

    def next_buffer(self) -> BufferAndAvailability | None:
        """As of every channel; empty buffers are skipped."""
        if self.released or self.is_sealed(self):
            return None
        polled = self.subpartition.poll()
        while polled is not None and not len(polled.buffer):
            polled.buffer.recycle()
            polled = self.subpartition.poll()
        if polled is None:
            return None
        buffer = polled.buffer
        if self.trace is not None:
            kind = BufferKind.DATA if buffer.event is None else BufferKind.EVENT
            self.trace.buffer(
                self.channel_id, BufferSide.RECEIVED, polled.sequence_number, kind, len(buffer), polled.backlog, -1
            )
        return BufferAndAvailability(buffer, polled.next_type, polled.sequence_number)

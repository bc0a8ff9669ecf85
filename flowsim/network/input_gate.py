"""All channels of one edge at one receiver, served in turn. Flink: SingleInputGate, UnionInputGate (section 7.A, 7.B)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum

from flowsim.network.buffer_pool import LocalBufferPool
from flowsim.network.input_channel import InputChannel, Received
from flowsim.streamrecord.events import EndOfData, EndOfPartitionEvent, StopMode


class EndOfDataStatus(Enum):
    """Flink: PullingAsyncDataInput.EndOfDataStatus (rule 7.7)."""

    NOT_END_OF_DATA = 0
    DRAINED = 1
    STOPPED = 2


class SingleInputGate:
    """Channels with data wait in one queue, each at most once, one buffer a turn (rules 7.1-7.8). Flink: SingleInputGate.

    ``create_channel`` makes channel ``i`` when it is first used. ``on_available`` is called when the gate turns available.
    Invariants: between two polls of a channel every other non-empty one is polled (I7.a); a channel that delivered
    EndOfPartition is never queued again.
    """

    __slots__ = (
        "count", "pool", "_channels", "_create_channel", "_queue", "on_available", "_end_of_data", "_end_of_partition",
        "_drain", "finished", "_closed",
    )  # fmt: skip

    def __init__(
        self, channels: int, pool: LocalBufferPool, create_channel: Callable[[SingleInputGate, int], InputChannel]
    ) -> None:
        self.count = channels
        self.pool = pool
        self._channels: list[InputChannel | None] = [None] * channels
        self._create_channel = create_channel
        self._queue: deque[InputChannel] = deque()
        self.on_available: Callable[[], None] | None = None
        self._end_of_data = 0
        self._end_of_partition = 0
        self._drain = True
        self.finished = False
        self._closed = False

    def channel(self, index: int) -> InputChannel:
        found = self._channels[index]
        if found is None:
            found = self._create_channel(self, index)
            self._channels[index] = found
            if self._closed:
                found.release()
        return found

    @property
    def is_available(self) -> bool:
        return bool(self._queue) or self.finished

    def notify_channel_non_empty(self, channel: InputChannel) -> None:
        """Rules 7.1, 7.2."""
        if channel.enqueued or channel.finished:
            return
        channel.enqueued = True
        self._queue.append(channel)
        if len(self._queue) == 1 and self.on_available is not None:
            self.on_available()

    def poll(self) -> tuple[InputChannel, Received] | None:
        """The next buffer or event in turn (rule 7.3)."""
        queue = self._queue
        while queue:
            channel = queue.popleft()
            channel.enqueued = False
            found = channel.next_buffer()
            if found is None:
                continue
            received, more = found
            if more:
                channel.enqueued = True
                queue.append(channel)
            event = received.event
            if event is not None:
                self._on_event(channel, event)
            return channel, received
        return None

    def end_of_data_status(self) -> EndOfDataStatus:
        """Rule 7.7: drained only if every channel drained."""
        if self._end_of_data < self.count:
            return EndOfDataStatus.NOT_END_OF_DATA
        return EndOfDataStatus.DRAINED if self._drain else EndOfDataStatus.STOPPED

    def _on_event(self, channel: InputChannel, event: object) -> None:
        if isinstance(event, EndOfData):
            self._end_of_data += 1
            self._drain = self._drain and event.mode is StopMode.DRAIN
        elif isinstance(event, EndOfPartitionEvent):
            if channel.enqueued:  # rule 7.6: dropped from the queue
                self._queue.remove(channel)
                channel.enqueued = False
            channel.release()
            self._end_of_partition += 1
            self.finished = self._end_of_partition == self.count

    @property
    def queued_buffers(self) -> int:
        return sum(c.queued_buffers for c in self._channels if c is not None)

    def close(self) -> None:
        """Drops what waits; what still arrives is dropped too."""
        self._closed = True
        for channel in self._channels:
            if channel is not None and not channel.finished:
                channel.release()
        self._queue.clear()
        self.pool.lazy_destroy()


class UnionInputGate:
    """Several gates of one task input, served in turn (rules 7.10, 7.11). Flink: UnionInputGate."""

    __slots__ = ("gates", "_queue", "_queued", "on_available")

    def __init__(self, gates: Sequence[SingleInputGate]) -> None:
        self.gates = tuple(gates)
        self._queue: deque[int] = deque()
        self._queued = [False] * len(self.gates)
        self.on_available: Callable[[], None] | None = None
        for index, gate in enumerate(self.gates):
            gate.on_available = self._announcer(index)
            if gate.is_available:
                self._enqueue(index)

    def _announcer(self, index: int) -> Callable[[], None]:
        return lambda: self._enqueue(index)

    def _enqueue(self, index: int) -> None:
        if self._queued[index]:
            return
        self._queued[index] = True
        self._queue.append(index)
        if len(self._queue) == 1 and self.on_available is not None:
            self.on_available()

    @property
    def is_available(self) -> bool:
        return bool(self._queue) or self.finished

    @property
    def finished(self) -> bool:
        return all(gate.finished for gate in self.gates)

    def poll(self) -> tuple[InputChannel, Received] | None:
        while self._queue:
            index = self._queue.popleft()
            self._queued[index] = False
            gate = self.gates[index]
            found = gate.poll()
            if gate.is_available and not gate.finished:
                self._queued[index] = True
                self._queue.append(index)
            if found is not None:
                return found
        return None

    def end_of_data_status(self) -> EndOfDataStatus:
        states = [gate.end_of_data_status() for gate in self.gates]
        if EndOfDataStatus.NOT_END_OF_DATA in states:
            return EndOfDataStatus.NOT_END_OF_DATA
        drained = all(state is EndOfDataStatus.DRAINED for state in states)
        return EndOfDataStatus.DRAINED if drained else EndOfDataStatus.STOPPED

    @property
    def queued_buffers(self) -> int:
        return sum(gate.queued_buffers for gate in self.gates)

    def close(self) -> None:
        for gate in self.gates:
            gate.close()


InputGate = SingleInputGate | UnionInputGate

"""Gates of remote channels beside the real ones; the test delivers buffers and receives messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from hypothesis.stateful import precondition, rule
from hypothesis.strategies import integers, sampled_from

from flowsim.network.buffers.buffer import FREEING, BufferSlice, MemorySegment, NetworkBuffer
from flowsim.network.buffers.network_buffer_pool import NetworkBufferPool
from flowsim.network.gates.input_channel import InputChannel
from flowsim.network.gates.remote_input_channel import RemoteInputChannel
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.network.gates.union_input_gate import UnionInputGate
from tests.support.flink.gate_machines import GateMachine
from tests.support.flink.named_events import event_buffer
from tests.support.network import Channels, SentBack

SEGMENT = 8
BLOCKING = ("aligned", "timeoutable")
picks = integers(0, 11)
backlogs = integers(0, 4)


class RemoteGatesMachine(GateMachine):
    """``connect`` decides how many gates there are, and what memory; then anything may arrive and be read."""

    visible = ("state", "sentBack")

    channels: list[RemoteInputChannel]

    def connect(self, gates: int, count: int, exclusive: int, floating: int, missing: int) -> None:
        """``missing``: floating buffers of all gates together that the network memory does not have."""
        most = gates * (count * exclusive + floating)
        segments = max(most - missing, gates * (count * exclusive + 1))
        self.memory = NetworkBufferPool(segments, SEGMENT)
        self.pools = [self.memory.create_buffer_pool(1, floating) for _ in range(gates)]
        self.client = SentBack()
        self.gates = []
        for index, pool in enumerate(self.pools):
            self.gates.append(SingleInputGate(count, pool, Channels(self._factory(index, count, exclusive))))
        for gate, pool in zip(self.gates, self.pools, strict=True):
            pool.reserve_segments(1)
            for _ in range(count):
                self.memory.reserve(exclusive)
            assert pool is gate.pool
        channels = [gate.channel(index) for gate in self.gates for index in range(count)]
        self.channels = [channel for channel in channels if isinstance(channel, RemoteInputChannel)]
        self.ours = UnionInputGate(self.gates) if gates > 1 else self.gates[0]
        consumer = self.flink.java.org.apache.flink.runtime.io.network.partition.consumer
        self.real = consumer.RemoteGates(gates, count, exclusive, floating, segments)
        self.numbers = [0] * len(self.channels)
        self.ended: set[int] = set()
        self.ended_data: set[int] = set()
        self.checkpoints = 0
        self.convertible: dict[int, tuple[int, str]] = {}
        self.seen(self.state(), self.flink.calls(self.real, "state")[0])

    def _factory(self, number: int, count: int, exclusive: int) -> Callable[[SingleInputGate, int], InputChannel]:
        def create(gate: SingleInputGate, index: int) -> InputChannel:
            flattened = number * count + index
            return RemoteInputChannel(gate, flattened, flattened, exclusive, self.client, self.memory, None)

        return create

    def channel_state(self, channel: InputChannel) -> str:
        assert isinstance(channel, RemoteInputChannel)
        buffers = channel.buffers
        waiting = " waiting" if buffers.waiting else ""
        return (
            f"{super().channel_state(channel)} credit {channel.unannounced_credit} exclusive "
            f"{buffers.exclusive_available} floating {buffers.floating_available} required {buffers.required}{waiting} "
            f"in use {channel.buffers_in_use}"
        )

    def at(self, name: str, pick: int, *arguments: object) -> tuple[object, ...]:
        """A call for one channel."""
        gate, index = divmod(pick, self.gates[0].count)
        return (name, gate, index, *arguments)

    def all_seen(self) -> list[object]:
        sent = [
            f"{message} {'.'.join(map(str, divmod(i, self.gates[0].count)))}" for message, i in self.client.messages
        ]
        self.client.messages.clear()
        return [self.state(), sent]

    def number(self, pick: int) -> int:
        """The next sequence number of a channel, which is used up unless the channel has gone."""
        number = self.numbers[pick]
        if not self.channels[pick].released:
            self.numbers[pick] += 1
        return number

    @rule(pick=picks, size=sampled_from((0, 1, 3, 8)), backlog=backlogs)
    def data(self, pick: int, size: int, backlog: int) -> None:
        pick %= len(self.channels)
        channel = self.channels[pick]
        reserved = channel.buffers.available > 0 or channel.released
        number = self.number(pick) if reserved else self.numbers[pick]
        buffer = BufferSlice(bytes(size), NetworkBuffer(MemorySegment(SEGMENT), FREEING))
        self.do(self.at("data", pick, size, number, backlog), lambda: channel.on_buffer(buffer, number, backlog))

    @rule(pick=picks, name=sampled_from(("cancel", "aligned", "timeoutable", "unaligned")), backlog=backlogs)
    def event(self, pick: int, name: str, backlog: int) -> None:
        self.arrives(pick % len(self.channels), name, backlog)

    @rule(pick=picks, name=sampled_from(("drain", "drain", "no drain")), backlog=backlogs)
    def end_of_data(self, pick: int, name: str, backlog: int) -> None:
        pick %= len(self.channels)
        if pick not in self.ended_data:
            self.ended_data.add(pick)
            self.arrives(pick, name, backlog)

    @rule(pick=picks)
    def end_of_partition(self, pick: int) -> None:
        pick %= len(self.channels)
        if pick not in self.ended:
            self.ended.add(pick)
            self.arrives(pick, "end", 0)

    def arrives(self, pick: int, name: str, backlog: int) -> None:
        self.checkpoints += 1
        backlog = 0 if name in BLOCKING else backlog
        buffer, number, checkpoint = event_buffer(name, self.checkpoints), self.number(pick), self.checkpoints
        if name in ("aligned", "timeoutable", "unaligned"):
            self.convertible[pick] = (number, f"{name} {checkpoint}")
        call = self.at("event", pick, name, checkpoint, number, backlog)
        self.do(call, lambda: self.channels[pick].on_buffer(buffer, number, backlog))

    @rule(pick=picks, backlog=integers(0, 6))
    def backlog(self, pick: int, backlog: int) -> None:
        channel = self.channels[pick % len(self.channels)]
        self.do(self.at("backlog", pick % len(self.channels), backlog), lambda: channel.on_sender_backlog(backlog))

    @rule(pick=picks)
    def announce(self, pick: int) -> None:
        channel = self.channels[pick % len(self.channels)]
        self.do(self.at("announce", pick % len(self.channels)), channel.get_and_reset_unannounced_credit)

    @rule(pick=picks)
    def resume(self, pick: int) -> None:
        channel = self.channels[pick % len(self.channels)]
        self.do(self.at("resume", pick % len(self.channels)), channel.resume_consumption)

    @rule(pick=picks)
    def acknowledge(self, pick: int) -> None:
        channel = self.channels[pick % len(self.channels)]
        self.do(self.at("acknowledge", pick % len(self.channels)), channel.acknowledge_all_records_processed)

    @precondition(lambda self: self.waiting_barriers())
    @rule(pick=picks)
    def overtake(self, pick: int) -> None:
        waiting = self.waiting_barriers()
        pick = waiting[pick % len(waiting)]
        number, _ = self.convertible.pop(pick)
        channel = self.channels[pick]
        self.do(self.at("overtake", pick, number), lambda: channel.convert_to_priority_event(number))

    def waiting_barriers(self) -> Sequence[int]:
        """Channels whose last barrier is timeoutable and was not read."""
        return [
            pick
            for pick, (_, text) in sorted(self.convertible.items())
            if text.startswith("timeoutable") and (pick, text) not in self.read and not self.channels[pick].released
        ]

    @precondition(lambda self: self.checkpoints > 12)
    @rule(pick=picks)
    def close(self, pick: int) -> None:
        gate = pick % min(len(self.gates), 2)  # The third one closes its channels in another order.
        self.do(("close", gate), self.gates[gate].close)

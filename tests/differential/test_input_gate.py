"""SingleInputGate with remote and with local channels, and UnionInputGate, beside the real ones (sections 7.A, 7.B)."""

from __future__ import annotations

from hypothesis.stateful import initialize, precondition, rule
from hypothesis.strategies import booleans, integers, sampled_from

from flowsim.network.buffers.network_buffer_pool import NetworkBufferPool
from flowsim.network.gates.input_channel import InputChannel
from flowsim.network.gates.local_input_channel import LocalInputChannel
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.network.outbox import Outbox
from flowsim.network.partitions.pipelined_subpartition import PipelinedSubpartition
from flowsim.network.partitions.result_partition import ResultPartition
from flowsim.streamrecord.events import StopMode
from tests.support.flink.gate_machines import GateMachine
from tests.support.flink.machine import Differential
from tests.support.flink.named_events import event_of
from tests.support.flink.remote_gates import RemoteGatesMachine
from tests.support.network import Channels, NeverWaits

PLENTY = 2_000
channels = integers(0, 2)


class SingleInputGateMachine(RemoteGatesMachine):
    subject = "SingleInputGate of remote channels"

    @initialize(count=integers(1, 4), exclusive=integers(0, 2))
    def begin(self, count: int, exclusive: int) -> None:
        self.connect(1, count, exclusive, 8, 0)


class UnionInputGateMachine(RemoteGatesMachine):
    subject = "UnionInputGate"

    @initialize(gates=integers(2, 3), count=integers(1, 2), exclusive=integers(1, 2))
    def begin(self, gates: int, count: int, exclusive: int) -> None:
        self.connect(gates, count, exclusive, 8, 0)


class LocalInputChannelMachine(GateMachine):
    """A gate that reads the partition of a producer on the same task manager (rule 6.17)."""

    subject = "SingleInputGate of local channels"

    @initialize(count=integers(1, 3), exclusive=sampled_from((0, 2)), segment=integers(4, 16))
    def begin(self, count: int, exclusive: int, segment: int) -> None:
        self.count = count
        self.memory = NetworkBufferPool(1, segment)
        pool = self.memory.create_buffer_pool(1, 1)
        pool.reserve_segments(1)
        self.pools = [pool]
        output = NetworkBufferPool(PLENTY, segment).create_buffer_pool(PLENTY, PLENTY, count)
        self.partition = ResultPartition(count, output, NeverWaits(), zero_exclusive_buffers=exclusive == 0)
        gate = SingleInputGate(count, pool, Channels(_local))
        self.gates, self.ours = [gate], gate
        for index in range(count):
            channel = gate.channel(index)
            assert isinstance(channel, LocalInputChannel)
            channel.request_subpartition(self.partition.subpartition(index))
            channel.notify_data_available()  # Flink's channel looks once when it has its view.
        consumer = self.flink.java.org.apache.flink.runtime.io.network.partition.consumer
        self.real = consumer.LocalGate(count, exclusive, segment)
        self.checkpoints = 0
        self.finished = False
        self.seen(self.state(), self.flink.calls(self.real, "state")[0])

    @precondition(lambda self: not self.finished)
    @rule(channel=channels, size=integers(1, 40))
    def emit(self, channel: int, size: int) -> None:
        channel %= self.count
        self.do(("emit", channel, size), lambda: self.partition.emit(bytes(size), channel))

    @precondition(lambda self: not self.finished)
    @rule(size=integers(1, 20))
    def broadcast(self, size: int) -> None:
        self.do(("broadcast", size), lambda: self.partition.broadcast(bytes(size)))

    @precondition(lambda self: not self.finished)
    @rule(name=sampled_from(("cancel", "aligned", "timeoutable", "unaligned")))
    def event(self, name: str) -> None:
        self.checkpoints += 1
        event, checkpoint = event_of(name, self.checkpoints), self.checkpoints
        self.do(("event", name, checkpoint), lambda: self.partition.broadcast_event(event, name == "unaligned"))

    @precondition(lambda self: self.checkpoints)
    @rule(back=integers(0, 2))
    def timeout(self, back: int) -> None:
        """A timeoutable barrier that is still queued overtakes."""
        checkpoint = max(self.checkpoints - back, 1)
        self.do(("timeout", checkpoint), lambda: self._timeout(checkpoint))

    def _timeout(self, checkpoint: int) -> None:
        for index in range(self.count):
            subpartition = self.partition.subpartition(index)
            assert isinstance(subpartition, PipelinedSubpartition)
            subpartition.aligned_barrier_timeout(checkpoint)

    @rule(channel=channels)
    def flush(self, channel: int) -> None:
        channel %= self.count
        self.do(("flush", channel), lambda: self.partition.flush(channel))

    @rule()
    def flush_all(self) -> None:
        self.do(("flushAll",), self.partition.flush_all)

    @rule(channel=channels, any_channel=booleans())
    def resume(self, channel: int, any_channel: bool) -> None:
        subpartitions = [self.partition.subpartition(i) for i in range(self.count)]
        blocked = [i for i, s in enumerate(subpartitions) if isinstance(s, PipelinedSubpartition) and s.blocked]
        channel = channel % self.count if any_channel or not blocked else blocked[channel % len(blocked)]
        self.do(("resume", channel), self.gates[0].channel(channel).resume_consumption)

    @precondition(lambda self: not self.finished and self.checkpoints > 1)
    @rule(drain=booleans())
    def end_data(self, drain: bool) -> None:
        mode = StopMode.DRAIN if drain else StopMode.NO_DRAIN
        self.do(("endData", drain), lambda: self.partition.notify_end_of_data(mode))

    @precondition(lambda self: not self.finished and self.checkpoints > 3)
    @rule()
    def finish(self) -> None:
        self.finished = True
        self.do(("finish",), self.partition.finish)


def _local(gate: SingleInputGate, index: int) -> InputChannel:
    return LocalInputChannel(gate, index, index, Outbox(), Outbox(), None)


def test_gate_of_remote_channels_equals_flinks(differential: Differential) -> None:
    differential.run(SingleInputGateMachine, examples=40, steps=40)


def test_gate_of_local_channels_equals_flinks(differential: Differential) -> None:
    differential.run(LocalInputChannelMachine, examples=40, steps=40)


def test_union_gate_equals_flinks(differential: Differential) -> None:
    differential.run(UnionInputGateMachine, examples=40, steps=40)

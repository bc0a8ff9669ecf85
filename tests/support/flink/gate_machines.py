"""Shared by the state machines of gates: reading, recycling, and the observable state, as ``Input.java`` reports it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from hypothesis.stateful import precondition, rule
from hypothesis.strategies import data, integers

from flowsim.errors import InvariantViolation
from flowsim.network.buffers.local_buffer_pool import LocalBufferPool
from flowsim.network.buffers.network_buffer_pool import NetworkBufferPool
from flowsim.network.errors import InputGateClosed
from flowsim.network.gates.input_channel import InputChannel, Received
from flowsim.network.gates.input_gate import InputGate
from flowsim.network.gates.single_input_gate import SingleInputGate
from tests.support.flink.machine import DifferentialMachine
from tests.support.flink.named_events import name_of


class GateMachine(DifferentialMachine):
    """Reads ``ours``, which is one of ``gates`` or their union, and the real one beside it."""

    errors: ClassVar[dict[str, type[BaseException]]] = {
        "IllegalStateException": InvariantViolation,
        "CancelTaskException": InputGateClosed,
    }

    visible: ClassVar[tuple[str, ...]] = ("state",)

    real: Any
    ours: InputGate
    gates: list[SingleInputGate]
    pools: list[LocalBufferPool]
    memory: NetworkBufferPool

    def __init__(self) -> None:
        super().__init__()
        self.held: list[Received] = []
        self.read: list[tuple[int, str]] = []
        """Channel and text of every event that was read."""

    def do(self, call: tuple[object, ...], ours: Callable[[], Any]) -> None:
        """A command, then everything that can be seen, in one round trip."""
        answer, *theirs = self.flink.calls(self.real, call, *self.visible)
        self.same(answer, ours)
        self.seen(self.all_seen(), theirs)

    def all_seen(self) -> list[object]:
        """What the methods ``visible`` of the real one answer."""
        return [self.state()]

    def seen(self, ours: object, theirs: object) -> None:
        assert ours == theirs, f"{self.subject}:\nFlink {theirs}\nours  {ours}"

    def state(self) -> str:
        parts = [f"memory {self.memory.available_segments}", flags(self.ours)]
        for index, (gate, pool) in enumerate(zip(self.gates, self.pools, strict=True)):
            parts.append(f"gate {index} {flags(gate)} queued {gate.queued_buffers}")
            parts.append(f"pool {pool.free_segments} of {pool.requested}")
            parts += [self.channel_state(gate.channel(i)) for i in range(gate.count)]
        return "; ".join(parts)

    def channel_state(self, channel: InputChannel) -> str:
        released = "released " if channel.released else ""
        return f"{released}queued {channel.queued_buffers}"

    def _poll(self) -> str:
        found = self.ours.poll()
        if found is None:
            return "nothing"
        received = found.received
        if received.event is None:
            self.held.append(received)
            what = f"data {len(received.payload)}"
        else:
            what = name_of(received.event) + (" with priority" if received.data_type.has_priority else "")
            self.read.append((found.channel.index, what))
        count = self.gates[0].count
        gate, channel = divmod(found.channel.index, count)
        more = " more" if found.more_available else ""
        return f"{gate}.{channel} {what}{more}" + (" more priority" if found.more_priority_events else "")

    @rule(times=integers(1, 4))
    def poll(self, times: int) -> None:
        for _ in range(times):
            self.do(("poll",), self._poll)

    @precondition(lambda self: self.held)
    @rule(draw=data())
    def recycle(self, draw: Any) -> None:
        index = draw.draw(integers(0, len(self.held) - 1))
        self.do(("recycle", index), lambda: self.held.pop(index).recycle())


def flags(gate: InputGate) -> str:
    available = "available " if gate.is_available else "waiting "
    priority = "priority " if gate.priority_availability.available else ""
    finished = "finished " if gate.finished else ""
    return f"{available}{priority}{finished}{gate.end_of_data_status().name}"

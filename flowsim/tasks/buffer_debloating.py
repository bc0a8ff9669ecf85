"""Lets the gates of a task ask for other buffer sizes, every period. Flink: StreamTask.scheduleBufferDebloater (rule 6.22)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flowsim.facts.tracer import TaskTrace
from flowsim.mailbox.mailbox_executor import MailboxExecutor
from flowsim.mailbox.task_mailbox import MailboxState
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.network.throughput.buffer_debloater import BufferDebloater
from flowsim.network.throughput.throughput_calculator import ThroughputCalculator
from flowsim.tasks.processing_time import TaskTimers
from flowsim.units import NS_PER_MS


class GateDebloating:
    """One gate: its throughput, its debloater, and the way to its senders. Flink: SingleInputGate.triggerDebloating."""

    __slots__ = ("gate", "edge", "throughput", "debloater", "_announce", "_trace")

    def __init__(
        self,
        gate: SingleInputGate,
        edge: int,
        throughput: ThroughputCalculator,
        debloater: BufferDebloater,
        announce: Callable[[int], None],
        trace: TaskTrace | None,
    ) -> None:
        self.gate = gate
        self.edge = edge
        self.throughput = throughput
        self.debloater = debloater
        self._announce = announce
        self._trace = trace

    def trigger(self) -> None:
        """Measures, and announces a size that has changed enough (rule 6.23)."""
        if self.gate.finished:
            return
        throughput, in_use = self.throughput.calculate_throughput(), self.gate.buffers_in_use
        size = self.debloater.recalculate_buffer_size(throughput, in_use)
        if size is None:
            return
        if self._trace is not None:
            self._trace.buffer_size(self.edge, size, throughput, in_use)
        self._announce(size)


class BufferDebloating:
    """Beats every ``period_ms``: a timer puts a mail of the task's own priority, and that mail sets the next timer.

    The timer is a daemon: it keeps no run alive, for what it does changes nothing once nothing flows.
    """

    __slots__ = ("gates", "_timers", "_executor", "_period_ns")

    def __init__(
        self, timers: TaskTimers, executor: MailboxExecutor, period_ms: int, gates: Sequence[GateDebloating]
    ) -> None:
        self.gates = tuple(gates)
        self._timers = timers
        self._executor = executor
        self._period_ns = period_ms * NS_PER_MS

    def start(self) -> None:
        """The next beat is a period from now, and one millisecond, as of every processing-time timer (rule 9.10)."""
        now_ns = max(self._timers.clock.now_ns, self._timers.scheduler.now_ns)
        self._timers.call_at_ns(now_ns + self._period_ns + NS_PER_MS, self._beat, lambda: False)

    def _beat(self) -> None:
        if self._executor.mailbox.state is MailboxState.OPEN:
            self._executor.execute(self._debloat, "Buffer size recalculation")

    def _debloat(self) -> None:
        for gate in self.gates:
            gate.trigger()
        self.start()

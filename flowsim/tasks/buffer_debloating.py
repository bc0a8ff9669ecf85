"""Recalculates the buffer sizes of a task's gates periodically. Flink: StreamTask.scheduleBufferDebloater (rule 6.22)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flowsim.mailbox.mailbox_executor import MailboxExecutor
from flowsim.mailbox.task_mailbox import MailboxState
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.tasks.processing_time import TaskTimers
from flowsim.units import NS_PER_MS


class BufferDebloating:
    """Every ``period_ms`` a timer enqueues a mail of the task's priority, and that mail sets the next timer.

    The timer is a daemon: it does not keep a run alive, because it has no effect when no data flows.
    """

    __slots__ = ("gates", "_timers", "_executor", "_period_ns", "_has_ended")

    def __init__(
        self,
        timers: TaskTimers,
        executor: MailboxExecutor,
        period_ms: int,
        gates: Sequence[SingleInputGate],
        has_ended: Callable[[], bool],
    ) -> None:
        """``has_ended``: True once the task has ended; one that was canceled before its first turn keeps its mailbox."""
        self.gates = tuple(gates)
        self._timers = timers
        self._executor = executor
        self._period_ns = period_ms * NS_PER_MS
        self._has_ended = has_ended

    def start(self) -> None:
        """Starts the timer; as every processing-time timer, it fires one millisecond after the period (rule 9.10)."""
        now_ns = max(self._timers.clock.now_ns, self._timers.scheduler.now_ns)
        due_ns = now_ns + self._period_ns + NS_PER_MS
        self._timers.call_at_ns(due_ns, self._on_timer, lambda: False, origin=self._timers.system_thread)

    def _on_timer(self) -> None:
        if self._executor.mailbox.state is MailboxState.OPEN and not self._has_ended():
            self._executor.execute(self._debloat, "Buffer size recalculation")

    def _debloat(self) -> None:
        for gate in self.gates:
            gate.trigger_debloating()
        self.start()

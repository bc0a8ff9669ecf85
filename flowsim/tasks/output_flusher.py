"""Flushes what waits in unfinished buffers every so often. Flink: RecordWriter.OutputFlusher (rule 5.3)."""

from __future__ import annotations

from flowsim.network.outbox import Outbox
from flowsim.network.writers.record_writer import RecordWriter
from flowsim.tasks.processing_time import TaskTimers
from flowsim.units import NS_PER_MS


class OutputFlusher:
    """Flushes every ``timeout_ms`` from its start, not aligned to data; armed only while data may wait.

    Skipping intervals without data changes nothing that can be seen, and a run in which nothing happens can end.
    """

    __slots__ = ("_writer", "_timers", "_outbox", "_interval_ns", "_started_ns", "_armed")

    def __init__(self, timers: TaskTimers, outbox: Outbox, timeout_ms: int) -> None:
        self._writer: RecordWriter | None = None
        self._timers = timers
        self._outbox = outbox
        self._interval_ns = timeout_ms * NS_PER_MS
        self._started_ns = timers.scheduler.now_ns
        self._armed = False

    def attach(self, writer: RecordWriter) -> None:
        self._writer = writer

    def start(self) -> None:
        """The task starts: intervals are counted from now (rule 5.3)."""
        self._started_ns = self._timers.scheduler.now_ns

    def on_data(self) -> None:
        """Data was written that only a flush makes readable."""
        if not self._armed:
            self._armed = True
            now_ns = self._timers.clock.now_ns
            intervals = (now_ns - self._started_ns) // self._interval_ns + 1
            self._timers.call_at_ns(self._started_ns + intervals * self._interval_ns, self._on_timer)

    def _on_timer(self) -> None:
        self._armed = False
        if self._outbox.sealed:
            self._outbox.hold_flush(self)
        else:
            self.publish()

    def publish(self) -> None:
        """Flushes now."""
        writer = self._writer
        if writer is not None:
            writer.flush_all()
            writer.partition.detach_open_builders()

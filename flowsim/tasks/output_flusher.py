"""Flushes unfinished buffers periodically. Flink: RecordWriter.OutputFlusher (rule 5.3)."""

from __future__ import annotations

from flowsim.network.outbox import Outbox
from flowsim.network.writers.record_writer import RecordWriter
from flowsim.sim.origin import Origin
from flowsim.tasks.processing_time import TaskTimers
from flowsim.units import NS_PER_MS


class OutputFlusher:
    """Flushes every ``timeout_ms`` from its start, independent of data; its timer is set only while data may need a
    flush.

    Skipping intervals without data has no visible effect, and a run without activity can end.
    """

    __slots__ = ("_origin", "_writer", "_timers", "_outbox", "_interval_ns", "_started_ns", "_armed")

    def __init__(self, timers: TaskTimers, outbox: Outbox, timeout_ms: int, edge: int = -1) -> None:
        self._origin = Origin("flush", timers.actor_id, edge)
        self._writer: RecordWriter | None = None
        self._timers = timers
        self._outbox = outbox
        self._interval_ns = timeout_ms * NS_PER_MS
        self._started_ns = timers.scheduler.now_ns
        self._armed = False

    def attach(self, writer: RecordWriter) -> None:
        self._writer = writer

    def start(self) -> None:
        """Starts the intervals at the current time (rule 5.3)."""
        self._started_ns = self._timers.scheduler.now_ns

    def on_data(self) -> None:
        """Called when data was written that only a flush makes readable."""
        if not self._armed:
            self._armed = True
            now_ns = self._timers.clock.now_ns
            intervals = (now_ns - self._started_ns) // self._interval_ns + 1
            self._timers.call_at_ns(
                self._started_ns + intervals * self._interval_ns, self._on_timer, origin=self._origin
            )

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

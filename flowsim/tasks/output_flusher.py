"""Flushes what waits in unfinished buffers every so often. Flink: RecordWriter.OutputFlusher (rule 5.3)."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.network.writers.record_writer import RecordWriter
from flowsim.tasks.outbox import Outbox
from flowsim.tasks.processing_time import TaskTimers
from flowsim.units import NS_PER_MS


class OutputFlusher:
    """Beats every ``timeout_ms`` from its start, not aligned to data; armed only while data may wait.

    Skipping idle beats changes nothing that can be seen, and lets a quiet run be recognised as such.
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
        """The task starts: beats are counted from now (rule 5.3)."""
        self._started_ns = self._timers.scheduler.now_ns

    def on_data(self) -> None:
        """Data was written that only a flush makes readable."""
        if not self._armed:
            self._armed = True
            now_ns = self._timers.clock.now_ns
            beats = (now_ns - self._started_ns) // self._interval_ns + 1
            self._timers.call_at_ns(self._started_ns + beats * self._interval_ns, self._beat)

    def _beat(self) -> None:
        self._armed = False
        self._outbox.flush(self._flush)

    def _flush(self) -> None:
        writer = self._writer
        if writer is not None:
            writer.flush_all()
            writer.partition.rest()


def flusher_for(timeout_ms: int, timers: TaskTimers, outbox: Outbox) -> tuple[OutputFlusher | None, Callable[[], None]]:
    """The flusher of a writer and what the writer calls on data; none when it flushes always or never (rule 5.3)."""
    if timeout_ms <= 0:
        return None, _nothing_to_do
    flusher = OutputFlusher(timers, outbox, timeout_ms)
    return flusher, flusher.on_data


def _nothing_to_do() -> None:
    """Timeouts 0 and -1 have no flusher."""

"""Holds back the effects of a running batch on other tasks until its cost has passed (architecture decision D4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Publishable(Protocol):
    """An effect on another task."""

    def publish(self) -> None:
        """Applies the effect; the outbox that held the effect is no longer sealed."""


class Outbox:
    """The effects of one task on other tasks.

    ``sealed`` is True until the time of the running batch has passed: other tasks must not see its output before. Until
    then the ``hold`` methods keep every effect on another task, including a flush or a credit that arrives meanwhile.
    ``publish`` applies all of these effects. While the outbox is not sealed, effects do not pass through it.
    """

    __slots__ = ("sealed", "_flushes", "_readers", "_priority_events", "_local_channels", "_upstream", "_reports")

    def __init__(self) -> None:
        self.sealed = False
        self._flushes: list[Publishable] = []
        self._readers: dict[Publishable, None] = {}
        self._priority_events: list[Publishable] = []
        self._local_channels: dict[Publishable, None] = {}
        self._upstream: list[Publishable] = []
        self._reports: list[Callable[[], None]] = []

    def hold_flush(self, flush: Publishable) -> None:
        """Holds a flush, after the flusher's interval ended or a connection became writable."""
        self._flushes.append(flush)

    def hold_reader(self, reader: Publishable) -> None:
        """Holds a reader that got data or credit, at most once (rule 6.16)."""
        self._readers[reader] = None

    def hold_priority_event(self, event: Publishable) -> None:
        """Holds a priority event at the head of a subpartition of this task that a local channel reads."""
        self._priority_events.append(event)

    def hold_local_channel(self, channel: Publishable) -> None:
        """Holds a local channel that can read from this task, at most once."""
        self._local_channels[channel] = None

    def hold_upstream(self, message: Publishable) -> None:
        """Holds a message from an input channel of this task to the channel's sender; messages leave in order."""
        self._upstream.append(message)

    def hold_report(self, report: Callable[[], None]) -> None:
        """Holds a call of the job's side; calls leave in order, after everything for other tasks."""
        self._reports.append(report)

    def publish(self) -> None:
        """Applies the held effects at the end of the batch."""
        self.sealed = False
        # Flushes first: they can make readable what the readers below are asked for (rule 5.22).
        if self._flushes:
            flushes, self._flushes = self._flushes, []
            for flush in flushes:
                flush.publish()
        if self._readers:
            readers, self._readers = self._readers, {}
            for reader in readers:
                reader.publish()
        if self._priority_events:
            events, self._priority_events = self._priority_events, []
            for event in events:
                event.publish()
        if self._local_channels:
            channels, self._local_channels = self._local_channels, {}
            for channel in channels:
                channel.publish()
        if self._upstream:
            messages, self._upstream = self._upstream, []
            for message in messages:
                message.publish()
        if self._reports:
            reports, self._reports = self._reports, []
            for report in reports:
                report()

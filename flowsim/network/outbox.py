"""What a running batch has for other tasks, held back until its cost is spent (architecture decision D4)."""

from __future__ import annotations

from typing import Protocol


class Publishable(Protocol):
    """An effect on another task."""

    def publish(self) -> None:
        """Takes effect now: the outbox that held it is not sealed any more."""


class Outbox:
    """The effects that one task has on others.

    While ``sealed``, a batch is running whose time has not passed yet: what it wrote must not be seen. So whatever would
    reach another task is given to one of the ``hold`` methods then, also a flush or a credit that comes from outside
    meanwhile, and ``publish`` lets all of it take effect. Otherwise effects do not pass through here.
    """

    __slots__ = ("sealed", "_flushes", "_readers", "_priority_events", "_local_channels", "_upstream")

    def __init__(self) -> None:
        self.sealed = False
        self._flushes: list[Publishable] = []
        self._readers: dict[Publishable, None] = {}
        self._priority_events: list[Publishable] = []
        self._local_channels: dict[Publishable, None] = {}
        self._upstream: list[Publishable] = []

    def hold_flush(self, flush: Publishable) -> None:
        """The flusher's interval is over, or a connection can take the next buffer."""
        self._flushes.append(flush)

    def hold_reader(self, reader: Publishable) -> None:
        """A subpartition of this task became readable, or its reader got credit; held once (rule 6.16)."""
        self._readers[reader] = None

    def hold_priority_event(self, event: Publishable) -> None:
        """An event that overtakes came to the head of a subpartition of this task, which a local channel reads."""
        self._priority_events.append(event)

    def hold_local_channel(self, channel: Publishable) -> None:
        """A local channel has something to read from this task; held once."""
        self._local_channels[channel] = None

    def hold_upstream(self, message: Publishable) -> None:
        """A message of an input channel of this task to its sender; they leave in the order in which they were given."""
        self._upstream.append(message)

    def publish(self) -> None:
        """The batch is over: what it did is visible now."""
        self.sealed = False
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

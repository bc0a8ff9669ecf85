"""What a running batch has for others, held back until its cost is spent (architecture decision D4)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from flowsim.network.gates.local_input_channel import LocalInputChannel
from flowsim.network.gates.remote_input_channel import RemoteInputChannel
from flowsim.network.senders.partition_request_queue import PartitionRequestQueue
from flowsim.network.senders.view_reader import ViewReader


class Outbox:
    """Notifications that a task owes its neighbours.

    While ``sealed``, a batch is running whose time has not passed yet: what it wrote must not be seen, so everything waits
    for ``publish``, also a flush or credit that comes from outside meanwhile. Otherwise notifications go out at once.
    """

    __slots__ = (
        "sealed",
        "_readers",
        "_reader_set",
        "_upstream",
        "_local",
        "_local_priority",
        "_flushes",
        "_send_credit",
    )

    def __init__(self, send_credit: Callable[[RemoteInputChannel], None]) -> None:
        self.sealed = False
        self._readers: list[tuple[PartitionRequestQueue, ViewReader]] = []
        self._reader_set: set[ViewReader] = set()
        self._upstream: list[Callable[[], None]] = []
        self._local: dict[LocalInputChannel, None] = {}
        self._local_priority: list[tuple[LocalInputChannel, int]] = []
        self._flushes: list[Callable[[], None]] = []
        self._send_credit = send_credit

    def data_available(self, queue: PartitionRequestQueue, reader: ViewReader) -> None:
        """A subpartition of this task became readable, or its reader got credit (rule 6.16)."""
        if not self.sealed:
            queue.notify(reader)
        elif reader not in self._reader_set:
            self._reader_set.add(reader)
            self._readers.append((queue, reader))

    def local_data_available(self, channel: LocalInputChannel) -> None:
        if self.sealed:
            self._local[channel] = None
        else:
            channel.on_data_available()

    def local_priority_event(self, channel: LocalInputChannel, sequence_number: int) -> None:
        """An event that overtakes came to the head of a subpartition of this task (rule 5.28)."""
        if self.sealed:
            self._local_priority.append((channel, sequence_number))
        else:
            channel.on_priority_event(sequence_number)

    def is_sealed_for(self, channel: LocalInputChannel) -> bool:
        """Whether a local reader must come back later; it is told when."""
        if self.sealed:
            self._local[channel] = None
        return self.sealed

    def credit_available(self, channel: RemoteInputChannel) -> None:
        """An input channel of this task has credit to announce (rule 6.8)."""
        self.upstream(partial(self._send_credit, channel))

    def upstream(self, message: Callable[[], None]) -> None:
        """A message of an input channel to its sender; they arrive in the order in which they were given."""
        if self.sealed:
            self._upstream.append(message)
        else:
            message()

    def flush(self, flush_all: Callable[[], None]) -> None:
        """The flusher came round."""
        if self.sealed:
            self._flushes.append(flush_all)
        else:
            flush_all()

    def publish(self) -> None:
        """The batch is over: what it did is visible now."""
        self.sealed = False
        if self._flushes:
            flushes, self._flushes = self._flushes, []
            for flush_all in flushes:
                flush_all()
        if self._readers:
            readers, self._readers = self._readers, []
            self._reader_set.clear()
            for queue, reader in readers:
                queue.notify(reader)
        if self._local_priority:
            urgent, self._local_priority = self._local_priority, []
            for channel, sequence_number in urgent:
                channel.on_priority_event(sequence_number)
        if self._local:
            local, self._local = self._local, {}
            for channel in local:
                channel.on_data_available()
        if self._upstream:
            messages, self._upstream = self._upstream, []
            for message in messages:
                message()

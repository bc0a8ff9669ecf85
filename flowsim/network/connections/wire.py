"""What the network between two tasks is like: time on the wire, and what is in flight.

It takes the place of the TCP connection below Flink's connection manager.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final, Protocol

_NS_PER_S: Final = 1_000_000_000


class Timer(Protocol):
    """A call that is to come."""

    def cancel(self) -> None: ...


class TimerService(Protocol):
    """The part of a scheduler that a wire needs."""

    @property
    def now_ns(self) -> int: ...

    def call_at_ns(self, when_ns: int, callback: Callable[[], None]) -> Timer: ...


class Message:
    """Something in flight; ``drop`` is called instead of ``arrive`` when the run ends before it arrives."""

    __slots__ = ()

    size_bytes: int = 0
    occupies_wire: bool = False
    """Whether the next one has to wait until it has left the sender."""

    def arrive(self) -> None:
        """It is at the receiver."""
        raise NotImplementedError

    def on_written(self) -> None:
        """It has left the sender; called for messages that occupy the wire."""

    def drop(self) -> None:
        """It never arrives."""


class Wire:
    """One direction of a connection: what is sent arrives in order, after its time.

    A message of n bytes occupies the wire for n / bandwidth, then travels for the latency. Its timers keep a run alive:
    what is in flight is an effect to come. Invariants: messages arrive in the order in which they were sent; at most one
    occupies the wire; ``bytes_in_flight`` is the sum over all that were sent and have neither arrived nor been dropped.
    """

    __slots__ = (
        "bytes_in_flight",
        "_service",
        "_latency_ns",
        "_bytes_per_second",
        "_in_flight",
        "_timers",
        "_occupying",
        "_closed",
        "_connections",
    )

    def __init__(
        self,
        service: TimerService,
        latency_ns: int,
        bytes_per_second: int | None,
        connections: TimedConnections | None = None,
    ) -> None:
        self.bytes_in_flight = 0
        self._service = service
        self._latency_ns = latency_ns
        self._bytes_per_second = bytes_per_second
        self._in_flight: deque[Message] = deque()
        self._timers: deque[Timer] = deque()
        self._occupying: Message | None = None
        self._closed = False
        self._connections = connections

    @property
    def is_busy(self) -> bool:
        """Whether a message occupies the wire: the next one has to wait until it is written."""
        return self._occupying is not None

    @property
    def messages_in_flight(self) -> int:
        return len(self._in_flight)

    def send(self, message: Message) -> None:
        """Puts a message on the wire; one that occupies it learns when it has left the sender, perhaps at once.

        While ``is_busy`` nothing may be sent that occupies the wire, too.
        """
        if self._closed:
            message.drop()
            return
        self._in_flight.append(message)
        self.bytes_in_flight += message.size_bytes
        rate = self._bytes_per_second
        busy_ns = 0 if rate is None else -(-message.size_bytes * _NS_PER_S // rate)
        left_ns = self._service.now_ns + busy_ns
        if message.occupies_wire and busy_ns > 0:
            self._occupying = message
            self._service.call_at_ns(left_ns, self._on_written)
        self._timers.append(self._service.call_at_ns(left_ns + self._latency_ns, self._on_arrival))
        if message.occupies_wire and busy_ns == 0:
            message.on_written()

    def _on_written(self) -> None:
        message, self._occupying = self._occupying, None
        if message is not None and not self._closed:
            message.on_written()

    def _on_arrival(self) -> None:
        # The first in flight, whosever timer this is: on the real clock timers may be rounded past each other.
        if not self._in_flight:
            return
        self._timers.popleft()
        message = self._in_flight.popleft()
        self.bytes_in_flight -= message.size_bytes
        message.arrive()
        if self._connections is not None:
            self._connections.on_arrival()

    def close(self) -> None:
        """Nothing arrives any more: everything in flight is dropped."""
        self._closed = True
        while self._timers:
            self._timers.popleft().cancel()
        while self._in_flight:
            message = self._in_flight.popleft()
            self.bytes_in_flight -= message.size_bytes
            message.drop()


class TimedConnection:
    """The two directions between a pair of subtasks: buffers go forward, credits and buffer sizes back."""

    __slots__ = ("forward", "backward")

    def __init__(
        self,
        service: TimerService,
        latency_ns: int,
        bytes_per_second: int | None,
        connections: TimedConnections | None = None,
    ) -> None:
        self.forward = Wire(service, latency_ns, bytes_per_second, connections)
        self.backward = Wire(service, latency_ns, None, connections)

    @property
    def is_idle(self) -> bool:
        return not self.forward.messages_in_flight and not self.backward.messages_in_flight

    def describe(self) -> str:
        """For the wait-for report: what is in flight; empty when nothing is."""
        parts = []
        if self.forward.messages_in_flight:
            parts.append(f"{self.forward.messages_in_flight} buffers ({self.forward.bytes_in_flight} bytes)")
        if self.backward.messages_in_flight:
            parts.append(f"{self.backward.messages_in_flight} credits")
        return " and ".join(parts)

    def close(self) -> None:
        self.forward.close()
        self.backward.close()


class TimedConnections:
    """The connections of a run that take time, by sending and receiving task."""

    __slots__ = ("connections", "_service", "_when_idle")

    def __init__(self, service: TimerService) -> None:
        self.connections: dict[tuple[int, int], TimedConnection] = {}
        self._service = service
        self._when_idle: Callable[[], None] | None = None

    @property
    def is_idle(self) -> bool:
        """Whether nothing is in flight."""
        return all(connection.is_idle for connection in self.connections.values())

    def when_idle(self, callback: Callable[[], None]) -> None:
        """Calls back once, when nothing is in flight any more; at once when nothing is."""
        self._when_idle = callback
        self.on_arrival()

    def on_arrival(self) -> None:
        """A message has arrived; it may have been the last one."""
        if self._when_idle is not None and self.is_idle:
            callback, self._when_idle = self._when_idle, None
            callback()

    def connect(self, source: int, target: int, latency_ns: int, bytes_per_second: int | None) -> TimedConnection:
        """The connection of a pair of tasks, made with its first channel."""
        found = self.connections.get((source, target))
        if found is None:
            found = TimedConnection(self._service, latency_ns, bytes_per_second, self)
            self.connections[source, target] = found
        return found

    def in_flight(self) -> Iterable[tuple[int, int, str]]:
        """(source, target, what) of every connection that something is on."""
        for (source, target), connection in self.connections.items():
            contents = connection.describe()
            if contents:
                yield source, target, contents

    def close(self) -> None:
        """The run ends: drops what is in flight, so that every buffer is recycled."""
        for connection in self.connections.values():
            connection.close()

"""The simulated network between two tasks: transfer times and messages in flight.

Replaces the TCP connection below Flink's connection manager.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Set
from typing import Final, Protocol

from mypy_extensions import mypyc_attr

from flowsim.quantities import count_text
from flowsim.sim.origin import Origin, What
from flowsim.sim.scheduler import Timer

_NS_PER_S: Final = 1_000_000_000


class TimerService(Protocol):
    """The scheduler methods that a wire needs.

    A Protocol, because tests give a wire timers that they run by hand.
    """

    @property
    def now_ns(self) -> int: ...

    def call_at_ns(self, when_ns: int, callback: Callable[[], None], *, origin: Origin | None = None) -> Timer: ...


@mypyc_attr(allow_interpreted_subclasses=True)
class Message:
    """A message in flight; if the run ends before its arrival, ``drop`` is called instead of ``arrive``."""

    __slots__ = ()

    size_bytes: int = 0
    occupies_wire: bool = False
    """True if the message blocks the wire until it has left the sender."""
    is_end: bool = False
    """True if nothing but the end of the data, or of the channel, arrives with the message."""

    def arrive(self) -> None:
        """Called when the message reaches the receiver."""
        raise NotImplementedError

    def on_written(self) -> None:
        """Called when the message has left the sender, if it occupies the wire."""

    def drop(self) -> None:
        """Called if the message never arrives."""


class Wire(Origin):
    """One direction of a connection: messages arrive in order, after their transfer time.

    A message of n bytes occupies the wire for n / bandwidth, then travels for the latency. The timers of a wire keep a
    run alive, because an arrival is a pending effect. Invariants: messages arrive in the order in which they were sent;
    at most one message occupies the wire; ``bytes_in_flight`` is the sum over all sent messages that have neither
    arrived nor been dropped.
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
        what: What = "arrive",
        receiver: int = -1,
        *numbers: int,
    ) -> None:
        super().__init__(what, receiver, *numbers, immediate=what == "credit")
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
    def brings_end(self) -> bool:
        return bool(self._in_flight) and self._in_flight[0].is_end

    @property
    def is_busy(self) -> bool:
        """True if a message occupies the wire: the next such message must wait until it is written."""
        return self._occupying is not None

    @property
    def messages_in_flight(self) -> int:
        return len(self._in_flight)

    def send(self, message: Message) -> None:
        """Sends a message.

        For a message that occupies the wire, calls ``on_written`` when it has left the sender, perhaps at once. While
        ``is_busy``, no other message that occupies the wire may be sent.
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
            self._service.call_at_ns(left_ns, self._on_written, origin=self)
        self._timers.append(self._service.call_at_ns(left_ns + self._latency_ns, self._on_arrival, origin=self))
        if message.occupies_wire and busy_ns == 0:
            message.on_written()

    def _on_written(self) -> None:
        message, self._occupying = self._occupying, None
        if message is not None and not self._closed:
            message.on_written()

    def _on_arrival(self) -> None:
        # The first message in flight, not that of this timer: on the real clock, rounding may reorder timers.
        if not self._in_flight:
            return
        self._timers.popleft()
        message = self._in_flight.popleft()
        self.bytes_in_flight -= message.size_bytes
        message.arrive()
        if self._connections is not None:
            self._connections.on_arrival()

    def close(self) -> None:
        """Drops all messages in flight; no message arrives from now on."""
        self._closed = True
        while self._timers:
            self._timers.popleft().cancel()
        while self._in_flight:
            message = self._in_flight.popleft()
            self.bytes_in_flight -= message.size_bytes
            message.drop()


class TimedConnection:
    """The two directions between a pair of subtasks: buffers forward, credits and buffer sizes back."""

    __slots__ = ("forward", "backward")

    def __init__(
        self,
        service: TimerService,
        latency_ns: int,
        bytes_per_second: int | None,
        connections: TimedConnections | None = None,
        source: int = -1,
        target: int = -1,
        edge: int = -1,
    ) -> None:
        self.forward = Wire(service, latency_ns, bytes_per_second, connections, "arrive", target, source, edge)
        self.backward = Wire(service, latency_ns, None, connections, "credit", source, target, edge)

    @property
    def is_idle(self) -> bool:
        return not self.forward.messages_in_flight and not self.backward.messages_in_flight

    def describe(self) -> str:
        """Describes the messages in flight for the wait-for report; '' if there are none."""
        parts = []
        if self.forward.messages_in_flight:
            parts.append(
                f"{count_text(self.forward.messages_in_flight, 'buffer')} ({self.forward.bytes_in_flight} bytes)"
            )
        if self.backward.messages_in_flight:
            parts.append(count_text(self.backward.messages_in_flight, "credit"))
        return " and ".join(parts)

    def close(self) -> None:
        self.forward.close()
        self.backward.close()


class TimedConnections:
    """The timed connections of a run, by sending and receiving task."""

    __slots__ = ("connections", "_service", "_when_idle")

    def __init__(self, service: TimerService) -> None:
        self.connections: dict[tuple[int, int, int], TimedConnection] = {}
        self._service = service
        self._when_idle: Callable[[], None] | None = None

    @property
    def is_idle(self) -> bool:
        """True if no message is in flight."""
        return all(connection.is_idle for connection in self.connections.values())

    def when_idle(self, callback: Callable[[], None]) -> None:
        """Calls back once when no message is in flight; at once if none is in flight now."""
        self._when_idle = callback
        self.on_arrival()

    def on_arrival(self) -> None:
        """Called when a message has arrived, perhaps the last message in flight."""
        if self._when_idle is not None and self.is_idle:
            callback, self._when_idle = self._when_idle, None
            callback()

    def connect(
        self, source: int, target: int, latency_ns: int, bytes_per_second: int | None, edge: int = -1
    ) -> TimedConnection:
        """Returns the connection of a pair of tasks, or that of one edge between them; its first channel creates it."""
        connection = self.connections.get((source, target, edge))
        if connection is None:
            connection = TimedConnection(self._service, latency_ns, bytes_per_second, self, source, target, edge)
            self.connections[source, target, edge] = connection
        return connection

    def release(self, subtasks: Set[int]) -> None:
        """Closes and forgets the connections of these tasks."""
        for key in list(self.connections):
            if key[0] in subtasks or key[1] in subtasks:
                self.connections.pop(key).close()

    def in_flight(self) -> Iterable[tuple[int, int, str]]:
        """Returns (source, target, description) for every connection with messages in flight."""
        for (source, target, _), connection in self.connections.items():
            contents = connection.describe()
            if contents:
                yield source, target, contents

    def close(self) -> None:
        """Drops all messages in flight at the end of the run, so that every buffer is recycled."""
        for connection in self.connections.values():
            connection.close()

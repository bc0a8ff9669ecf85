"""What the network between two tasks is like: time on the wire, and what is under way.

Flink has no class for this: it stands for the TCP connection below the NettyConnectionManager.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Final, Protocol

from flowsim.graph.stream_graph import Link
from flowsim.sim.scheduler import Timer

_NS_PER_S: Final = 1_000_000_000


class Alarm(Protocol):
    """The part of a scheduler that a wire needs."""

    @property
    def now_ns(self) -> int: ...

    def call_at_ns(self, when_ns: int, callback: Callable[[], None]) -> Timer: ...


def _nothing() -> None:
    """Nobody wants to know."""


class InFlight:
    """A message under way. ``drop`` is called instead of ``arrive`` when the run ends before it arrives."""

    __slots__ = ("size_bytes", "arrive", "drop")

    def __init__(self, size_bytes: int, arrive: Callable[[], None], drop: Callable[[], None]) -> None:
        self.size_bytes = size_bytes
        self.arrive = arrive
        self.drop = drop


class Wire:
    """One direction of a connection: what is sent arrives in order, after its time.

    A message of n bytes occupies the wire for n / bandwidth, then travels for the latency. Its timers keep a run alive:
    what is under way is an effect to come. Invariants: messages arrive in the order in which they were sent; at most one
    occupies the wire; ``bytes_in_flight`` is the sum over all that were sent and have neither arrived nor been dropped.
    """

    __slots__ = (
        "bytes_in_flight",
        "is_busy",
        "_alarm",
        "_latency_ns",
        "_bytes_per_second",
        "_in_flight",
        "_timers",
        "_closed",
        "_on_arrived",
    )

    def __init__(
        self,
        alarm: Alarm,
        latency_ns: int,
        bytes_per_second: int | None,
        on_arrived: Callable[[], None] = _nothing,
    ) -> None:
        self.bytes_in_flight = 0
        self.is_busy = False
        """Whether a message occupies the wire: the next one has to wait for its ``on_written``."""
        self._alarm = alarm
        self._latency_ns = latency_ns
        self._bytes_per_second = bytes_per_second
        self._in_flight: deque[InFlight] = deque()
        self._timers: deque[Timer] = deque()
        self._closed = False
        self._on_arrived = on_arrived
        """Called after each arrival."""

    @property
    def messages_in_flight(self) -> int:
        return len(self._in_flight)

    def send(self, message: InFlight, on_written: Callable[[], None] | None = None) -> None:
        """Puts a message on the wire; ``on_written`` is called when it has left the sender, perhaps at once.

        Only one message at a time: while ``is_busy`` nothing may be sent that occupies the wire, too.
        """
        if self._closed:
            message.drop()
            return
        self._in_flight.append(message)
        self.bytes_in_flight += message.size_bytes
        busy_ns = self._occupied_ns(message.size_bytes)
        left_ns = self._alarm.now_ns + busy_ns
        if on_written is not None and busy_ns > 0:
            self.is_busy = True
            self._alarm.call_at_ns(left_ns, lambda: self._written(on_written))
        self._timers.append(self._alarm.call_at_ns(left_ns + self._latency_ns, self._arrived))
        if on_written is not None and busy_ns == 0:
            on_written()

    def _occupied_ns(self, size_bytes: int) -> int:
        if self._bytes_per_second is None:
            return 0
        return -(-size_bytes * _NS_PER_S // self._bytes_per_second)

    def _written(self, on_written: Callable[[], None]) -> None:
        self.is_busy = False
        if not self._closed:
            on_written()

    def _arrived(self) -> None:
        # The first in flight, whosever timer this is: on the real clock timers may be rounded past each other.
        if not self._in_flight:
            return
        self._timers.popleft()
        message = self._in_flight.popleft()
        self.bytes_in_flight -= message.size_bytes
        message.arrive()
        self._on_arrived()

    def close(self) -> None:
        """Nothing arrives any more: everything under way is dropped."""
        self._closed = True
        while self._timers:
            self._timers.popleft().cancel()
        while self._in_flight:
            message = self._in_flight.popleft()
            self.bytes_in_flight -= message.size_bytes
            message.drop()


class LinkedConnection:
    """The two directions between a pair of subtasks: buffers go forward, credits and buffer sizes back."""

    __slots__ = ("forward", "backward")

    def __init__(self, alarm: Alarm, link: Link, on_arrived: Callable[[], None] = _nothing) -> None:
        self.forward = Wire(alarm, link.latency_ns, link.bytes_per_second, on_arrived)
        self.backward = Wire(alarm, link.latency_ns, None, on_arrived)

    @property
    def is_idle(self) -> bool:
        return not self.forward.messages_in_flight and not self.backward.messages_in_flight

    def describe(self) -> str:
        """For the wait-for report: what is under way; empty when nothing is."""
        parts = []
        if self.forward.messages_in_flight:
            parts.append(f"{self.forward.messages_in_flight} buffers ({self.forward.bytes_in_flight} bytes)")
        if self.backward.messages_in_flight:
            parts.append(f"{self.backward.messages_in_flight} credits")
        return " and ".join(parts)

    def close(self) -> None:
        self.forward.close()
        self.backward.close()


class Links:
    """The connections of a run that take time, by sending and receiving task."""

    __slots__ = ("connections", "_alarm", "_when_idle")

    def __init__(self, alarm: Alarm) -> None:
        self.connections: dict[tuple[int, int], LinkedConnection] = {}
        self._alarm = alarm
        self._when_idle: Callable[[], None] | None = None

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way."""
        return all(connection.is_idle for connection in self.connections.values())

    def when_idle(self, callback: Callable[[], None]) -> None:
        """Calls back once, when nothing is under way any more; at once when nothing is."""
        self._when_idle = callback
        self._check_idle()

    def _check_idle(self) -> None:
        if self._when_idle is not None and self.is_idle:
            callback, self._when_idle = self._when_idle, None
            callback()

    def connect(self, source: int, target: int, link: Link) -> LinkedConnection:
        """The connection of a pair of tasks, made with its first channel."""
        found = self.connections.get((source, target))
        if found is None:
            found = self.connections[source, target] = LinkedConnection(self._alarm, link, self._check_idle)
        return found

    def under_way(self) -> Iterable[tuple[int, int, str]]:
        """(source, target, what) of every connection that something is on."""
        for (source, target), connection in self.connections.items():
            told = connection.describe()
            if told:
                yield source, target, told

    def close(self) -> None:
        """The run ends: drops what is under way, so that every buffer is recycled."""
        for connection in self.connections.values():
            connection.close()

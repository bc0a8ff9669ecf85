"""A wire: when messages are written, when they arrive, and what happens to them when the run ends."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Hashable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsim.network.connections.wire import Message, TimedConnection, TimedConnections, Wire

MS = 1_000_000


class Clock:
    """Timers in order of time, then of creation."""

    def __init__(self) -> None:
        self.now_ns = 0
        self._timers: list[tuple[int, int, ClockTimer]] = []
        self._count = 0

    def call_at_ns(self, when_ns: int, callback: Callable[[], None], *, origin: Hashable = None) -> ClockTimer:
        timer = ClockTimer(callback)
        heapq.heappush(self._timers, (when_ns, self._count, timer))
        self._count += 1
        return timer

    def run(self, until_ns: int = 10**18) -> None:
        while self._timers and self._timers[0][0] <= until_ns:
            self.now_ns, _, timer = heapq.heappop(self._timers)
            if not timer.cancelled:
                timer.callback()


class ClockTimer:
    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class Log:
    """What happened on a wire: (time in ns, what)."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.events: list[tuple[int, str]] = []

    def note(self, what: str) -> None:
        self.events.append((self.clock.now_ns, what))

    def message(self, name: str, size: int) -> Message:
        return Named(self, name, size)

    def buffer(self, name: str, size: int, then: Callable[[], None] = lambda: None) -> Message:
        """Occupies the wire; ``then`` is called when it is written."""
        return NamedBuffer(self, name, size, then)


class Named(Message):
    def __init__(self, log: Log, name: str, size: int) -> None:
        self.log = log
        self.name = name
        self.size_bytes = size

    def arrive(self) -> None:
        self.log.note(f"{self.name} arrives")

    def drop(self) -> None:
        self.log.note(f"{self.name} dropped")


class NamedBuffer(Named):
    def __init__(self, log: Log, name: str, size: int, then: Callable[[], None]) -> None:
        super().__init__(log, name, size)
        self.occupies_wire = True
        self.then = then

    def on_written(self) -> None:
        self.log.note(f"{self.name} written")
        self.then()


def test_message_occupies_wire_for_its_size_and_arrives_after_latency() -> None:
    clock = Clock()
    log = Log(clock)
    wire = Wire(clock, 5 * MS, 1_000_000)
    wire.send(log.buffer("a", 2_000))
    assert (wire.is_busy, wire.bytes_in_flight, wire.messages_in_flight) == (True, 2_000, 1)
    clock.run()
    assert log.events == [(2 * MS, "a written"), (7 * MS, "a arrives")]
    assert (wire.is_busy, wire.bytes_in_flight, wire.messages_in_flight) == (False, 0, 0)


def test_message_without_bandwidth_limit_is_written_at_once() -> None:
    clock = Clock()
    log = Log(clock)
    wire = Wire(clock, 5 * MS, None)
    wire.send(log.buffer("a", 2_000))
    wire.send(log.buffer("b", 2_000))
    clock.run()
    assert log.events == [(0, "a written"), (0, "b written"), (5 * MS, "a arrives"), (5 * MS, "b arrives")]


def test_transmission_time_is_rounded_up() -> None:
    clock = Clock()
    log = Log(clock)
    Wire(clock, 0, 3).send(log.message("a", 1))
    clock.run()
    assert log.events == [(333_333_334, "a arrives")]


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 100)), max_size=30), st.integers(0, 50), st.integers(1, 5))
def test_messages_arrive_in_order_of_sending(sends: list[tuple[int, int]], latency_ns: int, bytes_per_ns: int) -> None:
    """Each is sent ``gap`` ns after the one before has left."""
    clock = Clock()
    log = Log(clock)
    wire = Wire(clock, latency_ns, bytes_per_ns * 10**9)

    def send_from(number: int) -> None:
        if number < len(sends):
            gap, size = sends[number]
            clock.call_at_ns(
                clock.now_ns + gap,
                lambda: wire.send(log.buffer(f"{number}", size, lambda: send_from(number + 1))),
            )

    send_from(0)
    clock.run()
    arrivals = [(at, what) for at, what in log.events if what.endswith("arrives")]
    assert [what for _, what in arrivals] == [f"{number} arrives" for number in range(len(sends))]
    left, expected = 0, []
    for gap, size in sends:
        left += gap + -(-size // bytes_per_ns)
        expected.append(left + latency_ns)
    assert [at for at, _ in arrivals] == expected
    assert wire.bytes_in_flight == 0


def test_closed_connection_drops_messages_in_flight_and_later_ones() -> None:
    clock = Clock()
    log = Log(clock)
    connection = TimedConnection(clock, 10 * MS, 1_000_000)
    connection.forward.send(log.buffer("a", 1_000))
    connection.backward.send(log.message("credit", 0))
    assert connection.describe() == "1 buffer (1000 bytes) and 1 credit"
    connection.close()
    connection.forward.send(log.buffer("b", 1_000))
    clock.run()
    assert log.events == [(0, "a dropped"), (0, "credit dropped"), (0, "b dropped")]
    assert connection.describe() == ""


def test_each_pair_of_tasks_has_one_connection() -> None:
    clock = Clock()
    connections = TimedConnections(clock)
    first = connections.connect(0, 1, MS, None)
    assert connections.connect(0, 1, 7, None) is first
    assert connections.connect(1, 0, MS, None) is not first
    first.forward.send(Log(clock).message("a", 12))
    assert list(connections.in_flight()) == [(0, 1, "1 buffer (12 bytes)")]
    connections.close()
    assert list(connections.in_flight()) == []


@pytest.mark.parametrize("latency_ns", [0, MS])
def test_dropped_message_never_arrives(latency_ns: int) -> None:
    clock = Clock()
    log = Log(clock)
    wire = Wire(clock, latency_ns, 1_000)
    wire.send(log.buffer("a", 1))
    clock.run(until_ns=MS)
    wire.close()
    clock.run()
    assert [what for _, what in log.events] == (
        ["a written", "a arrives"] if latency_ns == 0 else ["a written", "a dropped"]
    )

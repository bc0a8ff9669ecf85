"""A wire by itself: when messages leave, when they arrive, and what happens to them when the run ends."""

from __future__ import annotations

import heapq
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsim.cluster.links import InFlight, LinkedConnection, Links, Wire
from flowsim.graph.stream_graph import Link

MS = 1_000_000


class Clock:
    """Timers in order of time, then of creation."""

    def __init__(self) -> None:
        self.now_ns = 0
        self._timers: list[tuple[int, int, ClockTimer]] = []
        self._count = 0

    def call_at_ns(self, when_ns: int, callback: Callable[[], None]) -> ClockTimer:
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


class Story:
    """What happened on a wire: (time in ns, what)."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.events: list[tuple[int, str]] = []

    def note(self, what: str) -> Callable[[], None]:
        return lambda: self.events.append((self.clock.now_ns, what))

    def message(self, name: str, size: int) -> InFlight:
        return InFlight(size, self.note(f"{name} arrives"), self.note(f"{name} dropped"))


def test_a_message_occupies_the_wire_for_its_size_and_arrives_after_the_latency() -> None:
    clock = Clock()
    story = Story(clock)
    wire = Wire(clock, 5 * MS, 1_000_000)
    wire.send(story.message("a", 2_000), story.note("a written"))
    assert (wire.is_busy, wire.bytes_in_flight, wire.messages_in_flight) == (True, 2_000, 1)
    clock.run()
    assert story.events == [(2 * MS, "a written"), (7 * MS, "a arrives")]
    assert (wire.is_busy, wire.bytes_in_flight, wire.messages_in_flight) == (False, 0, 0)


def test_without_a_limit_a_message_leaves_at_once() -> None:
    clock = Clock()
    story = Story(clock)
    wire = Wire(clock, 5 * MS, None)
    wire.send(story.message("a", 2_000), story.note("a written"))
    wire.send(story.message("b", 2_000), story.note("b written"))
    clock.run()
    assert story.events == [(0, "a written"), (0, "b written"), (5 * MS, "a arrives"), (5 * MS, "b arrives")]


def test_time_on_the_wire_is_rounded_up() -> None:
    clock = Clock()
    story = Story(clock)
    Wire(clock, 0, 3).send(story.message("a", 1))
    clock.run()
    assert story.events == [(333_333_334, "a arrives")]


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 100)), max_size=30), st.integers(0, 50), st.integers(1, 5))
def test_messages_arrive_in_order_whenever_they_were_sent(
    sends: list[tuple[int, int]], latency_ns: int, bytes_per_ns: int
) -> None:
    """Each is sent ``gap`` ns after the one before has left."""
    clock = Clock()
    story = Story(clock)
    wire = Wire(clock, latency_ns, bytes_per_ns * 10**9)

    def send_from(number: int) -> None:
        if number < len(sends):
            gap, size = sends[number]
            clock.call_at_ns(
                clock.now_ns + gap,
                lambda: wire.send(story.message(f"{number}", size), lambda: send_from(number + 1)),
            )

    send_from(0)
    clock.run()
    arrivals = [what for _, what in story.events]
    assert arrivals == [f"{number} arrives" for number in range(len(sends))]
    left, expected = 0, []
    for gap, size in sends:
        left += gap + -(-size // bytes_per_ns)
        expected.append(left + latency_ns)
    assert [at for at, _ in story.events] == expected
    assert wire.bytes_in_flight == 0


def test_a_closed_connection_drops_what_is_under_way_and_what_comes_later() -> None:
    clock = Clock()
    story = Story(clock)
    connection = LinkedConnection(clock, Link(latency_ns=10 * MS, bytes_per_second=1_000_000))
    connection.forward.send(story.message("a", 1_000), story.note("a written"))
    connection.backward.send(story.message("credit", 0))
    assert connection.describe() == "1 buffers (1000 bytes) and 1 credits"
    connection.close()
    connection.forward.send(story.message("b", 1_000), story.note("b written"))
    clock.run()
    assert story.events == [(0, "a dropped"), (0, "credit dropped"), (0, "b dropped")]
    assert connection.describe() == ""


def test_a_pair_of_tasks_has_one_connection_and_the_report_names_those_in_use() -> None:
    clock = Clock()
    links = Links(clock)
    first = links.connect(0, 1, Link(latency_ns=MS))
    assert links.connect(0, 1, Link(latency_ns=7)) is first
    assert links.connect(1, 0, Link(latency_ns=MS)) is not first
    first.forward.send(Story(clock).message("a", 12))
    assert list(links.under_way()) == [(0, 1, "1 buffers (12 bytes)")]
    links.close()
    assert list(links.under_way()) == []


@pytest.mark.parametrize("latency_ns", [0, MS])
def test_a_dropped_message_never_arrives(latency_ns: int) -> None:
    clock = Clock()
    story = Story(clock)
    wire = Wire(clock, latency_ns, 1_000)
    wire.send(story.message("a", 1), story.note("a written"))
    clock.run(until_ns=MS)
    wire.close()
    clock.run()
    assert [what for _, what in story.events] == (
        ["a written", "a arrives"] if latency_ns == 0 else ["a written", "a dropped"]
    )

"""Named random streams: equal numbers in every process, different ones for different names."""

from __future__ import annotations

from flowsim.sim.rng import RandomStreams


def test_stream_has_fixed_numbers_in_every_process_and_version() -> None:
    stream = RandomStreams(42).stream("cost", "map", 0)
    assert [stream.randrange(10**9) for _ in range(3)] == [699112117, 928152641, 163656873]


def test_stream_requested_twice_gives_same_numbers() -> None:
    streams = RandomStreams(1)
    first, second = streams.stream("choice"), streams.stream("choice")
    assert [first.random() for _ in range(5)] == [second.random() for _ in range(5)]


def test_streams_with_different_names_or_seeds_differ() -> None:
    names: list[tuple[str | int, ...]] = [("a", "b"), ("ab",), ("a", "b", ""), (1,), ("1",), (-1,), ("a", 1), ("a1",)]
    numbers = [RandomStreams(seed).stream(*name).random() for seed in (0, 1) for name in names]
    assert len(set(numbers)) == 16


def test_drawing_from_one_stream_does_not_affect_another() -> None:
    streams = RandomStreams(5)
    alone = streams.stream("b").random()
    greedy = streams.stream("a")
    for _ in range(100):
        greedy.random()
    assert streams.stream("b").random() == alone

"""W1: source (key 0..999, value, event time) -> map -> keyBy -> tumbling window sum -> sink, one keyed exchange."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

Record = tuple[int, int, int]
"""Key, value, event time in ms."""
Results = dict[tuple[int, int], int]
"""(Key, window start in ms) -> sum."""

KEYS = 1_000
WINDOW_MS = 1_000
RECORDS_PER_MS = 10
WATERMARK_EVERY = 1_000
END_OF_TIME = 2**63 - 1


def map_record(record: Record) -> Record:
    """The user's map function: every variant calls it once for each record, and so the functions below."""
    return record[0], record[1] * 2 + 1, record[2]


def key_of(record: Record) -> int:
    return record[0]


def time_of(record: Record) -> int:
    return record[2]


def add(accumulator: int, record: Record) -> int:
    return accumulator + record[1]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a variant must show: its results, and how many facts it recorded."""

    results: Results
    facts: int = 0


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to run W1; ``run`` takes the number of records and is timed as a whole."""

    name: str
    run: Callable[[int], Outcome]


def source(count: int) -> Iterator[Record]:
    """In order of event time, keys scattered; making the records is part of the work of every variant."""
    for index in range(count):
        yield index * 7919 % KEYS, index % 97, index // RECORDS_PER_MS


def elements(count: int) -> Iterator[Record | int]:
    """The mapped records, and a watermark (an int) after every ``WATERMARK_EVERY`` of them and at the end."""
    for number, record in enumerate(source(count), 1):
        yield map_record(record)
        if number % WATERMARK_EVERY == 0:
            yield time_of(record) - 1
    yield END_OF_TIME


def expected_results(count: int) -> Results:
    """The plain batch computation that every variant has to agree with."""
    sums: Results = {}
    for key, value, time_ms in source(count):
        window = (key, time_ms // WINDOW_MS * WINDOW_MS)
        sums[window] = sums.get(window, 0) + value * 2 + 1
    return sums


class TumblingSum:
    """The window of the baselines that have a task for it."""

    __slots__ = ("panes", "results")

    def __init__(self) -> None:
        self.panes: dict[int, dict[int, int]] = {}
        self.results: Results = {}

    def on_record(self, record: Record) -> None:
        time_ms = time_of(record)
        start_ms = time_ms - time_ms % WINDOW_MS
        pane = self.panes.get(start_ms)
        if pane is None:
            pane = self.panes[start_ms] = {}
        key = key_of(record)
        pane[key] = add(pane.get(key, 0), record)

    def on_watermark(self, watermark_ms: int) -> None:
        for start_ms in [start_ms for start_ms in self.panes if start_ms + WINDOW_MS - 1 <= watermark_ms]:
            for key, total in self.panes.pop(start_ms).items():
                self.results[key, start_ms] = total

"""A large recording in counts: per bucket of time the facts, the elements of channels, and the lateness of records.

One pass over the facts. The memory that it needs depends on the buckets, not on the facts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt

from flowsim.facts.schema import BUFFERS, LATE_DROP, SENT, WINDOW_FIRE, WINDOW_INTAKE
from flowsim.history.lateness import is_behind
from flowsim.history.run_span import end_of, start_of
from flowsim.recording.causal_order import TASK_TABLES
from flowsim.recording.merged_facts import MergedRows, Rows, Selection, merged_rows
from flowsim.recording.reader import Recording
from flowsim.report.encoding import BOUND, bounded

Ints = npt.NDArray[np.int64]

_MOST_BUCKETS: Final = 2048
_FACTS_OF_BUCKET: Final = 64
BINS: Final = 64
"""Of event time less watermark: bin 32 + n holds distances from 2^n - 1 ms, bin 31 - n those behind the watermark."""

IN_TIME, BEHIND, LATE = range(3)
"""Timing of a record: after the watermark, at or behind it but processed, late."""

_FIRST_OF_OPERATOR: Final = 3
_TIME_EVERY: Final = 64
_BITS: Final = {"task": 30, "channel": 30, "bucket": 11, "bin": 6, "timing": 2}


@dataclass(frozen=True, slots=True, order=True)
class Point:
    """A fact of interest: the smaller ``rank``, the more important. ``why``: in words."""

    rank: int
    step: int
    why: str


@dataclass(slots=True)
class Overview:
    """Counts per bucket, and the points of interest, of a whole recording."""

    end_ns: int
    """Time of the last fact since the start."""
    buckets: int
    """Of equal length over the whole run."""
    steps: int = 0
    points: list[Point] = field(default_factory=list)
    tables: dict[str, dict[str, Ints]] = field(default_factory=dict)
    """Columns of the counts, by name: only counts that are not 0."""
    times: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """Time since the start of every 64th fact."""

    def step_at(self, time_ns: int) -> int:
        """Returns a step at most 64 before the first fact at or after a time."""
        return max(0, int(np.searchsorted(self.times, time_ns)) - 1) * _TIME_EVERY


class _Counts:
    """Counts of combinations of small numbers."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self._parts: list[tuple[Ints, Ints]] = []

    def add(self, *columns: Ints) -> None:
        code = np.zeros(len(columns[0]), dtype=np.int64)
        for name, column in zip(self._names, columns, strict=True):
            code = code << _BITS[name] | column
        self._parts.append(np.unique(code, return_counts=True))

    def table(self) -> dict[str, Ints]:
        """Returns a column per name, and ``count``."""
        none: Ints = np.zeros(0, dtype=np.int64)
        codes = np.concatenate([none, *(codes for codes, _ in self._parts)])
        counts = np.concatenate([none, *(counts for _, counts in self._parts)])
        unique, of = np.unique(codes, return_inverse=True)
        sums = np.zeros(len(unique), dtype=np.int64)
        np.add.at(sums, of, counts)
        columns = {}
        for name in reversed(self._names):
            columns[name] = unique & (1 << _BITS[name]) - 1
            unique = unique >> _BITS[name]
        return {**{name: columns[name] for name in self._names}, "count": sums}


def overview_of(
    recording: Recording, wanted: Iterable[tuple[int, int, int, str]], times: Iterable[tuple[int, int, str]]
) -> Overview:
    """Reads the whole recording once; raises BadInput for a damaged part.

    ``wanted``: further points of interest, as rank, task, seq and reason; ``times``: as rank, time since the start in ns,
    and reason.
    """
    start_ns = start_of(recording)
    count = sum(recording.row_count(table.name) for table in TASK_TABLES)
    found = Overview(end_of(recording) - start_ns, min(_MOST_BUCKETS, max(1, count // _FACTS_OF_BUCKET)))
    facts = _Counts(("bucket",))
    elements = _Counts(("channel", "bucket"))
    lateness = _Counts(("task", "bucket", "bin", "timing"))
    points = _Points(wanted)
    parts: list[Ints] = []
    for merged in merged_rows(recording, Selection()):
        time = _times(merged, start_ns)
        parts.append(time[-found.steps % _TIME_EVERY :: _TIME_EVERY])
        buckets = _buckets(time, found)
        facts.add(buckets)
        for number, rows in enumerate(merged.rows):
            of_table = np.flatnonzero(merged.table_of == number)
            bucket, column = buckets[of_table], partial(_column, rows, merged.index[of_table])
            points.add(rows.table.name, column, of_table + found.steps)
            if rows.table is SENT:
                elements.add(column("channel"), bucket)
            if rows.table in (WINDOW_INTAKE, LATE_DROP):
                lateness.add(column("task"), bucket, *_timing(rows.table is LATE_DROP, column))
        found.steps += len(merged.index)
    found.times = np.concatenate([found.times, *parts])
    found.points = sorted([*points.found(), *(Point(rank, found.step_at(time), why) for rank, time, why in times)])
    found.tables = {
        "overview_facts": facts.table(), "overview_elements": elements.table(), "overview_lateness": lateness.table(),
    }  # fmt: skip
    return found


class _Points:
    """Late records and fires that are the first of their operator, the fullest queue of each channel, wanted facts."""

    def __init__(self, wanted: Iterable[tuple[int, int, int, str]]) -> None:
        self._wanted = {(task << 40 | seq): (rank, why) for rank, task, seq, why in wanted}
        self._codes = np.array(sorted(self._wanted), dtype=np.int64)
        self._found: list[Point] = []
        self._seen: dict[tuple[str, int], int] = {}
        self._fullest: dict[int, tuple[int, int]] = {}

    def add(self, table: str, column: Callable[[str], Ints], steps: Ints) -> None:
        if len(self._codes):
            codes = column("task") << 40 | column("seq")
            for at in np.flatnonzero(np.isin(codes, self._codes)).tolist():
                rank, why = self._wanted[int(codes[at])]
                self._found.append(Point(rank, int(steps[at]), why))
        if table in (LATE_DROP.name, WINDOW_FIRE.name):
            self._first(table, column("task") << 20 | column("operator"), steps)
        if table == BUFFERS.name:
            channels, backlog = column("channel"), column("backlog")
            for channel in np.unique(channels).tolist():
                of = np.flatnonzero(channels == channel)
                at = of[int(np.argmax(backlog[of]))]
                if int(backlog[at]) > self._fullest.get(channel, (0, 0))[0]:
                    self._fullest[channel] = int(backlog[at]), int(steps[at])

    def _first(self, table: str, operators: Ints, steps: Ints) -> None:
        for operator in np.unique(operators).tolist():
            key = table, operator
            for step in steps[operators == operator][: max(0, _FIRST_OF_OPERATOR - self._seen.get(key, 0))].tolist():
                number = self._seen[key] = self._seen.get(key, 0) + 1
                why = "late record" if table == LATE_DROP.name else "fire"
                self._found.append(Point(number, step, f"{why} {number} of its operator"))

    def found(self) -> list[Point]:
        fullest = [
            Point(_FIRST_OF_OPERATOR + 1, step, f"fullest queue of channel {channel}")
            for channel, (_, step) in self._fullest.items()
        ]
        return self._found + fullest


def _column(rows: Rows, index: Ints, name: str) -> Ints:
    return rows.column(name)[index]


def _times(merged: MergedRows, start_ns: int) -> Ints:
    times: Ints = np.empty(len(merged.index), dtype=np.int64)
    for number, rows in enumerate(merged.rows):
        of_table = merged.table_of == number
        times[of_table] = rows.times[merged.index[of_table]]
    return times - start_ns


def _buckets(times: Ints, overview: Overview) -> Ints:
    share = overview.buckets / (overview.end_ns + 1)
    return np.clip((times * share).astype(np.int64), 0, overview.buckets - 1)


def _timing(is_late: bool, column: Callable[[str], Ints]) -> tuple[Ints, Ints]:
    """Bins and timings; a record before the first watermark is in the last bin."""
    given = column("timestamp"), column("watermark")
    timestamp, watermark = map(bounded, given)
    distance = np.where(watermark == -BOUND, BOUND, timestamp - watermark)
    size = np.minimum(np.log2(np.abs(distance) + 1.0), BINS // 2 - 1).astype(np.int64)
    bins = np.where(distance > 0, BINS // 2 + size, BINS // 2 - 1 - size)
    return bins, np.where(is_late, LATE, np.where(is_behind(*given), BEHIND, IN_TIME))

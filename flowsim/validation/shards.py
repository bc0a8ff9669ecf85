"""Divides recordings into shards for workers: ranges of tasks of about the same size, small recordings together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from flowsim.laws.files import TaskRange
from flowsim.laws.law import reads_of
from flowsim.validation.recorded_run import Work

_MOST_ROWS: Final = 2_000_000
_LEAST_ROWS: Final = 250_000
_ROWS_OF_A_RUN: Final = 2_000
"""What opening a small recording costs, in rows that could be examined meanwhile."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Some tasks of one recording. ``part`` of ``parts``: which of its files this piece compares with their hashes."""

    work: int
    tasks: TaskRange
    part: int
    parts: int

    def is_verified(self, file: int) -> bool:
        return file % self.parts == self.part


def shards_of(works: Sequence[Work], cores: int) -> list[list[Piece]]:
    """At least two shards a core where there is much, of at most two million rows each where tasks allow it."""
    sizes = [run.files.rows_by_task(reads_of(errand.laws)) for _, run, errand in works]
    total = sum(sum(rows.values()) + _ROWS_OF_A_RUN for rows in sizes)
    target = min(_MOST_ROWS, max(_LEAST_ROWS, total // (2 * cores)))
    shards: list[list[Piece]] = []
    room = 0
    for number, rows in enumerate(sizes):
        ranges = _ranges(rows, max(works[number][1].graph.tasks, default=-1) + 1, target)
        for part, (tasks, size) in enumerate(ranges):
            if not shards or room < size:
                shards.append([])
                room = target
            shards[-1].append(Piece(number, tasks, part, len(ranges)))
            room -= size + _ROWS_OF_A_RUN
    return shards


def _ranges(rows: dict[int, int], end: int, target: int) -> list[tuple[TaskRange, int]]:
    """Ranges that cover all tasks, each with its size."""
    found: list[tuple[TaskRange, int]] = []
    first = size = 0
    for task in range(end):
        more = rows.get(task, 0)
        if size and size + more > target:
            found.append((TaskRange(first, task), size))
            first, size = task, 0
        size += more
    found.append((TaskRange(first, end), size))
    return found

"""Divides recordings into shards for workers: ranges of tasks of similar size; small recordings share a shard."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from flowsim.laws.files import TaskRange
from flowsim.laws.law import KeyPart, reads_of
from flowsim.validation.recorded_run import Work

_MOST_ROWS: Final = 2_000_000
_LEAST_ROWS: Final = 250_000
_ROWS_OF_A_RUN: Final = 2_000
"""The cost of opening a small recording, as a number of examined rows."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Some tasks of one recording, or some keys of one task, for one shard.

    ``part`` of ``parts``: the files whose hashes this piece checks; 0 parts: none.
    """

    work: int
    tasks: TaskRange
    part: int
    parts: int
    keys: KeyPart | None = None

    def is_verified(self, file: int) -> bool:
        return self.parts > 0 and file % self.parts == self.part


def shards_of(works: Sequence[Work], cores: int, splits_keys: bool = True) -> list[list[Piece]]:
    """Divides the recordings into shards.

    Large inputs have at least two shards per core, of at most two million rows each if tasks allow it.

    If a task has more rows than two shards should have, laws that support it examine the keys in parts.
    """
    sizes = [run.files.rows_by_task(reads_of(errand.laws, run.graph)) for _, run, errand in works]
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
            keys = _key_parts(works[number], tasks, size, target) if splits_keys else 1
            shards[-1].append(Piece(number, tasks, part, len(ranges), (0, keys) if keys > 1 else None))
            room -= size + _ROWS_OF_A_RUN
            shards[-1:-1] = [[Piece(number, tasks, 0, 0, (index, keys))] for index in range(1, keys)]
    return shards


def _key_parts(work: Work, tasks: TaskRange, size: int, target: int) -> int:
    """Returns the number of key parts for a range; a task that is too large for a shard is alone in its range."""
    _, run, errand = work
    by_key = errand.by_key
    if size <= 2 * target or tasks.end - tasks.first > 1 or not by_key:
        return 1
    return -(-run.files.rows_by_task(reads_of(by_key, run.graph)).get(tasks.first, 0) // target)


def _ranges(rows: dict[int, int], end: int, target: int) -> list[tuple[TaskRange, int]]:
    """Returns ranges that cover all tasks, each with its size.

    A task of more than two target sizes is alone in its range.
    """
    ranges: list[tuple[TaskRange, int]] = []
    first = size = 0
    for task in range(end):
        more = rows.get(task, 0)
        if first < task and (size + more > target or more > 2 * target):
            ranges.append((TaskRange(first, task), size))
            first, size = task, 0
        size += more
    ranges.append((TaskRange(first, end), size))
    return ranges

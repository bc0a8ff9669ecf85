"""Reads the facts of a recording's files as slices, epoch by epoch; needs numpy and pyarrow, and no manifest."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from flowsim.facts.schema import TABLES, TASK_ATTEMPT
from flowsim.laws.slices import ColumnRows, Rows, Slice, slices_of_attempts
from flowsim.limits import DEFAULT_LIMITS, Limits
from flowsim.recording.epoch_marker import EpochMarker, PartDescription
from flowsim.recording.parquet_part import TaskRows, as_numpy, table_file
from flowsim.recording.recorded_file import RECORDING, damaged, part_name
from flowsim.recording.table_file import opened, part_content

Reads = Mapping[str, Collection[str]]
"""The columns to read of each table."""


@dataclass(frozen=True, slots=True)
class TaskRange:
    """The tasks from ``first`` to the one before ``end``."""

    first: int
    end: int

    def __contains__(self, task: int) -> bool:
        return self.first <= task < self.end


@dataclass(frozen=True, slots=True)
class RecordedFiles:
    """The complete epochs of a recording and their files; the same on every machine that can read the path."""

    directory: str
    markers: tuple[EpochMarker, ...]
    limits: Limits = DEFAULT_LIMITS

    @property
    def files(self) -> int:
        """Number of files; they are numbered by epoch, then by table."""
        return sum(len(marker.parts) for marker in self.markers)

    def rows_by_task(self, tables: Collection[str]) -> dict[int, int]:
        """Number of rows per task in some tables."""
        found: dict[int, int] = {}
        for marker in self.markers:
            for table in tables:
                for task, rows in marker.parts[table].tasks if table in marker.parts else ():
                    found[task] = found.get(task, 0) + rows
        return found

    def slices(
        self,
        reads: Reads,
        tasks: TaskRange | None = None,
        is_verified: Callable[[int], bool] = lambda file: True,
        on_epoch: Callable[[], object] = lambda: None,
    ) -> Iterator[Slice]:
        """The slices of some tasks (all without ``tasks``).

        ``is_verified`` returns, for the number of a file, whether its hash is checked; this includes files that no law
        reads. ``on_epoch`` is called after each epoch. Raises BadInput for a part that is missing or does not match its
        marker.
        """
        numbers = count()
        order = SeqOrder(self.directory)
        for epoch, marker in enumerate(self.markers):
            by_task: dict[int, dict[str, ColumnRows]] = {}
            for table, about in marker.parts.items():
                is_read = table in reads and (tasks is None or any(task in tasks for task, _ in about.tasks))
                verified = is_verified(next(numbers))
                if not is_read and not verified:
                    continue
                path = Path(self.directory) / table / part_name(epoch)
                content = part_content(RECORDING, path, about.rows, about.sha256, self.limits, is_verified=verified)
                if is_read:
                    for task, rows in part_rows(path, content, table, about, reads[table], tasks, self.limits):
                        by_task.setdefault(task, {})[table] = rows
            for task in sorted(by_task):
                order.check(epoch, task, by_task[task])
                yield from slices_of_attempts(task, by_task[task])
            on_epoch()


class SeqOrder:
    """The highest ``seq`` of each task in the epochs so far."""

    def __init__(self, directory: str) -> None:
        self._directory = directory
        self._last: dict[int, int] = {}

    def check(self, epoch: int, task: int, tables: Mapping[str, Rows]) -> None:
        """Raises BadInput if a table of the next epoch begins below the task's highest ``seq``."""
        before = reached = self._last.get(task, -1)
        for table, rows in tables.items():
            if "seq" in TABLES[table].names:
                first, last = rows.column("seq")[[0, -1]].tolist()
                if first < before:
                    path = Path(self._directory) / table / part_name(epoch)
                    raise damaged(path, f"task {task} begins with seq {first}, but an epoch before has seq {before}")
                reached = max(reached, last)
        self._last[task] = reached


def part_rows(
    path: Path,
    content: bytes,
    table: str,
    about: PartDescription,
    columns: Collection[str],
    tasks: TaskRange | None = None,
    limits: Limits = DEFAULT_LIMITS,
) -> Iterator[tuple[int, ColumnRows]]:
    """Some columns of the rows of each of these tasks (all without ``tasks``); raises BadInput if rows belong to other
    tasks, or are not in order."""
    kept = tuple((task, rows) for task, rows in about.tasks if tasks is None or task in tasks)
    read = _columns(path, content, table, about, columns, kept, limits)
    for name in ("seq", TASK_ATTEMPT.name):
        if name in read:
            _check_ascends(path, kept, name, read[name])
    end = 0
    for task, rows in kept:
        start, end = end, end + rows
        of_task = {name: column[start:end] for name, column in read.items()}
        if of_task["task"][0] != task or of_task["task"][-1] != task:
            raise damaged(path, f"expected {rows} rows of task {task} from row {start} on")
        yield task, ColumnRows(of_task, rows)


def _columns(
    path: Path,
    content: bytes,
    table: str,
    about: PartDescription,
    columns: Collection[str],
    kept: TaskRows,
    limits: Limits,
) -> dict[str, Any]:
    """The columns of the rows of these tasks, which are contiguous."""
    names = [column.name for column in TABLES[table].stored_columns if column.name in columns]
    first = kept[0][0] if kept else 0
    start = sum(rows for task, rows in about.tasks if task < first)
    end = start + sum(rows for _, rows in kept)
    with opened(path, table_file(TABLES[table]), about.rows, content, limits) as file:
        sizes = [file.metadata.row_group(group).num_rows for group in range(file.num_row_groups)]
        bounds = list(pairwise(np.concatenate(([0], np.cumsum(sizes))).tolist()))
        groups = [group for group, (begins, ends) in enumerate(bounds) if begins < end and start < ends]
        read = file.read_row_groups(groups, columns=names, use_threads=False)
    skipped = bounds[groups[0]][0] if groups else 0
    rows = slice(start - skipped, end - skipped)
    return {name: as_numpy(read.column(name))[rows] for name in names}


def _check_ascends(path: Path, tasks: TaskRows, name: str, values: Any) -> None:
    """Raises BadInput if a column has values below 0, or falls among the rows of one task."""
    falls = values[1:] < values[:-1]
    falls[np.cumsum([rows for _, rows in tasks], dtype=np.int64)[:-1] - 1] = False
    if falls.any():
        raise damaged(
            path, f"{name} does not ascend at row {int(np.flatnonzero(falls)[0]) + 1} of those that were read"
        )
    if len(values) and values.min() < 0:
        raise damaged(path, f"column {name} has the value {int(values.min())}, expected a number from 0")

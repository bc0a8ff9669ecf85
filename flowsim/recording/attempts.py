"""The attempt of a task that recorded a fact (column ``task_attempt``)."""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
import numpy.typing as npt

from flowsim.facts.schema import TASK_ATTEMPT
from flowsim.recording.parquet_part import TaskRows

Packed = npt.NDArray[np.void]


class Attempts:
    """The first ``seq`` of each attempt of a task; the numbering continues over all attempts.

    While a fact is recorded, it stores no attempt: its ``seq`` determines the attempt.
    """

    __slots__ = ("_begins",)

    def __init__(self) -> None:
        self._begins: dict[int, list[int]] = {}

    def begin(self, task: int, seq: int) -> None:
        """Starts the next attempt of a task; facts from this ``seq`` on belong to it."""
        self._begins.setdefault(task, []).append(seq)

    def copy(self) -> Attempts:
        """Returns the attempts so far."""
        copied = Attempts()
        copied._begins = {task: [*begins] for task, begins in self._begins.items()}
        return copied

    def of(self, task: int, seq: int) -> int:
        """Returns the attempt of one fact."""
        begins = self._begins.get(task)
        return bisect_right(begins, seq) if begins else 0

    def filled(self, rows: Packed, tasks: TaskRows) -> Packed:
        """Returns the rows of a part with their attempts; unchanged rows if all attempts are 0."""
        if not any(task in self._begins for task, _ in tasks):
            return rows
        rows, start = rows.copy(), 0
        for task, count in tasks:
            of_task = rows[start : start + count]
            of_task[TASK_ATTEMPT.name] = np.searchsorted(self._begins.get(task, []), of_task["seq"], side="right")
            start += count
        return rows

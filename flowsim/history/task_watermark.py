"""The watermark of a task: its inputs combined (rule 8.16)."""

from __future__ import annotations

import numpy as np

from flowsim.facts.kinds import ElementKind
from flowsim.history.recorded_facts import RecordedFacts
from flowsim.history.rows import Ints, Row, Rows
from flowsim.units import NO_TIMESTAMP


class TaskWatermark:
    """Merges the inputs of a task: the minimum of the active ones, or the maximum of all if all are idle (rules 8.6, 8.16).

    ``time_ms`` never decreases; -2^63: no watermark yet.
    """

    __slots__ = ("time_ms", "inputs", "_idle")

    def __init__(self, inputs: int) -> None:
        self.time_ms = NO_TIMESTAMP
        self.inputs = [NO_TIMESTAMP] * inputs
        """The watermark of each input."""
        self._idle: set[int] = set()

    def add(self, input_index: int, kind: int, timestamp: int) -> bool:
        """Adds the watermark or status of an input; returns True if the watermark of the task increased.

        Raises IndexError for an input that the task does not have.
        """
        if not 0 <= input_index < len(self.inputs):
            raise IndexError(input_index)
        if kind == ElementKind.WATERMARK:
            self.inputs[input_index] = timestamp
        if kind == ElementKind.STATUS and timestamp < 0:
            self._idle.add(input_index)
        else:
            self._idle.discard(input_index)
        active = [self.inputs[number] for number in self.active]
        merged = min(active) if active else max(self.inputs)
        increased = merged > self.time_ms
        self.time_ms = max(merged, self.time_ms)
        return increased

    @property
    def active(self) -> list[int]:
        """The inputs that are not idle."""
        return [number for number in range(len(self.inputs)) if number not in self._idle]


def task_watermark(facts: RecordedFacts, task: int) -> TaskWatermark:
    """The watermark of a task with inputs at the moment of the facts."""
    return facts.shared("task watermark", task, lambda: _task_watermark(facts, task))


def _task_watermark(facts: RecordedFacts, task: int) -> TaskWatermark:
    merged = TaskWatermark(facts.graph.tasks[task].inputs)
    for row in _columns(facts.rows("task_watermark", task)):
        merged.add(*row)
    return merged


def watermark_columns(facts: RecordedFacts, task: int) -> tuple[Rows, Ints]:
    """The rows of ``task_watermark`` with which the watermark of a task increased in its attempt, and each new watermark."""
    return facts.shared("watermark columns", task, lambda: _watermark_columns(facts, task))


def _watermark_columns(facts: RecordedFacts, task: int) -> tuple[Rows, Ints]:
    rows, inputs = facts.rows("task_watermark", task), facts.graph.tasks[task].inputs
    if inputs == 1:
        marks = rows.where(rows["kind"] == ElementKind.WATERMARK)
        return marks, marks["timestamp"]
    merged = TaskWatermark(inputs)
    found = [(number, merged.time_ms) for number, row in enumerate(_columns(rows)) if merged.add(*row)]
    numbers, values = np.array(found, dtype=np.int64).reshape(-1, 2).T
    return rows.in_order(numbers), values


def _columns(rows: Rows) -> list[tuple[int, int, int]]:
    return list(zip(*(rows[name].tolist() for name in ("input", "kind", "timestamp")), strict=True))


def task_watermarks(facts: RecordedFacts, task: int) -> list[tuple[Row, int]]:
    """As ``watermark_columns``, as pairs."""
    return facts.shared("task watermarks", task, lambda: _pairs(*watermark_columns(facts, task)))


def _pairs(rows: Rows, watermarks: Ints) -> list[tuple[Row, int]]:
    return list(zip(rows, watermarks.tolist(), strict=True))

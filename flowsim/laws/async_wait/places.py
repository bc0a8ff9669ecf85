"""What the laws of async operators know of each operator of a task, and the columns of its steps in one slice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from flowsim.facts.kinds import AsyncAction, LifeEvent
from flowsim.laws.each_row import each_row
from flowsim.laws.job_graph import JobGraph, Operator, Task
from flowsim.laws.law import EVIDENCE_ROWS, Findings
from flowsim.laws.slices import Ints, Mask, Row, Rows

KIND: Final = "async_wait"
NEVER: Final = 2**63 - 1
"""A sequence number after all others."""

PUT: Final = int(AsyncAction.PUT)
INVOKE: Final = int(AsyncAction.INVOKE)
RETRY: Final = int(AsyncAction.RETRY)
COMPLETE: Final = int(AsyncAction.COMPLETE)
FAIL: Final = int(AsyncAction.FAIL)
TIMEOUT: Final = int(AsyncAction.TIMEOUT)
EMIT: Final = int(AsyncAction.EMIT)
_OPEN: Final = int(LifeEvent.OPEN)
_END_INPUT: Final = int(LifeEvent.END_INPUT)
_CLOSE: Final = int(LifeEvent.CLOSE)

_NAMES: Final = {int(action): action.name.lower() for action in AsyncAction}


def operators_by_vertex(graph: JobGraph) -> Mapping[int, list[Operator]]:
    """The async operators of each job vertex; use with ``JobGraph.once``."""
    found: dict[int, list[Operator]] = {}
    for operator in graph.operators:
        if operator.kind == KIND:
            found.setdefault(operator.vertex, []).append(operator)
    return found


def needs_an_async_operator(graph: JobGraph) -> str:
    """For laws about async operators."""
    return "" if graph.once(operators_by_vertex) else "the job has no async operator"


class Place:
    """One async operator of one subtask: its settings, and when it was opened, ended and closed."""

    __slots__ = (
        "capacity", "closing", "end", "feeder", "is_head", "legacy", "limit", "number", "opening", "ordered", "retries",
        "task", "timeout_ms",
    )  # fmt: skip

    def __init__(self, task: Task, operator: Operator) -> None:
        params = operator.params
        retry = params.get("retry")
        self.task = task.task
        self.number = operator.operator
        self.is_head = operator.input_operator < 0 and task.inputs == 1
        """Whether it is the head of a task with one input, so that what arrives there is put."""
        self.feeder = -1 if operator.input_tag else operator.input_operator
        """The operator of the chain whose main output it reads, -1 for none."""
        self.ordered = params.get("mode") == "ordered"
        self.legacy = params.get("design") == "legacy"
        self.capacity = _number(params.get("capacity"), 0)
        self.timeout_ms = _number(params.get("timeout_ms"), 0)
        self.retries = isinstance(retry, Mapping) and (retry.get("result") is True or retry.get("exception") is True)
        """Whether an outcome may lead to a retry (rule 11.24)."""
        self.limit = _number(retry.get("max_attempts"), NEVER) if self.retries and isinstance(retry, Mapping) else 0
        """How many retries an element gets at most."""
        self.opening = NEVER
        """Its first OPEN; what was put before comes from a snapshot (rule 11.22)."""
        self.end = NEVER
        """Its first END_INPUT."""
        self.closing = NEVER
        """Its first CLOSE."""

    def life_event(self, seq: int, event: int) -> bool:
        """Notes a row of ``lifecycle``; answers whether it is an end of input or a close."""
        if event == _OPEN:
            self.opening = min(self.opening, seq)
        elif event == _END_INPUT:
            self.end = min(self.end, seq)
        elif event == _CLOSE:
            self.closing = min(self.closing, seq)
        return event in (_END_INPUT, _CLOSE)

    def where(self, seq: int, entry: int, action: int) -> dict[str, object]:
        """A step, for evidence."""
        name = _NAMES.get(action, action)
        return {"task": self.task, "operator": self.number, "seq": seq, "entry": entry, "action": name}


def is_end(event: int) -> bool:
    """Whether a row of ``lifecycle`` is an END_INPUT."""
    return event == _END_INPUT


def _number(value: object, default: int) -> int:
    return value if isinstance(value, int) else default


class Steps:
    """The rows of ``async_elements`` of one operator in one slice."""

    __slots__ = ("action", "emits", "entry", "puts", "seq", "_mask", "_rows")

    def __init__(self, rows: Rows, mask: Mask | None) -> None:
        self._rows = rows
        self._mask = mask
        self.seq = self.column("seq")
        self.action = self.column("action")
        self.entry = self.column("entry")
        self.puts: Mask = self.action == PUT
        self.emits: Mask = self.action == EMIT

    def column(self, name: str) -> Ints:
        """One column, in the order of ``seq``."""
        column = self._rows.column(name)
        return column if self._mask is None else column[self._mask]

    def outcomes(self) -> Mask:
        """Which rows are the outcome of an element."""
        mask: Mask = (self.action == COMPLETE) | (self.action == FAIL)
        return mask

    def each(self, columns: tuple[str, ...]) -> Iterator[Row]:
        """All rows, as tuples of Python values."""
        return each_row(self._rows, columns, self._mask)

    def where(self, place: Place, row: int) -> dict[str, object]:
        """The step of a row, for evidence."""
        return place.where(int(self.seq[row]), int(self.entry[row]), int(self.action[row]))


def after(first: int, values: Ints) -> Ints:
    """The values shifted by one place: ``first``, then all but the last."""
    shifted: np.ndarray[Any, np.dtype[np.int64]] = np.empty(len(values), dtype=np.int64)
    shifted[0] = first
    shifted[1:] = values[:-1]
    return shifted


def broken_rows(found: Findings, broken: Mask) -> list[int]:
    """The rows to report of those that are broken: the first ones, which are the evidence; counts the rest."""
    if not broken.any():
        return []
    rows = np.flatnonzero(broken)
    found.violations += max(0, len(rows) - EVIDENCE_ROWS)
    shown: list[int] = rows[:EVIDENCE_ROWS].tolist()
    return shown

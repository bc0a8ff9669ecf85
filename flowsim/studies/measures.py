"""Computes the measures of one run for a study, only from the recording of the run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from flowsim.history.rows import recorded_rows
from flowsim.recording.reader import Recording
from flowsim.studies.async_stage import AsyncStage, async_stages

SOURCE_KIND = "source"


@dataclass(frozen=True, slots=True)
class Measures:
    """The measures of one run. Rates are per second of the job's clock."""

    elapsed_ns: int
    """Time from the first lifecycle event of a task to the last lifecycle event, in ns."""
    records: int
    """Number of records that the sources read."""
    records_per_s: float
    back_pressured: Mapping[str, float]
    """The share of each task's time with soft or hard back pressure (rule 3.28)."""
    late: Mapping[str, int]
    """The number of rows of each operator that no window accepted (rules 10.9, 10.10)."""
    stages: tuple[AsyncStage, ...]

    @property
    def most_back_pressured(self) -> float:
        """The highest back-pressured share of any task."""
        return max(self.back_pressured.values(), default=0.0)

    @property
    def late_rows(self) -> int:
        """The number of late rows of all operators."""
        return sum(self.late.values())


def measured(recording: Recording) -> Measures:
    """Measures one recording; raises BadInput if it is damaged."""
    life = recorded_rows(recording, "lifecycle", ("time_ns",))["time_ns"]
    elapsed_ns = int(life.max() - life.min()) if len(life) else 0
    records = _records_read(recording)
    return Measures(
        elapsed_ns=elapsed_ns,
        records=records,
        records_per_s=round(records * 1e9 / elapsed_ns, 3) if elapsed_ns else 0.0,
        back_pressured=_back_pressured(recording),
        late=_late(recording),
        stages=async_stages(recording),
    )


def _operators(recording: Recording) -> dict[tuple[int, int], tuple[str, str]]:
    """Returns the name and kind of each operator, by vertex and index."""
    rows = recording.static_rows("operators")
    return {(int(row[0]), int(row[1])): (str(row[2]), str(row[3])) for row in rows}


def _vertices(recording: Recording) -> dict[int, int]:
    return {int(row[0]): int(row[1]) for row in recording.static_rows("tasks")}


def _records_read(recording: Recording) -> int:
    operators, vertex_of = _operators(recording), _vertices(recording)
    return sum(
        records_in
        for _, task, operator, _, records_in, *_ in recording.rows("operator_counts")
        if operators[vertex_of[task], operator][1] == SOURCE_KIND
    )


def _back_pressured(recording: Recording) -> dict[str, float]:
    names = {int(row[0]): str(row[3]) for row in recording.static_rows("tasks")}
    shares = {}
    for _, task, _, busy, idle, soft, hard, *_ in recording.rows("task_times"):
        total = busy + idle + soft + hard
        shares[task] = round((soft + hard) / total, 6) if total else 0.0
    return {names[task]: shares[task] for task in sorted(shares)}


def _late(recording: Recording) -> dict[str, int]:
    operators, vertex_of = _operators(recording), _vertices(recording)
    rows = recorded_rows(recording, "late_drop", ("task", "operator"))
    late: dict[str, int] = {}
    for task in np.unique(rows["task"]).tolist():
        own = rows["operator"][rows["task"] == task]
        for operator, count in zip(*(column.tolist() for column in np.unique(own, return_counts=True)), strict=True):
            name = operators[vertex_of[task], operator][0]
            late[name] = late.get(name, 0) + count
    return late

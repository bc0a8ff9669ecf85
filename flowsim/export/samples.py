"""The samples of metrics, with the number of late records that window operators have dropped until each sample."""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from flowsim.facts.schema import LATE_DROP, METRICS
from flowsim.recording.merged_facts import Selection, merged_facts
from flowsim.recording.reader import Recording
from flowsim.recording.recorded_file import damaged


class Sample(NamedTuple):
    """A row of table ``metrics``: ``values`` by column. ``late_records_dropped``: by window operator of the task.

    As in Flink, a late record counts only if the operator has no late side output, and interval joins do not count.
    """

    task: int
    attempt: int
    time_ns: int
    values: dict[str, int]
    late_records_dropped: dict[int, int]


def read_samples(recording: Recording, selection: Selection) -> list[Sample]:
    """Returns the selected rows of table ``metrics``, in causal order."""
    attempts = _attempts(recording)
    dropped = _dropped(recording)
    windows = _window_operators(recording)
    samples = []
    tasks = {row[0] for row in recording.static_rows("tasks")}
    for fact in merged_facts(recording, selection):
        if fact.task not in tasks:
            raise damaged(recording.directory / METRICS.name, f"there is no task {fact.task}")
        values = dict(zip(METRICS.names, fact.row, strict=True))
        seq = values["seq"]
        attempt = attempts[fact.task, seq]
        counts = {o: bisect_left(dropped.get((fact.task, attempt, o), ()), seq) for o in windows.get(fact.task, ())}
        samples.append(Sample(fact.task, attempt, fact.time_ns, values, counts))
    return samples


def _attempts(recording: Recording) -> dict[tuple[int, int], int]:
    rows = recording.table(METRICS.name).select(["task", "seq", "task_attempt"]).to_pylist()
    return {(row["task"], row["seq"]): row["task_attempt"] for row in rows}


def _dropped(recording: Recording) -> dict[tuple[int, int, int], list[int]]:
    """The ``seq`` of each record that was dropped without a side output, by task, attempt and operator."""
    found: dict[tuple[int, int, int], list[int]] = {}
    for epoch in range(len(recording.epochs)):
        part = recording.part(LATE_DROP.name, epoch, ("seq", "task", "operator", "side_output", "task_attempt"))
        for row in part.to_pylist():
            if not row["side_output"]:
                found.setdefault((row["task"], row["task_attempt"], row["operator"]), []).append(row["seq"])
    return found


def _window_operators(recording: Recording) -> dict[int, list[int]]:
    """The window operators of each task that has any."""
    found: dict[int, list[int]] = {}
    kinds = [(row[0], int(row[1])) for row in recording.static_rows("operators") if row[3] == "window"]
    for row in recording.static_rows("tasks"):
        operators = [operator for vertex, operator in kinds if vertex == row[1]]
        if operators:
            found[int(row[0])] = operators
    return found

"""The samples of metrics, with the number of late records that window operators have dropped until each sample."""

from __future__ import annotations

from bisect import bisect_left
from typing import NamedTuple

from flowsim.facts.checkpoint_tables import CHECKPOINT_METRICS, CHECKPOINTS
from flowsim.facts.schema import LATE_DROP, METRICS, TASK_ATTEMPT
from flowsim.history.rows import recorded_rows
from flowsim.recording.merged_facts import Selection, merged_facts
from flowsim.recording.reader import Recording
from flowsim.recording.recorded_file import damaged


class Sample(NamedTuple):
    """A row of table ``metrics``: ``values`` by column. ``late_records_dropped``: by window operator of the task.

    As in Flink, a late record counts only if the operator has no late side output, and interval joins do not count.
    ``checkpoint_start_delay_ns`` and ``checkpoint_alignment_ns``: of the last checkpoint that the attempt acknowledged, 0
    before the first one; None in a run without checkpoints.
    """

    task: int
    attempt: int
    time_ns: int
    values: dict[str, int]
    late_records_dropped: dict[int, int]
    checkpoint_start_delay_ns: int | None
    checkpoint_alignment_ns: int | None


def read_samples(recording: Recording, selection: Selection) -> list[Sample]:
    """Returns the selected rows of table ``metrics``, in causal order."""
    attempts = _attempts(recording)
    dropped = _dropped(recording)
    windows = _window_operators(recording)
    measured = _measurements(recording)
    samples = []
    tasks = {row[0] for row in recording.static_rows("tasks")}
    for fact in merged_facts(recording, selection):
        if fact.task not in tasks:
            raise damaged(recording.directory / METRICS.name, f"there is no task {fact.task}")
        values = dict(zip(METRICS.names, fact.row, strict=True))
        seq = values["seq"]
        attempt = attempts[fact.task, seq]
        counts = {o: bisect_left(dropped.get((fact.task, attempt, o), ()), seq) for o in windows.get(fact.task, ())}
        delay_ns, alignment_ns = _last(measured, fact.task, attempt, seq)
        samples.append(Sample(fact.task, attempt, fact.time_ns, values, counts, delay_ns, alignment_ns))
    return samples


_Measurements = dict[tuple[int, int], list[tuple[int, int, int]]]


def _measurements(recording: Recording) -> _Measurements | None:
    """The ``seq``, start delay and alignment of each checkpoint, by task and attempt; None without checkpoints."""
    if not recording.row_count(CHECKPOINTS.name):
        return None
    measured: _Measurements = {}
    columns = ("task", TASK_ATTEMPT.name, "seq", "start_delay_ns", "alignment_ns")
    for row in recorded_rows(recording, CHECKPOINT_METRICS.name, columns):
        task, attempt, *times = (row[name] for name in columns)
        measured.setdefault((task, attempt), []).append((times[0], times[1], times[2]))
    return measured


def _last(measured: _Measurements | None, task: int, attempt: int, seq: int) -> tuple[int | None, int | None]:
    if measured is None:
        return None, None
    rows = measured.get((task, attempt), [])
    index = bisect_left(rows, seq, key=lambda row: row[0])
    return rows[index - 1][1:] if index else (0, 0)


def _attempts(recording: Recording) -> dict[tuple[int, int], int]:
    columns = ("task", "seq", TASK_ATTEMPT.name)
    rows = recorded_rows(recording, METRICS.name, columns)
    return {(row["task"], row["seq"]): row[TASK_ATTEMPT.name] for row in rows}


def _dropped(recording: Recording) -> dict[tuple[int, int, int], list[int]]:
    """The ``seq`` of each record that was dropped without a side output, by task, attempt and operator."""
    seqs_of: dict[tuple[int, int, int], list[int]] = {}
    columns = ("seq", "task", "operator", "side_output", TASK_ATTEMPT.name)
    for row in recorded_rows(recording, LATE_DROP.name, columns):
        if not row["side_output"]:
            seqs_of.setdefault((row["task"], row[TASK_ATTEMPT.name], row["operator"]), []).append(row["seq"])
    return seqs_of


def _window_operators(recording: Recording) -> dict[int, list[int]]:
    """The window operators of each task that has any."""
    operators_of: dict[int, list[int]] = {}
    kinds = [(row[0], int(row[1])) for row in recording.static_rows("operators") if row[3] == "window"]
    for row in recording.static_rows("tasks"):
        operators = [operator for vertex, operator in kinds if vertex == row[1]]
        if operators:
            operators_of[int(row[0])] = operators
    return operators_of

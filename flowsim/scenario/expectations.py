"""Compares a run with the scenario's expectations: status, rows, checkpoints, results and facts. Laws are checked elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from flowsim.checkpoints.checkpoint_statistics import CheckpointStatsCounts
from flowsim.cluster.job_execution import JobExecutionResult, JobStatus, TaskSummary
from flowsim.facts.schema import TABLES
from flowsim.laws.law import Verdict
from flowsim.laws.slices import Facts
from flowsim.scenario.features.expect import ExpectModel, FactsModel, MeasureModel, SelectionModel, number_of
from flowsim.scenario.scenario_model import ScenarioModel

Records = Sequence[tuple[object, int | None]]
_CUT_SHORT = "the caller stopped the run early"


@dataclass(frozen=True, slots=True)
class ExpectationOutcome:
    """The outcome of one expectation. ``met`` None: the expectation could not be checked, because of ``reason``."""

    what: str
    expected: str
    found: str
    met: bool | None
    reason: str = ""


def judge_expectations(
    model: ScenarioModel, result: JobExecutionResult, sink_rows: Mapping[str, int], cut_short: bool, costs_pass: bool
) -> tuple[ExpectationOutcome, ...]:
    """Checks the status of the job, the rows of sinks, back pressure, checkpoints and restarts.

    ``cut_short``: the caller, not the scenario, ended the run early, so counts are meaningless. ``costs_pass``: the
    costs of records take time, which is so only on the virtual clock; otherwise waiting depends only on the machine.
    """
    expect, names = model.expect, model.graph_names()
    outcomes = [_job(expect, result, cut_short)]
    for sink, rows in expect.rows.items():
        what, found = f"rows of sink {sink}", sink_rows[sink]
        if cut_short:
            outcomes.append(ExpectationOutcome(what, str(rows), str(found), None, _CUT_SHORT))
        else:
            outcomes.append(ExpectationOutcome(what, str(rows), str(found), found == rows))
    for name, share in expect.back_pressured_at_least.items():
        waited = _back_pressured_share(result.tasks, names[name])
        what = f"back-pressured share of {name}"
        met: bool | None = waited >= share
        reason = ""
        if not costs_pass and not met:
            met, reason = None, "costs take no time on the real clock"
        outcomes.append(ExpectationOutcome(what, f">= {share:.2f}", f"{waited:.2f}", met, reason))
    for what, expected, counted in _recovery(expect, result):
        met, reason = (None, _CUT_SHORT) if cut_short else (counted == str(expected), "")
        outcomes.append(ExpectationOutcome(what, str(expected), counted, met, reason))
    return tuple(outcomes)


def _recovery(expect: ExpectModel, result: JobExecutionResult) -> Iterator[tuple[str, int, str]]:
    """Yields each expected number of checkpoints and restarts: its description, the expected and the found number."""
    counts = result.checkpoints
    if expect.checkpoints is not None:
        for name, number in expect.checkpoints.numbers.items():
            found = "a job without checkpoints" if counts is None else str(_counted(counts)[name])
            yield f"{name} checkpoints", number, found
    if expect.restarts is not None:
        yield "restarts", expect.restarts, str(result.restarts)


def _counted(counts: CheckpointStatsCounts) -> dict[str, int]:
    return {"completed": counts.completed, "failed": counts.failed, "restored": counts.restored}


def law_is_as_expected(expect: ExpectModel, law: str, verdict: Verdict) -> bool:
    """Returns True if a law has the verdict of the scenario.

    A law that the scenario does not name must be neither violated nor vacuous.
    """
    expected = expect.laws.get(law)
    if expected is not None:
        return verdict.value == expected
    return verdict not in (Verdict.VIOLATED, Verdict.VACUOUS)


def _job(expect: ExpectModel, result: JobExecutionResult, cut_short: bool) -> ExpectationOutcome:
    found = result.status.value
    if cut_short and result.status is JobStatus.STOPPED:
        return ExpectationOutcome("job", expect.job, found, None, _CUT_SHORT)
    # Without `expect.job`, a job that `until:`, an action or a fault ends early meets the expectation.
    is_default = "job" not in expect.model_fields_set
    met = found == expect.job or (is_default and result.status in (JobStatus.STOPPED, JobStatus.CANCELED))
    return ExpectationOutcome("job", expect.job, found, met)


def _back_pressured_share(tasks: tuple[TaskSummary, ...], node: str) -> float:
    """Returns the share of a node's time, over all its subtasks, in which its tasks waited for output."""
    waited = total = 0
    for task in tasks:
        if _runs(task.name, node):
            waited += task.soft_backpressured_ns + task.hard_backpressured_ns
            total += task.busy_ns + task.idle_ns + task.soft_backpressured_ns + task.hard_backpressured_ns
    return waited / total if total else 0.0


def _runs(task_name: str, node: str) -> bool:
    return node in task_name.rpartition(" (")[0].split(" -> ")


def judge_results(
    expect: ExpectModel, collected: Mapping[str, Records], cut_short: bool
) -> tuple[ExpectationOutcome, ...]:
    """Returns one outcome per entry of ``expect.results``.

    ``collected`` has the records of each collect sink, with timestamps.
    """
    return tuple(_judge_rows(sink, rows, collected[sink], cut_short) for sink, rows in expect.results.items())


def _judge_rows(sink: str, rows: Sequence[Sequence[object]], records: Records, cut_short: bool) -> ExpectationOutcome:
    what = f"results of sink {sink}"
    wanted = [[_plain(cell) for cell in row] for row in rows]
    found = [[_plain(cell) for cell in value] if isinstance(value, tuple) else [_plain(value)] for value, _ in records]
    if cut_short:
        return ExpectationOutcome(what, _count(wanted), _count(found), None, _CUT_SHORT)
    if wanted == found:
        return ExpectationOutcome(what, _count(wanted), _count(found), True)
    at = next((i for i, (one, other) in enumerate(zip(wanted, found, strict=False)) if one != other), None)
    at = min(len(wanted), len(found)) if at is None else at
    expected = f"row {at} {wanted[at]}" if at < len(wanted) else _count(wanted)
    got = f"row {at} {found[at]}" if at < len(found) else _count(found)
    return ExpectationOutcome(what, expected, got, False)


def _plain(cell: object) -> object:
    """Converts a value to its form in YAML, where a tuple is a list and a whole double may be a whole number."""
    if isinstance(cell, tuple | list):
        return [_plain(item) for item in cell]
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def _count(rows: Sequence[object]) -> str:
    return f"{len(rows)} rows"


def judge_facts(model: ScenarioModel, facts: Facts | None, cut_short: bool) -> tuple[ExpectationOutcome, ...]:
    """Returns one outcome per entry of ``expect.facts``; ``facts`` None: nothing was recorded."""
    return tuple(_judge_fact(model, expected, facts, cut_short) for expected in model.expect.facts)


def _judge_fact(model: ScenarioModel, expected: FactsModel, facts: Facts | None, cut_short: bool) -> ExpectationOutcome:
    what, wanted = f"{expected.says} ({expected.table})", _bounds(expected)
    level = TABLES[expected.table].level
    if facts is None or facts.level < level:
        return ExpectationOutcome(what, wanted, "-", None, f"needs recording level {level.name.lower()}")
    found = measured(model, expected, facts)
    shown = "no rows" if found is None else str(found)
    if cut_short:
        return ExpectationOutcome(what, wanted, shown, None, _CUT_SHORT)
    return ExpectationOutcome(what, wanted, shown, is_within(expected, found))


def selected_rows(model: ScenarioModel, selection: SelectionModel, facts: Facts) -> list[Sequence[int]]:
    """Returns the rows that match ``of`` and ``where``."""
    columns = TABLES[selection.table].columns
    names = TABLES[selection.table].names
    demanded = [(names.index(n), number_of(columns[names.index(n)], value)) for n, value in selection.where.items()]
    tasks = None
    if selection.of is not None:
        named = [(int(row[0]), str(row[TABLES["tasks"].names.index("name")])) for row in facts.static_rows("tasks")]
        tasks = _tasks_of(model.graph_names()[selection.of], named)
    position = names.index("task") if "task" in names else -1
    return [
        row
        for row in facts.rows(selection.table)
        if all(row[at] == value for at, value in demanded) and (tasks is None or row[position] in tasks)
    ]


def _tasks_of(node: str, tasks: Iterable[tuple[int, str]]) -> set[int]:
    """Returns the ids of the tasks whose chain contains a node; ``tasks`` are (id, Flink's name)."""
    return {task for task, shown in tasks if _runs(shown, node)}


def measured(model: ScenarioModel, measure: MeasureModel, facts: Facts) -> int | None:
    """Returns the number that ``measure`` describes; None for the maximum or minimum of no rows."""
    rows = selected_rows(model, measure, facts)
    if measure.column is None:
        return len(rows)
    at = TABLES[measure.table].names.index(measure.column)
    values = [row[at] for row in rows]
    if measure.take == "sum":
        return sum(values)
    return (max if measure.take == "max" else min)(values, default=None)


def is_within(expected: FactsModel, found: int | None) -> bool:
    """Returns True if the number found is within the bounds."""
    if found is None:
        return False
    if expected.exactly is not None:
        return found == expected.exactly
    low, high = expected.at_least, expected.at_most
    return (low is None or found >= low) and (high is None or found <= high)


def _bounds(expected: FactsModel) -> str:
    if expected.exactly is not None:
        return str(expected.exactly)
    bounds = ((">=", expected.at_least), ("<=", expected.at_most))
    return " and ".join(f"{sign} {value}" for sign, value in bounds if value is not None)

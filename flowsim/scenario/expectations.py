"""Compares a run with the scenario's expectations: status, rows, checkpoints, results and facts. Laws are checked elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from flowsim.checkpoints.checkpoint_stats_tracker import CheckpointStatsCounts
from flowsim.cluster.job_execution import JobExecutionResult, JobStatus, TaskSummary
from flowsim.errors import RunTooLong
from flowsim.facts.schema import TABLES
from flowsim.laws.law import Verdict
from flowsim.laws.slices import Facts
from flowsim.quantities import count_text
from flowsim.scenario.features.expect import (
    ExpectModel,
    FactsModel,
    MeasureModel,
    RunExpectationsModel,
    SelectionModel,
    number_of,
)
from flowsim.scenario.scenario_model import ScenarioModel

Records = Sequence[tuple[object, int | None]]
"""Values with their timestamps."""
_ENDED_WELL = (JobStatus.FINISHED.value, JobStatus.STOPPED.value, JobStatus.CANCELED.value)
_CUT_SHORT = "the caller stopped the run early"
_CONTINUED = "this run continues another one, and shows only the rest of the rows"
_OTHER_SCHEDULE = "it describes the seed, policy and batches of the scenario, not those of this run"


@dataclass(frozen=True, slots=True)
class ExpectationOutcome:
    """The outcome of one expectation. ``met`` None: the expectation could not be checked, because of ``reason``."""

    what: str
    expected: str
    found: str
    met: bool | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """What a run showed, as far as expectations can ask for it."""

    result: JobExecutionResult
    sinks: Mapping[str, tuple[int, Records | None]]
    """The number of rows of each sink and, of a collect sink, its records."""
    facts: Callable[[], Facts | None]
    """Opens the recording; None: nothing was recorded."""
    is_cut_short: bool
    """True if the caller, not the scenario, ended the run early: counts are meaningless."""
    has_other_schedule: bool
    """True if the seed, the policy or the batches are not the scenario's."""
    is_continued: bool
    """True if the run continues the one in its directory: the rows that it shows are not all rows."""
    costs_pass: bool
    """True on the virtual clock, where costs take time; on the real clock, waiting depends only on the machine."""


def judge_expectations(model: ScenarioModel, run: FinishedRun) -> tuple[ExpectationOutcome, ...]:
    """Returns one outcome per expectation, the status of the job first, then those of every schedule."""
    expect = model.expect
    outcomes = [_job(expect, run), *_block(model, expect.every_schedule, run)]
    for outcome in _block(model, expect, run):
        is_judged = outcome.met is None or not run.has_other_schedule
        outcomes.append(outcome if is_judged else replace(outcome, met=None, reason=_OTHER_SCHEDULE))
    return tuple(outcomes)


def _block(model: ScenarioModel, expect: RunExpectationsModel, run: FinishedRun) -> Iterator[ExpectationOutcome]:
    """Yields the outcomes of a block of expectations, without the status of the job."""
    for outcome in _counts(expect, run):
        yield replace(outcome, met=None, reason=_CUT_SHORT) if run.is_cut_short else outcome
    for name, share in expect.back_pressured_at_least.items():
        waited = _back_pressured_share(run.result.tasks, model.graph_names()[name])
        met: bool | None = waited >= share
        reason = ""
        if not run.costs_pass and not met:
            met, reason = None, "costs take no time on the real clock"
        yield ExpectationOutcome(f"back-pressured share of {name}", f">= {share:.2f}", f"{waited:.2f}", met, reason)
    for sink, rows in expect.results.items():
        outcome = _judge_rows(sink, rows, run.sinks[sink][1] or (), run.is_cut_short)
        yield replace(outcome, met=None, reason=_CONTINUED) if run.is_continued else outcome
    facts = run.facts() if expect.facts else None
    for fact in expect.facts:
        yield _judge_fact(model, fact, facts, run.is_cut_short)


def _counts(expect: RunExpectationsModel, run: FinishedRun) -> Iterator[ExpectationOutcome]:
    """Yields the outcomes of the numbers of rows, checkpoints and restarts."""
    for sink, rows in expect.rows.items():
        outcome = _count_outcome(f"rows of sink {sink}", rows, str(run.sinks[sink][0]))
        yield replace(outcome, met=None, reason=_CONTINUED) if run.is_continued else outcome
    counts = run.result.checkpoints
    if expect.checkpoints is not None:
        for name, number in expect.checkpoints.numbers.items():
            counted = "a job without checkpoints" if counts is None else str(_counted(counts)[name])
            yield _count_outcome(f"{name} checkpoints", number, counted)
    if expect.restarts is not None:
        yield _count_outcome("restarts", expect.restarts, str(run.result.restarts))


def _count_outcome(what: str, expected: int, found: str) -> ExpectationOutcome:
    return ExpectationOutcome(what, str(expected), found, found == str(expected))


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


def _job(expect: ExpectModel, run: FinishedRun) -> ExpectationOutcome:
    declaring = expect.every_schedule if "job" in expect.every_schedule.model_fields_set else expect
    status, expected = run.result.status, declaring.job
    if run.is_cut_short and status in (JobStatus.STOPPED, JobStatus.CANCELED):
        return ExpectationOutcome("job", expected, status.value, None, _CUT_SHORT)
    # Without `expect.job`, a job that `until:`, an action or a fault ends early meets the expectation. So does, under
    # another schedule, a job that ends well although the scenario expects it to fail under its own.
    is_lenient = not expect.declares_job or (declaring is expect and run.has_other_schedule)
    accepted = {expected, *(_ENDED_WELL if is_lenient else ())}
    # A limit ended the run: what the job would have done is not known, so it met nothing.
    met = status.value in accepted and not isinstance(run.result.error, RunTooLong)
    return ExpectationOutcome("job", expected, status.value, met)


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


def _judge_rows(sink: str, rows: Sequence[Sequence[object]], records: Records, cut_short: bool) -> ExpectationOutcome:
    what = f"results of sink {sink}"
    rows_expected = [[_plain(cell) for cell in row] for row in rows]
    actual = [[_plain(cell) for cell in value] if isinstance(value, tuple) else [_plain(value)] for value, _ in records]
    if cut_short:
        return ExpectationOutcome(
            what, count_text(len(rows_expected), "row"), count_text(len(actual), "row"), None, _CUT_SHORT
        )
    if rows_expected == actual:
        return ExpectationOutcome(what, count_text(len(rows_expected), "row"), count_text(len(actual), "row"), True)
    at = next((i for i, (one, other) in enumerate(zip(rows_expected, actual, strict=False)) if one != other), None)
    at = min(len(rows_expected), len(actual)) if at is None else at
    expected = f"row {at} {rows_expected[at]}" if at < len(rows_expected) else count_text(len(rows_expected), "row")
    got = f"row {at} {actual[at]}" if at < len(actual) else count_text(len(actual), "row")
    return ExpectationOutcome(what, expected, got, False)


def _plain(cell: object) -> object:
    """Converts a value to its form in YAML, where a tuple is a list and a whole double may be a whole number."""
    if isinstance(cell, tuple | list):
        return [_plain(item) for item in cell]
    return int(cell) if isinstance(cell, float) and cell.is_integer() else cell


def _judge_fact(model: ScenarioModel, expected: FactsModel, facts: Facts | None, cut_short: bool) -> ExpectationOutcome:
    what, bounds = f"{expected.says} ({expected.table})", _bounds(expected)
    level = TABLES[expected.table].level
    if facts is None or facts.level < level:
        return ExpectationOutcome(what, bounds, "-", None, f"needs recording level {level.name.lower()}")
    actual = measured(model, expected, facts)
    shown = "no rows" if actual is None else str(actual)
    if cut_short:
        return ExpectationOutcome(what, bounds, shown, None, _CUT_SHORT)
    return ExpectationOutcome(what, bounds, shown, is_within(expected, actual))


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

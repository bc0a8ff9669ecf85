"""What a scenario expects of its run, held against what came of it; the laws are judged by whoever judges recordings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from flowsim.cluster.job_execution import JobExecutionResult, JobStatus, TaskSummary
from flowsim.laws.catalogue import Verdict
from flowsim.scenario.models.expect import ExpectModel
from flowsim.scenario.models.scenario import ScenarioModel


@dataclass(frozen=True, slots=True)
class ExpectationOutcome:
    """One expectation. ``met`` None: it could not be judged, ``reason`` says why."""

    what: str
    expected: str
    found: str
    met: bool | None
    reason: str = ""


def judge_expectations(
    model: ScenarioModel, result: JobExecutionResult, sink_rows: Mapping[str, int], cut_short: bool, costs_pass: bool
) -> tuple[ExpectationOutcome, ...]:
    """All but the laws.

    ``cut_short``: the caller, not the scenario, ended the run early, so counts say nothing. ``costs_pass``: what records
    cost took its time, as it does on the virtual clock only; otherwise waiting says something of the machine alone.
    """
    expect = model.expect
    outcomes = [_job(expect, result, cut_short)]
    for sink, rows in expect.rows.items():
        what, found = f"rows of sink {sink}", sink_rows[sink]
        if cut_short:
            outcomes.append(ExpectationOutcome(what, str(rows), str(found), None, "the run was cut short"))
        else:
            outcomes.append(ExpectationOutcome(what, str(rows), str(found), found == rows))
    for name, share in expect.back_pressured_at_least.items():
        waited = back_pressured_share(result.tasks, node_name(model, name))
        what = f"back-pressured share of {name}"
        met: bool | None = waited >= share
        reason = ""
        if not costs_pass and not met:
            met, reason = None, "costs take no time on the real clock"
        outcomes.append(ExpectationOutcome(what, f">= {share:.2f}", f"{waited:.2f}", met, reason))
    return tuple(outcomes)


def law_is_as_expected(expect: ExpectModel, law: str, verdict: Verdict) -> bool:
    """A verdict that the scenario names must be met; any other law must be neither violated nor vacuous."""
    expected = expect.laws.get(law)
    if expected is not None:
        return verdict.value == expected
    return verdict not in (Verdict.VIOLATED, Verdict.VACUOUS)


def node_name(model: ScenarioModel, name: str) -> str:
    """How the graph calls a source, operator or sink of the scenario."""
    prefix = "Source: " if name in model.sources else "Sink: " if name in model.sinks else ""
    return prefix + name


def tasks_of(model: ScenarioModel, name: str, tasks: Iterable[tuple[int, str]]) -> set[int]:
    """The ids of the tasks whose chain holds a node of the scenario; ``tasks`` are (id, name as Flink prints it)."""
    node = node_name(model, name)
    return {task for task, shown in tasks if _runs(shown, node)}


def _runs(task_name: str, node: str) -> bool:
    return node in task_name.rpartition(" (")[0].split(" -> ")


def back_pressured_share(tasks: tuple[TaskSummary, ...], node: str) -> float:
    """Share of its time that the tasks of a node waited for output, over all its subtasks."""
    waited = total = 0
    for task in tasks:
        if _runs(task.name, node):
            waited += task.soft_backpressured_ns + task.hard_backpressured_ns
            total += task_time_ns(task)
    return waited / total if total else 0.0


def task_time_ns(task: TaskSummary) -> int:
    """All of a task's accounted time."""
    return task.busy_ns + task.idle_ns + task.soft_backpressured_ns + task.hard_backpressured_ns


def _job(expect: ExpectModel, result: JobExecutionResult, cut_short: bool) -> ExpectationOutcome:
    found = result.status.value
    if cut_short and result.status is JobStatus.STOPPED:
        return ExpectationOutcome("job", expect.job, found, None, "the run was cut short")
    # Who sets `until:`, cancels the job or stops a task by a fault, and says nothing else, gets what was asked for.
    said_nothing = "job" not in expect.model_fields_set
    met = found == expect.job or (said_nothing and result.status in (JobStatus.STOPPED, JobStatus.CANCELED))
    return ExpectationOutcome("job", expect.job, found, met)

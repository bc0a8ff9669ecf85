"""Tasks that finished before the checkpoint from which their job is restored (rules 12.94, 12.100)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flowsim.cluster.job_execution import JobStatus
from flowsim.cluster.run_actions import StopWithSavepoint, TriggerCheckpoint
from flowsim.graph.checkpoint_settings import CheckpointSettings
from flowsim.legacy.source_function import SourceContext, SourceFunction
from flowsim.legacy.stream_source import StreamSource
from flowsim.operators.functions.co_process import CoMapOperator
from flowsim.operators.stream_operator import StreamOperator
from flowsim.state.snapshots.snapshot_contexts import StateInitializationContext
from flowsim.units import NS_PER_MS
from tests.support.jobs.logged_operators import CallLog, checkpointed_job, numbers, run_and_judge
from tests.support.jobs.requested_checkpoints import ON_REQUEST


def test_finished_tasks_are_restored_without_state_and_the_job_ends_as_before() -> None:
    log = CallLog(fails_at={"long": "record 150"})
    job = checkpointed_job(CheckpointSettings(interval_ms=20))
    short = job.operator(numbers(job, 10), "short", "short", log.make(), chain=False)
    long = job.operator(numbers(job, 200), "long", "long", log.make(), chain=False)
    job.operator([short, long], "united", "united", log.make(), chain=False)
    result = run_and_judge(job)
    assert result.status is JobStatus.FINISHED
    assert log.of("short") == [
        "initialize", "open", "end input", "finish", "prepare 1", "snapshot 1 10", "complete 1", "close",
    ]  # fmt: skip
    assert log.of("united")[-5:] == ["finish", "prepare 9", "snapshot 9 210", "complete 9", "close"]
    assert log.of("long").count("restore 4 118") == 1
    assert [task.records_in for task in result.tasks if task.name.startswith("short")] == [0]


def test_task_with_several_inputs_restored_as_finished_sends_its_end_once() -> None:
    log = CallLog(fails_at={"long": "record 100"})
    job = checkpointed_job(CheckpointSettings(interval_ms=20))
    first, second = numbers(job, 5), numbers(job, 5)
    both = job.inputs([first, second], lambda: CoMapOperator(list, list), "both")
    long = job.operator(numbers(job, 120), "long", "long", log.make(), chain=False)
    job.operator([long, both], "united", "united", log.make(), chain=False)
    assert run_and_judge(job).status is JobStatus.FINISHED
    assert log.of("united")[-3:] == ["snapshot 8 130", "complete 8", "close"]


class Few(SourceFunction):
    """Emits three records; logs its runs."""

    def __init__(self, runs: list[str]) -> None:
        self.runs = runs

    def run(self, ctx: SourceContext) -> None:
        self.runs.append("run")
        for n in range(3):
            ctx.collect((n,))

    def cancel(self) -> None:
        self.runs.append("cancel")


def test_source_function_of_a_task_restored_as_finished_does_not_run_again() -> None:
    runs: list[str] = []
    log = CallLog(fails_at={"long": "record 100"})
    job = checkpointed_job(CheckpointSettings(interval_ms=20))
    few = job.source(lambda: StreamSource(Few(runs)), is_legacy_source=True)
    long = job.operator(numbers(job, 120), "long", "long", log.make(), chain=False)
    job.operator([few, long], "united", "united", log.make(), chain=False)
    assert run_and_judge(job).status is JobStatus.FINISHED
    assert runs == ["run"]


@pytest.mark.parametrize("drain", [True, False])
def test_savepoint_of_a_stop_expires_while_a_drained_source_is_restored_as_finished(drain: bool) -> None:
    """Rule 4.20: its operator does not finish a second time. The legacy source beside it has no such limit."""
    log = CallLog(fails_at={"long": "record 40"})
    job = checkpointed_job(replace(ON_REQUEST, timeout_ms=30, tolerable_failures=9), buffer_timeout_ms=0)
    short, few = numbers(job, 5), job.source(lambda: StreamSource(Few([])), is_legacy_source=True)
    long = job.operator(numbers(job, 300), "long", "long", log.make(), chain=False)
    job.operator([short, few, long], "united", "united", log.make(), chain=False)
    triggers = [TriggerCheckpoint(at * NS_PER_MS) for at in (15, 25)]
    result = run_and_judge(job, actions=[*triggers, StopWithSavepoint(80 * NS_PER_MS, drain=drain)])
    assert (result.status, len(result.failures), result.restarts) == (
        JobStatus.FINISHED,
        *((2, 2) if drain else (1, 1)),
    )
    assert result.requested_snapshots[-1].error == ("Checkpoint expired before completing." if drain else None)


class Restores(StreamOperator):
    """Has no state; logs the checkpoint from which it is restored."""

    def __init__(self, restores: list[int | None]) -> None:
        self.restores = restores

    def initialize_state(self, context: StateInitializationContext) -> None:
        super().initialize_state(context)
        self.restores.append(context.restored_checkpoint_id)

    def process_element(self, value: object, timestamp: int | None) -> None:
        self.records_in += 1
        self.output.collect(value, timestamp)


@pytest.mark.parametrize("chain", [True, False])
def test_task_without_any_state_starts_as_new_after_a_failure(chain: bool) -> None:
    """Rule 12.100: a vertex gets a restored checkpoint only if one of its subtasks stored state in it."""
    restores: list[int | None] = []
    log = CallLog(fails_at={"counted": "record 40"})
    job = checkpointed_job(CheckpointSettings(interval_ms=20))
    stateless = job.operator(numbers(job, 120), "stateless", "stateless", lambda: Restores(restores), chain=chain)
    job.operator(stateless, "counted", "counted", log.make(), chain=False)
    assert run_and_judge(job).status is JobStatus.FINISHED
    assert restores == [None, 2 if chain else None]

"""Failures in jobs with blocking exchanges: finished partitions are read again, unless they were lost (rule 12.28)."""

from __future__ import annotations

from flowsim.cluster.failures import FailTask, LoseJobManager, LoseTaskManager, RunFailure
from flowsim.cluster.job_execution import JobExecutionResult, JobStatus
from flowsim.facts.kinds import Level
from flowsim.graph.checkpoint_settings import FixedDelayRestart
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.network.partitions.result_partition_type import ResultPartitionType
from flowsim.recording.memory import MemoryRecorder
from flowsim.units import NS_PER_MS
from tests.support.jobs.small_jobs import Arrivals, SmallJob

MANAGERS = {"left": ["source"], "right": ["sink"]}


def run(*failures: RunFailure, recorder: MemoryRecorder | None = None) -> tuple[JobExecutionResult, Arrivals]:
    """A source that ends after 10 ms, and a sink that then reads its 10 records in 10 ms."""
    job = SmallJob(
        exchange=ResultPartitionType.BLOCKING,
        restart_strategy=FixedDelayRestart(5, 1),
        task_managers=MANAGERS,
        budget_records=1,
        cost_ns=NS_PER_MS,
    )
    arrivals = job.sink(job.values(lambda _: range(10)), by="REBALANCE", chain=False)
    return job.run(failures=failures, recorder=recorder), arrivals


def violated(recorder: MemoryRecorder) -> list[str]:
    return [outcome.law for outcome in check_all(recorder) if outcome.verdict is Verdict.VIOLATED]


def states(result: JobExecutionResult) -> list[tuple[str, str]]:
    return [(attempt.task.split(" ")[0], attempt.state) for attempt in result.attempts]


def test_reader_that_fails_reads_the_finished_partition_again() -> None:
    recorder = MemoryRecorder(Level.FULL)
    result, arrivals = run(FailTask("sink", at_record=4), recorder=recorder)
    assert result.status is JobStatus.FINISHED, result.error
    assert arrivals.values == [*range(4), *range(10)]
    assert states(result) == [("source", "FINISHED"), ("sink", "FAILED"), ("sink", "FINISHED")]
    assert violated(recorder) == []


def test_lost_partition_is_written_again() -> None:
    """The sink reads while the task manager of the finished source is lost."""
    result, arrivals = run(LoseTaskManager("left", 15 * NS_PER_MS))
    assert result.status is JobStatus.FINISHED, result.error
    assert arrivals.values[-10:] == [*range(10)]
    assert states(result) == [("source", "FINISHED"), ("source", "FINISHED"), ("sink", "FAILED"), ("sink", "FINISHED")]


def test_laws_do_not_compare_attempts_of_different_failures() -> None:
    """Both tasks have two attempts, but the first attempt of the sink reads from the second one of the source."""
    recorder = MemoryRecorder(Level.FULL)
    result, arrivals = run(FailTask("source", at_record=3), FailTask("sink", at_record=4), recorder=recorder)
    assert (result.status, result.restarts) == (JobStatus.FINISHED, 2)
    assert arrivals.values == [*range(4), *range(10)]
    assert violated(recorder) == []


def test_writer_restarts_without_its_waiting_reader() -> None:
    result, arrivals = run(LoseTaskManager("left", 5 * NS_PER_MS))
    assert result.status is JobStatus.FINISHED, result.error
    assert arrivals.values == [*range(10)]
    assert states(result) == [("source", "FAILED"), ("source", "FINISHED"), ("sink", "FINISHED")]


def test_all_tasks_restart_with_the_job_manager_also_those_that_wait() -> None:
    result, arrivals = run(LoseJobManager(5 * NS_PER_MS))
    assert result.status is JobStatus.FINISHED, result.error
    assert arrivals.values == [*range(10)]
    assert result.restarts == 0

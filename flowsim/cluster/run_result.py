"""The parts of a run's result that come from its tasks and failures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from flowsim.checkpoints.checkpoint_properties import JobStatus as EndOfJob
from flowsim.cluster.job_execution import HandledFailure, JobStatus, Progress, TaskAttempt, TaskSummary
from flowsim.cluster.job_master.job_master import JobMaster
from flowsim.errors import JobFailed
from flowsim.tasks.failure import job_failed
from flowsim.tasks.stream_task import StreamTask
from flowsim.tasks.task_metrics import MetricsSample

END_OF_JOB: Final = {
    JobStatus.FINISHED: EndOfJob.FINISHED,
    JobStatus.CANCELED: EndOfJob.CANCELED,
    JobStatus.FAILED: EndOfJob.FAILED,
    JobStatus.DEADLOCKED: EndOfJob.FAILED,
    JobStatus.STOPPED: EndOfJob.CANCELED,
}
"""The end of a job as its checkpoints see it, by the status of the run."""


def summary(task: StreamTask, last_sample: MetricsSample | None, pool_peaks: tuple[int, int] | None) -> TaskSummary:
    times = task.times
    return TaskSummary(
        task.name,
        task.state.value,
        task.input.records_in,
        task.records_out,
        times.busy_ns,
        times.idle_ns,
        times.soft_ns,
        times.hard_ns,
        task.input.current_watermark,
        task.input_queue_peak,
        task.output_queue_peak,
        task.times_out_of_credit,
        last_sample,
        *(pool_peaks or ()),
    )


def records_read(tasks: Iterable[StreamTask]) -> int:
    """Returns the number of records that the sources among all attempts read."""
    heads = [task.chain.head for task in tasks]
    return sum(head.records_in for head in heads if head.is_source)


def progress_of(records: int, elapsed_ns: int, master: JobMaster | None) -> Progress:
    """Returns the progress of a run with its restarts so far."""
    if master is None or not master.reasons:
        return Progress(records, elapsed_ns)
    return Progress(records, elapsed_ns, master.failover.restarts_done, master.reasons[-1])


def attempts_of(tasks: Sequence[StreamTask], old: Mapping[int, Sequence[StreamTask]]) -> tuple[TaskAttempt, ...]:
    """Returns all attempts in the order of the tasks; ``old``: the replaced ones by task id."""
    return tuple(
        TaskAttempt(each.name, number, each.state.value, None if each.failure is None else _shown(each.failure))
        for task in tasks
        for number, each in enumerate((*old.get(task.id, ()), task))
    )


def failures_of(master: JobMaster, tasks: Sequence[StreamTask], started_ns: int) -> tuple[HandledFailure, ...]:
    """Returns the failures of a run, with times from its start."""
    found = []
    for number, (failure, reason) in enumerate(zip(master.failover.history, master.reasons, strict=True)):
        names = tuple(tasks[subtask].name for subtask in failure.restarted)
        has_restarted = master.failover.has_restarted(number)
        found.append(
            HandledFailure(
                failure.time_ns - started_ns,
                None if failure.subtask is None else tasks[failure.subtask].name,
                _shown(failure.error),
                names if has_restarted else (),
                failure.restart_delay_ms,
                () if has_restarted else names,
                reason.operator,
                reason.record,
            )
        )
    return tuple(found)


def reason_of(master: JobMaster | None, name: str, error: BaseException) -> JobFailed:
    """Returns the cause of the end of a job: that of its last failure, whose place is noted only once, or of another error."""
    last = None if master is None or not master.reasons else master.failover.history[-1].error
    if master is not None and last is not None and (last is error or last is error.__cause__):
        return master.reasons[-1]
    return job_failed(name, error)


def _shown(error: BaseException) -> str:
    """Returns the error and the causes that its text does not name."""
    shown = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    cause = "" if error.__cause__ is None else _shown(error.__cause__)
    return shown if cause in shown else f"{shown} caused by {cause}"

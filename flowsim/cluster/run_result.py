"""The parts of a run's result that come from its tasks and failures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from flowsim.checkpoints.checkpoint_properties import JobStatus as EndOfJob
from flowsim.cluster.job_execution import HandledFailure, JobStatus, TaskAttempt, TaskSummary
from flowsim.cluster.job_master.failover import RootException
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


def attempts_of(tasks: Sequence[StreamTask], old: Mapping[int, Sequence[StreamTask]]) -> tuple[TaskAttempt, ...]:
    """Returns all attempts in the order of the tasks; ``old``: the replaced ones by task id."""
    return tuple(
        TaskAttempt(each.name, number, each.state.value, None if each.failure is None else _shown(each.failure))
        for task in tasks
        for number, each in enumerate((*old.get(task.id, ()), task))
    )


def failures_of(
    history: Sequence[RootException], tasks: Sequence[StreamTask], started_ns: int
) -> tuple[HandledFailure, ...]:
    """Returns the failures of a run, with times from its start."""
    return tuple(
        HandledFailure(
            failure.time_ns - started_ns,
            None if failure.subtask is None else tasks[failure.subtask].name,
            _shown(failure.error),
            tuple(tasks[subtask].name for subtask in failure.restarted),
            failure.restart_delay_ms,
        )
        for failure in history
    )


def _shown(error: BaseException) -> str:
    """Returns the error and its causes."""
    shown = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return shown if error.__cause__ is None else f"{shown} caused by {_shown(error.__cause__)}"

"""Options, status and result of a run. Flink: JobExecutionResult, JobStatus."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Literal, NoReturn

from flowsim.checkpoints.checkpoint_stats_tracker import CheckpointStatsCounts
from flowsim.cluster.components import Components
from flowsim.cluster.failures import RunFailure
from flowsim.cluster.job_id import JobID
from flowsim.cluster.job_master.snapshot_requests import RequestedSnapshot
from flowsim.cluster.job_status import JobStatus
from flowsim.cluster.run_actions import RunAction
from flowsim.cluster.run_bounds import UNBOUNDED, RunBounds
from flowsim.errors import JobFailed
from flowsim.facts.recorder import Recorder
from flowsim.graph.checkpoint_settings import SavepointRestoreSettings
from flowsim.graph.job_graph import JobGraph
from flowsim.limits import DEFAULT_LIMITS, Limits
from flowsim.not_simulated import missing_attribute
from flowsim.operators.latency_stats import Latency
from flowsim.operators.sources.source import SourceOperator
from flowsim.operators.timestamps_and_watermarks import TimestampsAndWatermarksOperator
from flowsim.quantities import count_text
from flowsim.sim.policy import SchedulingPolicy
from flowsim.streamrecord.elements import OutputTag
from flowsim.tasks.stream_task import StreamTask
from flowsim.tasks.task_metrics import MetricsSample
from flowsim.units import NS_PER_MS

__all__ = [
    "JobExecutionResult",
    "JobStatus",
    "LatencySummary",
    "MissingTimestampSummary",
    "Progress",
    "RunOptions",
    "TaskSummary",
    "latency_summaries",
]


@dataclass(frozen=True, slots=True)
class LatencySummary:
    """Latencies in ms of processing time, from one source operator to one operator, over all their subtasks."""

    source: str
    operator: str
    markers: int
    min_ms: int
    mean_ms: float
    max_ms: int


@dataclass(frozen=True, slots=True)
class MissingTimestampSummary:
    """The number of records without timestamp of an operator, over all its subtasks.

    ``output`` is the side output for these records, or None.
    """

    operator: str
    records: int
    output: str | None


def missing_timestamp_summaries(tasks: Sequence[StreamTask]) -> tuple[MissingTimestampSummary, ...]:
    """Returns one summary per source and operator whose strategy allows records without timestamp."""
    found: dict[tuple[str, str | None], int] = {}
    for task in tasks:
        for wrapper in task.chain.wrappers:
            operator = wrapper.operator
            if isinstance(operator, SourceOperator | TimestampsAndWatermarksOperator) and operator.strategy is not None:
                policy = operator.strategy.on_missing_timestamp
                if policy != "fail":
                    tag = policy.tag_id if isinstance(policy, OutputTag) else None
                    place = (wrapper.name, tag)
                    found[place] = found.get(place, 0) + operator.records_dropped
    return tuple(MissingTimestampSummary(name, records, tag) for (name, tag), records in found.items())


def latency_summaries(job: JobGraph, tasks: Sequence[StreamTask]) -> tuple[LatencySummary, ...]:
    """Returns one summary per source and operator, in graph order; empty if no latency marker arrived."""
    found: dict[tuple[int, str], list[Latency]] = {}
    for task in tasks:
        for wrapper in sorted(task.chain.wrappers, key=lambda each: each.index):
            for source, latency in sorted(wrapper.operator.latency_stats.by_source.items()):
                found.setdefault((source, wrapper.name), []).append(latency)
    names = {vertex.id: vertex.head.name for vertex in job.vertices}
    return tuple(
        LatencySummary(
            names[source],
            operator,
            sum(one.count for one in parts),
            min(one.min_ms for one in parts),
            round(sum(one.total_ms for one in parts) / sum(one.count for one in parts), 3),
            max(one.max_ms for one in parts),
        )
        for (source, operator), parts in sorted(found.items(), key=lambda item: item[0][0])
    )


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of a run: records read by sources, the job's clock in ns since its start, and restarts."""

    records: int
    elapsed_ns: int
    restarts: int = 0
    last_failure: JobFailed | None = None


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Settings of one run.

    ``policy`` is ``fifo``, ``random`` (seeded) or a policy object; the real clock uses no policy. ``until_ns`` counts
    from the start of the job. ``recorder`` stores facts; None records nothing. ``budget_records`` overrides the setting
    of the job. ``actions`` change or observe the running job, each at its own time.
    """

    seed: int = 0
    clock: Literal["virtual", "real"] = "virtual"
    policy: Literal["fifo", "random"] | SchedulingPolicy = "fifo"
    until_ns: int | None = None
    recorder: Recorder | None = None
    components: Components = field(default_factory=Components)
    """Creates the components of the job."""
    on_invariant_violation: Literal["raise", "fail_job"] = "raise"
    """A violation is a bug of flowsim and is raised. If the components break rules on purpose, a violation fails the
    job."""
    on_progress: Callable[[Progress], None] | None = None
    budget_records: int | None = None
    actions: tuple[RunAction, ...] = ()
    failures: tuple[RunFailure, ...] = ()
    """Failures of tasks, task managers and the job manager, from which the job recovers."""
    limits: Limits = DEFAULT_LIMITS
    """The limits of the size of the job."""
    bounds: RunBounds = UNBOUNDED
    """The bounds of the length of the run, on the virtual clock."""
    savepoint: SavepointRestoreSettings | None = None
    """The snapshot from which the job starts; None: it starts empty."""


@dataclass(frozen=True, slots=True)
class TaskSummary:
    """The figures of one task; times in ns of the job's clock. ``watermark``: the last of the input; -2^63 if none."""

    name: str
    state: str
    records_in: int
    records_out: int
    busy_ns: int
    idle_ns: int
    soft_backpressured_ns: int
    hard_backpressured_ns: int
    watermark: int
    input_queue_peak: int
    output_queue_peak: int
    times_out_of_credit: int
    """Number of times that data in the task's output channels waited only for a credit."""
    last_sample: MetricsSample | None = None
    """The task's metrics at its end; None if the task never ran."""
    input_pool_usage_peak: int | None = None
    """The highest sampled usage of the input pools, in millionths (rule 13.6); None without samples."""
    output_pool_usage_peak: int | None = None
    """The highest sampled usage of the output pools, in millionths (rule 13.7). Overdraft buffers raise it above a
    million."""

    @property
    def back_pressured_share(self) -> float:
        """The share of the task's time with soft or hard back pressure; 0 if no time passed."""
        back_pressured_ns = self.soft_backpressured_ns + self.hard_backpressured_ns
        total_ns = self.busy_ns + self.idle_ns + back_pressured_ns
        return back_pressured_ns / total_ns if total_ns else 0.0

    @property
    def back_pressure_level(self) -> Literal["OK", "LOW", "HIGH"]:
        """The level in Flink's web UI: OK up to 10 %, LOW up to 50 %, else HIGH (rule 13.13)."""
        share = self.back_pressured_share
        return "OK" if share <= 0.1 else "LOW" if share <= 0.5 else "HIGH"


@dataclass(frozen=True, slots=True)
class TaskAttempt:
    """An attempt of a task."""

    task: str
    number: int
    """From 0."""
    state: str
    error: str | None = None
    """Why it failed."""


@dataclass(frozen=True, slots=True)
class HandledFailure:
    """A failure of the job, and what it restarted."""

    time_ns: int
    """Time on the job's clock since its start."""
    task: str | None
    """None: a failure of the whole job."""
    error: str
    restarted: tuple[str, ...]
    """The names of the restarted tasks; empty: the job failed, or ended before the restart."""
    restart_delay_ms: int
    pending: tuple[str, ...] = ()
    """The names of the tasks that the job would have restarted if it had not ended before."""
    operator: str | None = None
    """The operator that failed; None if the failure is of no operator."""
    record: str | None = None
    """The record that it processed, as text."""


@dataclass(frozen=True, slots=True)
class JobExecutionResult:
    """The result of a run. Flink: JobExecutionResult.

    ``report`` is the wait-for report of a deadlocked or stopped run, otherwise ''.
    """

    job_name: str
    status: JobStatus
    elapsed_ns: int
    """Time on the job's clock since the start of the job."""
    records_read: int
    """Number of records that all sources read, in all their attempts."""
    tasks: tuple[TaskSummary, ...] = field(default_factory=tuple)
    report: str = ""
    error: Exception | None = None
    latencies: tuple[LatencySummary, ...] = ()
    """Summaries of the latency markers; empty without markers."""
    missing_timestamps: tuple[MissingTimestampSummary, ...] = ()
    """The summary of every operator that allows records without timestamp."""
    attempts: tuple[TaskAttempt, ...] = ()
    """All attempts, in the order of the tasks."""
    failures: tuple[HandledFailure, ...] = ()
    """The failures of tasks and of the job, in order."""
    restarts: int = 0
    """The number of restarts after failures (rule 12.129)."""
    requested_snapshots: tuple[RequestedSnapshot, ...] = ()
    """The results of actions that request checkpoints and savepoints, in the order of the actions."""
    checkpoints: CheckpointStatsCounts | None = None
    """The numbers of checkpoints; None for a job without."""
    is_interrupted: bool = False
    """True if Ctrl-C, SIGTERM or SIGHUP canceled the job."""
    is_idle: bool = False
    """True if the job was stopped because its unbounded sources had read all their records and nothing was left to do."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise missing_attribute(self, name)

    def get_job_id(self) -> JobID:
        """Returns the id of the job. PyFlink: JobExecutionResult.get_job_id."""
        return JobID.of(self.job_name)

    def get_net_runtime(self) -> int:
        """Returns the time on the job's clock since the start of the job, in ms."""
        return self.elapsed_ns // NS_PER_MS

    def get_accumulator_result(self, accumulator_name: str) -> object:
        """Returns None: no function of Python has accumulators, neither here nor in PyFlink."""
        return None

    def get_all_accumulator_results(self) -> dict[str, object]:
        """Returns an empty dict, see ``get_accumulator_result``."""
        return {}

    @property
    def summary(self) -> str:
        """One line with the status, the time on the job's clock, the records read, and the error."""
        failure = f": {self.error}" if self.error is not None else ""
        seconds = Decimal(self.elapsed_ns).scaleb(-9).normalize()
        return f"{self.job_name} {self.status.value} after {seconds:f} s, {count_text(self.records_read, 'record')} read{failure}"


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C, SIGTERM or SIGHUP canceled a run, which has ended in order; ``result`` has what it did until then."""

    def __init__(self, result: JobExecutionResult) -> None:
        super().__init__()
        self.result = result

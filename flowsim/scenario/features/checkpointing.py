"""``checkpointing`` and ``restart_strategy`` of a scenario's settings."""

from __future__ import annotations

from pathlib import Path as FolderPath
from typing import Annotated, Literal, assert_never

from pydantic import Field, model_validator

from flowsim.graph.checkpoint_settings import (
    CheckpointSettings,
    ExponentialDelayRestart,
    FailureRateRestart,
    FixedDelayRestart,
    NoRestart,
    RestartStrategySettings,
    Retention,
)
from flowsim.scenario.context import CompileContext
from flowsim.scenario.paths import confined
from flowsim.scenario.run_directory import is_reserved
from flowsim.scenario.types import (
    ByteSize,
    Count,
    DurationMs,
    DurationNs,
    FilePath,
    PositiveMs,
    Strict,
    chosen_of,
    exactly_one_of,
    one_of,
)
from flowsim.scenario.yaml.positions import Path

RESTART_KINDS = ("fixed_delay", "failure_rate", "exponential_delay", "none")


class CheckpointingModel(Strict):
    """Checkpoints of the job; the keys are the last words of Flink's options `execution.checkpointing.*`."""

    interval: PositiveMs | None = Field(
        default=None,
        description="Interval of periodic checkpoints, at least 10 ms. Without it, checkpointing is disabled as in "
        "Flink: only actions take snapshots, in mode `at_least_once`, and no task waits for a final checkpoint.",
    )
    mode: Literal["exactly_once", "at_least_once"] = Field(
        default="exactly_once",
        description="`exactly_once`: tasks align barriers; `at_least_once`: tasks read on while they wait for barriers.",
    )
    timeout: PositiveMs = Field(default=600_000, description="Time after which a pending checkpoint expires.")
    min_pause: DurationMs = Field(
        default=0,
        description="Smallest time from the completion of a checkpoint to the next periodic one; an `interval` below "
        "it is raised to it.",
    )
    max_concurrent: Count = Field(default=1, description="Number of checkpoints that can be pending at the same time.")
    tolerable_failed_checkpoints: Annotated[int, Field(ge=0, le=2**31 - 1)] = Field(
        default=0, description="Number of checkpoints that can fail in a row; one more fails the job."
    )
    retained: Annotated[int, Field(ge=1, le=10_000)] = Field(
        default=1, description="Number of completed checkpoints that are kept."
    )
    retention: Literal["no_externalized_checkpoints", "delete_on_cancellation", "retain_on_cancellation"] = Field(
        default="no_externalized_checkpoints",
        description="Which ends of the job keep its checkpoints: none, a failure, or a failure and a cancellation.",
    )
    after_tasks_finish: bool = Field(
        default=True, description="`false`: no checkpoints when a task has finished, and no final checkpoint."
    )
    interval_during_backlog: DurationMs | None = Field(
        default=None,
        description="Interval while a source reads its backlog; `0`: no periodic checkpoints then. Without it "
        "`interval`.",
    )
    directory: FilePath | None = Field(
        default=None, description="Where checkpoints are written. Without it they stay in memory and end with the run."
    )
    sync_duration: DurationNs = Field(
        default=0,
        description="Virtual time of the synchronous part of each operator; its task does nothing else meanwhile.",
    )
    async_duration: DurationNs = Field(
        default=0,
        description="Virtual time of the asynchronous part of each task; the task processes records meanwhile.",
    )
    async_bandwidth: Annotated[ByteSize, Field(ge=1)] | None = Field(
        default=None, description="Bytes of state per second that a task writes. Without it the size costs no time."
    )
    unaligned: bool = Field(
        default=False,
        description="Barriers overtake buffered data, which is stored with the checkpoint; savepoints stay aligned. "
        "Needs mode `exactly_once` and `max_concurrent` 1. Barriers of forward, rescale, broadcast and custom "
        "exchanges stay in order, and so do those of all other inputs of their receivers: `flowsim graph` marks "
        "them.",
    )
    aligned_timeout: DurationMs = Field(
        default=0,
        description="With `unaligned`: age after which the barriers of a checkpoint overtake; until then they are "
        "aligned. `0`: they overtake at once.",
    )
    without_channel_state: Annotated[int, Field(ge=-1)] = Field(
        default=-1,
        description="Id of a checkpoint whose in-flight data a restore drops, although its records are lost then; "
        "`-1`: none.",
    )

    @model_validator(mode="after")
    def _is_possible(self) -> CheckpointingModel:
        if self.unaligned and self.mode == "at_least_once":
            raise ValueError("unaligned: expected mode exactly_once: at_least_once has no alignment")
        if self.unaligned and self.max_concurrent > 1:
            raise ValueError(f"unaligned: expected max_concurrent 1, got {self.max_concurrent}")
        if self.aligned_timeout and not self.unaligned:
            raise ValueError("aligned_timeout: expected unaligned: true; other checkpoints have no such timeout")
        for key, value in (("interval", self.interval), ("timeout", self.timeout)):
            if value is not None and value < 10:
                raise ValueError(f"{key}: expected at least 10 ms, got {value} ms")
        if self.min_pause > 31_536_000_000:
            raise ValueError("min_pause: expected at most 365 d")
        return self


class FixedDelayModel(Strict):
    """A fixed number of restarts, each after the same delay."""

    attempts: Annotated[int, Field(ge=0, le=2**31 - 1)] = Field(
        default=1, description="Number of restarts; the next failure ends the job."
    )
    delay: DurationMs = Field(default=1000, description="Time from a failure to the restart.")


class FailureRateModel(Strict):
    """Restarts while failures are rare enough."""

    max_failures_per_interval: Count = Field(
        default=1, description="Number of failures within the interval from which on the job ends."
    )
    failure_rate_interval: PositiveMs = Field(default=60_000, description="Interval in which failures are counted.")
    delay: DurationMs = Field(default=1000, description="Time from a failure to the restart.")


class ExponentialDelayModel(Strict):
    """Restarts with a delay that grows with each failure."""

    initial_backoff: PositiveMs = Field(default=1000, description="The first delay.")
    max_backoff: PositiveMs = Field(default=60_000, description="The longest delay.")
    backoff_multiplier: Annotated[float, Field(gt=1, le=1e6)] = Field(
        default=1.5, description="Factor from one delay to the next."
    )
    reset_backoff_threshold: PositiveMs = Field(
        default=3_600_000, description="Time without failures after which the delay is the first one again."
    )
    jitter_factor: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.1, description="Share of the delay that is added or subtracted randomly, by the seed."
    )
    attempts_before_reset_backoff: Count = Field(
        default=2_147_483_647,
        description="Number of restarts until the threshold passes; the next failure ends the job.",
    )

    @model_validator(mode="after")
    def _grows(self) -> ExponentialDelayModel:
        if self.max_backoff < self.initial_backoff:
            raise ValueError(f"max_backoff: expected at least initial_backoff ({self.initial_backoff} ms)")
        return self


class NoRestartModel(Strict):
    """No restarts: the first failure ends the job."""


class RestartStrategyModel(Strict, json_schema_extra=exactly_one_of(*RESTART_KINDS)):
    """How the job restarts after failures; exactly one of fixed_delay, failure_rate, exponential_delay, none."""

    fixed_delay: FixedDelayModel | None = Field(default=None, description="A fixed number of restarts.")
    failure_rate: FailureRateModel | None = Field(default=None, description="Restarts while failures are rare.")
    exponential_delay: ExponentialDelayModel | None = Field(default=None, description="Restarts with growing delays.")
    none: NoRestartModel | None = Field(
        default=None, description="No restarts, the first failure ends the job: `none: {}`."
    )

    @model_validator(mode="after")
    def _one_kind(self) -> RestartStrategyModel:
        one_of(self, RESTART_KINDS)
        return self


def checkpoint_folder(context: CompileContext, path: Path, folder: str | None) -> str | None:
    """Returns the folder of checkpoints or savepoints below the output directory. Raises Failed."""
    if folder is None:
        return None
    out_dir = context.out_dir
    directory = context.attempt(path, lambda: confined(folder, out_dir, allow_path=context.allow_path, what="output"))
    sinks = [out_dir.resolve() / "sinks", *(sink.directory for sink in context.sinks if sink.directory is not None)]
    if is_reserved(directory, out_dir.resolve()) or any(_overlap(directory, sink) for sink in sinks):
        raise context.fail(path, f"expected a folder that only checkpoints use, got {folder!r}")
    return str(directory)


def _overlap(folder: FolderPath, other: FolderPath) -> bool:
    return folder.is_relative_to(other) or other.is_relative_to(folder)


def compile_checkpointing(context: CompileContext, model: CheckpointingModel | None) -> CheckpointSettings | None:
    """Returns the settings of checkpoints; None without checkpoints. Raises Failed."""
    if model is None:
        return None
    directory = checkpoint_folder(context, ("settings", "checkpointing", "directory"), model.directory)
    return CheckpointSettings(
        interval_ms=model.interval,
        exactly_once=model.mode == "exactly_once",
        timeout_ms=model.timeout,
        min_pause_ms=model.min_pause,
        max_concurrent=model.max_concurrent,
        tolerable_failures=model.tolerable_failed_checkpoints,
        retained=model.retained,
        retention=_RETENTION[model.retention],
        after_tasks_finish=model.after_tasks_finish,
        interval_during_backlog_ms=model.interval_during_backlog,
        unaligned=model.unaligned,
        aligned_timeout_ms=model.aligned_timeout,
        without_channel_state_id=model.without_channel_state,
        directory=directory,
        async_latency_ns=model.async_duration,
        async_bytes_per_second=model.async_bandwidth,
        sync_latency_ns=model.sync_duration,
    )


_RETENTION: dict[str, Retention] = {
    "no_externalized_checkpoints": "NO_EXTERNALIZED_CHECKPOINTS",
    "delete_on_cancellation": "DELETE_ON_CANCELLATION",
    "retain_on_cancellation": "RETAIN_ON_CANCELLATION",
}


def compile_restart_strategy(model: RestartStrategyModel | None) -> RestartStrategySettings | None:
    """Returns the restart strategy; None: Flink's default."""
    if model is None:
        return None
    strategy: FixedDelayModel | FailureRateModel | ExponentialDelayModel | NoRestartModel
    _, strategy = chosen_of(model, RESTART_KINDS)
    match strategy:
        case FixedDelayModel():
            return FixedDelayRestart(strategy.attempts, strategy.delay)
        case FailureRateModel():
            return FailureRateRestart(
                strategy.max_failures_per_interval, strategy.failure_rate_interval, strategy.delay
            )
        case ExponentialDelayModel():
            return ExponentialDelayRestart(
                strategy.initial_backoff,
                strategy.max_backoff,
                strategy.backoff_multiplier,
                strategy.reset_backoff_threshold,
                strategy.jitter_factor,
                strategy.attempts_before_reset_backoff,
            )
        case NoRestartModel():
            return NoRestart()
        case _:
            assert_never(strategy)

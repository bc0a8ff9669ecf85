"""The settings of checkpoints and restarts of a job. Flink: CheckpointConfig, RestartStrategyOptions (section 12.0)."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Final, Literal

from flowsim.errors import BadInput

Retention = Literal["NO_EXTERNALIZED_CHECKPOINTS", "DELETE_ON_CANCELLATION", "RETAIN_ON_CANCELLATION"]


@dataclass(frozen=True, slots=True)
class CheckpointSettings:
    """Settings of checkpoints, with Flink's defaults; times on the job's clock.

    A job raises BadInput for values that Flink refuses (rule 12.56). Flink: CheckpointConfig.
    """

    interval_ms: int | None = None
    """Interval of periodic checkpoints in ms, at least 10; None: checkpointing is disabled (``is_enabled``)."""
    exactly_once: bool = True
    """True: tasks align barriers; False: tasks read on while they wait for barriers, so records may count twice."""
    timeout_ms: int = 600_000
    """Age in ms at which a pending checkpoint expires, at least 10."""
    min_pause_ms: int = 0
    """Least time in ms from the end of a checkpoint to the next periodic one (rule 12.40)."""
    max_concurrent: int = 1
    """Number of checkpoints that may be pending at the same time; 1 with a pause."""
    tolerable_failures: int = 0
    """Number of checkpoints in a row that may fail before the job fails (rule 12.52)."""
    retained: int = 1
    """Number of completed checkpoints that are kept."""
    retention: Retention = "NO_EXTERNALIZED_CHECKPOINTS"
    """After which ends of the job its last checkpoints stay (rule 12.63)."""
    after_tasks_finish: bool = True
    """Whether checkpoints are taken after a task has finished; tasks then wait for a final one (rule 12.94)."""
    interval_during_backlog_ms: int | None = None
    """Interval in ms while a source has a backlog; None: ``interval_ms``, 0: no periodic checkpoints then."""
    unaligned: bool = False
    """True: barriers overtake buffered data, which is stored with the checkpoint (rule 12.18)."""
    aligned_timeout_ms: int = 0
    """Age in ms after which the barriers of an unaligned checkpoint overtake; until then they are aligned (rule 12.20)."""
    forced_unaligned: bool = False
    """Of no effect: in Flink it allows unaligned checkpoints of jobs with loops, which flowsim does not have."""
    without_channel_state_id: int = -1
    """The id of a checkpoint whose in-flight data a restore drops; -1: none (rule 12.96)."""
    directory: str | None = None
    """Where checkpoints are written; None: they stay in memory, and end with the run."""
    async_latency_ns: int = 0
    """Virtual duration of the asynchronous part of a task's checkpoint."""
    async_bytes_per_second: int | None = None
    """Rate at which the asynchronous part writes state; None: its size costs no time."""
    sync_latency_ns: int = 0
    """Virtual duration of the synchronous part of each operator."""

    @property
    def is_enabled(self) -> bool:
        """True if there is an interval. Without one a user can still request checkpoints and savepoints (rule 12.146).

        Flink: CheckpointingOptions.isCheckpointingEnabled.
        """
        return self.interval_ms is not None

    @property
    def waits_for_final_checkpoint(self) -> bool:
        """True if tasks take a checkpoint after the end of their data, and wait for it (rule 12.94).

        Flink: StreamTask.areCheckpointsWithFinishedTasksEnabled.
        """
        return self.is_enabled and self.after_tasks_finish

    def in_effect(self) -> CheckpointSettings:
        """Returns the settings that a job uses: snapshots without an interval are at-least-once ones (rule 12.146).

        Flink: CheckpointingOptions.getCheckpointingMode, isUnalignedCheckpointEnabled.
        """
        return self if self.is_enabled else replace(self, exactly_once=False, unaligned=False, aligned_timeout_ms=0)


ClaimMode = Literal["CLAIM", "NO_CLAIM", "LEGACY"]
CLAIM_MODES: Final[dict[str, ClaimMode]] = {"claim": "CLAIM", "no-claim": "NO_CLAIM", "legacy": "LEGACY"}
"""By the names that users give."""


@dataclass(frozen=True, slots=True)
class SavepointRestoreSettings:
    """From which snapshot a job starts. Flink: SavepointRestoreSettings (rules 12.26, 12.62)."""

    path: str
    """The folder of a savepoint or checkpoint."""
    claim_mode: ClaimMode = "NO_CLAIM"
    """Whom the snapshot belongs to afterwards; with CLAIM the job deletes it when it is subsumed."""
    allow_non_restored_state: bool = False
    """True: state of operators that the job does not have is dropped; False: it is an error."""


@dataclass(frozen=True, slots=True)
class FixedDelayRestart:
    """A number of restarts, each after the same delay (rule 12.125). Flink: FixedDelayRestartBackoffTimeStrategy."""

    attempts: int = 1
    """Failures after which the job restarts; one more is final."""
    delay_ms: int = 1000
    """Time from a failure to the restart."""


@dataclass(frozen=True, slots=True)
class FailureRateRestart:
    """Restarts unless failures are too frequent (rule 12.126). Flink: FailureRateRestartBackoffTimeStrategy."""

    max_failures_per_interval: int = 1
    """Failures within the interval after which the job still restarts."""
    failure_rate_interval_ms: int = 60_000
    """Length of the interval."""
    delay_ms: int = 1000
    """Time from a failure to the restart."""


@dataclass(frozen=True, slots=True)
class ExponentialDelayRestart:
    """Restarts after growing delays (rules 12.127, 12.128). Flink: ExponentialDelayRestartBackoffTimeStrategy."""

    initial_backoff_ms: int = 1000
    """The first delay."""
    max_backoff_ms: int = 60_000
    """The longest delay."""
    backoff_multiplier: float = 1.5
    """The ratio of a delay to the one before it, at least 1."""
    reset_backoff_threshold_ms: int = 3_600_000
    """Time without a failure after which the delay is the first one again."""
    jitter_factor: float = 0.1
    """Greatest random share by which a delay differs, from 0 to 1; drawn with the seed of the run."""
    attempts_before_reset_backoff: int = 2_147_483_647
    """Restarts without such a reset after which a failure is final."""


@dataclass(frozen=True, slots=True)
class NoRestart:
    """Every failure is final. Flink: NoRestartBackoffTimeStrategy."""


RestartStrategySettings = FixedDelayRestart | FailureRateRestart | ExponentialDelayRestart | NoRestart


_LEAST = {
    "interval_ms": 10,
    "timeout_ms": 10,
    "min_pause_ms": 0,
    "max_concurrent": 1,
    "tolerable_failures": 0,
    "retained": 1,
    "interval_during_backlog_ms": 0,
    "aligned_timeout_ms": 0,
    "without_channel_state_id": -1,
    "async_latency_ns": 0,
    "async_bytes_per_second": 1,
    "sync_latency_ns": 0,
}
_RETENTIONS = ("NO_EXTERNALIZED_CHECKPOINTS", "DELETE_ON_CANCELLATION", "RETAIN_ON_CANCELLATION")


def checked_checkpoint_settings(settings: CheckpointSettings) -> CheckpointSettings:
    """Returns the settings. Raises BadInput for values that Flink refuses (rules 12.16, 12.56)."""
    for name, least in _LEAST.items():
        value = getattr(settings, name)
        if value is None and name in ("interval_ms", "interval_during_backlog_ms", "async_bytes_per_second"):
            continue
        if type(value) is not int or value < least:
            raise BadInput(f"checkpointing: {name}: expected an integer >= {least}, got {value!r:.40}")
    for name in ("exactly_once", "after_tasks_finish", "unaligned", "forced_unaligned"):
        if type(getattr(settings, name)) is not bool:
            raise BadInput(f"checkpointing: {name}: expected True or False, got {getattr(settings, name)!r:.40}")
    if settings.retention not in _RETENTIONS:
        raise BadInput(
            f"checkpointing: retention: expected one of {', '.join(_RETENTIONS)}, got {settings.retention!r:.60}"
        )
    if settings.unaligned and not settings.exactly_once:
        raise BadInput("checkpointing: unaligned: at-least-once checkpoints have no alignment: leave it out")
    if settings.unaligned and settings.max_concurrent > 1:
        raise BadInput(
            f"checkpointing: unaligned: expected max_concurrent 1, got {settings.max_concurrent}: unaligned checkpoints "
            "are taken one at a time"
        )
    return settings


def checked_restart_strategy(strategy: RestartStrategySettings) -> RestartStrategySettings:
    """Returns the strategy. Raises BadInput for a negative number, or a factor that Flink refuses."""
    for field in fields(strategy):
        value = getattr(strategy, field.name)
        is_number = type(value) is int or (
            type(value) is float and field.name in ("backoff_multiplier", "jitter_factor")
        )
        if not is_number or value < 0:
            raise BadInput(
                f"restart strategy: {type(strategy).__name__}.{field.name}: expected a number >= 0, got {value!r:.40}"
            )
    if isinstance(strategy, ExponentialDelayRestart):
        if strategy.backoff_multiplier < 1:
            raise BadInput(
                f"restart strategy: backoff_multiplier: expected 1 or more, got {strategy.backoff_multiplier}"
            )
        if strategy.jitter_factor > 1:
            raise BadInput(f"restart strategy: jitter_factor: expected 0 to 1, got {strategy.jitter_factor}")
        if strategy.initial_backoff_ms > strategy.max_backoff_ms:
            raise BadInput(
                f"restart strategy: initial_backoff_ms: expected at most max_backoff_ms ({strategy.max_backoff_ms}), got "
                f"{strategy.initial_backoff_ms}"
            )
    return strategy

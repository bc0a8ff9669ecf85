"""The settings of checkpoints and restarts of a job. Flink: CheckpointConfig, RestartStrategyOptions (section 12.0)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Literal

from flowsim.errors import BadInput

Retention = Literal["NO_EXTERNALIZED_CHECKPOINTS", "DELETE_ON_CANCELLATION", "RETAIN_ON_CANCELLATION"]


@dataclass(frozen=True, slots=True)
class CheckpointSettings:
    """Settings of checkpoints, with Flink's defaults. Flink: CheckpointConfig."""

    interval_ms: int | None = None
    """None: no periodic checkpoints; those of actions, savepoints and the final one only."""
    exactly_once: bool = True
    timeout_ms: int = 600_000
    min_pause_ms: int = 0
    max_concurrent: int = 1
    tolerable_failures: int = 0
    retained: int = 1
    retention: Retention = "NO_EXTERNALIZED_CHECKPOINTS"
    after_tasks_finish: bool = True
    interval_during_backlog_ms: int | None = None
    unaligned: bool = False
    forced_unaligned: bool = False
    aligned_timeout_ms: int = 0
    directory: str | None = None
    """Where checkpoints are written; None: they stay in memory, and end with the run."""
    async_latency_ns: int = 0
    """Virtual duration of the asynchronous part of a task's checkpoint."""
    async_bytes_per_second: int | None = None
    """Rate at which the asynchronous part writes state; None: its size costs no time."""
    sync_latency_ns: int = 0
    """Virtual duration of the synchronous part of each operator."""


ClaimMode = Literal["CLAIM", "NO_CLAIM", "LEGACY"]


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
    """A number of restarts, each after the same delay. Flink: FixedDelayRestartBackoffTimeStrategy."""

    attempts: int = 1
    delay_ms: int = 1000


@dataclass(frozen=True, slots=True)
class FailureRateRestart:
    """Restarts unless failures are too frequent. Flink: FailureRateRestartBackoffTimeStrategy."""

    max_failures_per_interval: int = 1
    failure_rate_interval_ms: int = 60_000
    delay_ms: int = 1000


@dataclass(frozen=True, slots=True)
class ExponentialDelayRestart:
    """Restarts after growing delays. Flink: ExponentialDelayRestartBackoffTimeStrategy."""

    initial_backoff_ms: int = 1000
    max_backoff_ms: int = 60_000
    backoff_multiplier: float = 1.5
    reset_backoff_threshold_ms: int = 3_600_000
    jitter_factor: float = 0.1
    attempts_before_reset_backoff: int = 2_147_483_647


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
    "async_latency_ns": 0,
    "async_bytes_per_second": 1,
    "sync_latency_ns": 0,
}
_RETENTIONS = ("NO_EXTERNALIZED_CHECKPOINTS", "DELETE_ON_CANCELLATION", "RETAIN_ON_CANCELLATION")


def checked_checkpoint_settings(settings: CheckpointSettings) -> CheckpointSettings:
    """Returns the settings. Raises BadInput for values that Flink refuses (rule 12.56), and for unaligned checkpoints."""
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
    if settings.unaligned or settings.forced_unaligned:
        raise BadInput("checkpointing: unaligned: flowsim takes aligned checkpoints only: leave it out")
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

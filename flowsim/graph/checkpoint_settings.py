"""The settings of checkpoints and restarts of a job. Flink: CheckpointConfig, RestartStrategyOptions (section 12.0)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

from flowsim.errors import BadInput
from flowsim.graph.setting import check_settings, setting

Retention = Literal["NO_EXTERNALIZED_CHECKPOINTS", "DELETE_ON_CANCELLATION", "RETAIN_ON_CANCELLATION"]


@dataclass(frozen=True, slots=True)
class CheckpointSettings:
    """Settings of checkpoints, with Flink's defaults; times on the job's clock.

    A job raises BadInput for values that Flink refuses (rule 12.56). Flink: CheckpointConfig.
    """

    interval_ms: int | None = setting(
        None,
        "ms",
        "Interval of periodic checkpoints, at least 10 ms. Without it, checkpointing is disabled as in Flink: only actions take "
        "snapshots, in mode `at_least_once`, and no task waits for a final checkpoint.",
        option="execution.checkpointing.interval",
        method="set_checkpoint_interval",
        least=10,
    )
    exactly_once: bool = setting(
        True,
        "choice",
        "`exactly_once`: tasks align barriers; `at_least_once`: tasks read on while they wait for barriers.",
        key="mode",
        option="execution.checkpointing.mode",
        method="set_checkpointing_mode",
        choices={"exactly_once": True, "at_least_once": False},
    )
    timeout_ms: int = setting(
        600_000,
        "ms",
        "Time after which a pending checkpoint expires.",
        option="execution.checkpointing.timeout",
        method="set_checkpoint_timeout",
        least=10,
    )
    min_pause_ms: int = setting(
        0,
        "ms",
        "Smallest time from the completion of a checkpoint to the next periodic one (rule 12.40), at most 365 days; an "
        "`interval` below it is raised to it.",
        option="execution.checkpointing.min-pause",
        method="set_min_pause_between_checkpoints",
        most=31_536_000_000,
    )
    max_concurrent: int = setting(
        1,
        "count",
        "Number of checkpoints that can be pending at the same time; 1 with a pause.",
        option="execution.checkpointing.max-concurrent-checkpoints",
        method="set_max_concurrent_checkpoints",
        least=1,
    )
    tolerable_failures: int = setting(
        0,
        "count",
        "Number of checkpoints that can fail in a row; one more fails the job (rule 12.52).",
        key="tolerable_failed_checkpoints",
        option="execution.checkpointing.tolerable-failed-checkpoints",
        method="set_tolerable_checkpoint_failure_number",
    )
    retained: int = setting(
        1,
        "count",
        "Number of completed checkpoints that are kept.",
        option="execution.checkpointing.num-retained",
        least=1,
        most=10_000,
    )
    retention: Retention = setting(
        "NO_EXTERNALIZED_CHECKPOINTS",
        "choice",
        "Which ends of the job keep its checkpoints: none, a failure, or a failure and a cancellation (rule 12.63).",
        option="execution.checkpointing.externalized-checkpoint-retention",
        method="set_externalized_checkpoint_retention",
        choices={name.lower(): name for name in get_args(Retention)},
    )
    after_tasks_finish: bool = setting(
        True,
        "flag",
        "`false`: no checkpoints when a task has finished, and no final checkpoint (rule 12.94).",
        option="execution.checkpointing.checkpoints-after-tasks-finish",
    )
    interval_during_backlog_ms: int | None = setting(
        None,
        "ms",
        "Interval while a source reads its backlog; `0`: no periodic checkpoints then. Without it `interval`.",
        option="execution.checkpointing.interval-during-backlog",
    )
    directory: str | None = setting(
        None,
        "folder",
        "Where checkpoints are written. Without it they stay in memory and end with the run.",
        option="execution.checkpointing.dir",
    )
    sync_latency_ns: int = setting(
        0,
        "ns",
        "Virtual time of the synchronous part of each operator; its task does nothing else meanwhile.",
        key="sync_duration",
    )
    async_latency_ns: int = setting(
        0,
        "ns",
        "Virtual time of the asynchronous part of each task; the task processes records meanwhile.",
        key="async_duration",
    )
    async_bytes_per_second: int | None = setting(
        None,
        "bytes",
        "Bytes of state per second that a task writes. Without it the size costs no time.",
        key="async_bandwidth",
        least=1,
    )
    unaligned: bool = setting(
        False,
        "flag",
        "Barriers overtake buffered data, which is stored with the checkpoint (rule 12.18); savepoints stay aligned. Needs mode "
        "`exactly_once` and `max_concurrent` 1. Barriers of forward, rescale, broadcast and custom exchanges stay in order, "
        "and so do those of all other inputs of their receivers: `flowsim graph` marks them.",
        option="execution.checkpointing.unaligned.enabled",
        method="enable_unaligned_checkpoints",
    )
    aligned_timeout_ms: int = setting(
        0,
        "ms",
        "With `unaligned`: age after which the barriers of a checkpoint overtake; until then they are aligned (rule 12.20). "
        "`0`: they overtake at once.",
        option="execution.checkpointing.aligned-checkpoint-timeout",
        method="set_aligned_checkpoint_timeout",
    )
    without_channel_state_id: int = setting(
        -1,
        "count",
        "Id of a checkpoint whose in-flight data a restore drops, although its records are lost then (rule 12.96); `-1`: none.",
        key="without_channel_state",
        option="execution.state-recovery.without-channel-state.checkpoint-id",
        least=-1,
        most=2**63 - 1,
    )
    forced_unaligned: bool = setting(
        False,
        "flag",
        "Of no effect: in Flink it allows unaligned checkpoints of jobs with loops, which flowsim does not have.",
        key="",
        option="execution.checkpointing.unaligned.forced",
        method="set_force_unaligned_checkpoints",
    )

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

    attempts: int = setting(
        1,
        "count",
        "Number of restarts; the next failure ends the job.",
        option="restart-strategy.fixed-delay.attempts",
    )
    delay_ms: int = setting(
        1000, "ms", "Time from a failure to the restart.", option="restart-strategy.fixed-delay.delay"
    )


@dataclass(frozen=True, slots=True)
class FailureRateRestart:
    """Restarts unless failures are too frequent (rule 12.126). Flink: FailureRateRestartBackoffTimeStrategy."""

    max_failures_per_interval: int = setting(
        1,
        "count",
        "Number of failures within the interval from which on the job ends.",
        option="restart-strategy.failure-rate.max-failures-per-interval",
        least=1,
    )
    failure_rate_interval_ms: int = setting(
        60_000,
        "ms",
        "Interval in which failures are counted.",
        option="restart-strategy.failure-rate.failure-rate-interval",
        least=1,
    )
    delay_ms: int = setting(
        1000, "ms", "Time from a failure to the restart.", option="restart-strategy.failure-rate.delay"
    )


@dataclass(frozen=True, slots=True)
class ExponentialDelayRestart:
    """Restarts after growing delays (rules 12.127, 12.128). Flink: ExponentialDelayRestartBackoffTimeStrategy."""

    initial_backoff_ms: int = setting(
        1000, "ms", "The first delay.", option="restart-strategy.exponential-delay.initial-backoff", least=1
    )
    max_backoff_ms: int = setting(
        60_000, "ms", "The longest delay.", option="restart-strategy.exponential-delay.max-backoff", least=1
    )
    backoff_multiplier: float = setting(
        1.5,
        "number",
        "Factor from one delay to the next.",
        option="restart-strategy.exponential-delay.backoff-multiplier",
        least=1,
        most=1e6,
    )
    reset_backoff_threshold_ms: int = setting(
        3_600_000,
        "ms",
        "Time without failures after which the delay is the first one again.",
        option="restart-strategy.exponential-delay.reset-backoff-threshold",
        least=1,
    )
    jitter_factor: float = setting(
        0.1,
        "number",
        "Share of the delay that is added or subtracted randomly, by the seed.",
        option="restart-strategy.exponential-delay.jitter-factor",
        most=1,
    )
    attempts_before_reset_backoff: int = setting(
        2_147_483_647,
        "count",
        "Number of restarts until the threshold passes; the next failure ends the job.",
        option="restart-strategy.exponential-delay.attempts-before-reset-backoff",
        least=1,
    )


@dataclass(frozen=True, slots=True)
class NoRestart:
    """Every failure is final. Flink: NoRestartBackoffTimeStrategy."""


RestartStrategySettings = FixedDelayRestart | FailureRateRestart | ExponentialDelayRestart | NoRestart
RESTART_STRATEGIES: Final[dict[str, type[RestartStrategySettings]]] = {
    "fixed_delay": FixedDelayRestart,
    "failure_rate": FailureRateRestart,
    "exponential_delay": ExponentialDelayRestart,
    "none": NoRestart,
}
"""By the names of scenarios; with hyphens, those of Flink."""


def checked_checkpoint_settings(settings: CheckpointSettings) -> CheckpointSettings:
    """Returns the settings. Raises BadInput for values that Flink refuses (rules 12.16, 12.56)."""
    check_settings(settings, "checkpointing")
    if settings.unaligned and not settings.exactly_once:
        raise BadInput("checkpointing: unaligned: expected mode exactly_once: at_least_once has no alignment")
    if settings.unaligned and settings.max_concurrent > 1:
        raise BadInput(
            f"checkpointing: unaligned: expected max_concurrent 1, got {settings.max_concurrent}: unaligned checkpoints "
            "are taken one at a time"
        )
    return settings


def checked_restart_strategy(strategy: RestartStrategySettings) -> RestartStrategySettings:
    """Returns the strategy. Raises BadInput for a value that Flink refuses."""
    check_settings(strategy, f"restart strategy: {type(strategy).__name__}")
    if isinstance(strategy, ExponentialDelayRestart) and strategy.initial_backoff_ms > strategy.max_backoff_ms:
        raise BadInput(
            f"restart strategy: max_backoff: expected at least initial_backoff ({strategy.initial_backoff_ms} ms), got "
            f"{strategy.max_backoff_ms} ms"
        )
    return strategy

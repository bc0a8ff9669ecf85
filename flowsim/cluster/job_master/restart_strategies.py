"""Creates the restart strategy of a job from its settings (rule 12.29)."""

from __future__ import annotations

from random import Random
from typing import assert_never

from flowsim.checkpoints.failover.restart_backoff_time_strategy import (
    ExponentialDelayRestartBackoffTimeStrategy,
    FailureRateRestartBackoffTimeStrategy,
    FixedDelayRestartBackoffTimeStrategy,
    NoRestartBackoffTimeStrategy,
    RestartBackoffTimeStrategy,
)
from flowsim.cluster.job_master.job_manager_actor import JobManagerActor
from flowsim.graph.checkpoint_settings import (
    ExponentialDelayRestart,
    FailureRateRestart,
    FixedDelayRestart,
    NoRestart,
)
from flowsim.graph.job_settings import JobSettings


def create_restart_strategy(
    settings: JobSettings, actor: JobManagerActor, random: Random
) -> RestartBackoffTimeStrategy:
    """Returns the strategy of the job; without one: exponential delay if checkpointing is enabled, otherwise no restart."""
    chosen = settings.restart_strategy
    if chosen is None:
        is_enabled = settings.checkpointing is not None and settings.checkpointing.is_enabled
        chosen = ExponentialDelayRestart() if is_enabled else NoRestart()
    match chosen:
        case NoRestart():
            return NoRestartBackoffTimeStrategy()
        case FixedDelayRestart(attempts=attempts, delay_ms=delay_ms):
            return FixedDelayRestartBackoffTimeStrategy(attempts, delay_ms)
        case FailureRateRestart():
            return FailureRateRestartBackoffTimeStrategy(
                actor, chosen.max_failures_per_interval, chosen.failure_rate_interval_ms, chosen.delay_ms
            )
        case ExponentialDelayRestart():
            return ExponentialDelayRestartBackoffTimeStrategy(
                actor,
                random,
                initial_backoff_ms=chosen.initial_backoff_ms,
                max_backoff_ms=chosen.max_backoff_ms,
                backoff_multiplier=chosen.backoff_multiplier,
                reset_backoff_threshold_ms=chosen.reset_backoff_threshold_ms,
                jitter_factor=chosen.jitter_factor,
                attempts_before_reset=chosen.attempts_before_reset_backoff,
            )
        case _:
            assert_never(chosen)

"""Settings of checkpoints with PyFlink's names."""

from __future__ import annotations

import pytest

from flowsim.datastream import CheckpointingMode, ExternalizedCheckpointRetention, StreamExecutionEnvironment
from flowsim.datastream.common import Configuration, Duration
from flowsim.errors import BadInput
from flowsim.graph.checkpoint_settings import CheckpointSettings, ExponentialDelayRestart, FixedDelayRestart


def test_enabled_checkpointing_sets_interval_and_mode() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    assert env.get_checkpoint_interval() == -1
    env.enable_checkpointing(500, CheckpointingMode.AT_LEAST_ONCE)
    assert env.settings.checkpointing == CheckpointSettings(interval_ms=500, exactly_once=False)
    assert env.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE


def test_config_changes_settings_of_environment() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    config = env.enable_checkpointing(500).get_checkpoint_config()
    config.set_checkpoint_timeout(60_000).set_min_pause_between_checkpoints(20).set_max_concurrent_checkpoints(2)
    config.set_tolerable_checkpoint_failure_number(3)
    config.set_externalized_checkpoint_retention(ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION)
    assert env.settings.checkpointing == CheckpointSettings(
        500, True, 60_000, 20, 2, 3, retention="RETAIN_ON_CANCELLATION"
    )
    assert (config.get_checkpoint_timeout(), config.get_tolerable_checkpoint_failure_number()) == (60_000, 3)


@pytest.mark.parametrize(
    ("setter", "value", "message"),
    [
        ("set_checkpoint_interval", 9, "interval_ms: expected 10 or more, got 9"),
        ("set_max_concurrent_checkpoints", 0, "max_concurrent: expected 1 or more, got 0"),
        ("set_checkpointing_mode", "exactly_once", "expected a CheckpointingMode, got 'exactly_once'"),
    ],
)
def test_value_that_flink_refuses_is_refused(setter: str, value: object, message: str) -> None:
    config = StreamExecutionEnvironment.get_execution_environment().get_checkpoint_config()
    with pytest.raises(BadInput, match=message):
        getattr(config, setter)(value)


def test_unaligned_checkpoints_have_a_timeout_and_one_at_a_time() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    config = env.enable_checkpointing(500).get_checkpoint_config()
    config.enable_unaligned_checkpoints().set_aligned_checkpoint_timeout(Duration.of_seconds(2))
    config.set_force_unaligned_checkpoints()
    assert env.settings.checkpointing == CheckpointSettings(
        500, unaligned=True, aligned_timeout_ms=2000, forced_unaligned=True
    )
    assert (config.is_unaligned_checkpoints_enabled(), config.is_force_unaligned_checkpoints()) == (True, True)
    with pytest.raises(BadInput, match="unaligned: expected max_concurrent 1, got 2"):
        config.set_max_concurrent_checkpoints(2)
    with pytest.raises(BadInput, match="unaligned: expected mode exactly_once: at_least_once has no alignment"):
        config.set_checkpointing_mode(CheckpointingMode.AT_LEAST_ONCE)


def test_keys_of_flink_set_checkpoints_and_restart_strategy() -> None:
    env = StreamExecutionEnvironment.get_execution_environment(
        Configuration.from_dict(
            {
                "execution.checkpointing.interval": "10 s",
                "execution.checkpointing.mode": "AT_LEAST_ONCE",
                "execution.checkpointing.aligned-checkpoint-timeout": "30 s",
                "execution.state-recovery.without-channel-state.checkpoint-id": "7",
                "restart-strategy.type": "fixed-delay",
                "restart-strategy.fixed-delay.attempts": "3",
                "restart-strategy.fixed-delay.delay": "2 s",
                "restart-strategy.failure-rate.delay": "9 s",
            }
        )
    )
    assert env.settings.checkpointing == CheckpointSettings(
        interval_ms=10_000, exactly_once=False, aligned_timeout_ms=30_000, without_channel_state_id=7
    )
    assert env.settings.restart_strategy == FixedDelayRestart(3, 2000)


def test_unknown_restart_strategy_is_refused() -> None:
    with pytest.raises(
        BadInput, match=r"restart-strategy\.type: expected one of off, disable, fixed-delay, failure-rate, "
    ):
        Configuration.from_dict({"restart-strategy.type": "sometimes"})


def test_backoff_that_shrinks_is_refused() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(BadInput, match=r"backoff_multiplier: expected 1 or more, got 0\.5"):
        env.configure(restart_strategy=ExponentialDelayRestart(backoff_multiplier=0.5))

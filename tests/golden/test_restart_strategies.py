"""Restart strategies equal the real ones, with jitter 0 (rules 12.125-12.128)."""

from __future__ import annotations

from random import Random

from flowsim.checkpoints.failover.restart_backoff_time_strategy import ExponentialDelayRestartBackoffTimeStrategy
from tests.support.checkpoints.component_plays import RestartStrategyPlay
from tests.support.checkpoints.virtual_time import VirtualTimeExecutor
from tests.support.flink.golden import cases


def test_every_decision_equals_flinks() -> None:
    seen = 0
    for case in cases("component/restart_strategies"):
        play = RestartStrategyPlay(case)
        for command, expected in zip(case["cmds"], case["out"], strict=True):
            theirs = {name: value for name, value in expected.items() if value is not None}
            assert play.play(command) == theirs, (case["id"], command)
        seen += 1
    assert seen == 360


def test_delay_falls_back_to_the_initial_one_when_the_jitter_overflows() -> None:
    """Rule 12.128: after about 93 failures in a row every second delay is short."""
    executor = VirtualTimeExecutor(10_000_000)
    strategy = ExponentialDelayRestartBackoffTimeStrategy(executor, Random(1))
    delays = []
    for _ in range(130):
        strategy.notify_failure()
        delays.append(strategy.backoff_time_ms())
        executor.now_ms += delays[-1] + 1
    assert set(delays[20:90]) == {60_000}
    assert set(delays[100:]) == {1_000, 60_000}

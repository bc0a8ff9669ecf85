"""Restart strategies equal the real ones, with jitter 0 (rules 12.125-12.128)."""

from __future__ import annotations

from random import Random
from typing import Any

from flowsim.checkpoints.failover.restart_backoff_time_strategy import (
    ExponentialDelayRestartBackoffTimeStrategy,
    FailureRateRestartBackoffTimeStrategy,
    FixedDelayRestartBackoffTimeStrategy,
    RestartBackoffTimeStrategy,
)
from flowsim.errors import InvariantViolation
from tests.support.checkpoints.virtual_time import JobManagerClock
from tests.support.flink.golden import cases


def strategy_of(case: dict[str, Any], clock: JobManagerClock) -> RestartBackoffTimeStrategy:
    p = case["params"]
    match case["kind"]:
        case "fixed_delay":
            return FixedDelayRestartBackoffTimeStrategy(p["attempts"], p["delay"])
        case "failure_rate":
            return FailureRateRestartBackoffTimeStrategy(clock, p["max_failures"], p["interval"], p["delay"])
        case "exponential_delay":
            return ExponentialDelayRestartBackoffTimeStrategy(
                clock,
                Random(0),
                initial_backoff_ms=p["initial"],
                max_backoff_ms=p["max"],
                backoff_multiplier=p["multiplier"],
                reset_backoff_threshold_ms=p["threshold"],
                jitter_factor=p["jitter"],
                attempts_before_reset=p["attempts"],
            )
    raise AssertionError(case["kind"])


def play(strategy: RestartBackoffTimeStrategy, clock: JobManagerClock, command: list[Any]) -> dict[str, Any]:
    match command:
        case ["delay"]:
            try:
                return {"delay": strategy.backoff_time_ms(), "err": None}
            except InvariantViolation:
                return {"err": ["IllegalStateException", "Please call notifyFailure first."]}
        case ["query", now]:
            clock.now_ms = now
            return {"can_restart": strategy.can_restart()}
        case ["failure", now]:
            clock.now_ms = now
            is_new = strategy.notify_failure()
            restart = strategy.can_restart()
            return {"new_attempt": is_new, "can_restart": restart, "delay": strategy.backoff_time_ms()}
    raise AssertionError(f"unknown command {command}")


def test_every_decision_equals_flinks() -> None:
    seen = 0
    for case in cases("component/restart_strategies"):
        clock = JobManagerClock(case["start"])
        strategy = strategy_of(case, clock)
        for command, expected in zip(case["cmds"], case["out"], strict=True):
            assert play(strategy, clock, command) == expected, (case["id"], command)
        seen += 1
    assert seen == 360


def test_delay_falls_back_to_the_initial_one_when_the_jitter_overflows() -> None:
    """Rule 12.128: after about 93 failures in a row every second delay is short."""
    clock = JobManagerClock(10_000_000)
    strategy = ExponentialDelayRestartBackoffTimeStrategy(clock, Random(1))
    delays = []
    for _ in range(130):
        strategy.notify_failure()
        delays.append(strategy.backoff_time_ms())
        clock.now_ms += delays[-1] + 1
    assert set(delays[20:90]) == {60_000}
    assert set(delays[100:]) == {1_000, 60_000}

"""Whether a failed job restarts, and after which delay (rules 12.125-12.129).

Flink: RestartBackoffTimeStrategy, FixedDelayRestartBackoffTimeStrategy, FailureRateRestartBackoffTimeStrategy,
ExponentialDelayRestartBackoffTimeStrategy, NoRestartBackoffTimeStrategy.
"""

from __future__ import annotations

from collections import deque
from random import Random
from typing import Final, Protocol

from flowsim.checkpoints.main_thread_executor import MainThreadExecutor
from flowsim.errors import InvariantViolation
from flowsim.values.java_long import wrapped

_MAX_LONG: Final = 2**63 - 1
_NO_RESTART_YET: Final = -(2**31)
"""Flink's initial time of the next restart."""


class RestartBackoffTimeStrategy(Protocol):
    """Decides about the restart after a failure. Flink: RestartBackoffTimeStrategy."""

    def notify_failure(self) -> bool:
        """Counts a failure; False if it belongs to the failure before it."""
        ...

    def can_restart(self) -> bool:
        """True if the job may restart after the failures so far."""
        ...

    def backoff_time_ms(self) -> int:
        """Returns the delay of the restart in ms."""
        ...


class NoRestartBackoffTimeStrategy:
    """Every failure is final. Flink: NoRestartBackoffTimeStrategy."""

    __slots__ = ()

    def notify_failure(self) -> bool:
        return True

    def can_restart(self) -> bool:
        return False

    def backoff_time_ms(self) -> int:
        return 0


class FixedDelayRestartBackoffTimeStrategy:
    """A number of restarts, each after the same delay (rule 12.125).

    Flink: FixedDelayRestartBackoffTimeStrategy.
    """

    __slots__ = ("_attempts", "_delay_ms", "_failures")

    def __init__(self, attempts: int, delay_ms: int) -> None:
        self._attempts = attempts
        self._delay_ms = delay_ms
        self._failures = 0

    def notify_failure(self) -> bool:
        self._failures += 1
        return True

    def can_restart(self) -> bool:
        return self._failures <= self._attempts

    def backoff_time_ms(self) -> int:
        return self._delay_ms


class FailureRateRestartBackoffTimeStrategy:
    """Restarts until more than ``max_failures`` failures lie within ``interval_ms`` (rule 12.126).

    Flink: FailureRateRestartBackoffTimeStrategy.
    """

    __slots__ = ("_main_thread", "_failure_times_ms", "_interval_ms", "_delay_ms")

    def __init__(self, main_thread: MainThreadExecutor, max_failures: int, interval_ms: int, delay_ms: int) -> None:
        self._main_thread = main_thread
        self._interval_ms = interval_ms
        self._delay_ms = delay_ms
        self._failure_times_ms: deque[int] = deque(maxlen=max_failures + 1)

    def notify_failure(self) -> bool:
        self._failure_times_ms.append(self._main_thread.now_ms)
        return True

    def can_restart(self) -> bool:
        times = self._failure_times_ms
        return len(times) != times.maxlen or self._main_thread.now_ms - times[0] > self._interval_ms

    def backoff_time_ms(self) -> int:
        return self._delay_ms


class ExponentialDelayRestartBackoffTimeStrategy:
    """A delay that grows with each failure and starts anew after a long time without one (rules 12.127, 12.128).

    A failure up to the planned restart joins the one before it. Flink: ExponentialDelayRestartBackoffTimeStrategy.
    """

    __slots__ = (
        "_main_thread",
        "_random",
        "_initial_backoff_ms",
        "_max_backoff_ms",
        "_backoff_multiplier",
        "_reset_backoff_threshold_ms",
        "_jitter_factor",
        "_attempts_before_reset",
        "_attempt",
        "_next_restart_ms",
    )

    def __init__(
        self,
        main_thread: MainThreadExecutor,
        random: Random,
        *,
        initial_backoff_ms: int = 1_000,
        max_backoff_ms: int = 60_000,
        backoff_multiplier: float = 1.5,
        reset_backoff_threshold_ms: int = 3_600_000,
        jitter_factor: float = 0.1,
        attempts_before_reset: int = 2**31 - 1,
    ) -> None:
        self._main_thread = main_thread
        self._random = random
        self._initial_backoff_ms = initial_backoff_ms
        self._max_backoff_ms = max_backoff_ms
        self._backoff_multiplier = backoff_multiplier
        self._reset_backoff_threshold_ms = reset_backoff_threshold_ms
        self._jitter_factor = jitter_factor
        self._attempts_before_reset = attempts_before_reset
        self._attempt = 0
        self._next_restart_ms = _NO_RESTART_YET

    def notify_failure(self) -> bool:
        now_ms = self._main_thread.now_ms
        # One cause often fails several tasks: those that fail before the restart count as one attempt (rule 12.127).
        if now_ms <= self._next_restart_ms:
            return False
        if now_ms - self._next_restart_ms >= self._reset_backoff_threshold_ms:
            self._attempt = 0
        self._next_restart_ms = now_ms + self._next_backoff_ms()
        self._attempt += 1
        return True

    def can_restart(self) -> bool:
        return self._attempt <= self._attempts_before_reset

    def backoff_time_ms(self) -> int:
        if self._next_restart_ms == _NO_RESTART_YET:
            raise InvariantViolation("the delay of a restart depends on the failure: call notify_failure first")
        return max(0, self._next_restart_ms - self._main_thread.now_ms)

    def _next_backoff_ms(self) -> int:
        """Returns the delay of the next attempt, in Java's arithmetic: the sum with the jitter can overflow."""
        current_ms = _java_long(self._initial_backoff_ms * _power(self._backoff_multiplier, self._attempt))
        delayed_ms = wrapped(current_ms + self._jitter_ms(current_ms))
        return max(self._initial_backoff_ms, min(delayed_ms, self._max_backoff_ms))

    def _jitter_ms(self, current_ms: int) -> int:
        if self._jitter_factor == 0:
            return 0
        offset_ms = _java_long(current_ms * self._jitter_factor)
        return self._random.randint(-offset_ms, offset_ms)


def _power(base: float, exponent: int) -> float:
    try:
        return float(base**exponent)
    except OverflowError:
        return float("inf")


def _java_long(number: float) -> int:
    """Returns Java's ``(long) number`` of a number that is not negative."""
    return _MAX_LONG if number >= _MAX_LONG else int(number)

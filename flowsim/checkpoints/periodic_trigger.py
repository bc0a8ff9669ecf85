"""When periodic checkpoints are requested. Flink: CheckpointCoordinator.ScheduledTrigger (rule 12.43)."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final

from flowsim.checkpoints.checkpoint_coordinator_configuration import (
    DISABLED_CHECKPOINT_INTERVAL,
    CheckpointCoordinatorConfiguration,
)
from flowsim.checkpoints.main_thread_executor import MainThreadExecutor
from flowsim.sim.scheduler import Timer

_NEVER: Final = 2**63 - 1


class PeriodicTrigger:
    """Calls ``trigger`` at a fixed rate; another rate applies while a source processes backlog.

    Flink: CheckpointCoordinator.ScheduledTrigger.
    """

    __slots__ = (
        "_backlog_operators",
        "_configuration",
        "_first_delay_ms",
        "_is_started",
        "_main_thread",
        "_next_trigger_ms",
        "_scheduled",
        "_trigger",
    )

    def __init__(
        self,
        configuration: CheckpointCoordinatorConfiguration,
        main_thread: MainThreadExecutor,
        random: Random,
        trigger: Callable[[], None],
    ) -> None:
        self._configuration = configuration
        self._main_thread = main_thread
        self._trigger = trigger
        self._first_delay_ms = _first_delay_ms(configuration, random)
        self._is_started = False
        self._scheduled: Timer | None = None
        self._next_trigger_ms = _NEVER
        self._backlog_operators: set[str] = set()

    @property
    def is_started(self) -> bool:
        return self._is_started

    def start(self) -> None:
        """Schedules the first request: after a random delay, after a restart when the minimum pause is over."""
        self._is_started = True
        self._cancel()
        self._schedule(self._main_thread.now_ms, self._first_delay_ms)
        self._first_delay_ms = self._configuration.min_pause_ms

    def stop(self) -> None:
        """Cancels the next request."""
        self._is_started = False
        self._cancel()

    def reschedule(self, now_ms: int, delay_ms: int) -> None:
        """Moves the next request; the following ones follow at the usual rate."""
        self._cancel()
        self._schedule(now_ms, delay_ms)

    def set_is_processing_backlog(self, operator_id: str, is_processing_backlog: bool) -> None:
        """Changes the rate if this is the first source that starts, or the last one that ends its backlog."""
        if is_processing_backlog:
            self._backlog_operators.add(operator_id)
        else:
            self._backlog_operators.discard(operator_id)
        interval_ms = self._interval_ms
        now_ms = self._main_thread.now_ms
        if interval_ms != DISABLED_CHECKPOINT_INTERVAL and now_ms + interval_ms < self._next_trigger_ms:
            self.reschedule(now_ms, interval_ms)

    @property
    def _interval_ms(self) -> int:
        if self._backlog_operators:
            return self._configuration.base_interval_during_backlog_ms
        return self._configuration.base_interval_ms

    def _schedule(self, now_ms: int, delay_ms: int) -> None:
        self._next_trigger_ms = now_ms + delay_ms
        self._scheduled = self._main_thread.schedule(self._on_timer, delay_ms)

    def _cancel(self) -> None:
        if self._scheduled is not None:
            self._scheduled.cancel()
            self._scheduled = None
            self._next_trigger_ms = _NEVER

    def _on_timer(self) -> None:
        interval_ms = self._interval_ms
        if interval_ms == DISABLED_CHECKPOINT_INTERVAL:
            self._scheduled = None
            self._next_trigger_ms = _NEVER
        else:
            self._next_trigger_ms += interval_ms
            # From the planned time, not from now: a late trigger does not shift those after it (rule 12.43).
            delay_ms = max(0, self._next_trigger_ms - self._main_thread.now_ms)
            self._scheduled = self._main_thread.schedule(self._on_timer, delay_ms)
        self._trigger()


def _first_delay_ms(configuration: CheckpointCoordinatorConfiguration, random: Random) -> int:
    """Returns the random delay of the first request; 0 if there are no periodic requests."""
    if not configuration.is_periodic:
        return 0
    pause_ms = configuration.min_pause_ms
    if configuration.pauses_sources_until_first_checkpoint:
        return random.randint(pause_ms, 2 * pause_ms)
    # Jobs that a cluster restarts together do not take their checkpoints at the same time (rule 12.43).
    return random.randint(pause_ms, configuration.base_interval_ms)

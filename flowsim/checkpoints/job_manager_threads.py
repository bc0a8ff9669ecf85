"""The time of the job manager, and where it runs its actions. Flink: Clock, ScheduledExecutor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

Action = Callable[[], None]


class Clock(Protocol):
    """The clock of the job manager, in ms. Flink: Clock."""

    def absolute_time_ms(self) -> int:
        """Returns the time since the epoch; timestamps of checkpoints use it."""
        ...

    def relative_time_ms(self) -> int:
        """Returns a time that never goes back; delays and pauses use it."""
        ...


class Executor(Protocol):
    """Runs actions later, in the order of the calls."""

    def execute(self, action: Action) -> None:
        """Runs the action in a turn of its own."""
        ...


class ScheduledFuture(Protocol):
    """A scheduled action."""

    def cancel(self) -> None:
        """Prevents the action, unless it has run."""
        ...


class ScheduledExecutor(Executor, Protocol):
    """An executor with timers. Flink: ScheduledExecutor."""

    def schedule(self, action: Action, delay_ms: int) -> ScheduledFuture:
        """Runs the action in a turn of its own after the delay."""
        ...


@dataclass(frozen=True, slots=True)
class JobManagerExecutors:
    """The threads of a job manager; a simulation may use one for all."""

    main: Executor
    """Owns the execution graph."""
    io: Executor
    """Reads and writes files."""
    timer: ScheduledExecutor
    """Owns the checkpoints."""

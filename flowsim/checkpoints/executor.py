"""Where the job manager runs its actions. Flink: ScheduledExecutor; Java: Executor, ScheduledFuture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

Action = Callable[[], None]


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

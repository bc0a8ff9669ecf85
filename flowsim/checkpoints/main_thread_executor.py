"""The main thread of the job manager. Flink: ComponentMainThreadExecutor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from flowsim.sim.scheduler import Timer

Action = Callable[[], None]


class MainThreadExecutor(Protocol):
    """Runs the job manager's actions, in the order of the calls; it is also Flink's threads for timers and files.

    A Protocol, because its implementation, the job manager's actor, needs an event loop, which this package does not
    know. Flink: ComponentMainThreadExecutor.
    """

    @property
    def now_ms(self) -> int:
        """The time of the job manager, in ms."""
        ...

    def execute(self, action: Action) -> None:
        """Runs the action in a turn of its own."""
        ...

    def schedule(self, action: Action, delay_ms: int) -> Timer:
        """Runs the action in a turn of its own after the delay."""
        ...

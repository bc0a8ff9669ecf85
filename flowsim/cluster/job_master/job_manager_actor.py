"""The actor that runs the job's side of checkpoints: one action after the other, in virtual time.

Flink: the main thread of the JobMaster, and the timer thread of its CheckpointCoordinator.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from flowsim.checkpoints.main_thread_executor import Action
from flowsim.sim.origin import Origin
from flowsim.sim.scheduler import Scheduler, Timer
from flowsim.tasks.actor import Actor
from flowsim.units import NS_PER_MS


class JobManagerActor:
    """The main thread of a job manager: runs each action in a turn of its own, in the order of the calls.

    ``must_progress``: True while tasks wait for a checkpoint; only then do timers keep the run alive.
    """

    def __init__(self, actor_id: int, scheduler: Scheduler, must_progress: Callable[[], bool]) -> None:
        self._origin = Origin("master", actor_id)
        self.actor = Actor(actor_id, "job manager", scheduler, self._run)
        self._scheduler = scheduler
        self._must_progress = must_progress
        self._actions: deque[Action] = deque()
        self._is_closed = False

    def execute(self, action: Action) -> None:
        """Runs the action in a turn of its own."""
        if not self._is_closed:
            self._actions.append(action)
            self.actor.wake()

    def execute_last(self, action: Action) -> None:
        """Runs the action in a turn of its own, once no other action waits."""
        self.execute(lambda: self.execute_last(action) if self._actions else action())

    def schedule(self, action: Action, delay_ms: int) -> Timer:
        """Runs the action in a turn of its own after the delay."""
        when_ns = self._scheduler.now_ns + delay_ms * NS_PER_MS
        return self._scheduler.call_at_ns(
            when_ns, lambda: self.execute(action), daemon_while_not=self._must_progress, origin=self._origin
        )

    @property
    def now_ns(self) -> int:
        """The time of the job in ns."""
        return self._scheduler.now_ns

    @property
    def now_ms(self) -> int:
        """The time of the job in ms."""
        return self._scheduler.now_ns // NS_PER_MS

    def close(self) -> None:
        """Drops the actions that have not run."""
        self._is_closed = True
        self._actions.clear()
        self.actor.wake()

    def _run(self) -> None:
        while True:
            self.actor.wait_until(lambda: bool(self._actions) or self._is_closed)
            if self._is_closed:
                return
            self._actions.popleft()()
            self.actor.spend(0)

"""Threads that run what they are given: timers and snapshots under the lock, callbacks without it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from flowsim.sim.scheduler import Scheduler
from flowsim.tasks.actor import Actor
from flowsim.tasks.legacy.checkpoint_lock import CheckpointLock
from flowsim.tasks.legacy.locked_thread import LockedThread, MakeBatches


class LockedExecutor(LockedThread):
    """Runs commands one by one, each under the lock: the timer thread of Flink 1.8, and who triggers its checkpoints."""

    def __init__(
        self, actor_id: int, task: str, name: str, scheduler: Scheduler, lock: CheckpointLock, make: MakeBatches,
        on_failure: Callable[[Exception], None],
    ) -> None:  # fmt: skip
        super().__init__(actor_id, task, name, scheduler, lock, make, on_failure)
        self._commands: deque[Callable[[], None]] = deque()

    def execute(self, command: Callable[[], None]) -> None:
        """Once it has the lock, and all commands before this one ran."""
        self._commands.append(command)
        self.actor.wake()

    def work(self) -> None:
        while True:
            self.batches.waiting_for = "something to do"
            self.actor.wait_until(lambda: self.is_stopped or bool(self._commands))
            if self.is_stopped:
                return
            self.acquire()
            self._commands.popleft()()
            self.release()


class CallbackExecutor:
    """Runs callbacks one by one, in no time and without the lock. Flink 1.8: the executor of an async operator."""

    def __init__(self, actor_id: int, task: str, name: str, scheduler: Scheduler, on_run: Callable[[], None]) -> None:
        self.actor = Actor(actor_id, f"{task}, {name}", scheduler, self._run)
        self._callbacks: deque[Callable[[], None]] = deque()
        self._on_run = on_run
        self._is_stopped = False

    def execute(self, callback: Callable[[], None]) -> None:
        self._callbacks.append(callback)
        self.actor.wake()

    def stop(self) -> None:
        self._is_stopped = True
        self.actor.wake()

    def _run(self) -> None:
        """The body of the actor."""
        while True:
            self.actor.wait_until(lambda: self._is_stopped or bool(self._callbacks))
            if self._is_stopped:
                return
            self._callbacks.popleft()()
            self._on_run()

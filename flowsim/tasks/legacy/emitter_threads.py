"""The threads of one async operator of the legacy design. Flink (1.2 to 1.9): Emitter, AsyncWaitOperator."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from flowsim.sim.scheduler import Scheduler
from flowsim.tasks.actor import Actor
from flowsim.tasks.legacy.checkpoint_lock import CheckpointLock
from flowsim.tasks.legacy.locked_executor import CallbackExecutor
from flowsim.tasks.legacy.locked_thread import LockedThread, MakeBatches

if TYPE_CHECKING:
    from flowsim.tasks.legacy.locked_stream_task import LockedStreamTask


class EmitterThread(LockedThread):
    """Waits for an element that is done, takes the lock, emits it, and so on (rule 11.32)."""

    def __init__(
        self, actor_id: int, task: str, name: str, scheduler: Scheduler, lock: CheckpointLock, make: MakeBatches,
        on_failure: Callable[[Exception], None],
    ) -> None:  # fmt: skip
        super().__init__(actor_id, task, name, scheduler, lock, make, on_failure)
        self._has_completed_element: Callable[[], bool] | None = None
        self._emit: Callable[[], None]

    def start(self, has_completed_element: Callable[[], bool], emit: Callable[[], None]) -> None:
        self._emit = emit
        self._has_completed_element = has_completed_element
        self.actor.wake()

    def work(self) -> None:
        while True:
            self.batches.waiting_for = "an element that is done"
            self.actor.wait_until(lambda: self.is_stopped or self._has_work())
            if self.is_stopped:
                return
            self.acquire()
            self._emit()
            self.release()

    def _has_work(self) -> bool:
        return self._has_completed_element is not None and self._has_completed_element()


class EmitterThreads:
    """``LegacyThreads`` of one operator: its emitter, and the executor that tells it what is done (rule 11.30)."""

    def __init__(self, task: LockedStreamTask, operator_index: int, operator: str) -> None:
        self._task = task
        self._index = operator_index
        self._operator = operator
        self.emitter = task.add_thread(EmitterThread, f"emitter of '{operator}'")
        self.emitter.entry = operator_index
        self._executor = CallbackExecutor(
            task.new_actor_id(), task.name, f"executor of '{operator}'", task.scheduler, self.emitter.actor.wake
        )

    @property
    def executor_actor(self) -> Actor:
        return self._executor.actor

    def start_emitter(self, has_completed_element: Callable[[], bool], emit: Callable[[], None]) -> None:
        self.emitter.start(has_completed_element, emit)

    def execute(self, callback: Callable[[], None]) -> None:
        self._executor.execute(callback)

    def wait(self, ready: Callable[[], bool], reason: str) -> None:
        if not ready():
            self._task.wait_on_lock(self._index, ready, f"{reason}, of operator '{self._operator}'")

    def fail(self, error: Exception) -> None:
        self._task.fail_from_thread(error)

    def stop(self) -> None:
        self.emitter.stop()
        self._executor.stop()

"""Threads and timers of a task that work under its checkpoint lock. Flink (until 1.9): SystemProcessingTimeService."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from flowsim.facts.kinds import ActionKind
from flowsim.legacy.checkpoint_lock import CheckpointLock, at_once
from flowsim.mailbox.mailbox_executor import MailboxExecutor
from flowsim.sim.scheduler import Scheduler
from flowsim.tasks.actor import Actor
from flowsim.tasks.batches import Batches
from flowsim.tasks.processing_time import OperatorProcessingTimeService, TaskTimers
from flowsim.tasks.time_buckets import PeriodTimer
from flowsim.timers.processing_time_service import ProcessingTimeCallback

MakeBatches = Callable[[Actor], Batches]

TASK: Final = -1
"""The value of ``entry`` for a thread that does not start after one of the chain's operators."""


class LockedThread:
    """A thread of a Flink 1.8 task. Its work while it holds the lock is one action, nested in a wait of the loop.

    The action ends whenever the thread releases the lock, even inside an element, so the task runs one action at a
    time. ``work`` is the body of the thread; an error of ``work`` is passed to ``on_failure``, on this thread.
    """

    kind = ActionKind.LOCK_HOLDER

    def __init__(
        self,
        actor_id: int,
        task: str,
        name: str,
        scheduler: Scheduler,
        lock: CheckpointLock,
        make: MakeBatches,
        on_failure: Callable[[Exception], None],
    ) -> None:
        self.name = name
        self.actor = Actor(actor_id, f"{task}, {name}", scheduler, self._run)
        self.batches = make(self.actor)
        self.is_stopped = False
        self.entry = TASK
        """Index of the operator after which the thread works, or whose timer it runs."""
        self._lock = lock
        self._on_failure = on_failure
        self._action: int | None = None
        self._paused: PeriodTimer | None = None

    def work(self) -> None:
        """Does the work of the thread until the thread is stopped."""
        raise NotImplementedError

    def acquire(self, ready: Callable[[], bool] = at_once, reason: str = "the checkpoint lock") -> None:
        """Waits for the lock and for ``ready``. A stopped thread never gets the lock."""
        self.batches.waiting_for = reason
        self._lock.acquire(self.actor, lambda: not self.is_stopped and ready())
        self.batches.begin()
        self._pause_waiting_time()
        self._action = self.batches.processor.begin_action(self.kind)

    def release(self) -> None:
        """Lets the cost of the batch pass and publishes its output, then releases the lock."""
        self.batches.end()
        self._end_action()

    def wait(self, ready: Callable[[], bool], reason: str) -> None:
        """Releases the lock in the middle of the work, and takes it back once ``ready``.

        Flink: Object.wait on the checkpoint lock.
        """
        self.batches.spend_and_publish()
        self._end_action()
        self.acquire(ready, reason)

    def stop(self) -> None:
        """Ends the thread without further work, unless the thread is inside an element."""
        self.is_stopped = True
        self.actor.wake()

    @property
    def holds_lock(self) -> bool:
        return self._lock.owner is self.actor

    def _run(self) -> None:
        """Runs ``work`` as the body of the actor."""
        try:
            self.work()
        except BaseException as raised:
            failure = self.actor.failure_of(raised)
            if not isinstance(failure, Exception):
                raise
            if self._action is not None:
                self.release()
            self._on_failure(failure)

    def _end_action(self) -> None:
        assert self._action is not None
        self.batches.processor.end_action(self.kind, self._action)
        self._action = None
        if self._paused is not None:
            self._paused.mark_start()
            self._paused = None
        self._lock.release(self.actor)

    def _pause_waiting_time(self) -> None:
        """Stops the timer of the loop's wait.

        A task whose thread works is neither idle nor back-pressured (rule 3.19).
        """
        suspension = self.batches.processor.suspension
        timer = None if suspension is None else suspension.timer
        if timer is not None and timer.is_running:
            timer.mark_end()
            self._paused = timer


class LockedExecutor(LockedThread):
    """Runs commands one by one, each under the lock: the timer thread and the checkpoint trigger of Flink 1.8."""

    def __init__(
        self,
        actor_id: int,
        task: str,
        name: str,
        scheduler: Scheduler,
        lock: CheckpointLock,
        make: MakeBatches,
        on_failure: Callable[[Exception], None],
    ) -> None:
        super().__init__(actor_id, task, name, scheduler, lock, make, on_failure)
        self._commands: deque[Callable[[], None]] = deque()

    def execute(self, command: Callable[[], None]) -> None:
        """Runs a command once the executor has the lock, after all earlier commands."""
        self._commands.append(command)
        self.actor.wake()

    def work(self) -> None:
        while True:
            self.batches.waiting_for = "a command to run"
            self.actor.wait_until(lambda: self.is_stopped or bool(self._commands))
            if self.is_stopped:
                return
            self.acquire()
            self._commands.popleft()()
            self.release()


class CallbackExecutor:
    """Runs callbacks one by one, without cost or lock. Flink 1.8: the executor of an async operator."""

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
        """Runs the callbacks, as the body of the actor."""
        while True:
            self.actor.wait_until(lambda: self._is_stopped or bool(self._callbacks))
            if self._is_stopped:
                return
            self._callbacks.popleft()()
            self._on_run()


class LockedProcessingTimeService(OperatorProcessingTimeService):
    """Runs a due timer once it has the lock, possibly while the task is inside an element.

    A timer that gets the lock only after the end of the task has no effect. Flink 1.8:
    SystemProcessingTimeService.TriggerTask.

    A timer that gets the lock only after the end has no effect. Flink 1.8: SystemProcessingTimeService.TriggerTask.
    """

    __slots__ = ("_thread", "_operator")

    def __init__(self, timers: TaskTimers, executor: MailboxExecutor, thread: LockedExecutor, operator: int) -> None:
        super().__init__(timers, executor)
        self._thread = thread
        self._operator = operator

    def _fire(self, timestamp_ms: int, callback: ProcessingTimeCallback) -> Callable[[], None]:
        def trigger() -> None:
            if not self._quiesced:
                self._thread.entry = self._operator
                callback(timestamp_ms)

        def put_task() -> None:
            if not self._quiesced:
                self._thread.execute(trigger)

        return put_task

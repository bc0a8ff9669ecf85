"""A task of several actors that one lock keeps apart. Flink 1.8: StreamTask (rules 4.1, 11.30)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from flowsim.errors import InvariantViolation
from flowsim.facts.tracer import TaskTrace
from flowsim.mailbox.mailbox_executor import MailboxExecutor
from flowsim.network.buffers.local_buffer_pool import LocalBufferPool
from flowsim.network.writers.record_writer import RecordWriter
from flowsim.operators.legacy_threads import LegacyThreads
from flowsim.operators.sources.source import SourceOperator
from flowsim.sim.scheduler import Scheduler
from flowsim.streamrecord.events import StopMode
from flowsim.tasks.actor import Actor
from flowsim.tasks.batches import BatchBudget, Batches
from flowsim.tasks.legacy.checkpoint_lock import CheckpointLock
from flowsim.tasks.legacy.emitter_threads import EmitterThreads
from flowsim.tasks.legacy.locked_batches import LockedLoopBatches
from flowsim.tasks.legacy.locked_executor import LockedExecutor
from flowsim.tasks.legacy.locked_processing_time import LockedProcessingTimeService
from flowsim.tasks.legacy.locked_thread import TASK, LockedThread
from flowsim.tasks.operator_chain import OperatorChain
from flowsim.tasks.processing_time import OperatorProcessingTimeService
from flowsim.tasks.snapshots import TaskSnapshot
from flowsim.tasks.source_operator_stream_task import SourceOperatorStreamTask
from flowsim.tasks.task_clock import TaskClock
from flowsim.tasks.task_input import TaskInput
from flowsim.tasks.task_state import TaskState

_Thread = TypeVar("_Thread", bound=LockedThread)


class LockedStreamTask(SourceOperatorStreamTask):
    """The mailbox loop is one holder of the checkpoint lock among others: emitters, timers, snapshots, a source function.

    With ``emitters`` timers and snapshots have threads of their own, since the loop may wait on the lock in the middle of
    an element; else they are mails, which comes to the same. ``new_actor_id`` numbers the threads, ``feeders`` tells of each
    operator which one feeds it, -1 of the head. Flink 1.8: StreamTask.
    """

    def __init__(
        self, task_id: int, name: str, scheduler: Scheduler, budget: BatchBudget, trace: TaskTrace | None,
        clock: TaskClock, new_actor_id: Callable[[], int], feeders: Mapping[int, int], emitters: bool = True,
    ) -> None:  # fmt: skip
        self.lock = CheckpointLock()
        super().__init__(task_id, name, scheduler, budget, trace, clock)
        self.lock.owner = self.actor
        self.new_actor_id = new_actor_id
        self.threads: list[LockedThread] = []
        self._emitters: list[EmitterThreads] = []
        self._timer_thread: LockedExecutor | None = None
        self._checkpoint_thread: LockedExecutor | None = None
        self._feeders = feeders
        self._waiting_inside: dict[Actor, int] = {}
        if emitters:
            self._timer_thread = self.add_thread(LockedExecutor, "timer thread")
            self._checkpoint_thread = self.add_thread(LockedExecutor, "checkpoint thread")

    def add_thread(self, kind: type[_Thread], name: str) -> _Thread:
        """Another holder of the lock; called before the task is wired."""
        thread = kind(
            self.new_actor_id(), self.name, name, self.scheduler, self.lock, self._create_batches, self.fail_from_thread
        )
        self.threads.append(thread)
        return thread

    def create_legacy_threads(self, operator_index: int, operator: str) -> LegacyThreads:
        threads = EmitterThreads(self, operator_index, operator)
        self._emitters.append(threads)
        return threads

    def create_processing_time(self, operator_index: int, executor: MailboxExecutor) -> OperatorProcessingTimeService:
        if self._timer_thread is None:
            return super().create_processing_time(operator_index, executor)
        return LockedProcessingTimeService(self.timers, executor, self._timer_thread, operator_index)

    def _create_batches(self, actor: Actor) -> Batches:
        kind = LockedLoopBatches if actor is self.actor else Batches
        batches = kind(actor, self.scheduler, self.timers, self.outbox, self.times, self.budget, self._note_queues)
        if isinstance(batches, LockedLoopBatches):
            batches.lock = self.lock
            batches.failure = None
            batches.reads_input = True
        else:
            batches.processor = self.mailbox_processor
        return batches

    @property
    def actors(self) -> tuple[Actor, ...]:
        """The threads first: they are ended before the task cleans up."""
        threads = (thread.actor for thread in self.threads)
        return (*threads, *(emitter.executor_actor for emitter in self._emitters), self.actor)

    def wire(self, chain: OperatorChain, task_input: TaskInput, writers: Sequence[RecordWriter]) -> None:
        super().wire(chain, task_input, writers)
        for thread in self.threads:
            thread.batches.chain = chain

    # Who has the lock works for the task, on the batches of its own.

    @property
    def _working(self) -> LockedThread | None:
        """The thread that holds the lock; None: the loop does, or nobody."""
        return next((thread for thread in self.threads if thread.holds_lock), None)

    def wait_for_buffer(self, pool: LocalBufferPool) -> None:
        """Rule 5.42, by whoever is at work: the lock is kept, and all others stand still."""
        thread = self._working
        (self.batches if thread is None else thread.batches).wait_for_buffer(pool)

    def end_inside_action(self) -> None:
        thread = self._working
        (self.batches if thread is None else thread.batches).end_inside_action()

    def wait_on_lock(self, operator_index: int, ready: Callable[[], bool], reason: str) -> None:
        """Whoever is at work waits on the lock inside of an operator (rules 11.31, 11.36)."""
        thread = self._working
        actor = self.actor if thread is None else thread.actor
        self._waiting_inside[actor] = operator_index
        try:
            if thread is None:
                self._loop.wait_on_lock(ready, reason)
            else:
                thread.wait(ready, reason)
        finally:
            del self._waiting_inside[actor]

    @property
    def _loop(self) -> LockedLoopBatches:
        if not isinstance(self.batches, LockedLoopBatches):
            raise InvariantViolation(f"{self.name} has a lock, but a loop that knows nothing of it")
        return self.batches

    def fail_from_thread(self, error: Exception) -> None:
        """Flink 1.8: OperatorActions.failOperator, AsyncExceptionHandler."""
        self.fail_externally(_raising(error))

    def fail_externally(self, fail: Callable[[], None]) -> None:
        """As a mail, and for a loop that waits on the lock in the middle of an element; the first failure counts."""
        super().fail_externally(fail)
        if self._loop.failure is None:
            try:
                fail()
            except Exception as error:
                self._loop.failure = error
        self.actor.wake()

    # Life.

    def stop(self, mode: StopMode) -> None:
        """Rule 4.20: only sources are asked."""
        if isinstance(self.chain.head, SourceOperator):
            super().stop(mode)

    def _end_data(self, mode: StopMode) -> None:
        if mode is StopMode.NO_DRAIN:
            # No element may be half done; what is in a queue belongs to the savepoint of the stop.
            self._loop.wait_on_lock(
                lambda: not self._waiting_inside, "the elements that its threads are in the middle of"
            )
        super()._end_data(mode)
        if mode is StopMode.NO_DRAIN:
            for thread in self.threads:
                if thread is not self._checkpoint_thread:
                    thread.stop()

    def _finish_partitions(self) -> None:
        super()._finish_partitions()
        self._stop_threads()

    def _clean_up(self, state: TaskState) -> None:
        super()._clean_up(state)
        self._stop_threads()

    def _stop_threads(self) -> None:
        for thread in self.threads:
            thread.stop()
        for emitter in self._emitters:
            emitter.stop()

    # Snapshots.

    def request_snapshot(self, snapshot: TaskSnapshot) -> None:
        """By a thread of its own, which needs the lock and nothing else: in the middle of an element too (rule 11.37)."""
        if self._checkpoint_thread is None:
            super().request_snapshot(snapshot)
        elif self.state.is_terminal or self._checkpoint_thread.is_stopped:
            snapshot.miss(f"the task was {self.state.value} already")
        else:
            self._checkpoint_thread.execute(lambda: self._take_snapshot(snapshot, self._inside()))

    def _inside(self) -> frozenset[int]:
        """The operators in the middle of an element: those between where a thread came in and where it waits."""
        entries = {thread.actor: thread.entry for thread in self.threads}
        inside: set[int] = set()
        for actor, operator in self._waiting_inside.items():
            entry = entries.get(actor, TASK)
            while operator != TASK:
                inside.add(operator)
                operator = TASK if operator == entry else self._feeders.get(operator, TASK)
        return frozenset(inside)

    # What is told of a task that stands still.

    @property
    def waiting_for(self) -> str:
        told = [self.batches.waiting_for, f"its checkpoint lock is {self._lock_text()}"]
        told += [
            f"its {thread.name} waits for {thread.batches.waiting_for}"
            for thread in self.threads
            if thread.holds_lock or thread.actor in self._waiting_inside or self.lock.is_awaited_by(thread.actor)
        ]
        return "; ".join(told)

    def _lock_text(self) -> str:
        owner = self.lock.owner
        if owner is None:
            return "free"
        thread = self._working
        return f"held by its {'mailbox loop' if thread is None else thread.name}"

    def _is_inside(self) -> bool:
        """Threads are not the loop: what they tell it comes by mail."""
        return self.outbox.sealed and self.actor.is_inside()


def _raising(error: Exception) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail

"""A task whose threads share a checkpoint lock (rule 11.30). Flink (until 1.9): StreamTask."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

from flowsim.errors import InvariantViolation
from flowsim.facts.kinds import WaitKind
from flowsim.facts.tracer import TaskTrace
from flowsim.legacy.async_designs import is_legacy_async
from flowsim.legacy.async_wait_operator import LegacyOperatorContext
from flowsim.legacy.checkpoint_lock import CheckpointLock, at_once
from flowsim.legacy.locked_threads import (
    TASK,
    CallbackExecutor,
    LockedExecutor,
    LockedProcessingTimeService,
    LockedThread,
    MakeBatches,
)
from flowsim.mailbox.mailbox_executor import MailboxExecutor
from flowsim.network.writers.record_writer import RecordWriter
from flowsim.operators.sources.source import SourceOperator
from flowsim.operators.stream_operator import OperatorContext
from flowsim.sim.scheduler import Scheduler
from flowsim.streamrecord.events import StopMode
from flowsim.task_clock import TaskClock
from flowsim.tasks.actor import Actor
from flowsim.tasks.batches import BatchBudget, Batches
from flowsim.tasks.inputs.task_input import TaskInput
from flowsim.tasks.operator_chain import OperatorChain
from flowsim.tasks.operator_deployment import OperatorDeployment
from flowsim.tasks.processing_time import OperatorProcessingTimeService
from flowsim.tasks.source_operator_stream_task import SourceOperatorStreamTask
from flowsim.tasks.stream_task import TaskComponents
from flowsim.tasks.task_state import TaskState


class LockedLoopBatches(Batches):
    """The loop releases the lock while it waits for mail, between two batches, and while an operator waits on the lock.

    Flink 1.8 takes the lock for every element; here it is held for a batch, during which no time passes for other
    actors.
    """

    __slots__ = ("lock", "failure", "reads_input")

    lock: CheckpointLock
    reads_input: bool
    """True if batches may be long. A loop that only runs mails soon waits for the next mail."""
    failure: Exception | None
    """The error of a thread of the task; the mailbox loop raises this error, even inside an element."""

    def wait_for_mail(self, priority: int) -> None:
        """Waits for a mail.

        Inside an element the loop keeps the lock, as with a Java monitor: all other actors of the task block (rule
        3.25).
        """
        if priority >= 0:
            super().wait_for_mail(priority)
            return
        mailbox = self.processor.mailbox
        self.spend_and_publish()
        self._give_lock_away(lambda: mailbox.has_mail)

    def wait_on_lock(self, ready: Callable[[], bool], reason: str) -> None:
        """Releases the lock inside an element until ``ready()`` is true; raises the error of a thread of the task."""
        self.spend_and_publish()
        self.waiting_for = reason
        self._give_lock_away(lambda: self.failure is not None or ready())
        if self.failure is not None:
            raise self.failure

    def end_if_due(self) -> None:
        """Ends the batch between two elements; waiting actors get the lock before the next batch."""
        if self._clock.now_ns < self._clock.batch_end_ns:
            return
        self.end()
        if self.reads_input and self.lock.is_wanted:
            self.waiting_for = "the checkpoint lock"
            self._give_lock_away(at_once)
        else:
            self.begin()

    def _give_lock_away(self, ready: Callable[[], bool]) -> None:
        self.lock.release(self.actor)
        number = self.processor.begin_wait(WaitKind.LOCK)
        self.lock.acquire(self.actor, ready)
        self.processor.end_wait(WaitKind.LOCK, number)
        self.begin()


class EmitterThread(LockedThread):
    """A thread that repeatedly waits for a completed element, takes the lock and emits the element (rule 11.32)."""

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
        self._has_completed_element: Callable[[], bool] | None = None
        self._emit: Callable[[], None]

    def start(self, has_completed_element: Callable[[], bool], emit: Callable[[], None]) -> None:
        self._emit = emit
        self._has_completed_element = has_completed_element
        self.actor.wake()

    def work(self) -> None:
        while True:
            self.batches.waiting_for = "a completed element"
            self.actor.wait_until(lambda: self.is_stopped or self._has_work())
            if self.is_stopped:
                return
            self.acquire()
            self._emit()
            self.release()

    def _has_work(self) -> bool:
        return self._has_completed_element is not None and self._has_completed_element()


class EmitterThreads:
    """The threads of one operator: its emitter, and the executor of its completions (rule 11.30)."""

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


_Thread = TypeVar("_Thread", bound=LockedThread)


class LockedTaskComponents(TaskComponents, Protocol):
    """Creates the components of the task."""

    def create_locked_loop_batches(self, task: LockedStreamTask) -> LockedLoopBatches: ...


class LockedStreamTask(SourceOperatorStreamTask):
    """A task whose mailbox loop shares the checkpoint lock with emitters, timers, snapshots and a source function.

    With ``emitters``, timers and snapshots have their own threads, because the loop may wait on the lock inside an
    element. Without emitters, timers and snapshots are mails, which is equivalent. ``new_actor_id`` numbers the
    threads; ``upstream_operators`` gives the upstream operator of each operator, -1 for the head. Flink 1.8:
    StreamTask.
    """

    def __init__(
        self,
        task_id: int,
        name: str,
        scheduler: Scheduler,
        budget: BatchBudget,
        trace: TaskTrace | None,
        clock: TaskClock,
        components: LockedTaskComponents,
        new_actor_id: Callable[[], int],
        upstream_operators: Mapping[int, int],
        emitters: bool = True,
    ) -> None:
        self.lock = CheckpointLock()
        self._locked_components = components
        super().__init__(task_id, name, scheduler, budget, trace, clock, components)
        self.lock.owner = self.actor
        self.new_actor_id = new_actor_id
        self.threads: list[LockedThread] = []
        self._emitters: list[EmitterThreads] = []
        self._timer_thread: LockedExecutor | None = None
        self._upstream_operators = upstream_operators
        self._waiting_inside: dict[Actor, int] = {}
        if emitters:
            self._timer_thread = self.add_thread(LockedExecutor, "timer thread")

    def add_thread(self, kind: type[_Thread], name: str) -> _Thread:
        """Adds another thread that uses the lock; called before the task is wired."""
        thread = kind(
            self.new_actor_id(),
            self.name,
            name,
            self.scheduler,
            self.lock,
            self._create_batches_of_thread,
            self.fail_from_thread,
        )
        self.threads.append(thread)
        return thread

    def create_operator_context(self, operator: OperatorDeployment) -> OperatorContext:
        """Creates the context; adds threads for an operator with an emitter."""
        ctx, chained = super().create_operator_context(operator), operator.chained
        if not is_legacy_async(chained):
            return ctx
        threads = EmitterThreads(self, chained.index, chained.node.name)
        self._emitters.append(threads)
        return LegacyOperatorContext.of(ctx, threads)

    def create_processing_time(self, operator_index: int, executor: MailboxExecutor) -> OperatorProcessingTimeService:
        if self._timer_thread is None:
            return super().create_processing_time(operator_index, executor)
        return LockedProcessingTimeService(self.timers, executor, self._timer_thread, operator_index)

    def _create_batches(self) -> Batches:
        batches = self._locked_components.create_locked_loop_batches(self)
        batches.lock = self.lock
        batches.failure = None
        batches.reads_input = True
        return batches

    def _create_batches_of_thread(self, actor: Actor) -> Batches:
        batches = Batches(
            actor, self.scheduler, self.timers, self.outbox, self.times, self.budget, self.record_queue_peaks
        )
        batches.processor = self.mailbox_processor
        return batches

    @property
    def actors(self) -> tuple[Actor, ...]:
        """The actors of the task, threads first: the threads end before the task cleans up."""
        threads = (thread.actor for thread in self.threads)
        return (*threads, *(emitter.executor_actor for emitter in self._emitters), self.actor)

    def wire(self, chain: OperatorChain, task_input: TaskInput, writers: Sequence[RecordWriter]) -> None:
        super().wire(chain, task_input, writers)
        for thread in self.threads:
            thread.batches.chain = chain

    # The owner of the lock works for the task, in its own batches.

    @property
    def _working(self) -> LockedThread | None:
        """The thread that holds the lock; None if the mailbox loop or no actor holds the lock."""
        return next((thread for thread in self.threads if thread.holds_lock), None)

    @property
    def working(self) -> Batches:
        """The batches of the current thread, which keeps the lock while it waits: other actors block (rule 5.42)."""
        thread = self._working
        return self.batches if thread is None else thread.batches

    def wait_on_lock(self, operator_index: int, ready: Callable[[], bool], reason: str) -> None:
        """Lets the current thread wait on the lock inside an operator (rules 11.31, 11.36)."""
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
            raise InvariantViolation(f"{self.name} has a checkpoint lock, but its mailbox loop does not use the lock")
        return self.batches

    def fail_from_thread(self, error: Exception) -> None:
        """Fails the task from one of its threads. Flink 1.8: OperatorActions.failOperator, AsyncExceptionHandler."""
        self.fail_externally(_raising(error))

    def fail_externally(self, fail: Callable[[], None]) -> None:
        """Fails the task by a mail, and directly if the loop waits on the lock; the first failure counts."""
        super().fail_externally(fail)
        if self._loop.failure is None:
            try:
                fail()
            except Exception as error:
                self._loop.failure = error
        self.actor.wake()

    # Life cycle.

    def stop(self, mode: StopMode) -> None:
        """Stops the task if its head is a source; otherwise does nothing (rule 4.20)."""
        if isinstance(self.chain.head, SourceOperator):
            super().stop(mode)

    def _end_data(self, mode: StopMode) -> None:
        if mode is StopMode.NO_DRAIN:
            # No element may be incomplete; the queues' contents belong to the savepoint of the stop.
            self._loop.wait_on_lock(lambda: not self._waiting_inside, "the elements that its threads are processing")
        super()._end_data(mode)
        if mode is StopMode.NO_DRAIN:
            for thread in self.threads:
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

    @property
    def operators_inside_element(self) -> frozenset[int]:
        """The operators inside an element: from a thread's entry point to the point where it waits (rule 11.37)."""
        entries = {thread.actor: thread.entry for thread in self.threads}
        inside: set[int] = set()
        for actor, operator in self._waiting_inside.items():
            entry = entries.get(actor, TASK)
            while operator != TASK:
                inside.add(operator)
                operator = TASK if operator == entry else self._upstream_operators.get(operator, TASK)
        return frozenset(inside)

    # Reports of a blocked task.

    @property
    def waiting_for(self) -> str:
        texts = [self.batches.waiting_for, f"its checkpoint lock is {self._lock_text()}"]
        texts += [
            f"its {thread.name} waits for {thread.batches.waiting_for}"
            for thread in self.threads
            if thread.holds_lock or thread.actor in self._waiting_inside or self.lock.is_awaited_by(thread.actor)
        ]
        return "; ".join(texts)

    def _lock_text(self) -> str:
        owner = self.lock.owner
        if owner is None:
            return "free"
        thread = self._working
        return f"held by its {'mailbox loop' if thread is None else thread.name}"

    def _is_inside(self) -> bool:
        """True if the mailbox loop itself runs now: other threads of the task send it mails."""
        return self.outbox.sealed and self.actor.is_inside()


def _raising(error: Exception) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail

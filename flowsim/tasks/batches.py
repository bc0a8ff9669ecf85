"""The batches of a task: how long it runs before other tasks have their turn, and how it waits (decisions D2, D4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from mypy_extensions import mypyc_attr

from flowsim.facts.kinds import WaitKind
from flowsim.facts.schema import OUTPUT_FULL
from flowsim.network.buffers.local_buffer_pool import LocalBufferPool
from flowsim.network.outbox import Outbox
from flowsim.sim.scheduler import Scheduler
from flowsim.tasks.actor import Actor
from flowsim.tasks.checkpointing.task_checkpoints import TaskCheckpoints
from flowsim.tasks.mailbox_processor import MailboxProcessor
from flowsim.tasks.operator_chain import OperatorChain
from flowsim.tasks.processing_time import TaskTimers
from flowsim.tasks.time_buckets import TimeBuckets

_SCALE = 1_000_000
_MOST_ACTIONS = 200_000
"""After so many actions without a cost, the run looks whether the task processes anything."""


class BatchBudget(NamedTuple):
    """The batch size: about ``records`` elements; 1 ends the batch after each element.

    ``longest_ns``: the longest batch in a job with checkpoints, so that triggers and notifications do not wait longer.
    """

    records: int
    longest_ns: int | None = None


@mypyc_attr(allow_interpreted_subclasses=True)
class Batches:
    """Runs one actor of a task in batches: at the end of a batch its cost passes and its output is published.

    Before the actor waits, its batch ends: the cost passes and the output is published. There are only the four wait
    points of decision D2. ``on_begin`` is called before every batch.
    """

    __slots__ = (
        "actor",
        "waiting_for",
        "on_batch_end",
        "chain",
        "processor",
        "_on_begin",
        "_scheduler",
        "_clock",
        "_timers",
        "_outbox",
        "_times",
        "_budget",
        "_start_ns",
        "_actions",
        "_acted_ns",
        "on_standstill",
        "_is_paused",
        "_failure",
    )

    def __init__(
        self,
        actor: Actor,
        scheduler: Scheduler,
        timers: TaskTimers,
        outbox: Outbox,
        times: TimeBuckets,
        budget: BatchBudget,
        on_begin: Callable[[], None],
    ) -> None:
        self.actor = actor
        self.waiting_for = "its first turn"
        """The text of what the actor waits for, shown in the wait-for report of a deadlock."""
        self.on_batch_end: Callable[[], None] | None = None
        """A function that is called after every published batch, for the progress display."""
        self.on_standstill: Callable[[bool], bool] | None = None
        """A function that is called after 200,000 actions at one time; returns True if the run was ended."""
        self._actions = 0
        """The actions of the batch since the task's clock last advanced."""
        self._acted_ns = 0
        self.chain: OperatorChain
        """The operators for which the batch sets the cost of records; set when the task is wired."""
        self.processor: MailboxProcessor
        """The loop of the task; set when the task is created."""
        self._on_begin = on_begin
        self._scheduler = scheduler
        self._clock = timers.clock
        self._timers = timers
        self._outbox = outbox
        self._times = times
        self._budget = budget
        self._start_ns = 0
        self._is_paused = False
        self._failure: Callable[[], None] | None = None

    def begin(self) -> None:
        """Starts a batch."""
        self._on_begin()
        self._clock.now_ns = self._start_ns = start_ns = self._scheduler.now_ns
        record_ns = self._charge()
        longest_ns = self._budget.records * (record_ns or 1) if self._budget.records > 1 else 0
        if self._budget.longest_ns is not None:
            longest_ns = min(longest_ns, self._budget.longest_ns)
        if self._scheduler.has_due_events:
            longest_ns = 0  # The mail of an event that is due waits for one element at most, as in Flink.
        self._timers.begin_batch(start_ns, longest_ns)
        self._outbox.sealed = True

    def _charge(self) -> int:
        """Sets the cost of records for the new batch; returns the nominal cost of a record that passes the whole chain."""
        chain = self.chain
        if self._scheduler.is_virtual:
            chain.scale_costs(self._scheduler.scale_cost_ns(self.actor.actor_id, _SCALE), _SCALE)
            return chain.cost_ns
        # Real time passes by itself: the minimal cost only counts the records, so that the budget ends the batch.
        chain.set_costs(1)
        return len(chain.wrappers)

    def spend_and_publish(self) -> None:
        """Ends a batch: lets the cost of the batch pass, then publishes its output."""
        cost_ns = self._clock.now_ns - self._start_ns
        if cost_ns > 0:
            self._wait(WaitKind.COST, lambda: self.actor.spend(cost_ns))
        self._publish()

    def end_if_due(self) -> None:
        """Ends the batch if its time is over, so that other tasks have their turn (the thread scheduler of D2)."""
        now_ns = self._clock.now_ns
        if now_ns >= self._clock.batch_end_ns:
            self.end_batch_and_yield()
            return
        self._actions = self._actions + 1 if now_ns == self._acted_ns else 0
        self._acted_ns = now_ns
        if self._actions >= _MOST_ACTIONS:
            self._actions = 0
            self.waiting_for = "its next turn"
            if self.on_standstill is not None and self.on_standstill(False):
                self.end_batch_and_yield()

    def end_inside_action(self) -> None:
        """Ends the batch if it is due, inside an action between two interruptible timers."""
        if self._clock.now_ns >= self._timers.batch_limit_ns:
            self.end_batch_and_yield()

    def end_batch_and_yield(self) -> None:
        """Ends the batch and starts another batch."""
        self.end()
        self.begin()

    def end(self) -> None:
        """Ends and publishes the batch, and lets other ready tasks run first even if the batch cost nothing."""
        cost_ns = self._clock.now_ns - self._start_ns
        self._wait(WaitKind.COST, lambda: self.actor.spend(cost_ns))
        self._publish()

    def _publish(self) -> None:
        self._outbox.publish()
        if self.on_batch_end is not None:
            self.on_batch_end()

    def pause_until(self, until_ns: int) -> None:
        """Stands still inside an action until a time: what came before leaves now, and mails of the pause come next.

        Raises the error of a failure from outside, which ends the pause.
        """
        self.spend_and_publish()
        paused_ns = until_ns - self._clock.now_ns
        self._clock.now_ns = until_ns
        self._is_paused = True
        self._wait(WaitKind.COST, lambda: self.actor.spend(paused_ns))
        self._is_paused = False
        self.begin()
        if self._failure is not None:
            self._failure()

    def fail_in_pause(self, fail: Callable[[], None]) -> None:
        """Ends a pause with the error that ``fail`` raises, as Flink interrupts the thread of a task that fails."""
        if self._is_paused:
            self._failure = fail
            self.actor.interrupt()

    def block(self, kind: WaitKind, ready: Callable[[], bool], reason: str) -> None:
        """Ends and publishes the batch, then waits until ``ready``."""
        self.spend_and_publish()
        if not ready():
            self.waiting_for = reason
            self._wait(kind, lambda: self.actor.wait_until(ready))
        self.begin()

    def _wait(self, kind: WaitKind, wait: Callable[[], None]) -> None:
        processor = self.processor
        soft = kind is not WaitKind.COST and self._times.soft.is_running
        priority = OUTPUT_FULL if soft else -1
        number = processor.begin_wait(kind, priority)
        wait()
        processor.end_wait(kind, number, priority)

    def wait_for_mail(self, priority: int) -> None:
        mailbox = self.processor.mailbox
        reason = f"a mail of priority {priority} or above" if priority >= 0 else self.waiting_for
        self.block(WaitKind.MAIL, lambda: mailbox.has_mail_of(priority), reason)

    def wait_for_checkpoints(self, checkpoints: TaskCheckpoints) -> None:
        """Waits until the asynchronous parts of all checkpoints have run (rule 4.17)."""
        if checkpoints.has_pending_checkpoints:
            self.block(WaitKind.CHECKPOINT, lambda: not checkpoints.has_pending_checkpoints, "its checkpoints")

    def wait_for_buffer(self, pool: LocalBufferPool) -> None:
        """Waits for a buffer inside an element: hard back pressure, during which no mail runs (rule 5.42)."""
        self._times.hard.mark_start()

        def ready() -> bool:
            if not pool.available:
                pool.on_available.append(self.actor.wake)
            return pool.available

        self.block(WaitKind.BUFFER, ready, "a buffer beyond the overdraft, inside an element")
        self._times.hard.mark_end()

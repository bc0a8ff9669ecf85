"""How long a task works before others have their turn, and how it waits (architecture decisions D2, D4)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flowsim.facts.kinds import WaitKind
from flowsim.facts.schema import OUTPUT_FULL
from flowsim.network.buffers.local_buffer_pool import LocalBufferPool
from flowsim.network.outbox import Outbox
from flowsim.sim.scheduler import Scheduler
from flowsim.tasks.actor import Actor
from flowsim.tasks.mailbox_processor import MailboxProcessor
from flowsim.tasks.operator_chain import OperatorChain
from flowsim.tasks.processing_time import TaskTimers
from flowsim.tasks.time_buckets import TimeBuckets

_SCALE = 1_000_000


@dataclass(frozen=True, slots=True)
class BatchBudget:
    """How long a task runs before it gives way: about ``records`` elements; 1 gives way after each."""

    records: int


class Batches:
    """The batches of one actor of a task: each runs on the task's clock, is paid for, and is published at its end.

    Whatever makes the actor wait ends its batch first: the cost is spent and what was written is published. These are
    the four points of decision D2, and there is no other. ``on_begin`` is called before every batch.
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
        """What the actor waits for, told in the wait-for report of a deadlock."""
        self.on_batch_end: Callable[[], None] | None = None
        """Called after every published batch: progress is shown from here."""
        self.chain: OperatorChain
        """Its records cost what the batch charges; set when the task is wired."""
        self.processor: MailboxProcessor
        """The loop of the task; set when the task is made."""
        self._on_begin = on_begin
        self._scheduler = scheduler
        self._clock = timers.clock
        self._timers = timers
        self._outbox = outbox
        self._times = times
        self._budget = budget
        self._start_ns = 0

    def begin(self) -> None:
        """A batch starts now."""
        self._on_begin()
        self._clock.now_ns = self._start_ns = start_ns = self._scheduler.now_ns
        record_ns = self._charge()
        longest_ns = self._budget.records * (record_ns or 1) if self._budget.records > 1 else 0
        self._timers.begin_batch(start_ns, longest_ns)
        self._outbox.sealed = True

    def _charge(self) -> int:
        """Sets what records cost in the batch that begins; the nominal cost of one that passes the whole chain."""
        chain = self.chain
        if self._scheduler.is_virtual:
            chain.scale_costs(self._scheduler.scale_cost_ns(self.actor.actor_id, _SCALE), _SCALE)
            return chain.cost_ns
        # Time passes by itself: the least there is only counts the records, so that the budget ends the batch.
        chain.set_costs(1)
        return len(chain.wrappers)

    def spend_and_publish(self) -> None:
        """The end of a batch: its cost passes, then what it did is visible."""
        cost_ns = self._clock.now_ns - self._start_ns
        if cost_ns > 0:
            self._wait(WaitKind.COST, lambda: self.actor.spend(cost_ns))
        self._outbox.publish()

    def end_if_due(self) -> None:
        """The thread scheduler of D2: other tasks have their turn once the batch is over."""
        if self._clock.now_ns >= self._clock.batch_end_ns:
            self.give_way()

    def end_inside_action(self) -> None:
        """The same in the middle of an action that asks whether anybody waits: between two interruptible timers."""
        if self._clock.now_ns >= self._timers.batch_limit_ns:
            self.give_way()

    def give_way(self) -> None:
        """Ends the batch and begins another."""
        self.end()
        self.begin()

    def end(self) -> None:
        """Spends the batch, publishes it, and lets other ready tasks go first even if it cost nothing."""
        cost_ns = self._clock.now_ns - self._start_ns
        self._wait(WaitKind.COST, lambda: self.actor.spend(cost_ns))
        self._outbox.publish()
        if self.on_batch_end is not None:
            self.on_batch_end()

    def block(self, kind: WaitKind, ready: Callable[[], bool], reason: str) -> None:
        """Waits until ``ready``, the batch spent and published before."""
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

    def wait_for_buffer(self, pool: LocalBufferPool) -> None:
        """Rule 5.42: hard back pressure, inside an element; no mail runs."""
        self._times.hard.mark_start()

        def ready() -> bool:
            if not pool.available:
                pool.on_available.append(self.actor.wake)
            return pool.available

        self.block(WaitKind.BUFFER, ready, "a buffer beyond the overdraft, inside an element")
        self._times.hard.mark_end()

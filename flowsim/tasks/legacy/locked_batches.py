"""The batches of a mailbox loop that shares its task with threads: it works while it holds the checkpoint lock."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.facts.kinds import WaitKind
from flowsim.tasks.batches import Batches
from flowsim.tasks.legacy.checkpoint_lock import CheckpointLock, at_once


class LockedLoopBatches(Batches):
    """The loop gives the lock away while it waits for mail, between two batches, and where an operator waits on it.

    Flink 1.8 takes the lock for every element; here it is kept for a batch, in which no time passes for others.
    """

    __slots__ = ("lock", "failure", "reads_input")

    lock: CheckpointLock
    reads_input: bool
    """Whether it may be busy for long; one that only runs mails waits for the next soon enough."""
    failure: Exception | None
    """What a thread of the task failed with: the loop raises it, in the middle of an element too."""

    def wait_for_mail(self, priority: int) -> None:
        """Waiting inside an element keeps the lock, as Java's monitor would: all others stand still (rule 3.25)."""
        if priority >= 0:
            super().wait_for_mail(priority)
            return
        mailbox = self.processor.mailbox
        self.spend_and_publish()
        self._give_lock_away(lambda: mailbox.has_mail)

    def wait_on_lock(self, ready: Callable[[], bool], reason: str) -> None:
        """In the middle of an element."""
        self.spend_and_publish()
        self.waiting_for = reason
        self._give_lock_away(lambda: self.failure is not None or ready())
        if self.failure is not None:
            raise self.failure

    def end_if_due(self) -> None:
        """Between two elements: whoever waits for the lock has it first."""
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

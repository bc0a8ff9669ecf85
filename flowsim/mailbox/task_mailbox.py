"""The queue of mails of one task. Flink: TaskMailbox, TaskMailboxImpl (rules 3.1-3.10)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import Enum

from mypy_extensions import mypyc_attr

from flowsim.errors import FlowsimError, WouldBlock
from flowsim.facts.kinds import MailAction
from flowsim.facts.tracer import TaskTrace
from flowsim.mailbox.mail import Mail


class MailboxState(Enum):
    """The state of a mailbox: OPEN accepts and returns mails, QUIESCED only returns them, CLOSED does neither.

    Flink: TaskMailbox.State.
    """

    OPEN = "OPEN"
    QUIESCED = "QUIESCED"
    CLOSED = "CLOSED"


class MailboxClosedException(FlowsimError):
    """The mailbox no longer accepts (or returns) mails. Flink: MailboxClosedException."""


@mypyc_attr(allow_interpreted_subclasses=True)
class TaskMailbox:
    """A queue that all callers may fill, and a batch from which only the task takes mails. Flink: TaskMailboxImpl.

    Invariants: urgent mails precede all others in the queue, the last one first; no put succeeds after ``quiesce``
    (I3.c). ``on_put`` is called after every put: the shell wakes the task with it. ``is_mailbox_thread`` is true only
    in the task itself, not in code that acts for it.
    """

    __slots__ = ("_queue", "_batch", "_count", "state", "on_put", "trace", "is_mailbox_thread")

    def __init__(
        self,
        on_put: Callable[[], None] | None = None,
        trace: TaskTrace | None = None,
        is_mailbox_thread: Callable[[], bool] = lambda: True,
    ) -> None:
        self._queue: deque[Mail] = deque()
        self._batch: deque[Mail] = deque()
        self._count = 0
        self.state = MailboxState.OPEN
        self.on_put = on_put
        self.trace = trace
        self.is_mailbox_thread = is_mailbox_thread

    def put(self, mail: Mail) -> None:
        """Enqueues a mail (rule 3.1). Raises MailboxClosedException unless the mailbox is OPEN."""
        if self.state is not MailboxState.OPEN:
            raise MailboxClosedException(f"Mailbox is in state {self.state.value}, but is required to be in state OPEN")
        mail.number = self._count
        self._count += 1
        if mail.urgent:
            self._put_first(mail)
        else:
            self._queue.append(mail)
        if self.trace is not None:
            self.trace.mail(MailAction.PUT, mail.number, mail.priority, mail.urgent)
        if self.on_put is not None:
            self.on_put()

    def _put_first(self, mail: Mail) -> None:
        """Enqueues an urgent mail (rule 3.5).

        If the task itself puts the mail, it goes to the front of the batch, to keep urgent mails first in, first out.
        """
        batch = self._batch
        if batch and not batch[0].urgent and not self._urgent_waits and self.is_mailbox_thread():
            batch.appendleft(mail)
        else:
            # Waiting urgent mails are in reverse order, and are reversed again when they move to the batch.
            self._queue.appendleft(mail)

    @property
    def _urgent_waits(self) -> bool:
        return bool(self._queue) and self._queue[0].urgent

    @property
    def has_mail(self) -> bool:
        return bool(self._batch or self._queue)

    def __len__(self) -> int:
        return len(self._batch) + len(self._queue)

    def create_batch(self) -> bool:
        """Moves waiting mails into an empty batch, or urgent mails to the front of the batch.

        Returns True if the batch has any mail (rule 3.2).
        """
        if self._take_urgent() or not self._batch:
            self._batch.extend(self._queue)
            self._queue.clear()
        return bool(self._batch)

    def try_take_from_batch(self) -> Mail | None:
        """Takes the next mail of the batch, of any priority; None if there is none (rule 3.3)."""
        self._check_take()
        self._take_urgent()
        return self.taken(self._batch.popleft()) if self._batch else None

    def try_take(self, priority: int) -> Mail | None:
        """Takes the first mail of at least this priority; None if there is none.

        The batch comes before the queue (rule 3.4).
        """
        self._check_take()
        self._take_urgent()
        return self._take_from(self._batch, priority) or self._take_from(self._queue, priority)

    def take_nowait(self, priority: int) -> Mail:
        """Takes a mail as ``try_take`` does. Raises WouldBlock if there is none."""
        mail = self.try_take(priority)
        if mail is None:
            raise WouldBlock(f"no mail of priority {priority} or above")
        return mail

    def take_arrived_nowait(self, priority: int) -> Mail:
        """Ends a wait for a mail of at least this priority (rule 3.4).

        Takes the mail directly from the queue, where the last urgent mail is first.

        Raises WouldBlock if there is none.
        """
        mail = self._take_from(self._queue, priority)
        if mail is None:
            raise WouldBlock(f"no mail of priority {priority} or above")
        return mail

    def has_mail_of(self, priority: int) -> bool:
        """Returns True if ``try_take(priority)`` would find a mail."""
        return any(m.priority >= priority for m in self._batch) or any(m.priority >= priority for m in self._queue)

    def drain(self) -> list[Mail]:
        """Empties the mailbox and returns its mails: first the batch, then the queue (rule 3.9)."""
        mails = [*self._batch, *self._queue]
        self._batch.clear()
        self._queue.clear()
        return mails

    def quiesce(self) -> None:
        """Rejects further puts; mails can still be taken (rule 3.9)."""
        if self.state is MailboxState.OPEN:
            self.state = MailboxState.QUIESCED

    def close(self) -> list[Mail]:
        """Drains and closes the mailbox. Returns an empty list if it was already closed (rule 3.9)."""
        if self.state is MailboxState.CLOSED:
            return []
        mails = self.drain()
        self.state = MailboxState.CLOSED
        return mails

    def _check_take(self) -> None:
        if self.state is MailboxState.CLOSED:
            raise MailboxClosedException("Mailbox is in state CLOSED, but is required to be in state OPEN or QUIESCED")

    def _take_urgent(self) -> bool:
        """Moves waiting urgent mails to the front of the batch, unless the batch starts with an urgent mail.

        Returns True if it moved mails.
        """
        queue, batch = self._queue, self._batch
        if not self._urgent_waits or (batch and batch[0].urgent):
            return False
        while queue and queue[0].urgent:
            batch.appendleft(queue.popleft())
        return True

    def _take_from(self, mails: deque[Mail], priority: int) -> Mail | None:
        for index, mail in enumerate(mails):
            if mail.priority >= priority:
                del mails[index]
                return self.taken(mail)
        return None

    def taken(self, mail: Mail) -> Mail:
        """Records that the task took ``mail`` to run it."""
        if self.trace is not None:
            self.trace.mail(MailAction.RUN, mail.number, mail.priority, mail.urgent)
        return mail

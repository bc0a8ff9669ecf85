"""Lets an operator enqueue mails in its task and wait for them. Flink: MailboxExecutorImpl (rules 3.20-3.23)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from mypy_extensions import mypyc_attr

from flowsim.mailbox.mail import Mail, MailFuture, MailOptions
from flowsim.mailbox.task_mailbox import MailboxState, TaskMailbox

T = TypeVar("T")


@mypyc_attr(allow_interpreted_subclasses=True)
class MailboxExecutor:
    """Mails of one priority: an operator's chain index, or -1 for the task. Flink: MailboxExecutorImpl.

    ``yield_to(priority, block)`` runs one mail of at least that priority inside the current action and returns whether
    it did; with ``block`` it waits for one. ``give_others_time`` lets the cost of the work so far pass, so that mails
    of other tasks can arrive. The task provides both functions. ``operator``: its name, for failures.
    """

    __slots__ = ("mailbox", "priority", "operator", "_yield_to", "_is_suspended", "_give_others_time")

    def __init__(
        self,
        mailbox: TaskMailbox,
        priority: int,
        yield_to: Callable[[int, bool], bool],
        is_default_action_suspended: Callable[[], bool] = lambda: False,
        give_others_time: Callable[[], None] = lambda: None,
        operator: str | None = None,
    ) -> None:
        self.mailbox = mailbox
        self.priority = priority
        self.operator = operator
        self._yield_to = yield_to
        self._is_suspended = is_default_action_suspended
        self._give_others_time = give_others_time

    def execute(
        self, command: Callable[[], None], description: str, options: MailOptions = MailOptions.DEFAULT
    ) -> None:
        """Enqueues a mail; raises MailboxClosedException if the mailbox is quiesced."""
        self.mailbox.put(Mail(command, self.priority, description, options, self.operator))

    def submit(self, command: Callable[[], T], description: str) -> MailFuture[T]:
        """Enqueues a command with a result; the returned future is cancelled if the mail is dropped."""
        future = MailFuture(command)
        self.execute(future, description)
        return future

    def yield_(self) -> None:
        """Waits for one mail of at least this priority and runs it inside the current action (rule 3.21).

        Errors of the mail are raised here (rule 3.22).
        """
        self._yield_to(self.priority, True)

    def try_yield(self) -> bool:
        """Runs one mail of at least this priority if there is one; returns False if there is none."""
        return self._yield_to(self.priority, False)

    def should_interrupt(self) -> bool:
        """True if the mailbox has any mail (rule 3.23)."""
        if not self.mailbox.has_mail:
            self._give_others_time()
        return self.mailbox.has_mail

    def is_idle(self) -> bool:
        """True if the default action is suspended, there is no mail and the mailbox is open (rule 3.23)."""
        return self._is_suspended() and not self.mailbox.has_mail and self.mailbox.state is MailboxState.OPEN

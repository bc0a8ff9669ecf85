"""How an operator hands work to its task and waits for it. Flink: MailboxExecutorImpl (rules 3.20-3.23)."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.mailbox.mail import Mail, MailOptions
from flowsim.mailbox.task_mailbox import MailboxState, TaskMailbox


class MailboxExecutor:
    """Mails of one priority: an operator's chain index, or -1 for the task. Flink: MailboxExecutorImpl.

    ``run_mail`` runs one mail as an action of the task; ``wait_for_mail`` blocks until a mail of at least the given
    priority is there. Both come from the shell.
    """

    __slots__ = ("mailbox", "priority", "_run_mail", "_wait_for_mail", "_is_suspended")

    def __init__(
        self,
        mailbox: TaskMailbox,
        priority: int,
        run_mail: Callable[[Mail], None],
        wait_for_mail: Callable[[int], None],
        is_default_action_suspended: Callable[[], bool] = lambda: False,
    ) -> None:
        self.mailbox = mailbox
        self.priority = priority
        self._run_mail = run_mail
        self._wait_for_mail = wait_for_mail
        self._is_suspended = is_default_action_suspended

    def execute(
        self, command: Callable[[], None], description: str, options: MailOptions = MailOptions.DEFAULT
    ) -> None:
        """Puts a mail; raises MailboxClosedException once the mailbox is quiesced."""
        self.mailbox.put(Mail(command, self.priority, description, options))

    def yield_(self) -> None:
        """Waits for one mail of at least this priority and runs it on top of the current action (rule 3.21)."""
        mail = self.mailbox.try_take(self.priority)
        if mail is None:
            self._wait_for_mail(self.priority)
            mail = self.mailbox.take_nowait(self.priority)
        self._run_mail(mail)

    def try_yield(self) -> bool:
        """Runs one such mail if there is one; whether it did."""
        mail = self.mailbox.try_take(self.priority)
        if mail is None:
            return False
        self._run_mail(mail)
        return True

    def should_interrupt(self) -> bool:
        """Whether the mailbox has any mail (rule 3.23)."""
        return self.mailbox.has_mail

    def is_idle(self) -> bool:
        """Default action suspended, no mail, mailbox open (rule 3.23)."""
        return self._is_suspended() and not self.mailbox.has_mail and self.mailbox.state is MailboxState.OPEN

"""One unit of work for a task's mailbox. Flink: Mail, MailboxExecutor.MailOptions."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Final

from flowsim.mailbox.mail_future import MailFuture

MIN_PRIORITY: Final = -1
"""Priority of the main mailbox executor (rule 3.8)."""

MAX_PRIORITY: Final = 2**31 - 1
"""Priority of control mails (rule 3.14)."""


class MailOptions(Enum):
    """Flink: MailboxExecutor.MailOptions."""

    DEFAULT = "default"
    URGENT = "urgent"
    """Overtakes the mails that are not urgent, but not the priority filter (rules 3.5, 3.6)."""
    DEFERRABLE = "deferrable"
    """Never runs inside an operator's yield (rule 3.7)."""


class Mail:
    """A command with a priority and a description for people. Flink: Mail."""

    __slots__ = ("command", "priority", "urgent", "description", "number")

    def __init__(
        self, command: Callable[[], None], priority: int, description: str, options: MailOptions = MailOptions.DEFAULT
    ) -> None:
        self.command = command
        self.priority = MIN_PRIORITY if options is MailOptions.DEFERRABLE else priority  # rule 3.7
        self.urgent = options is MailOptions.URGENT
        self.description = description
        self.number = -1
        """Count of the mail in its mailbox, set when it is put."""

    def run(self) -> None:
        self.command()

    def try_cancel(self) -> None:
        """Cancels a command that is a future; others are merely forgotten (rule 3.9)."""
        if isinstance(self.command, MailFuture):
            self.command.cancel()

    def __repr__(self) -> str:
        return self.description

"""A mail, its options, and the future of a submitted mail. Flink: Mail, MailboxExecutor.MailOptions."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Final, Generic, TypeVar

from flowsim.errors import WouldBlock

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
        self.command: Callable[[], None] = command
        self.priority: int = MIN_PRIORITY if options is MailOptions.DEFERRABLE else priority  # rule 3.7
        self.urgent: bool = options is MailOptions.URGENT
        self.description: str = description
        self.number: int = -1
        """Count of the mail in its mailbox, set when it is put."""

    def run(self) -> None:
        self.command()

    def try_cancel(self) -> None:
        """Cancels a command that is a future; others are merely forgotten (rule 3.9)."""
        if isinstance(self.command, MailFuture):
            self.command.cancel()

    def __repr__(self) -> str:
        return self.description


T = TypeVar("T")


class MailFuture(Generic[T]):
    """The command of a mail that keeps its result; its error stays in it too, and fails no task. Flink: FutureTask.

    It is pending until it ran or was cancelled, and then stays as it is: a cancelled one does nothing when it is run.
    """

    __slots__ = ("_command", "_result", "_error", "done", "cancelled")

    def __init__(self, command: Callable[[], T]) -> None:
        self._command = command
        self._result: list[T] = []
        self._error: Exception | None = None
        self.done: bool = False
        self.cancelled: bool = False

    def __call__(self) -> None:
        if self.done:
            return
        try:
            self._result.append(self._command())
        except Exception as error:
            self._error = error
        self.done = True

    def cancel(self) -> bool:
        """Whether it was still pending."""
        if self.done:
            return False
        self.done = self.cancelled = True
        return True

    def result_nowait(self) -> T:
        """What the command answered; raises its error, or WouldBlock when it did not run to its end."""
        if self._error is not None:
            raise self._error
        if not self._result:
            raise WouldBlock("the mail was cancelled" if self.cancelled else "the mail has not run yet")
        return self._result[0]

"""A mail, its options, and the future of a submitted mail. Flink: Mail, MailboxExecutor.MailOptions."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Final, Generic, TypeVar

from flowsim.errors import WouldBlock
from flowsim.failure_location import note_operator

MIN_PRIORITY: Final = -1
"""Priority of the main mailbox executor (rule 3.8)."""

MAX_PRIORITY: Final = 2**31 - 1
"""Priority of control mails (rule 3.14)."""


class MailOptions(Enum):
    """The options of a mail. Flink: MailboxExecutor.MailOptions."""

    DEFAULT = "default"
    URGENT = "urgent"
    """The mail overtakes mails that are not urgent, but does not bypass the priority filter (rules 3.5, 3.6)."""
    DEFERRABLE = "deferrable"
    """The mail never runs inside an operator's yield (rule 3.7)."""


class Mail:
    """A command with a priority and a description. Flink: Mail."""

    __slots__ = ("command", "priority", "urgent", "description", "operator", "number")

    def __init__(
        self,
        command: Callable[[], None],
        priority: int,
        description: str,
        options: MailOptions = MailOptions.DEFAULT,
        operator: str | None = None,
    ) -> None:
        """``operator``: the operator whose code it runs, for failures; None for the task's own mails."""
        self.command: Callable[[], None] = command
        self.priority: int = MIN_PRIORITY if options is MailOptions.DEFERRABLE else priority  # rule 3.7
        self.urgent: bool = options is MailOptions.URGENT
        self.description: str = description
        self.operator: str | None = operator
        self.number: int = -1
        """Number of the mail in its mailbox, assigned when the mail is enqueued."""

    def run(self) -> None:
        try:
            self.command()
        except BaseException as error:
            if self.operator is not None:
                note_operator(error, self.operator)
            raise

    def try_cancel(self) -> None:
        """Cancels a command that is a future; other commands are only dropped (rule 3.9)."""
        if isinstance(self.command, MailFuture):
            self.command.cancel()

    def __repr__(self) -> str:
        return self.description


T = TypeVar("T")


class MailFuture(Generic[T]):
    """The future of a mail's command. An error of the command is stored, and does not fail the task. Flink: FutureTask.

    The future is pending until the command ran or was cancelled. Then its state is final; running a cancelled command
    has no effect.
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
        """Cancels the command. Returns True if it was pending."""
        if self.done:
            return False
        self.done = self.cancelled = True
        return True

    def result_nowait(self) -> T:
        """Returns the command's result. Raises the command's error, or WouldBlock if the command has not completed."""
        if self._error is not None:
            raise self._error
        if not self._result:
            raise WouldBlock("the mail was cancelled" if self.cancelled else "the mail has not run yet")
        return self._result[0]

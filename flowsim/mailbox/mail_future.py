"""A command whose outcome somebody waits for. Flink: FutureTaskWithException."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from flowsim.errors import WouldBlock

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
        self.done = False
        self.cancelled = False

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

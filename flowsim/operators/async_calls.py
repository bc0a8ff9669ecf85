"""The interface through which operators start asynchronous calls; the shell implements it (architecture decision D2)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, runtime_checkable


class CancellableCall(Protocol):
    """A pending asynchronous call.

    A Protocol, because this package does not know the event loop.
    """

    def cancel(self) -> None:
        """Drops the answer of the call. Has no effect after the answer arrived."""


class AsyncCalls(Protocol):
    """Starts calls whose answers arrive outside of the task, at any time.

    A callback must not process elements itself: it enqueues a mail. Answers that arrive after the mailbox is closed are
    lost, as the answers of a thread in Flink are (rule 11.16).
    """

    def after(self, delay_ns: int, answer: Callable[[], None]) -> CancellableCall:
        """Calls ``answer`` after ``delay_ns`` of the job's clock, in addition to the cost of the work so far."""

    def run(
        self,
        call: Coroutine[Any, Any, object],
        answer: Callable[[object, BaseException | None], None],
        check: Callable[[object], None] | None = None,
    ) -> CancellableCall:
        """Runs a coroutine on the job's loop; ``answer`` gets its result, or None and any error.

        ``check`` validates the result; its errors count as errors of the call. If the task ends first, the call is
        cancelled and ``answer`` is not called.
        """

    def on_loop(self, answer: Callable[[], None], operator: str, value: object) -> None:
        """Calls ``answer`` on the thread of the job: at once there, from other threads as soon as possible, in order
        per thread.

        On the virtual clock another thread gets VirtualClockRefusal, and the task fails at ``value``, the answered
        record of ``operator``.
        """

    def run_at_end(self, closing: Coroutine[Any, Any, object]) -> None:
        """Runs a coroutine that releases shared resources, when the job has ended and no call is pending."""


@runtime_checkable
class HasPendingAnswers(Protocol):
    """An operator that can describe its pending answers.

    A Protocol, because two operators of different packages do.
    """

    @property
    def pending_elements_text(self) -> str:
        """Describes the pending answers; empty if no answer is pending."""

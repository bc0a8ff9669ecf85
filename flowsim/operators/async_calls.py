"""The door through which operators start what is answered later; the shell opens it (architecture decision D2)."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, runtime_checkable


class CancellableCall(Protocol):
    """A call under way."""

    def cancel(self) -> None:
        """Its answer will not come; harmless when it already came."""


class AsyncCalls(Protocol):
    """Starts calls whose answers come outside of the task, whatever it is doing then.

    What is called back must not work for the task itself: it hands a mail to it. Answers that come once the mailbox is
    closed are lost, as a thread of Flink's would lose them (rule 11.16).
    """

    def after(self, delay_ns: int, answer: Callable[[], None]) -> CancellableCall:
        """Calls ``answer`` when ``delay_ns`` of the job's clock have passed, the work so far included."""

    def run(
        self,
        call: Coroutine[Any, Any, object],
        answer: Callable[[object, BaseException | None], None],
        check: Callable[[object], None] | None = None,
    ) -> CancellableCall:
        """Runs a coroutine on the job's loop; ``answer`` gets its result, or None and its error, whatever that is.

        What ``check`` raises over the result is such an error. The call is cancelled, and answers nothing, when the task
        ends before it.
        """

    def on_loop(self, answer: Callable[[], None], operator: str, value: object) -> None:
        """Calls ``answer``: now on the thread of the job, else there as soon as it can, those of one thread in their order.

        On the virtual clock another thread is refused with VirtualClockRefusal, and the task fails over ``value``, the
        record of ``operator`` that was answered.
        """

    def run_at_end(self, closing: Coroutine[Any, Any, object]) -> None:
        """Runs a coroutine when the job is over and no call is under way any more: it gives back what calls shared."""


@runtime_checkable
class WaitsForAnswers(Protocol):
    """An operator that can tell which answers it waits for."""

    @property
    def what_it_waits_for(self) -> str:
        """For people; empty where it waits for none."""

"""What actors need of an event loop, on both clocks (architecture decision D4).

The virtual clock implements it in ``virtual_time_loop``, the real clock in ``real_clock``. Time is an integer number of
nanoseconds, always above 0 (rule 0.5); ``call_at_ns`` is not asyncio's ``call_at``, which takes seconds.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol


class Timer(Protocol):
    """A scheduled callback."""

    def cancel(self) -> None:
        """The callback will not run; harmless when it already ran."""


class Scheduler(Protocol):
    """Time, timers and the turns of actors. An actor is known by its small integer id, given by its creator."""

    @property
    def now_ns(self) -> int:
        """Nanoseconds; virtual, or the epoch on the real clock."""

    @property
    def is_virtual(self) -> bool:
        """Whether waiting costs no real time."""

    def call_at_ns(
        self, when_ns: int, callback: Callable[[], None], *, daemon_while_not: Callable[[], bool] | None = None
    ) -> Timer:
        """Runs ``callback`` at ``when_ns`` (at once when that has passed), before any actor's turn at that time.

        With ``daemon_while_not`` the timer keeps the run alive only while that answers True; it must be free of
        effects. An error raised by ``callback`` ends the run.
        """

    def call_from_thread(self, callback: Callable[[], None]) -> None:
        """Runs ``callback`` on the loop's thread soon; safe in all threads, and nothing once the loop is closed.

        When that is depends on the machine, so in virtual time it is only for what ends the run.
        """

    def park(self, actor: int) -> Awaitable[None]:
        """Awaited by the actor itself: ends when a ``wake`` came *and* the policy gave this actor its turn."""

    def wake(self, actor: int) -> None:
        """Makes a parked actor ready; remembered when the actor is not parked now; idempotent."""

    def unpark(self, actor: int) -> None:
        """Takes back a ``park`` that was cancelled: the actor is not parked any more; a ``wake`` stays remembered."""

    def scale_cost_ns(self, actor: int, cost_ns: int) -> int:
        """The cost a batch is charged: seeded policies scale it (D4), FIFO does not, the real clock charges 0."""

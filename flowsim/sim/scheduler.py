"""The interface of event loops for actors, on both clocks (architecture decision D4).

The virtual clock implements it in ``virtual_time_loop``, the real clock in ``real_clock``. Time is an integer number of
nanoseconds, always above 0 (rule 0.5); ``call_at_ns`` is not asyncio's ``call_at``, which takes seconds.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from flowsim.sim.origin import Drawn, Origin


class Timer(Protocol):
    """A scheduled callback."""

    def cancel(self) -> None:
        """Cancels the callback; no effect after it ran."""


class Scheduler(Protocol):
    """Time, timers and the turns of actors. An actor is identified by a small integer id from its creator."""

    @property
    def now_ns(self) -> int:
        """The current time in nanoseconds; virtual time, or the epoch on the real clock."""

    @property
    def is_virtual(self) -> bool:
        """True if waiting takes no real time."""

    @property
    def explores_arrivals(self) -> bool:
        """True if the order of arrivals is explored: then each channel has a connection of its own."""

    @property
    def separates_elements(self) -> bool:
        """True if each element that leaves at once travels in a buffer of its own, so that others can come between."""

    def can_act_before_reading(self, actor: int) -> bool:
        """True if it is a choice whether the actor emits something periodically, such as a watermark, before its source
        reads the next record. (Answers and timeouts of calls give the same results before that record as after it.)
        """

    def on_failure(self) -> None:
        """Called when a task fails, which has an effect on every other task, and on what the sinks hold at that time."""

    @property
    def explores_time(self) -> bool:
        """True if the exploration decides what happens while tasks could run, with the network of the job."""

    def on_clock_read(self) -> None:
        """Called if an operator reads the processing time while ``explores_arrivals``."""

    def draw(self, what: Drawn, numbers: Sequence[int], index: int, actor: int, edge: int = -1) -> int:
        """Returns one of the numbers, of which Flink draws one; ``index``: of the one that the seed draws."""

    @property
    def has_due_events(self) -> bool:
        """True if events of the present time have not run yet, because the policy gave an actor its turn before them."""

    def call_at_ns(
        self,
        when_ns: int,
        callback: Callable[[], None],
        *,
        daemon_while_not: Callable[[], bool] | None = None,
        origin: Origin | None = None,
    ) -> Timer:
        """Runs ``callback`` at ``when_ns`` (at once if that has passed), before any actor's turn at that time.

        ``origin`` represents the thread whose event this is in Flink. Events of one origin run in order of their time and
        creation. A policy may choose the order of events of different origins at one time, and turns between them. None:
        no thread's event, it only lets an actor continue or observes the job; it runs before the events of its time.

        With ``daemon_while_not`` the timer keeps the run alive only while that returns True; the function must have no
        side effects. An error raised by ``callback`` ends the run.
        """

    def call_from_thread(self, callback: Callable[[], None]) -> None:
        """Runs ``callback`` on the loop's thread soon.

        Every thread may call it; it has no effect after the loop is closed.

        The time depends on the machine, so in virtual time use it only to end the run.
        """

    def park(self, actor: int) -> Awaitable[None]:
        """Suspends the actor that awaits it.

        Returns after a ``wake`` *and* when the policy gave this actor its turn.
        """

    def reaches_turn(self, actor: int, own: Timer | None = None) -> bool:
        """Runs events of tasks until it is the turn of ``actor``, which waits and is not parked; in the actor's own callback.

        False: something else comes before its turn, or may come; the actor must ``park``. ``own``: a timer that only wakes
        this actor.
        """

    def wake(self, actor: int) -> None:
        """Makes a parked actor ready; idempotent. If the actor is not parked, the next ``park`` finds the wake."""

    def unpark(self, actor: int) -> None:
        """Undoes a cancelled ``park``: the actor is no longer parked; a ``wake`` stays remembered."""

    def scale_cost_ns(self, actor: int, cost_ns: int) -> int:
        """Returns the cost of a batch: seeded policies scale it (D4), FIFO does not, the real clock returns 0."""

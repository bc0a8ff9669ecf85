"""The greenlet bridge: one coroutine drives synchronous code that can block (architecture decision D3)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from greenlet import getcurrent, greenlet

from flowsim.errors import EscapedExit, InvariantViolation
from flowsim.sim.scheduler import Scheduler, Timer

_T = TypeVar("_T")
_END_TRIES: Final = 100


class Actor:
    """Runs a synchronous ``body`` in one persistent greenlet, which blocks by switching to the coroutine ``run``.

    Life cycle: created; running, from its first turn in the scheduler; blocked, inside ``wait_until``, ``spend`` or
    ``result_of``; done when the body returned, raised, or was ended. Cancelling ``run`` ends the body: a CancelledError
    is raised where the body blocks, and again at every later attempt to block. So its ``finally`` blocks run but cannot
    wait. No greenlet outlives ``run``: a suspended greenlet is never garbage-collected.

    Invariants: only the body's greenlet blocks; ``_waits`` is True only while that greenlet is inside ``wait_until``;
    ``_owes`` is True only while time of a ``spend`` is left.
    """

    __slots__ = (
        "_body",
        "_charges",
        "_greenlet",
        "_is_blocked",
        "_is_ended",
        "_leave",
        "_owes",
        "_scheduler",
        "_waits",
        "actor_id",
        "name",
    )

    def __init__(self, actor_id: int, name: str, scheduler: Scheduler, body: Callable[[], None]) -> None:
        self.actor_id = actor_id
        self.name = name
        self._scheduler = scheduler
        self._body = body
        self._charges = scheduler.is_virtual
        self._greenlet: greenlet | None = None
        self._leave: Callable[[], object] = self._refuse_to_block
        self._waits = False
        self._owes = False
        self._is_blocked = False
        self._is_ended = False

    @property
    def is_done(self) -> bool:
        """True if the body has ended."""
        return self._greenlet is not None and bool(self._greenlet.dead)

    def failure_of(self, error: BaseException) -> BaseException:
        """Returns ``error``, or EscapedExit if asyncio or greenlet would misinterpret ``error``.

        A CancelledError that flowsim did not throw into the body, a GreenletExit, a SystemExit and similar errors come
        from user code. Without the replacement asyncio would cancel, greenlet would return silently, and the program
        would end.
        """
        if self._is_ended or isinstance(error, KeyboardInterrupt):
            return error
        if isinstance(error, Exception) and not isinstance(error, StopIteration):
            return error
        return EscapedExit(error)

    def is_inside(self) -> bool:
        """True if the body itself runs now; False in other code while the body is blocked."""
        return not self._is_blocked and getcurrent() is self._greenlet

    async def run(self) -> None:
        """Runs the body to its end; raises its error. The scheduler also chooses when the first turn runs."""
        if self._greenlet is not None:
            raise InvariantViolation(f"actor {self.name} was started twice")
        driver = getcurrent()
        self._greenlet = bridge = greenlet(self._body, driver)
        # The same context object: variables that the body sets are visible in the coroutine, and vice versa.
        bridge.gr_context = driver.gr_context
        self._leave = driver.switch
        scheduler, actor_id, enter = self._scheduler, self.actor_id, bridge.switch
        scheduler.wake(actor_id)
        while not bridge.dead:
            try:
                await scheduler.park(actor_id)
            except BaseException as error:
                scheduler.unpark(actor_id)
                self._end(bridge, error)
            else:
                enter()

    def wait_until(self, ready: Callable[[], bool]) -> None:
        """Blocks the body until ``ready()`` is true; checks at once, and again after every ``wake``.

        Code that makes ``ready()`` true must call ``wake`` afterwards.
        """
        self._check_inside()
        while not ready():
            self._waits = True
            self._block()
            self._waits = False

    def spend(self, cost_ns: int) -> None:
        """Blocks the body for ``cost_ns`` of virtual time; ``interrupt`` shortens it, ``wake`` does not.

        With cost 0, and always on the real clock, the actor yields: it becomes ready again after the other ready
        actors.
        """
        self._check_inside()
        if cost_ns <= 0 or not self._charges:
            self._scheduler.wake(self.actor_id)
            self._block()
            return
        scheduler = self._scheduler
        due_ns = scheduler.now_ns + cost_ns
        timer = scheduler.call_at_ns(due_ns, self._spent)
        self._owes = True
        try:
            while self._owes:
                self._block(timer)
        except BaseException:
            timer.cancel()
            raise
        if scheduler.now_ns < due_ns:
            timer.cancel()

    def interrupt(self) -> None:
        """Ends a ``spend`` of the body now."""
        if self._owes:
            self._spent()

    def result_of(self, awaitable: Awaitable[_T]) -> _T:
        """Blocks the body until ``awaitable`` is done; returns its result or raises its error."""
        self._check_inside()
        future = asyncio.ensure_future(awaitable)
        future.add_done_callback(lambda _: self.wake())
        try:
            self.wait_until(future.done)
        except BaseException:
            future.cancel()
            raise
        return future.result()

    def wake(self) -> None:
        """Notifies ``wait_until`` of a change; may be called at any time."""
        # A body that does not wait calls ready() itself before it waits, so nothing must be stored.
        if self._waits:
            self._scheduler.wake(self.actor_id)

    def _block(self, own: Timer | None = None) -> None:
        """Waits for the next turn; leaves the greenlet if anything but events of tasks comes before it.

        ``own``: the timer of a ``spend``.
        """
        self._is_blocked = True
        try:
            if self._is_ended or not self._scheduler.reaches_turn(self.actor_id, own):
                self._leave()
        finally:
            self._is_blocked = False

    def _spent(self) -> None:
        self._owes = False
        self._scheduler.wake(self.actor_id)

    def _check_inside(self) -> None:
        if not self.is_inside():
            self._refuse_to_block()

    def _refuse_to_block(self) -> None:
        raise InvariantViolation(
            f"actor {self.name} was called to block outside of its own body",
            (f"the body is {'running or blocked' if self._greenlet else 'not started'}", f"it runs {self._body!r}"),
        )

    def _end(self, bridge: greenlet, error: BaseException) -> None:
        """Throws ``error`` until the greenlet has ended; raises the body's last error."""
        self._waits = False
        self._is_ended = True
        steps: list[str] = []
        for _ in range(_END_TRIES):
            bridge.throw(error)
            if bridge.dead:
                return
            frame = bridge.gr_frame and bridge.gr_frame.f_back  # _block, called by the method that blocks.
            if frame is not None and frame.f_back is not None and len(steps) < 5:
                steps.append(f"blocks again: {frame.f_back.f_code.co_qualname}:{frame.f_back.f_lineno}")
        raise InvariantViolation(
            f"actor {self.name} continues after {_END_TRIES} attempts to end it with {type(error).__name__}: "
            "its body must not suppress this exception",
            tuple(steps),
        )

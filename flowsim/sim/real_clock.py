"""The real clock: the same actors on uvloop, in real time (architecture decision D4)."""

from __future__ import annotations

import asyncio
import threading
import time
from asyncio import AbstractEventLoop, Future
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from flowsim.sim.close_down import end_others
from flowsim.sim.origin import Origin
from flowsim.sim.run_virtual import in_free_thread
from flowsim.sim.scheduler import Timer
from flowsim.sim.signal_handler import interrupts_of_run
from flowsim.sim.unexplored import Unexplored

_T = TypeVar("_T")


def new_real_loop() -> AbstractEventLoop:
    """Creates a uvloop event loop, or asyncio's own loop if uvloop is not available (Windows)."""
    try:
        from uvloop import new_event_loop
    except ImportError:
        return asyncio.new_event_loop()
    return new_event_loop()


class RealTimer:
    """A callback at a time of the real clock; it never runs early."""

    __slots__ = ("_callback", "_clock", "_handle", "_when_ns")

    def __init__(self, clock: RealClock, when_ns: int, callback: Callable[[], None]) -> None:
        self._clock = clock
        self._when_ns = when_ns
        self._callback = callback
        self._arm()

    def cancel(self) -> None:
        self._handle.cancel()

    def _arm(self) -> None:
        delay_ns = self._when_ns - self._clock.now_ns
        loop = self._clock.loop
        self._handle = loop.call_soon(self._fire) if delay_ns <= 0 else loop.call_later(delay_ns / 1e9, self._fire)

    def _fire(self) -> None:
        # uvloop rounds to milliseconds and counts from the start of its round.
        if self._clock.now_ns < self._when_ns:
            self._arm()
            return
        try:
            self._callback()
        except Exception as error:
            self._clock.fail(error)


class RealClock(Unexplored):
    """A ``Scheduler`` over a real event loop.

    A woken actor runs in the loop's next iteration; the machine determines the order, there is no policy and no replay.
    Work takes real time, so batches cost 0 and only yield. ``daemon_while_not`` has no meaning here: external input may
    always arrive, so quiescence cannot be detected.
    """

    is_virtual = False
    has_due_events = False

    def __init__(self, loop: AbstractEventLoop) -> None:
        self.loop = loop
        # Epoch time that never decreases, even if the system clock is changed.
        self._offset_ns = time.time_ns() - time.monotonic_ns()
        self._parked: dict[int, Future[None]] = {}
        self._woken: set[int] = set()
        self._main: asyncio.Task[Any] | None = None
        self._failure: Exception | None = None

    @property
    def now_ns(self) -> int:
        return self._offset_ns + time.monotonic_ns()

    def call_at_ns(
        self,
        when_ns: int,
        callback: Callable[[], None],
        *,
        daemon_while_not: Callable[[], bool] | None = None,
        origin: Origin | None = None,
    ) -> RealTimer:
        return RealTimer(self, when_ns, callback)

    def call_from_thread(self, callback: Callable[[], None]) -> None:
        try:
            self.loop.call_soon_threadsafe(callback)
        except RuntimeError:
            if not self.loop.is_closed():
                raise

    def park(self, actor: int) -> Awaitable[None]:
        future: Future[None] = self.loop.create_future()
        self._parked[actor] = future
        if actor in self._woken:
            # One iteration of the loop must pass, or an actor that always has work would starve sockets and timers.
            self.loop.call_soon(self._resume, actor, future)
        return future

    def reaches_turn(self, actor: int, own: Timer | None = None) -> bool:
        """Returns False: sockets and timers of asyncio may come before the turn."""
        return False

    def wake(self, actor: int) -> None:
        future = self._parked.get(actor)
        if future is None or future.done():
            self._woken.add(actor)
        else:
            self._resume(actor, future)

    def unpark(self, actor: int) -> None:
        self._parked.pop(actor, None)

    def scale_cost_ns(self, actor: int, cost_ns: int) -> int:
        return 0

    def _resume(self, actor: int, future: Future[None]) -> None:
        if self._parked.get(actor) is future:
            del self._parked[actor]
            self._woken.discard(actor)
            if not future.done():
                future.set_result(None)

    def fail(self, error: Exception) -> None:
        """Ends the run with ``error`` of a timer."""
        if self._failure is None:
            self._failure = error
            if self._main is not None:
                self._main.cancel()

    async def run(self, main: Coroutine[Any, Any, _T]) -> _T:
        """Returns the result of ``main``, or raises the error of a timer."""
        self._main = asyncio.current_task()
        try:
            result = await main
        except asyncio.CancelledError:
            if self._failure is None:
                raise
        if self._failure is not None:
            raise self._failure
        return result


def run_real(main: Callable[[RealClock], Coroutine[Any, Any, _T]]) -> _T:
    """Runs ``main(clock)`` on a real event loop (uvloop if available) and returns the result.

    If a loop is already running (a notebook), the run uses a separate thread. Ctrl-C cancels ``main`` and raises
    KeyboardInterrupt.
    """
    tasks: list[tuple[AbstractEventLoop, asyncio.Task[Any]]] = []
    interrupted = threading.Event()

    async def run() -> _T:
        task = asyncio.current_task()
        loop = asyncio.get_running_loop()
        if task is not None:
            tasks.append((loop, task))
            if interrupted.is_set():
                task.cancel()
        clock = RealClock(loop)
        return await clock.run(main(clock))

    def start() -> _T:
        with interrupts_of_run() as interrupts, asyncio.Runner(loop_factory=new_real_loop) as runner:
            interrupts.stop_with(interrupt)
            try:
                result = runner.run(run())
            except asyncio.CancelledError:
                if interrupted.is_set():
                    raise KeyboardInterrupt from None
                raise
            finally:
                # The runner would wait forever for a task that ignores its cancellation.
                runner.get_loop().run_until_complete(end_others())
                interrupts.end()
        if interrupted.is_set():
            raise KeyboardInterrupt
        return result

    def interrupt() -> None:
        interrupted.set()
        for loop, task in tasks:
            with suppress(RuntimeError):  # The loop may be closed by now.
                loop.call_soon_threadsafe(task.cancel)

    return in_free_thread(start, interrupt)

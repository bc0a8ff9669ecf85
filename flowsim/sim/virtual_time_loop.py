"""An asyncio event loop whose clock jumps to the next timer when nothing is ready (architecture decision D4)."""

from __future__ import annotations

import asyncio
import sys
import threading
from asyncio import Future, events
from collections import deque
from collections.abc import Awaitable, Callable, Generator
from contextvars import Context, copy_context
from functools import partial
from itertools import islice, repeat
from typing import Any, Final, TypeVar, TypeVarTuple, Unpack

from mypy_extensions import mypyc_attr

from flowsim.errors import Deadlock, VirtualClockRefusal
from flowsim.sim.asyncio_services import AsyncioServices
from flowsim.sim.choices import Choices
from flowsim.sim.due_events import DueEvents
from flowsim.sim.ends_of_loops import Stop, UntilReached, raise_again, raise_interrupt, raise_stop
from flowsim.sim.handles import VirtualHandle, VirtualTimer
from flowsim.sim.origin import Origin
from flowsim.sim.policy import ChoiceRecorder, FifoPolicy, SchedulingPolicy
from flowsim.sim.scheduler import Timer
from flowsim.sim.standstill import Livelock as Livelock
from flowsim.sim.standstill import OnStandstill, Standstill
from flowsim.sim.timer_heap import TimerHeap
from flowsim.sim.turns import Turns
from flowsim.sim.unexplored import Unexplored

START_NS: Final = 1_000_000_000
"""Virtual time starts at one second: Flink treats a clock of 0 as "not started" (rule 0.5)."""

_LIVELOCK_CALLBACKS = 10_000_000
_UNLIMITED: Final = sys.maxsize

_T = TypeVar("_T")
_Ts = TypeVarTuple("_Ts")


@mypyc_attr(native_class=False)
class VirtualTimeLoop(Unexplored, AsyncioServices):
    """Runs asyncio programs and actors in virtual time; a ``Scheduler``.

    One round runs all queued callbacks, first in, first out, until the queue is empty. Then it runs the due timers in
    order of creation, then one turn of one ready actor, which the policy chooses. If no actor is ready, the clock jumps
    to the next timer. If only daemon timers without pending effects are left, the run is quiescent. If the policy
    chooses events, only one of the due timers with an origin runs in a round, or a ready actor before them.

    Invariant: ``now_ns`` never decreases.
    """

    is_virtual = True

    def __init__(
        self,
        policy: SchedulingPolicy | None = None,
        *,
        until_ns: int | None = None,
        on_until: Callable[[], object] | None = None,
        on_quiescent: Callable[[], object] | None = None,
        on_choice: ChoiceRecorder | None = None,
        max_steps: int | None = None,
        on_max_steps: Callable[[], object] | None = None,
        on_standstill: OnStandstill | None = None,
    ) -> None:
        super().__init__()
        self.now_ns = START_NS
        """The virtual time in nanoseconds."""
        self.policy: SchedulingPolicy = FifoPolicy() if policy is None else policy
        self.until_ns = until_ns
        """The time limit in ns, or None.

        When the clock reaches it, ``on_until`` is called once; tasks that still run continue without a limit.
        """
        self.on_until = on_until
        self.on_quiescent = on_quiescent
        """Called when nothing can run; must raise an error, stop the loop or make something ready."""
        self.on_max_steps = on_max_steps
        """Called once when ``max_steps`` callbacks and rounds have run; tasks that it leaves running continue."""
        self._standstill = Standstill(on_standstill)
        self._steps = repeat(None, _UNLIMITED if max_steps is None else max_steps)
        self._max_callbacks = _LIVELOCK_CALLBACKS
        self._ready: deque[VirtualHandle | VirtualTimer] = deque()
        self._timers = TimerHeap()
        self._choices = Choices(self.policy, on_choice)
        self._due_events: DueEvents = DueEvents()
        self._turns = Turns()
        self._no_future: Future[None] = Future(loop=self)
        """Represents an actor that waits without a future of its own, in ``reaches_turn``."""
        self._context = copy_context()
        self._closed = False
        self._thread: int | None = None
        self._stop_handle: VirtualHandle | None = None
        self._interrupt_handle: VirtualHandle | None = None

    # Scheduler: time, timers and the turns of actors.

    def call_at_ns(
        self,
        when_ns: int,
        callback: Callable[[], None],
        *,
        daemon_while_not: Callable[[], bool] | None = None,
        origin: Origin | None = None,
    ) -> VirtualTimer:
        timer = VirtualTimer(max(when_ns, self.now_ns), callback, (), self._context, self)
        timer.daemon_while_not = daemon_while_not
        timer.origin = origin
        timer.propagates = True
        self._timers.push(timer)
        return timer

    def call_from_thread(self, callback: Callable[[], None]) -> None:
        if not self._closed:
            self._ready.append(VirtualHandle(callback, (), self._context))

    def park(self, actor: int) -> Awaitable[None]:
        future: Future[None] = Future(loop=self)
        self._turns.park(actor, future)
        return future

    def wake(self, actor: int) -> None:
        self._turns.wake(actor)

    def unpark(self, actor: int) -> None:
        self._turns.unpark(actor)

    @property
    def has_due_events(self) -> bool:
        return bool(self._due_events.origins)

    def scale_cost_ns(self, actor: int, cost_ns: int) -> int:
        return self.policy.scale_cost_ns(actor, cost_ns)

    # Running.
    def run_forever(self) -> None:
        self._check_closed()
        if self._thread is not None or events._get_running_loop() is not None:
            raise RuntimeError("an event loop is already running in this thread; run_virtual() creates its own")
        self._thread = threading.get_ident()
        remove_asyncgen_hooks = self.install_asyncgen_hooks()
        events._set_running_loop(self)
        try:
            while True:
                self._run_callbacks()
                self._next_round()
        except Stop:
            pass
        finally:
            events._set_running_loop(None)
            remove_asyncgen_hooks()
            self._thread = None
            if self._stop_handle is not None:
                self._stop_handle.cancel()
                self._stop_handle = None

    def _run_callbacks(self) -> None:
        ready = self._ready
        next_handle = ready.popleft
        most, steps = self._max_callbacks, self._steps
        for _ in islice(steps, most):
            if not ready:
                return
            handle = next_handle()
            # A cancelled handle's callback does nothing: a check would cost time for all others.
            try:
                handle.context.run(handle.callback, *handle.arguments)
            except (SystemExit, KeyboardInterrupt, Stop):
                raise
            except BaseException as error:
                self._callback_failed(handle, error)
        if not steps.__length_hint__():
            self._steps = repeat(None, _UNLIMITED)
            if self.on_max_steps is not None:
                self.on_max_steps()
            self._run_callbacks()
            return
        raise self._standstill.livelock(self._max_callbacks, self.now_ns, ready[0] if ready else "none")

    def _next_round(self) -> None:
        """Queues the next callbacks when no callback is queued."""
        if self._due_events.origins or self._timers.has_due(self.now_ns):
            self._queue_due_timers()
        elif self._turns.ready:
            self._give_turn()
        elif not self._any_timer_counts():
            self._quiescent()
        else:
            self._let_time_pass()

    def reaches_turn(self, actor: int, own: Timer | None = None) -> bool:
        # The rounds of the loop until the turn of the actor, as long as nothing but events of tasks happens before it.
        if self._ready or self._turns.ready or self.policy.chooses_events:
            return False
        self._turns.park(actor, self._no_future)
        steps = self._steps
        while steps.__length_hint__() > 1:
            if self._timers.has_due(self.now_ns):
                self._queue_due_timers()
            elif self._turns.ready:
                break
            elif self._any_timer_counts() and (self.until_ns is None or self._timers.next_ns <= self.until_ns):
                self._let_time_pass()
            else:
                return False
            next(steps)
            if not self._run_events_of_tasks(own):
                return False
        else:
            return False
        if self._turns.ready != [actor]:
            return False
        next(steps), next(steps)  # The end of the last round, and the callback that would continue the actor.
        self._turns.take(actor)
        self._standstill.on_turn()
        return True

    def _run_events_of_tasks(self, own: Timer | None) -> bool:
        """Runs the queued timers ``own`` and those that are events of tasks; returns False before any other callback."""
        ready, steps = self._ready, self._steps
        while ready:
            timer = ready[0]
            if (timer is not own and not timer.is_event_of_task) or not steps.__length_hint__():
                return False
            next(steps)
            ready.popleft()
            try:
                timer.context.run(timer.callback, *timer.arguments)
            except BaseException as error:
                timer.callback = partial(raise_again, error)
                ready.appendleft(timer)
                return False
        return True

    def _let_time_pass(self) -> None:
        """Moves the clock to the next timer, and queues the timers of that time."""
        next_ns = self._timers.next_ns
        if self.until_ns is not None and next_ns > self.until_ns:
            self._until_reached(self.until_ns)
        else:
            self.now_ns = next_ns
            self._standstill.time_advanced()
            self._queue_due_timers()

    def _queue_due_timers(self) -> None:
        chooses = self.policy.chooses_events
        for timer in self._timers.take_due(self.now_ns):
            if chooses and timer.origin is not None:
                self._due_events.add(timer, timer.origin)
            else:
                self._ready.append(timer)
        if not self._ready and self._due_events.origins:
            self._queue_chosen_event()

    def _queue_chosen_event(self) -> None:
        """Queues the event that the policy chooses, or gives a turn: an actor may run before an event of the same time."""
        index = self._choices.event(self._due_events.origins, or_turn=bool(self._turns.ready))
        if index < len(self._due_events.origins):
            self._ready.append(self._due_events.take(index))
        else:
            self._give_turn()

    def _give_turn(self) -> None:
        actors = self._turns.ready
        self._give_turn_to(actors[0 if len(actors) == 1 else self._choices.actor(actors)])

    def _give_turn_to(self, actor: int) -> None:
        future = self._turns.take(actor)
        if not future.done():
            future.set_result(None)
        self._standstill.on_turn()

    def _any_timer_counts(self) -> bool:
        """True if a timer is left that keeps the run alive."""
        return self._timers.any_counts()

    def _until_reached(self, until_ns: int) -> None:
        self.now_ns = max(self.now_ns, until_ns)
        self.until_ns = None
        if self.on_until is None:
            raise UntilReached(f"virtual time reached the limit of the run, {until_ns} ns")
        self.on_until()

    def _quiescent(self) -> None:
        if self.on_quiescent is not None:
            self.on_quiescent()
        if not self._ready and not self._turns.ready and not self._any_timer_counts():
            waiting = ", ".join(str(actor) for actor in self._turns.parked) or "none"
            raise Deadlock(f"nothing can run any more at virtual time {self.now_ns} ns; parked actors: {waiting}")

    def run_until_complete(self, future: Generator[Any, None, _T] | Awaitable[_T]) -> _T:
        self._check_closed()
        is_new = not asyncio.isfuture(future)
        task: Future[_T] = asyncio.ensure_future(future, loop=self)  # type: ignore[arg-type]  # Typeshed's generators.
        task.add_done_callback(self._stop_when_done)
        try:
            self.run_forever()
        except BaseException:
            if is_new and task.done() and not task.cancelled():
                task.exception()  # The caller has no reference to the task to read its error
            raise
        finally:
            task.remove_done_callback(self._stop_when_done)
        if not task.done():
            raise RuntimeError("the event loop was stopped before its main task was done")
        return task.result()

    def _stop_when_done(self, task: Future[Any]) -> None:
        if task.cancelled() or not isinstance(task.exception(), (SystemExit, KeyboardInterrupt)):
            self.stop()

    def stop(self) -> None:
        """Ends ``run_forever`` after the callbacks that are queued now."""
        if self._stop_handle is None:
            self._stop_handle = VirtualHandle(raise_stop, (), self._context)
            self._ready.append(self._stop_handle)

    def interrupt(self) -> None:
        """Makes the run raise KeyboardInterrupt between two callbacks; callable from signal handlers and other threads."""
        self._interrupt_handle = VirtualHandle(raise_interrupt, (), self._context)
        self._ready.appendleft(self._interrupt_handle)

    def withdraw_interrupt(self) -> bool:
        """Removes an interrupt that has not ended a run yet, and returns whether there was one; later runs do not see it."""
        handle, self._interrupt_handle = self._interrupt_handle, None
        is_pending = handle is not None and handle in self._ready
        if handle is not None:
            handle.cancel()
        return is_pending

    def is_running(self) -> bool:
        return self._thread is not None

    def is_closed(self) -> bool:
        return self._closed

    def close(self) -> None:
        if self.is_running():
            raise RuntimeError("cannot close a running event loop")
        self._closed = True
        self._ready.clear()
        self._timers.clear()
        self._due_events.clear()
        self._turns.clear()

    def _check_closed(self) -> None:
        if self._closed:
            raise RuntimeError("Event loop is closed")

    # asyncio's timers and callbacks.

    def call_soon(
        self, callback: Callable[[Unpack[_Ts]], object], *args: *_Ts, context: Context | None = None
    ) -> VirtualHandle:
        if self._closed:
            self._check_closed()
        handle = VirtualHandle(callback, args, copy_context() if context is None else context)
        self._ready.append(handle)
        return handle

    def call_soon_threadsafe(
        self, callback: Callable[[Unpack[_Ts]], object], *args: *_Ts, context: Context | None = None
    ) -> VirtualHandle:
        """Raises an error in another thread, which would make the run depend on the machine."""
        if self._thread not in (None, threading.get_ident()):
            raise VirtualClockRefusal("call_soon_threadsafe", "threads would make the run depend on the machine")
        return self.call_soon(callback, *args, context=context)

    def _call_at(
        self, when_ns: int, callback: Callable[..., object], args: tuple[Any, ...], context: Context | None
    ) -> VirtualTimer:
        self._check_closed()
        context = copy_context() if context is None else context
        timer = VirtualTimer(max(when_ns, self.now_ns), callback, args, context, self)
        timer.origin = Origin("timer")  # asyncio does not define the order of timers of one time.
        self._timers.push(timer)
        return timer

    def timer_cancelled(self, timer: VirtualTimer) -> None:
        """Called by a cancelled timer that is still in the heap."""
        self._timers.on_cancelled(timer)

    def _callback_failed(self, handle: VirtualHandle | VirtualTimer, error: BaseException) -> None:
        """Ends the run for an error of a flowsim timer; handles errors of asyncio's callbacks as asyncio does."""
        if isinstance(handle, VirtualTimer) and handle.propagates:
            raise error
        self.call_exception_handler(
            {"message": f"exception in callback {handle}", "exception": error, "handle": handle}
        )

"""Calls that a task's operators started and that are answered later, on the loop of the job."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final

from flowsim.errors import BadInput
from flowsim.mailbox.task_mailbox import MailboxClosedException
from flowsim.sim.asyncio_services import AnswerFromThread
from flowsim.sim.close_down import throw_away
from flowsim.sim.scheduler import Timer
from flowsim.tasks.processing_time import TaskTimers

_END_TRIES: Final = 50
_SECONDS_PER_TRY: Final = 0.2

_Outcome = tuple[object, BaseException | None]
_Check = Callable[[object], None]
_Answer = Callable[[object, BaseException | None], None]


class _Call:
    """A coroutine that will run, runs, or is over."""

    __slots__ = ("task", "is_cancelled", "start_timer", "_call", "_check", "_on_end")

    def __init__(
        self, call: Coroutine[Any, Any, object], check: _Check | None, on_end: Callable[[_Call], None]
    ) -> None:
        self.task: asyncio.Task[_Outcome] | None = None
        self.is_cancelled = False
        self.start_timer: Timer | None = None
        self._call = call
        self._check = check
        self._on_end = on_end

    def start(self) -> None:
        self.start_timer = None
        self.task = asyncio.get_running_loop().create_task(self._outcome())
        self.task.add_done_callback(self._end)

    def cancel(self) -> None:
        self.is_cancelled = True
        if self.start_timer is not None:
            self.start_timer.cancel()
            self.start_timer = None
            self._end(None)
        elif self.task is not None:
            self.task.cancel()

    @property
    def outcome(self) -> _Outcome | None:
        """None where it has none: nobody waits for one that was cancelled, and what Ctrl-C ends the run tells."""
        if self.task is None or self.task.cancelled() or self.task.exception() is not None or self.is_cancelled:
            return None
        return self.task.result()

    def _end(self, task: asyncio.Task[_Outcome] | None) -> None:
        # One that was cancelled before its first step was never awaited; one that was thrown away may never be closed.
        with suppress(RuntimeError):
            self._call.close()
        self._on_end(self)

    async def _outcome(self) -> _Outcome:
        """What it answers or raises, a SystemExit or CancelledError of its own too: asyncio would take them for its."""
        try:
            result = await self._call
            if self._check is not None:
                self._check(result)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            return None, error
        return result, None

    def __repr__(self) -> str:
        return str(getattr(self._call, "__qualname__", "a call"))


class TaskAsyncCalls:
    """``AsyncCalls`` of one task. A call begins at the task's own time, in the middle of its batch, which ends there.

    Simulated waits pass on both clocks; coroutines that open sockets run on the real one only. ``fail`` makes the task
    raise what goes wrong while an answer is taken.
    """

    __slots__ = ("_timers", "_fail", "_running", "_numbers", "_at_end", "_thread", "_refused")

    def __init__(self, timers: TaskTimers, fail: Callable[[Callable[[], None]], None]) -> None:
        self._timers = timers
        self._fail = fail
        self._running: dict[int, _Call] = {}
        self._numbers = 0
        self._at_end: list[Coroutine[Any, Any, object]] = []
        self._thread = threading.get_ident()
        self._refused: AnswerFromThread | None = None

    def after(self, delay_ns: int, answer: Callable[[], None]) -> Timer:
        return self._timers.call_at_ns(self._timers.clock.now_ns + delay_ns, lambda: self._take(answer))

    def run(self, call: Coroutine[Any, Any, object], answer: _Answer, check: _Check | None = None) -> _Call:
        number = self._numbers
        self._numbers = number + 1

        def on_end(ended: _Call) -> None:
            del self._running[number]
            outcome = ended.outcome
            if outcome is not None:
                self._take(lambda: answer(*outcome))

        running = self._running[number] = _Call(call, check, on_end)
        running.start_timer = self._timers.call_at_ns(self._timers.clock.now_ns, running.start)
        return running

    def on_loop(self, answer: Callable[[], None], operator: str, value: object) -> None:
        scheduler = self._timers.scheduler
        if threading.get_ident() == self._thread:
            answer()
        elif not scheduler.is_virtual:
            scheduler.call_from_thread(lambda: self._take(answer))
        else:
            if self._refused is None:
                refused = self._refused = AnswerFromThread(operator, value)
                scheduler.call_from_thread(lambda: self._fail(_raising(refused)))
            raise AnswerFromThread(operator, value)

    def run_at_end(self, closing: Coroutine[Any, Any, object]) -> None:
        self._at_end.append(closing)

    def close(self) -> None:
        """Nobody waits for an answer any more."""
        for running in list(self._running.values()):
            running.cancel()

    async def when_over(self) -> list[Exception]:
        """Waits until the calls that were cancelled are over, then runs what was kept for the end; what went wrong."""
        errors: list[Exception] = [] if self._refused is None else [self._refused]
        try:
            await self._end_calls(errors)
            while self._at_end:
                try:
                    await self._at_end.pop(0)
                except Exception as error:
                    errors.append(error)
        finally:
            for closing in self._at_end:
                closing.close()
        return errors

    async def _end_calls(self, errors: list[Exception]) -> None:
        """One that catches its cancellation and goes on is cancelled again, some times."""
        for _ in range(_END_TRIES):
            tasks = [running.task for running in self._running.values() if running.task is not None]
            if not tasks:
                return
            await asyncio.wait(tasks, timeout=_SECONDS_PER_TRY)
            self.close()
        if left := list(self._running.values()):
            names = ", ".join(repr(running) for running in left)
            errors.append(BadInput(f"these calls do not end when they are cancelled, let CancelledError pass: {names}"))
            await throw_away([running.task for running in left if running.task is not None])

    def _take(self, answer: Callable[[], None]) -> None:
        try:
            with suppress(MailboxClosedException):
                answer()
        except Exception as error:
            self._fail(_raising(error))


def _raising(error: Exception) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail

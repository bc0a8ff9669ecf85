"""Asynchronous calls that a task's operators started; they complete later, on the event loop of the job."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Final

from flowsim.errors import AnswerFromThread, BadInput
from flowsim.mailbox.task_mailbox import MailboxClosedException
from flowsim.sim.close_down import throw_away
from flowsim.sim.origin import Origin
from flowsim.sim.scheduler import Timer
from flowsim.tasks.processing_time import TaskTimers

_END_TRIES: Final = 50
_SECONDS_PER_TRY: Final = 0.2

_Outcome = tuple[object, BaseException | None]
_Check = Callable[[object], None]
_Answer = Callable[[object, BaseException | None], None]


class _Call:
    """A coroutine that is scheduled, running or done."""

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
        """The outcome; None for a call that was cancelled (no operator waits for it) or that Ctrl-C ended."""
        if self.task is None or self.task.cancelled() or self.task.exception() is not None or self.is_cancelled:
            return None
        return self.task.result()

    def _end(self, task: asyncio.Task[_Outcome] | None) -> None:
        # A coroutine cancelled before its first step was never awaited: close it. An abandoned one may refuse to close.
        with suppress(RuntimeError):
            self._call.close()
        self._on_end(self)

    async def _outcome(self) -> _Outcome:
        """Returns the coroutine's result or error.

        Catches SystemExit and CancelledError that the coroutine raises, because asyncio would handle them itself.
        """
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
    """``AsyncCalls`` of one task. A call starts at the task's own time, inside its batch, which ends there.

    Simulated waits work on both clocks; coroutines that open sockets work only on the real clock. ``fail`` fails the
    task with errors from processing an answer.
    """

    __slots__ = (
        "_timers",
        "_fail",
        "_running",
        "_numbers",
        "_starts",
        "_answers",
        "_at_end",
        "_thread",
        "_refused",
        "_is_closed",
    )

    def __init__(self, timers: TaskTimers, fail: Callable[[Callable[[], None]], None]) -> None:
        self._timers = timers
        self._fail = fail
        self._running: dict[int, _Call] = {}
        self._numbers = 0
        self._starts = Origin("answer", timers.actor_id, -1, immediate=True)
        self._answers = 0
        self._at_end: list[Coroutine[Any, Any, object]] = []
        self._thread = threading.get_ident()
        self._refused: AnswerFromThread | None = None
        self._is_closed = False

    def after(self, delay_ns: int, answer: Callable[[], None]) -> Timer:
        due_ns = self._timers.clock.now_ns + delay_ns
        origin = Origin("answer", self._timers.actor_id, self._answers)
        self._answers += 1
        return self._timers.call_at_ns(due_ns, lambda: self._take(answer), origin=origin)

    def run(self, call: Coroutine[Any, Any, object], answer: _Answer, check: _Check | None = None) -> _Call:
        number = self._numbers
        self._numbers = number + 1

        def on_end(ended: _Call) -> None:
            del self._running[number]
            outcome = ended.outcome
            if outcome is not None:
                self._take(lambda: answer(*outcome))

        running = self._running[number] = _Call(call, check, on_end)
        # The task itself starts its calls, in their order.
        running.start_timer = self._timers.call_at_ns(self._timers.clock.now_ns, running.start, origin=self._starts)
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
        """Discards answers from now on."""
        self._is_closed = True
        for running in list(self._running.values()):
            running.cancel()

    async def when_over(self) -> list[Exception]:
        """Waits for the end of the cancelled calls, then runs the coroutines of ``run_at_end``; returns the errors."""
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
        """Cancels the calls, a limited number of times if a call catches its cancellation and continues."""
        for _ in range(_END_TRIES):
            tasks = [running.task for running in self._running.values() if running.task is not None]
            if not tasks:
                return
            await asyncio.wait(tasks, timeout=_SECONDS_PER_TRY)
            self.close()
        if left := list(self._running.values()):
            names = ", ".join(repr(running) for running in left)
            errors.append(
                BadInput(f"these calls did not end after they were cancelled: do not suppress CancelledError: {names}")
            )
            await throw_away([running.task for running in left if running.task is not None])

    def _take(self, answer: Callable[[], None]) -> None:
        if self._is_closed:
            return  # Rule 11.16: in Flink the closed mailbox rejects the answer.
        try:
            with suppress(MailboxClosedException):
                answer()
        except Exception as error:
            self._fail(_raising(error))


def _raising(error: Exception) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail

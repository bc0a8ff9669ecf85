"""Calls that a task's operators started and that are answered later, on the loop of the job."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from flowsim.mailbox.task_mailbox import MailboxClosedException
from flowsim.sim.scheduler import Timer
from flowsim.tasks.processing_time import TaskTimers


class _RunningCall:
    """A coroutine that will run, runs, or is over."""

    __slots__ = ("start_timer", "task")

    def __init__(self) -> None:
        self.start_timer: Timer | None = None
        self.task: asyncio.Future[object] | None = None

    def cancel(self) -> None:
        if self.start_timer is not None:
            self.start_timer.cancel()
        if self.task is not None:
            self.task.cancel()


class TaskAsyncCalls:
    """``AsyncCalls`` of one task. A call begins at the task's own time, in the middle of its batch, which ends there.

    Simulated waits pass on both clocks; coroutines that open sockets run on the real one only.
    """

    __slots__ = ("_timers", "_running", "_numbers")

    def __init__(self, timers: TaskTimers) -> None:
        self._timers = timers
        self._running: dict[int, _RunningCall] = {}
        self._numbers = 0

    def after(self, delay_ns: int, answer: Callable[[], None]) -> Timer:
        def arrive() -> None:
            with suppress(MailboxClosedException):
                answer()

        return self._timers.call_at_ns(self._timers.clock.now_ns + delay_ns, arrive)

    def run(
        self, call: Coroutine[Any, Any, object], answer: Callable[[object, BaseException | None], None]
    ) -> _RunningCall:
        number, running = self._numbers, _RunningCall()
        self._numbers = number + 1
        self._running[number] = running

        def start() -> None:
            running.task = asyncio.ensure_future(call)
            running.task.add_done_callback(finish)

        def finish(task: asyncio.Future[object]) -> None:
            del self._running[number]
            if task.cancelled():
                return
            error = task.exception()
            with suppress(MailboxClosedException):
                answer(None if error is not None else task.result(), error)

        running.start_timer = self._timers.call_at_ns(self._timers.clock.now_ns, start)
        return running

    def close(self) -> None:
        """Nobody waits for an answer any more."""
        for running in list(self._running.values()):
            running.cancel()

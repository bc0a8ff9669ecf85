"""Ends the tasks that still run at the end of a run, on both clocks: cancels them, waits, and finally discards them."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from contextlib import suppress
from typing import Any, Final

_PATIENCE_SECONDS: Final = 10.0
_TRIES: Final = 10
_SECONDS_PER_TRY: Final = 0.2


async def ended(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Waits for cancelled tasks; cancels tasks that continue again a few times, then reports and discards them.

    The caller handles the errors of ended tasks.
    """
    left = await _left(tasks, _PATIENCE_SECONDS)
    for _ in range(_TRIES):
        for task in left:
            task.cancel()
        left = await _left(left, _SECONDS_PER_TRY)
    if not left:
        return
    loop = asyncio.get_running_loop()
    for task in left:
        message = "an asyncio task did not end after it was cancelled, and is discarded: do not suppress CancelledError"
        loop.call_exception_handler({"message": message, "task": task})
    await throw_away(left)


async def throw_away(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Closes the coroutines of tasks, so that they never run again; ignores their errors."""
    drop(tasks)
    for task in tasks:
        task.add_done_callback(_look_at)
        task.cancel()
    for task in await _left(tasks, _SECONDS_PER_TRY):
        # Otherwise closing the loop would wait for it.
        asyncio.tasks._unregister_task(task)


def drop(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Only closes the coroutines of tasks, for a loop that will not run again."""
    for task in tasks:
        coroutine: Any = task.get_coro()
        # A coroutine that catches GeneratorExit and continues raises RuntimeError.
        with suppress(RuntimeError):
            coroutine.close()
        task._log_destroy_pending = False  # type: ignore[attr-defined]


async def end_others() -> None:
    """Cancels and ends all tasks of the loop except the current one, and reports those that fail meanwhile."""
    loop = asyncio.get_running_loop()
    tasks = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
    for task in tasks:
        task.cancel()
    await ended(tasks)
    for task in tasks:
        if (error := error_of(task)) is not None:
            loop.call_exception_handler({"message": "a cancelled task failed", "exception": error, "task": task})


def error_of(task: asyncio.Task[Any]) -> BaseException | None:
    """Returns the error of a task; None if the task was cancelled, never ended, or was discarded."""
    if not task.done() or task.cancelled() or not task._log_destroy_pending:  # type: ignore[attr-defined]
        return None
    return task.exception()


async def _left(tasks: Collection[asyncio.Task[Any]], seconds: float) -> list[asyncio.Task[Any]]:
    """Waits for a time; returns the tasks that are not done then, in order."""
    if not tasks:
        return []
    await asyncio.wait(tasks, timeout=seconds)
    return [task for task in tasks if not task.done()]


def _look_at(task: asyncio.Task[Any]) -> None:
    if not task.cancelled():
        task.exception()

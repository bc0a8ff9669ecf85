"""Runs one coroutine on its own virtual clock and cleans up."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from typing import Any, TypeVar

from flowsim.errors import InvariantViolation
from flowsim.sim.close_down import drop, ended, error_of
from flowsim.sim.exploring_loop import ExploringLoop, ExploringPolicy
from flowsim.sim.policy import ChoiceRecorder, SchedulingPolicy
from flowsim.sim.runtime_loop import RuntimeLoop
from flowsim.sim.signal_handler import interrupts_of_run
from flowsim.sim.standstill import OnStandstill
from flowsim.sim.virtual_time_loop import Livelock, VirtualTimeLoop

_T = TypeVar("_T")


def run_virtual(
    main: Callable[[VirtualTimeLoop], Coroutine[Any, Any, _T]],
    *,
    policy: SchedulingPolicy | None = None,
    until_ns: int | None = None,
    on_until: Callable[[], object] | None = None,
    on_quiescent: Callable[[], object] | None = None,
    on_choice: ChoiceRecorder | None = None,
    max_steps: int | None = None,
    on_max_steps: Callable[[], object] | None = None,
    on_standstill: OnStandstill | None = None,
) -> _T:
    """Returns the result of ``main(loop)``, after cancelling its remaining tasks and closing the loop.

    If a loop is already running (a notebook), the run uses a separate thread and this call waits for it. Ctrl-C ends
    the run between two callbacks and raises KeyboardInterrupt; another one a second later does not wait for a callback.
    When time reaches ``until_ns`` and there is no ``on_until``, raises UntilReached. When nothing can run and there is
    no ``on_quiescent``, raises Deadlock. ``on_max_steps`` is called once after ``max_steps`` callbacks and rounds,
    ``on_standstill`` after each 100,000 turns of actors at one time.

    >>> async def main(loop: VirtualTimeLoop) -> float:
    ...     await asyncio.sleep(3600)
    ...     return loop.time()
    >>> run_virtual(main)
    3601.0
    """
    loop = _loop_class(policy)(
        policy,
        until_ns=until_ns,
        on_until=on_until,
        on_quiescent=on_quiescent,
        on_choice=on_choice,
        max_steps=max_steps,
        on_max_steps=on_max_steps,
        on_standstill=on_standstill,
    )
    return in_free_thread(lambda: _run(loop, main), loop.interrupt)


def _loop_class(policy: SchedulingPolicy | None) -> Callable[..., VirtualTimeLoop]:
    if not isinstance(policy, ExploringPolicy):
        return VirtualTimeLoop
    return ExploringLoop if policy.source.space == "order" else RuntimeLoop


def in_free_thread(run: Callable[[], _T], interrupt: Callable[[], object]) -> _T:
    """Calls ``run()`` here, or in a separate thread if an event loop runs here.

    Whatever then interrupts the wait for the thread (Ctrl-C, a signal handler that raises) calls ``interrupt``.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run()
    results: list[_T] = []
    errors: list[BaseException] = []
    done = threading.Event()

    def keep_outcome() -> None:
        try:
            results.append(run())
        except BaseException as error:
            errors.append(error)
        finally:
            done.set()

    thread = threading.Thread(target=copy_context().run, args=(keep_outcome,), name="flowsim")
    try:
        thread.start()
        done.wait()  # After an interrupted join, Python 3.11 takes the thread for ended.
    except BaseException as error:
        interrupt()
        done.wait()
        if not isinstance(error, KeyboardInterrupt):
            raise
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


def _run(loop: VirtualTimeLoop, main: Callable[[VirtualTimeLoop], Coroutine[Any, Any, _T]]) -> _T:
    with interrupts_of_run() as interrupts:
        interrupts.stop_with(loop.interrupt)
        try:
            result = loop.run_until_complete(main(loop))
        finally:
            interrupted = loop.withdraw_interrupt()
            _close_down(loop)
            interrupts.end()
        if interrupted:
            raise KeyboardInterrupt
    return result


def _close_down(loop: VirtualTimeLoop) -> None:
    """Cancels the remaining tasks in order of creation; time advances while they await something."""
    loop.until_ns = loop.on_quiescent = None
    try:
        tasks = sorted(asyncio.all_tasks(loop), key=hash)
        for task in tasks:
            task.cancel()
        try:
            _finish(loop, tasks)
        except Livelock:
            drop(asyncio.all_tasks(loop))
            raise
        loop.run_until_complete(loop.shutdown_asyncgens())
        for task in tasks:
            error = error_of(task)
            if isinstance(error, InvariantViolation):
                raise error
            if error is not None:
                loop.call_exception_handler({"message": "a cancelled task failed", "exception": error, "task": task})
    finally:
        loop.close()


def _finish(loop: VirtualTimeLoop, tasks: list[asyncio.Task[Any]]) -> None:
    """Runs until all ``tasks`` are done or discarded; defers one Ctrl-C until then."""
    if not tasks:
        return
    try:
        loop.run_until_complete(ended(tasks))
    except KeyboardInterrupt:
        try:
            loop.run_until_complete(ended(tasks))
        finally:
            for task in tasks:
                if task.done() and not task.cancelled():
                    task.exception()  # The interrupt is reported once; asyncio would report it again, with a traceback.
        raise

"""The clock interface on the real clock. No test waits longer than a few milliseconds, none asserts on durations."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable
from types import FrameType

import pytest

from flowsim.sim.real_clock import RealClock, new_real_loop, run_real


def in_turn(*callbacks: Callable[[], object]) -> Callable[[], None]:
    def call_all() -> None:
        for callback in callbacks:
            callback()

    return call_all


def test_time_is_epoch_time_and_never_decreases() -> None:
    async def main(clock: RealClock) -> list[int]:
        return [clock.now_ns for _ in range(1_000)]

    before_ns = time.time_ns()
    times = run_real(main)
    assert times == sorted(times)
    assert abs(times[0] - before_ns) < 3600 * 10**9


def test_loop_is_uvloop_if_installed() -> None:
    pytest.importorskip("uvloop")
    loop = new_real_loop()
    assert type(loop).__module__.startswith("uvloop")
    loop.close()


def test_timer_is_never_early_and_passed_time_fires_at_once() -> None:
    async def main(clock: RealClock) -> list[tuple[str, bool]]:
        log: list[tuple[str, bool]] = []
        due_ns = clock.now_ns + 2_300_000
        fired = asyncio.Event()
        clock.call_at_ns(due_ns, in_turn(lambda: log.append(("due", clock.now_ns >= due_ns)), fired.set))
        clock.call_at_ns(0, lambda: log.append(("passed", clock.now_ns < due_ns)))
        cancelled = clock.call_at_ns(clock.now_ns + 1_000_000, lambda: log.append(("cancelled", True)))
        cancelled.cancel()
        await fired.wait()
        return log

    assert run_real(main) == [("passed", True), ("due", True)]


def test_error_in_timer_ends_run() -> None:
    async def main(clock: RealClock) -> None:
        def fails() -> None:
            raise ValueError("in a timer")

        clock.call_at_ns(0, fails)
        await asyncio.get_running_loop().create_future()

    with pytest.raises(ValueError, match="in a timer"):
        run_real(main)


def test_wake_is_remembered_and_park_lets_loop_run() -> None:
    async def main(clock: RealClock) -> list[str]:
        log: list[str] = []
        clock.wake(0)
        clock.wake(0)
        asyncio.get_running_loop().call_soon(log.append, "others ran")
        await clock.park(0)
        log.append("remembered")
        asyncio.get_running_loop().call_soon(clock.wake, 0)
        await clock.park(0)
        log.append("woken")
        return log

    assert run_real(main) == ["others ran", "remembered", "woken"]


def test_cancelled_park_keeps_its_wake() -> None:
    async def main(clock: RealClock) -> str:
        async def actor() -> str:
            try:
                await clock.park(0)
            except asyncio.CancelledError:
                clock.unpark(0)
            clock.wake(0)
            await clock.park(0)
            return "woken"

        task = asyncio.create_task(actor())
        await asyncio.sleep(0)
        task.cancel()
        return await task

    assert run_real(main) == "woken"


def test_real_clock_charges_no_cost() -> None:
    async def main(clock: RealClock) -> tuple[int, bool]:
        return clock.scale_cost_ns(3, 10**9), clock.is_virtual

    assert run_real(main) == (0, False)


def test_real_clock_runs_inside_running_loop() -> None:
    async def main(_: RealClock) -> str:
        return "done"

    async def notebook() -> str:
        return run_real(main)

    assert asyncio.run(notebook()) == "done"


def test_signal_handler_that_raises_ends_run_in_its_thread() -> None:
    """As a timeout does that interrupts a notebook's cell."""
    ended: list[str] = []

    async def sleeps(clock: RealClock) -> None:
        os.kill(os.getpid(), signal.SIGUSR1)
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    async def notebook() -> None:
        run_real(sleeps)

    def handler(number: int, frame: FrameType | None) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with pytest.raises(TimeoutError):
            asyncio.run(notebook())
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert ended == ["cancelled"]


def test_signals_end_run_between_callbacks() -> None:
    log: list[str] = []

    async def main(_: RealClock) -> None:
        for number in (signal.SIGINT, signal.SIGINT):
            signal.raise_signal(number)
        log.append("the callback ends")
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            signal.raise_signal(signal.SIGINT)
            log.append("cancelled")
            raise

    with pytest.raises(KeyboardInterrupt):
        run_real(main)
    assert log == ["the callback ends", "cancelled"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_signal_ends_run_that_waits() -> None:
    async def main(_: RealClock) -> None:
        threading.Timer(0.005, os.kill, (os.getpid(), signal.SIGINT)).start()
        await asyncio.sleep(3600)

    with pytest.raises(KeyboardInterrupt):
        run_real(main)

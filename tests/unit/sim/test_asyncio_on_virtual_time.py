"""asyncio's own tools on the virtual clock, and the methods that are refused there (D4)."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from flowsim.errors import VirtualClockRefusal
from flowsim.sim.asyncio_services import RefusingLoop
from flowsim.sim.run_virtual import run_virtual
from flowsim.sim.virtual_time_loop import VirtualTimeLoop

REFUSED = sorted(
    name for name, method in vars(RefusingLoop).items() if getattr(method, "__qualname__", "").startswith("_r")
)


def test_gather_timeout_queue_and_sleep_use_virtual_time() -> None:
    async def producer(queue: asyncio.Queue[int]) -> None:
        for number in range(3):
            await asyncio.sleep(3600)
            await queue.put(number)

    async def main(loop: VirtualTimeLoop) -> tuple[list[int], float, bool]:
        queue: asyncio.Queue[int] = asyncio.Queue(1)
        _, *taken = await asyncio.gather(producer(queue), queue.get(), queue.get(), queue.get())
        timed_out = False
        try:
            async with asyncio.timeout(86_400):
                await queue.get()
        except TimeoutError:
            timed_out = True
        return taken, loop.time(), timed_out

    assert run_virtual(main) == ([0, 1, 2], 1.0 + 3 * 3600 + 86_400, True)


def test_task_group_cancels_tasks_in_order_of_creation() -> None:
    log: list[int] = []

    async def waits(number: int) -> None:
        try:
            await asyncio.sleep(10)
        except asyncio.CancelledError:
            log.append(number)
            raise

    async def main(_: VirtualTimeLoop) -> None:
        async with asyncio.TaskGroup() as group:
            for number in range(500):
                group.create_task(waits(number))
            await asyncio.sleep(1)
            raise ValueError("stop")

    with pytest.raises(ExceptionGroup):
        run_virtual(main)
    assert log == sorted(log)
    assert len(log) == 500


def test_task_names_are_numbered_per_loop() -> None:
    async def main(_: VirtualTimeLoop) -> list[str]:
        child = asyncio.create_task(asyncio.sleep(0))
        named = asyncio.create_task(asyncio.sleep(0), name="mine")
        await asyncio.wait([child, named])
        current = asyncio.current_task()
        assert current is not None
        return [current.get_name(), child.get_name(), named.get_name()]

    assert run_virtual(main) == run_virtual(main) == ["task-0", "task-1", "mine"]


def test_callbacks_run_in_given_context() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="none")
    log: list[str] = []

    async def main(loop: VirtualTimeLoop) -> None:
        variable.set("main")
        inner = contextvars.copy_context()
        inner.run(variable.set, "inner")
        loop.call_soon(lambda: log.append(variable.get()))
        loop.call_later(1, lambda: log.append(variable.get()))
        loop.call_soon(lambda: log.append(variable.get()), context=inner)
        await asyncio.sleep(2)

    run_virtual(main)
    assert log == ["main", "inner", "main"]


def test_open_async_generators_are_closed_in_order_of_start() -> None:
    log: list[int] = []
    left_open: list[AsyncIterator[int]] = []

    async def counts(number: int) -> AsyncIterator[int]:
        try:
            yield number
        finally:
            await asyncio.sleep(1)
            log.append(number)

    async def main(_: VirtualTimeLoop) -> None:
        for number in range(50):
            generator = counts(number)
            left_open.append(generator)
            await anext(generator)

    run_virtual(main)
    assert log == list(range(50))


def test_task_factory_is_used() -> None:
    made: list[str] = []

    def factory(loop: asyncio.AbstractEventLoop, coroutine: Any, **options: Any) -> asyncio.Task[Any]:
        made.append(coroutine.__name__)
        return asyncio.Task(coroutine, loop=loop, **options)

    async def child() -> int:
        return 7

    async def main(loop: VirtualTimeLoop) -> int:
        loop.set_task_factory(factory)
        assert loop.get_task_factory() is factory
        return await asyncio.create_task(child(), name="child")

    assert run_virtual(main) == 7
    assert made[0] == "child"


def test_asyncio_runner_accepts_virtual_loop() -> None:
    async def main() -> float:
        await asyncio.sleep(5)
        return asyncio.get_running_loop().time()

    with asyncio.Runner(loop_factory=VirtualTimeLoop, debug=True) as runner:
        assert runner.run(main()) == 6.0


@pytest.mark.parametrize("name", REFUSED)
def test_real_world_method_is_refused_by_name(name: str) -> None:
    loop = VirtualTimeLoop()
    with pytest.raises(VirtualClockRefusal, match=rf"^{name} is not available on the virtual clock: .*--clock real$"):
        getattr(loop, name)()
    loop.close()


def test_every_event_loop_method_is_implemented_or_refused() -> None:
    methods = {name for name, _ in inspect.getmembers(asyncio.AbstractEventLoop, inspect.isfunction)}
    unanswered = {
        name for name in methods if getattr(VirtualTimeLoop, name) is getattr(asyncio.AbstractEventLoop, name)
    }
    assert {name for name in unanswered if not name.startswith("_")} == set()
    assert "run_in_executor" in REFUSED
    assert len(REFUSED) > 25


def test_to_thread_and_open_connection_are_refused() -> None:
    async def threads(_: VirtualTimeLoop) -> None:
        await asyncio.to_thread(int)

    async def connects(_: VirtualTimeLoop) -> None:
        await asyncio.open_connection("localhost", 1)

    with pytest.raises(VirtualClockRefusal, match="run_in_executor"):
        run_virtual(threads)
    with pytest.raises(VirtualClockRefusal, match="create_connection"):
        run_virtual(connects)


def test_call_soon_threadsafe_is_refused_only_from_other_threads() -> None:
    log: list[str] = []

    def from_outside(loop: VirtualTimeLoop) -> None:
        try:
            loop.call_soon_threadsafe(log.append, "never")
        except VirtualClockRefusal as refusal:
            log.append(refusal.name)

    async def main(loop: VirtualTimeLoop) -> None:
        loop.call_soon_threadsafe(log.append, "inside")
        thread = threading.Thread(target=from_outside, args=(loop,))
        thread.start()
        thread.join()
        await asyncio.sleep(0)

    run_virtual(main)
    assert log == ["call_soon_threadsafe", "inside"]


def test_closed_loop_and_nested_loop_are_refused() -> None:
    loop = VirtualTimeLoop()

    async def main(outer: VirtualTimeLoop) -> None:
        with pytest.raises(RuntimeError, match="already running in this thread"):
            loop.run_forever()
        with pytest.raises(RuntimeError, match="cannot close a running event loop"):
            outer.close()

    run_virtual(main)
    loop.close()
    loop.close()
    assert loop.is_closed()
    assert not loop.is_running()
    with pytest.raises(RuntimeError, match="Event loop is closed"):
        loop.call_soon(int)
    with pytest.raises(RuntimeError, match="Event loop is closed"):
        loop.run_forever()

"""The greenlet bridge: synchronous bodies that block, fail and are ended (architecture decision D3)."""

from __future__ import annotations

import ast
import asyncio
import contextvars
import gc
import signal
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest

import flowsim.tasks.actor
from flowsim.errors import Deadlock, InvariantViolation
from flowsim.sim.origin import Origin
from flowsim.sim.policy import ScriptedPolicy
from flowsim.sim.real_clock import RealClock, run_real
from flowsim.sim.run_virtual import run_virtual
from flowsim.sim.virtual_time_loop import START_NS, VirtualTimeLoop
from flowsim.tasks.actor import Actor
from tests.support.greenlets import no_greenlet_is_left

Bodies = Callable[[VirtualTimeLoop, list[Actor]], list[Callable[[], None]]]


def run_bodies(bodies: Bodies, **options: object) -> list[Actor]:
    """Runs one actor per body in a task group."""
    actors: list[Actor] = []

    async def main(loop: VirtualTimeLoop) -> None:
        for number, body in enumerate(bodies(loop, actors)):
            actors.append(Actor(number, f"actor {number}", loop, body))
        async with asyncio.TaskGroup() as group:
            for actor in actors:
                group.create_task(actor.run())

    run_virtual(main, **options)  # type: ignore[arg-type]
    return actors


def test_bridge_awaits_at_one_place() -> None:
    source = Path(flowsim.tasks.actor.__file__).read_text()
    awaits = [
        node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Await | ast.AsyncFor | ast.AsyncWith)
    ]
    assert len(awaits) == 1


def test_consumer_waits_for_producer() -> None:
    log: list[tuple[str, int, int]] = []

    def bodies(loop: VirtualTimeLoop, actors: list[Actor]) -> list[Callable[[], None]]:
        box: list[int] = []

        def produce() -> None:
            for number in range(3):
                actors[0].spend(1_000)
                box.append(number)
                actors[1].wake()
                log.append(("put", number, loop.now_ns - START_NS))

        def consume() -> None:
            for _ in range(3):
                actors[1].wait_until(lambda: bool(box))
                log.append(("got", box.pop(0), loop.now_ns - START_NS))
                actors[1].spend(1_500)

        return [produce, consume]

    actors = run_bodies(bodies)
    assert log == [
        ("put", 0, 1_000),
        ("got", 0, 1_000),
        ("put", 1, 2_000),
        ("got", 1, 2_500),
        ("put", 2, 3_000),
        ("got", 2, 4_000),
    ]
    assert all(actor.is_done for actor in actors)


def test_first_turn_of_actor_is_a_choice() -> None:
    log: list[int] = []
    run_bodies(
        lambda loop, actors: [lambda number=number: log.append(number) for number in range(3)],  # type: ignore[misc]
        policy=ScriptedPolicy([2, 1]),
    )
    assert log == [2, 1, 0]


def test_cost_of_zero_yields_to_other_ready_actors() -> None:
    log: list[int] = []

    def bodies(loop: VirtualTimeLoop, actors: list[Actor]) -> list[Callable[[], None]]:
        def body(number: int) -> None:
            for _ in range(3):
                log.append(number)
                actors[number].spend(0)

        return [lambda: body(0), lambda: body(1)]

    run_bodies(bodies)
    assert log == [0, 1, 0, 1, 0, 1]


def test_wait_with_true_condition_does_not_yield() -> None:
    log: list[int] = []

    def bodies(loop: VirtualTimeLoop, actors: list[Actor]) -> list[Callable[[], None]]:
        def body(number: int) -> None:
            for _ in range(2):
                log.append(number)
                actors[number].wait_until(lambda: True)

        return [lambda: body(0), lambda: body(1)]

    run_bodies(bodies)
    assert log == [0, 0, 1, 1]


def test_wake_does_not_shorten_spend() -> None:
    log: list[int] = []

    def bodies(loop: VirtualTimeLoop, actors: list[Actor]) -> list[Callable[[], None]]:
        def spends() -> None:
            actors[0].spend(1_000)
            log.append(loop.now_ns - START_NS)

        def wakes() -> None:
            for _ in range(5):
                actors[1].spend(10)
                actors[0].wake()
                loop.wake(0)

        return [spends, wakes]

    run_bodies(bodies)
    assert log == [1_000]


def test_waits_nest_and_may_occur_in_exception_handlers() -> None:
    log: list[object] = []

    def bodies(loop: VirtualTimeLoop, actors: list[Actor]) -> list[Callable[[], None]]:
        mails: list[str] = []

        def yield_to_mails() -> None:
            actors[0].wait_until(lambda: bool(mails))
            mail = mails.pop(0)
            log.append(f"begin {mail}")
            if mail == "outer":
                yield_to_mails()
            log.append(f"end {mail}")

        def body() -> None:
            try:
                raise ValueError("before")
            except ValueError as error:
                yield_to_mails()
                log.append(str(error))
                log.append(repr(__import__("sys").exc_info()[1]))

        def sender() -> None:
            for mail in ("outer", "inner"):
                actors[1].spend(5)
                mails.append(mail)
                actors[0].wake()

        return [body, sender]

    run_bodies(bodies)
    assert log == ["begin outer", "begin inner", "end inner", "end outer", "before", "ValueError('before')"]


def test_exception_of_body_after_blocking_is_raised_by_run() -> None:
    def bodies(loop: VirtualTimeLoop, actors: list[Actor]) -> list[Callable[[], None]]:
        def fails() -> None:
            actors[0].spend(10)
            raise LookupError("from the body")

        return [fails]

    with pytest.raises(ExceptionGroup) as caught:
        run_bodies(bodies)
    assert [repr(error) for error in caught.value.exceptions] == ["LookupError('from the body')"]


def test_results_and_errors_of_awaitables_reach_blocked_code() -> None:
    log: list[object] = []

    async def answers() -> str:
        await asyncio.sleep(2)
        return "answer"

    async def fails() -> str:
        await asyncio.sleep(1)
        raise ConnectionError("refused")

    def bodies(loop: VirtualTimeLoop, actors: list[Actor]) -> list[Callable[[], None]]:
        def body() -> None:
            log.append(actors[0].result_of(answers()))
            try:
                actors[0].result_of(fails())
            except ConnectionError as error:
                log.append(repr(error))
            log.append(loop.time())

        return [body]

    run_bodies(bodies)
    assert log == ["answer", "ConnectionError('refused')", 4.0]


def test_cancelling_blocked_body_unwinds_it_in_its_greenlet() -> None:
    log: list[str] = []

    async def main(loop: VirtualTimeLoop) -> None:
        def body() -> None:
            try:
                try:
                    actor.wait_until(lambda: False)
                finally:
                    log.append("inner finally")
                    actor.spend(1_000)
                    log.append("never: an ended body cannot wait")
            finally:
                log.append(f"outer finally at {loop.now_ns - START_NS}")

        actor = Actor(0, "waits", loop, body)
        task = asyncio.create_task(actor.run())
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert actor.is_done

    run_virtual(main)
    assert log == ["inner finally", f"outer finally at {10**9}"]


def test_cancelling_ends_awaitable_and_running_spend_leaves_no_timer() -> None:
    log: list[str] = []

    async def never() -> None:
        try:
            await asyncio.sleep(10**6)
        finally:
            log.append("call cancelled")

    async def main(loop: VirtualTimeLoop) -> float:
        calls = Actor(0, "calls", loop, lambda: calls.result_of(never()))
        spends = Actor(1, "spends", loop, lambda: spends.spend(10**15))
        tasks = [asyncio.create_task(actor.run()) for actor in (calls, spends)]
        await asyncio.sleep(1)
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        assert all(task.cancelled() for task in tasks)
        assert not loop._any_timer_counts()
        assert loop._turns.parked == loop._turns._futures == {}
        return loop.time()

    assert run_virtual(main) == 2.0
    assert log == ["call cancelled"]


def test_cancelling_before_first_turn_never_runs_body() -> None:
    log: list[str] = []

    async def main(loop: VirtualTimeLoop) -> None:
        actor = Actor(0, "late", loop, lambda: log.append("ran"))
        task = asyncio.create_task(actor.run())
        task.cancel()
        await asyncio.wait([task])
        started = Actor(1, "parked", loop, lambda: log.append("ran"))
        other = asyncio.create_task(started.run())
        loop.call_soon(other.cancel)
        await asyncio.wait([other])
        assert started.is_done

    run_virtual(main)
    assert log == []


def test_body_that_catches_cancellation_and_returns_is_done() -> None:
    async def main(loop: VirtualTimeLoop) -> None:
        def body() -> None:
            try:
                actor.wait_until(lambda: False)
            except asyncio.CancelledError:
                return

        actor = Actor(0, "calm", loop, body)
        task = asyncio.create_task(actor.run())
        await asyncio.sleep(1)
        task.cancel()
        await task
        assert actor.is_done

    run_virtual(main)


def test_body_that_cannot_be_ended_is_reported_with_its_position() -> None:
    give_up = [False]
    actors: list[Actor] = []

    async def main(loop: VirtualTimeLoop) -> None:
        def stubborn() -> None:
            while not give_up[0]:
                try:
                    actors[0].wait_until(lambda: False)
                except asyncio.CancelledError:
                    continue

        actors.append(Actor(0, "stubborn", loop, stubborn))
        task = asyncio.create_task(actors[0].run())
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(InvariantViolation, match="actor stubborn continues after 100 attempts") as caught:
            await task
        assert "stubborn" in caught.value.steps[0]

    run_virtual(main)
    give_up[0] = True
    bridge = actors[0]._greenlet
    assert bridge is not None
    bridge.throw(asyncio.CancelledError())
    assert actors[0].is_done


def test_blocking_outside_of_body_is_refused() -> None:
    async def main(loop: VirtualTimeLoop) -> None:
        def meddles() -> None:
            other.wait_until(lambda: False)

        other = Actor(0, "other", loop, lambda: other.wait_until(lambda: False))
        with pytest.raises(InvariantViolation, match="actor other was called to block outside of its own body"):
            other.spend(0)
        task = asyncio.create_task(other.run())
        await asyncio.sleep(1)
        with pytest.raises(InvariantViolation, match="outside of its own body"):
            other.wait_until(lambda: False)
        meddler = Actor(1, "meddler", loop, meddles)
        with pytest.raises(InvariantViolation, match="actor other was called to block"):
            await meddler.run()
        with pytest.raises(InvariantViolation, match="actor meddler was started twice"):
            await meddler.run()
        task.cancel()

    run_virtual(main)


def test_body_shares_context_of_its_task() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")
    log: list[str] = []

    async def main(loop: VirtualTimeLoop) -> None:
        async def run_with(actor: Actor, value: str) -> None:
            variable.set(value)
            await actor.run()
            log.append(variable.get())

        def body_of(number: int) -> Callable[[], None]:
            def body() -> None:
                log.append(variable.get())
                actors[number].spend(10)
                log.append(variable.get())
                variable.set(f"set by body {number}")

            return body

        actors = [Actor(number, str(number), loop, body_of(number)) for number in range(2)]
        await asyncio.gather(run_with(actors[0], "zero"), run_with(actors[1], "one"))

    run_virtual(main)
    assert log == ["zero", "one", "zero", "set by body 0", "one", "set by body 1"]


@pytest.mark.parametrize("ending", ["deadlock", "failure", "interrupt", "main returns"])
def test_blocked_actors_are_ended_for_every_end_of_run(ending: str) -> None:
    unwound: list[int] = []
    actors: list[Actor] = []

    async def main(loop: VirtualTimeLoop) -> None:
        def body_of(number: int) -> Callable[[], None]:
            def body() -> None:
                try:
                    actors[number].wait_until(lambda: False)
                finally:
                    unwound.append(number)

            return body

        actors.extend(Actor(number, str(number), loop, body_of(number)) for number in range(1_000))
        tasks = [asyncio.create_task(actor.run()) for actor in actors]
        await asyncio.sleep(1)
        if ending == "failure":
            raise LookupError("main failed")
        if ending == "interrupt":
            signal.raise_signal(signal.SIGINT)
        if ending != "main returns":
            await asyncio.wait(tasks)

    expected = {"deadlock": Deadlock, "failure": LookupError, "interrupt": KeyboardInterrupt}
    with no_greenlet_is_left():
        with pytest.raises(expected[ending]) if ending in expected else nullcontext():
            run_virtual(main)
        assert unwound == list(range(1_000))
        assert all(actor.is_done for actor in actors)
        actors.clear()


def test_closing_abandoned_loop_ends_its_greenlets() -> None:
    unwound: list[str] = []
    loop = VirtualTimeLoop()

    def body() -> None:
        try:
            actor.wait_until(lambda: False)
        finally:
            unwound.append("unwound")

    actor = Actor(0, "abandoned", loop, body)
    loop.set_exception_handler(lambda loop, context: None)
    task = loop.create_task(actor.run())
    loop.on_quiescent = loop.stop
    loop.run_forever()
    assert unwound == []
    task_reference = weakref.ref(task)
    del task
    loop.close()
    gc.collect()
    assert unwound == ["unwound"]
    assert actor.is_done
    assert task_reference() is None


def test_bodies_run_on_real_clock() -> None:
    log: list[str] = []

    async def main(clock: RealClock) -> None:
        box: list[int] = []

        def produce() -> None:
            for number in range(3):
                producer.spend(10**15)
                box.append(number)
                consumer.wake()

        def consume() -> None:
            for _ in range(3):
                consumer.wait_until(lambda: bool(box))
                log.append(f"got {box.pop(0)}")
            log.append(consumer.result_of(asyncio.sleep(0, "awaited")))

        producer, consumer = Actor(0, "producer", clock, produce), Actor(1, "consumer", clock, consume)
        async with asyncio.TaskGroup() as group:
            group.create_task(producer.run())
            group.create_task(consumer.run())

    run_real(main)
    assert log == ["got 0", "got 1", "got 2", "awaited"]


def test_event_of_a_task_that_raises_while_a_body_blocks_ends_the_run() -> None:
    ended: list[str] = []

    async def main(loop: VirtualTimeLoop) -> None:
        def fails() -> None:
            raise ConnectionError("refused")

        def body() -> None:
            loop.call_at_ns(START_NS + 5, fails, origin=Origin("timer", 0))
            try:
                actor.spend(10)
            finally:
                ended.append(f"at {loop.now_ns - START_NS}")

        actor = Actor(0, "spends", loop, body)
        await actor.run()

    with pytest.raises(ConnectionError, match="refused"):
        run_virtual(main)
    assert ended == ["at 5"]


def test_code_that_runs_while_a_body_blocks_is_not_inside_it() -> None:
    log: list[tuple[str, bool]] = []

    def bodies(loop: VirtualTimeLoop, actors: list[Actor]) -> list[Callable[[], None]]:
        def body() -> None:
            actor = actors[0]
            loop.call_at_ns(START_NS + 5, lambda: log.append(("event", actor.is_inside())), origin=Origin("timer", 0))
            actor.spend(10)
            log.append(("body", actor.is_inside()))

        return [body]

    run_bodies(bodies)
    assert log == [("event", False), ("body", True)]

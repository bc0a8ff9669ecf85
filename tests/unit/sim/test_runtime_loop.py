"""The loop of the runtime space: its options, their default order, and what time does while tasks are ready."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from flowsim.sim.exploring_loop import ExploringPolicy
from flowsim.sim.origin import OptionKey, Origin
from flowsim.sim.run_virtual import run_virtual
from flowsim.sim.virtual_time_loop import START_NS, VirtualTimeLoop
from tests.unit.sim.test_exploring_loop import Asked, event

WIRE, CREDIT = Origin("arrive", 2, 0), Origin("credit", 1, 0, immediate=True)
CALL, FLUSHER, THREAD = Origin("answer", 1, 0), Origin("flush", 1, 0), Origin("timer", 1, 0)
TIME: OptionKey = ("time", -1)


def turn(actor: int) -> OptionKey:
    return ("turn", actor)


def run(source: Asked, start: Callable[[VirtualTimeLoop, list[str]], object]) -> list[str]:
    """Returns what happened until an asyncio timer ends the run, one second after the start."""
    happened: list[str] = []
    source.space = "runtime"

    async def main(loop: VirtualTimeLoop) -> None:
        tasks = start(loop, happened)
        await asyncio.sleep(1)
        del tasks

    run_virtual(main, policy=ExploringPolicy(source))
    return happened


def actors(loop: VirtualTimeLoop, happened: list[str], turns: int, *numbers: int) -> list[asyncio.Task[None]]:
    """Starts actors that have so many turns each."""

    async def act(actor: int) -> None:
        for _ in range(turns):
            loop.wake(actor)
            await loop.park(actor)
            happened.append(f"turn {actor}")

    return [asyncio.ensure_future(act(number), loop=loop) for number in numbers]


def test_default_order_is_network_then_the_same_task_then_time() -> None:
    def start(loop: VirtualTimeLoop, happened: list[str]) -> object:
        event(loop, happened, "flush", FLUSHER, 20)
        event(loop, happened, "answer", CALL, 30)
        event(loop, happened, "timer", THREAD, 25)
        event(loop, happened, "arrival", WIRE, 50)
        event(loop, happened, "credit", CREDIT, 60)
        return actors(loop, happened, 2, 1, 2)

    source = Asked()
    happened = run(source, start)
    assert happened == [
        "arrival at 0",
        "credit at 0",
        *("turn 1", "turn 1", "turn 2", "turn 2"),
        "flush at 0",
        "timer at 25",
        "answer at 25",
    ]
    late = [FLUSHER.key, TIME, CALL.key]
    assert source.asked[0] == [WIRE.key, CREDIT.key, turn(1), turn(2), *late]
    assert source.asked[3] == [turn(1), turn(2), *late]
    assert source.asked[6:8] == [late, [TIME, CALL.key]]


def test_task_that_ran_last_is_the_first_option() -> None:
    source = Asked(1, 0)
    happened = run(source, lambda loop, happened: actors(loop, happened, 2, 1, 2))
    assert happened == ["turn 2", "turn 2", "turn 1", "turn 1"]
    assert source.asked[:2] == [[turn(1), turn(2), TIME], [turn(2), turn(1), TIME]]


def test_time_passes_while_a_task_is_ready_if_it_is_chosen() -> None:
    def start(loop: VirtualTimeLoop, happened: list[str]) -> object:
        event(loop, happened, "timer", THREAD, 5)
        return actors(loop, happened, 1, 1)

    assert run(Asked(), start) == ["turn 1", "timer at 5"]
    assert run(Asked(1, 1), start) == ["timer at 5", "turn 1"]


def test_step_has_an_effect_on_the_tasks_that_it_wakes() -> None:
    def start(loop: VirtualTimeLoop, happened: list[str]) -> object:
        loop.call_at_ns(START_NS, lambda: loop.wake(7), origin=WIRE)
        return actors(loop, happened, 1, 1)

    source = Asked()
    run(source, start)
    assert source.touched[0] == [2, 7]
    assert source.touched[1] == [1]

"""The loop that asks which event is the next: its options, and what happens without a choice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence, Set

from flowsim.sim.choice_token import Recorded
from flowsim.sim.exploring_loop import CLOCK_ADVANCED, CLOCK_READ, START, ExploringLoop, ExploringPolicy, Option
from flowsim.sim.origin import Origin
from flowsim.sim.run_virtual import run_virtual
from flowsim.sim.virtual_time_loop import START_NS, VirtualTimeLoop

FIRST, SECOND = Origin("arrive", 1, 0), Origin("arrive", 2, 0)
THREAD = Origin("timer", 1, 0)


class End(Origin):
    @property
    def brings_end(self) -> bool:
        return True


class Asked(Recorded):
    """Chooses the options of a script, then the first ones; keeps what it was asked and what the loop reported."""

    def __init__(self, *script: int) -> None:
        super().__init__()
        self.script = list(script)
        self.asked: list[list[object]] = []
        self.causes: list[list[int]] = []
        self.touched: list[list[int]] = []

    def decide(self, options: Sequence[Option]) -> int:
        self.asked.append([option.key for option in options])
        self.causes.append([option.cause for option in options])
        return self.script.pop(0) if self.script else 0

    def executed(self, touched: Set[int]) -> None:
        self.touched.append(sorted(touched))


def run(source: Asked, start: Callable[[VirtualTimeLoop, list[str]], object], seconds: float = 1.0) -> list[str]:
    """Returns what happened until an asyncio timer ends the run."""
    happened: list[str] = []

    async def main(loop: VirtualTimeLoop) -> None:
        start(loop, happened)
        await asyncio.sleep(seconds)
        happened.append(f"end at {loop.now_ns - START_NS}")

    run_virtual(main, policy=ExploringPolicy(source))
    return happened


def event(loop: VirtualTimeLoop, happened: list[str], name: str, origin: Origin, at_ns: int = 0) -> None:
    loop.call_at_ns(START_NS + at_ns, lambda: happened.append(f"{name} at {loop.now_ns - START_NS}"), origin=origin)


def test_arrivals_happen_in_any_order_but_in_that_of_their_channel() -> None:
    def start(loop: VirtualTimeLoop, happened: list[str]) -> None:
        assert isinstance(loop, ExploringLoop)
        event(loop, happened, "a", FIRST)
        event(loop, happened, "b", SECOND)
        event(loop, happened, "c", FIRST, 7)

    source = Asked(1, 0, 0)
    assert run(source, start)[:3] == ["b at 0", "a at 0", "c at 0"]
    time = ("time", -1)
    assert source.asked[:3] == [[FIRST.key, SECOND.key, time], [FIRST.key, time], [FIRST.key, time]]
    assert source.touched[:3] == [[2], [1], [1]]


def test_time_can_pass_while_a_message_travels() -> None:
    def start(loop: VirtualTimeLoop, happened: list[str]) -> None:
        event(loop, happened, "arrival", FIRST)
        event(loop, happened, "timer", THREAD, 5)

    assert run(Asked(), start)[:2] == ["arrival at 0", "timer at 5"]
    source = Asked(1, 1)
    assert run(source, start)[:2] == ["timer at 5", "arrival at 5"]
    assert source.asked[:2] == [[FIRST.key, ("time", -1)], [FIRST.key, THREAD.key, ("time", -1)]]
    assert source.touched[:2] == [[CLOCK_ADVANCED], [1]]
    assert source.causes[1][:2] == [START, 0], "the step that let time pass made the timer due"


def test_timers_without_an_effect_do_not_let_time_pass() -> None:
    def start(loop: VirtualTimeLoop, happened: list[str]) -> None:
        loop.call_at_ns(START_NS + 5, lambda: None, daemon_while_not=lambda: False, origin=THREAD)
        loop.call_at_ns(START_NS + 6, lambda: None, origin=Origin("master", 9))

    source = Asked()

    async def main(loop: VirtualTimeLoop) -> None:
        start(loop, [])
        arrived = asyncio.Event()
        loop.call_at_ns(START_NS, arrived.set, origin=FIRST)
        await arrived.wait()

    run_virtual(main, policy=ExploringPolicy(source))
    assert source.asked == [[FIRST.key]]


def test_credits_and_ends_happen_at_once() -> None:
    end = End("arrive", 2, 1)

    def start(loop: VirtualTimeLoop, happened: list[str]) -> None:
        event(loop, happened, "arrival", FIRST)
        event(loop, happened, "end", end)
        event(loop, happened, "credit", Origin("credit", 1, immediate=True))

    source = Asked()
    assert run(source, start)[:3] == ["end at 0", "credit at 0", "arrival at 0"]
    assert source.asked[0][0] == FIRST.key


def test_end_waits_for_its_turn_while_the_receiver_has_a_timer() -> None:
    end = End("arrive", 1, 1)

    def start(loop: VirtualTimeLoop, happened: list[str]) -> None:
        event(loop, happened, "end", end)
        event(loop, happened, "timer", THREAD, 5)

    source = Asked(1, 1)
    assert run(source, start)[:2] == ["timer at 5", "end at 5"]
    assert source.asked[0] == [end.key, ("time", -1)]


def test_steps_that_set_or_cancel_timers_depend_on_the_time() -> None:
    def start(loop: VirtualTimeLoop, happened: list[str]) -> None:
        kept = loop.call_at_ns(START_NS + 9, lambda: None, origin=THREAD)
        loop.call_at_ns(START_NS, lambda: event(loop, happened, "timer", THREAD, 5), origin=FIRST)
        loop.call_at_ns(START_NS, kept.cancel, origin=SECOND)

    source = Asked(0, 0)
    run(source, start)
    assert source.touched[:2] == [[CLOCK_READ, 1], [CLOCK_READ, 2]]


def test_step_of_a_task_with_a_timer_depends_on_the_time() -> None:
    def start(loop: VirtualTimeLoop, happened: list[str]) -> None:
        loop.call_at_ns(START_NS + 5, lambda: None, daemon_while_not=lambda: False, origin=THREAD)
        event(loop, happened, "with timer", FIRST)
        event(loop, happened, "without", SECOND)

    source = Asked(0, 0)
    run(source, start)
    assert source.touched[:2] == [[CLOCK_READ, 1], [2]]


def test_timers_of_asyncio_are_options_of_their_own() -> None:
    happened: list[str] = []

    async def sleep(name: str) -> None:
        await asyncio.sleep(0.001)
        happened.append(name)

    async def main(loop: VirtualTimeLoop) -> None:
        await asyncio.gather(sleep("a"), sleep("b"), sleep("c"))

    source = Asked(0, 2, 1)
    run_virtual(main, policy=ExploringPolicy(source))
    assert happened == ["c", "b", "a"]
    assert source.asked[1] == [("timer", -1, 0), ("timer", -1, 1), ("timer", -1, 2)]

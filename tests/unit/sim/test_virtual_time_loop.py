"""The order of one round: callbacks, due timers, one actor, the jump to the next timer (D4)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import partial

import pytest

from flowsim.errors import Deadlock, InvariantViolation
from flowsim.sim import standstill
from flowsim.sim.origin import Origin
from flowsim.sim.policy import ChoiceRecorder, FifoPolicy, SchedulingPolicy, ScriptedPolicy, SeededRandomPolicy
from flowsim.sim.rng import RandomStreams
from flowsim.sim.virtual_time_loop import START_NS, Livelock, UntilReached, VirtualTimeLoop


@pytest.fixture
def loop() -> Iterator[VirtualTimeLoop]:
    made = VirtualTimeLoop()
    yield made
    made.close()


def in_turn(*callbacks: Callable[[], object]) -> Callable[[], None]:
    def call_all() -> None:
        for callback in callbacks:
            callback()

    return call_all


def run_actors(loop: VirtualTimeLoop, actors: int, turns: int) -> list[int]:
    """``actors`` actors that give way ``turns`` times each: the order of their turns."""
    log: list[int] = []

    async def actor(number: int) -> None:
        for _ in range(turns):
            loop.wake(number)
            await loop.park(number)
            log.append(number)

    async def main() -> None:
        await asyncio.gather(*(actor(number) for number in range(actors)))

    loop.run_until_complete(main())
    return log


def test_time_starts_at_one_second(loop: VirtualTimeLoop) -> None:
    assert loop.now_ns == START_NS == 1_000_000_000
    assert loop.time() == 1.0


def test_time_jumps_to_each_timer_with_nanosecond_precision(loop: VirtualTimeLoop) -> None:
    log: list[tuple[str, int]] = []
    far_ns = START_NS + 10**18 + 1
    loop.call_at_ns(far_ns, in_turn(lambda: log.append(("far", loop.now_ns)), loop.stop))
    loop.call_at_ns(START_NS + 1, lambda: log.append(("near", loop.now_ns)))
    loop.run_forever()
    assert log == [("near", START_NS + 1), ("far", far_ns)]


def test_timers_of_same_time_run_in_order_of_creation(loop: VirtualTimeLoop) -> None:
    log: list[str] = []
    loop.call_at_ns(START_NS + 10**9, lambda: log.append("first"))
    loop.call_later(1.0, log.append, "second")
    loop.call_at(2.0, log.append, "third")
    loop.call_at_ns(START_NS + 10**9, loop.stop)
    loop.run_forever()
    assert log == ["first", "second", "third"]


def test_timer_of_passed_time_runs_after_due_timers(loop: VirtualTimeLoop) -> None:
    log: list[tuple[str, int]] = []
    loop.call_at_ns(START_NS, lambda: log.append(("due", loop.now_ns)))
    loop.call_at_ns(0, lambda: log.append(("passed", loop.now_ns)))
    loop.call_later(-5, loop.stop)
    loop.run_forever()
    assert log == [("due", START_NS), ("passed", START_NS)]


def test_cancelled_timer_does_not_run_and_does_not_delay_time(loop: VirtualTimeLoop) -> None:
    log: list[str] = []
    timer = loop.call_at_ns(START_NS + 5, lambda: log.append("cancelled"))
    loop.call_at_ns(START_NS + 9, loop.stop)
    timer.cancel()
    timer.cancel()
    loop.run_forever()
    assert (log, loop.now_ns) == ([], START_NS + 9)
    timer.cancel()


def test_timer_cancelled_by_timer_of_same_time_does_not_run(loop: VirtualTimeLoop) -> None:
    log: list[str] = []
    loop.call_at_ns(START_NS + 5, lambda: second.cancel())
    second = loop.call_at_ns(START_NS + 5, lambda: log.append("cancelled"))
    loop.call_at_ns(START_NS + 6, loop.stop)
    loop.run_forever()
    assert log == []


def test_cancelled_timers_are_removed_and_others_keep_order(loop: VirtualTimeLoop) -> None:
    log: list[int] = []
    timers = [loop.call_later(1, log.append, number) for number in range(5_000)]
    for number, timer in enumerate(timers):
        if number % 1_000:
            timer.cancel()
    assert len(loop._timers) < 500
    loop.call_later(1, loop.stop)
    loop.run_forever()
    assert log == [0, 1_000, 2_000, 3_000, 4_000]


def test_callbacks_and_due_timers_run_before_next_actor(loop: VirtualTimeLoop) -> None:
    log: list[str] = []

    async def actor() -> None:
        loop.wake(0)
        loop.call_soon(in_turn(lambda: log.append("callback"), lambda: loop.call_soon(log.append, "its callback")))
        loop.call_at_ns(loop.now_ns, lambda: log.append("due timer"))
        loop.call_at_ns(loop.now_ns + 1, lambda: log.append("later timer"))
        await loop.park(0)
        log.append(f"turn at {loop.now_ns - START_NS}")

    loop.run_until_complete(actor())
    assert log == ["callback", "its callback", "due timer", "turn at 0"]


def test_actors_run_in_order_of_becoming_ready(loop: VirtualTimeLoop) -> None:
    assert run_actors(loop, actors=3, turns=2) == [0, 1, 2, 0, 1, 2]


def test_policy_chooses_among_ready_actors_and_real_choices_are_recorded() -> None:
    choices: list[tuple[object, ...]] = []
    loop = VirtualTimeLoop(ScriptedPolicy([2, 0, 1]), on_choice=lambda *choice: choices.append(choice))
    assert run_actors(loop, actors=3, turns=1) == [2, 0, 1]
    loop.close()
    # The last actor was alone: no choice.
    assert choices == [(0, 2, 3, ("turn", 2)), (1, 0, 2, ("turn", 0))]


def test_recorded_choices_replay_random_run() -> None:
    choices: list[int] = []
    recorded = VirtualTimeLoop(
        SeededRandomPolicy(RandomStreams(9)), on_choice=lambda step, index, options, key: choices.append(index)
    )
    log = run_actors(recorded, actors=5, turns=20)
    recorded.close()
    replayed = VirtualTimeLoop(ScriptedPolicy(choices))
    assert run_actors(replayed, actors=5, turns=20) == log
    replayed.close()
    fifo = VirtualTimeLoop(FifoPolicy())
    assert run_actors(fifo, actors=5, turns=20) != log
    fifo.close()


class EventsOfThreeOrigins:
    """Due at one time: two events of origin a, one of b, one without origin, and an actor that is ready."""

    def __init__(self, policy: SchedulingPolicy, on_choice: ChoiceRecorder | None = None) -> None:
        self.log: list[str] = []
        loop = self.loop = VirtualTimeLoop(policy, on_choice=on_choice)
        loop.run_until_complete(self.main())
        loop.close()

    async def main(self) -> None:
        loop, log = self.loop, self.log
        when_ns = loop.now_ns + 5
        first, second = Origin("timer", 0, 0), Origin("flush", 0, 1)
        for event, origin in (("a1", first), ("b", second), ("a2", first)):
            loop.call_at_ns(when_ns, partial(log.append, event), origin=origin)
        loop.call_at_ns(when_ns, lambda: loop.wake(0))
        loop.call_at_ns(when_ns, lambda: loop.call_soon(log.append, "callback"))
        await loop.park(0)
        log.append("turn")
        await asyncio.sleep(1)


def test_random_policy_chooses_among_events_of_origins_and_turns() -> None:
    """4! orders, of which the fixed order of a1 and a2 leaves half."""
    logs = [EventsOfThreeOrigins(SeededRandomPolicy(RandomStreams(seed))).log for seed in range(200)]
    assert len({tuple(log) for log in logs}) == 12
    for log in logs:
        assert log[0] == "callback"
        assert log.index("a1") < log.index("a2")
        assert sorted(log[1:]) == ["a1", "a2", "b", "turn"]


def test_events_run_in_order_of_creation_before_turns_unless_the_policy_chooses() -> None:
    choices: list[tuple[object, ...]] = []
    for policy in (FifoPolicy(), ScriptedPolicy([1, 1])):
        log = EventsOfThreeOrigins(policy, lambda *choice: choices.append(choice)).log
        assert log == ["a1", "b", "a2", "callback", "turn"]
    assert choices == []


def test_choices_of_events_are_recorded_and_replay() -> None:
    for seed in range(20):
        choices: list[tuple[object, ...]] = []
        random = SeededRandomPolicy(RandomStreams(seed))
        log = EventsOfThreeOrigins(random, lambda *choice: choices.append(choice)).log  # noqa: B023
        assert [step for step, *_ in choices] == list(range(len(choices)))
        assert choices[0][2] == 3
        replay = ScriptedPolicy([index for _, index, *_ in choices], SeededRandomPolicy(RandomStreams(seed)))
        assert EventsOfThreeOrigins(replay).log == log


def test_events_are_due_while_a_turn_is_given_before_them() -> None:
    """A batch that begins then ends after one element, so that the event's mail waits no longer."""
    seen: list[tuple[bool, bool]] = []
    for seed in range(20):
        loop = VirtualTimeLoop(SeededRandomPolicy(RandomStreams(seed)))
        log: list[str] = []

        async def main(loop: VirtualTimeLoop, log: list[str]) -> None:
            loop.call_at_ns(loop.now_ns + 5, partial(log.append, "event"), origin=Origin("timer", 0, 0))
            loop.call_at_ns(loop.now_ns + 5, lambda: loop.wake(0))
            await loop.park(0)
            seen.append((log == [], loop.has_due_events))
            await asyncio.sleep(1)

        loop.run_until_complete(main(loop, log))
        loop.close()
    assert set(seen) == {(True, True), (False, False)}


def test_timers_of_asyncio_have_no_order_at_one_time_under_the_random_policy() -> None:
    def order(policy: SchedulingPolicy) -> list[int]:
        log: list[int] = []

        async def main() -> None:
            async def sleeper(number: int) -> None:
                await asyncio.sleep(1)
                log.append(number)

            await asyncio.gather(*(sleeper(number) for number in range(3)))

        loop = VirtualTimeLoop(policy)
        loop.run_until_complete(main())
        loop.close()
        return log

    assert order(FifoPolicy()) == [0, 1, 2]
    assert len({tuple(order(SeededRandomPolicy(RandomStreams(seed)))) for seed in range(60)}) == 6


def test_policy_choice_out_of_range_is_refused() -> None:
    class Broken(FifoPolicy):
        def choose(self, ready: object) -> int:
            return -1

    loop = VirtualTimeLoop(Broken())
    with pytest.raises(InvariantViolation, match="policy fifo chose -1 of 2"):
        run_actors(loop, actors=2, turns=1)
    loop.close()


def test_double_wake_gives_one_turn_and_early_wake_is_remembered(loop: VirtualTimeLoop) -> None:
    log: list[str] = []

    async def actor() -> None:
        loop.wake(4)
        loop.wake(4)
        await loop.park(4)
        log.append("remembered")
        loop.call_at_ns(loop.now_ns + 7, in_turn(lambda: loop.wake(4), lambda: loop.wake(4)))
        await loop.park(4)
        log.append(f"woken at {loop.now_ns - START_NS}")
        await loop.park(4)

    with pytest.raises(Deadlock, match=r"nothing can run any more at virtual time 1000000007 ns; parked actors: 4"):
        loop.run_until_complete(actor())
    assert log == ["remembered", "woken at 7"]


def test_cancelled_park_is_undone_and_its_wake_remembered(loop: VirtualTimeLoop) -> None:
    log: list[str] = []

    async def actor() -> None:
        try:
            await loop.park(1)
        except asyncio.CancelledError:
            loop.unpark(1)
            log.append("cancelled")
        await loop.park(1)
        log.append("woken before")

    async def main() -> None:
        task = asyncio.ensure_future(actor())
        await asyncio.sleep(1)
        loop.wake(1)
        task.cancel()
        await task

    loop.run_until_complete(main())
    assert log == ["cancelled", "woken before"]
    turns = loop._turns
    assert (turns.parked, turns._futures, turns.ready, turns._woken) == ({}, {}, [], set())


def test_idle_daemon_timers_do_not_keep_run_alive(loop: VirtualTimeLoop) -> None:
    quiescent_at: list[int] = []
    loop.on_quiescent = in_turn(lambda: quiescent_at.append(loop.now_ns - START_NS), loop.stop)
    unflushed = ["a"]

    def flush() -> None:
        unflushed.clear()
        loop.call_at_ns(loop.now_ns + 100, flush, daemon_while_not=lambda: bool(unflushed))

    loop.call_at_ns(loop.now_ns + 100, flush, daemon_while_not=lambda: bool(unflushed))
    loop.call_at_ns(loop.now_ns + 250, lambda: unflushed.append("b"))
    loop.run_forever()
    # The ordinary timer at 250 carries the idle daemon of 200 along; then "b" waits for the daemon of 300.
    assert quiescent_at == [300]
    assert unflushed == []


def test_condition_of_cancelled_daemon_timer_is_not_called(loop: VirtualTimeLoop) -> None:
    asked: list[str] = []

    def ask() -> bool:
        asked.append("asked")
        return True

    loop.on_quiescent = loop.stop
    timer = loop.call_at_ns(loop.now_ns + 5, lambda: None, daemon_while_not=ask)
    timer.cancel()
    loop.run_forever()
    assert asked == []


def test_on_quiescent_is_called_at_every_standstill(
    loop: VirtualTimeLoop,
) -> None:
    calls: list[int] = []

    def on_quiescent() -> None:
        calls.append(loop.now_ns - START_NS)
        if len(calls) == 1:
            loop.call_at_ns(loop.now_ns + 10, lambda: None)
        else:
            loop.stop()

    loop.on_quiescent = on_quiescent
    loop.run_forever()
    assert calls == [0, 10]


def test_exception_of_on_quiescent_ends_run(loop: VirtualTimeLoop) -> None:
    def report() -> None:
        raise Deadlock("A waits for B")

    loop.on_quiescent = report
    with pytest.raises(Deadlock, match="A waits for B"):
        loop.run_until_complete(loop.create_future())


def test_clock_stops_at_until_and_continues_for_cleanup() -> None:
    log: list[tuple[str, int]] = []

    async def cleans_up() -> None:
        try:
            await asyncio.sleep(100)
        finally:
            await asyncio.sleep(1)
            log.append(("clean", loop.now_ns - START_NS))

    def on_until() -> None:
        log.append(("until", loop.now_ns - START_NS))
        task.cancel()

    loop = VirtualTimeLoop(until_ns=START_NS + 5, on_until=on_until)
    task = loop.create_task(cleans_up())
    with pytest.raises(asyncio.CancelledError):
        loop.run_until_complete(task)
    loop.close()
    assert log == [("until", 5), ("clean", 10**9 + 5)]


def test_timer_at_until_runs_and_passing_it_without_callback_raises() -> None:
    log: list[str] = []
    loop = VirtualTimeLoop(until_ns=START_NS + 5)
    loop.call_at_ns(START_NS + 5, lambda: log.append("ran"))
    loop.call_at_ns(START_NS + 6, lambda: log.append("never"))
    with pytest.raises(UntilReached, match="reached the limit of the run, 1000000005 ns"):
        loop.run_forever()
    loop.close()
    assert log == ["ran"]


def test_error_in_own_timer_ends_run_and_in_asyncio_callback_is_reported(
    loop: VirtualTimeLoop,
) -> None:
    reported: list[str] = []
    loop.set_exception_handler(lambda _, context: reported.append(repr(context["exception"])))
    loop.call_soon(lambda: 1 // 0)
    loop.call_later(1, lambda: [][1])

    def fails() -> None:
        raise ValueError("ours")

    loop.call_at_ns(START_NS + 2 * 10**9, fails)
    with pytest.raises(ValueError, match="ours"):
        loop.run_forever()
    assert reported == [
        "ZeroDivisionError('integer division or modulo by zero')",
        "IndexError('list index out of range')",
    ]


def test_polling_without_progress_of_time_raises_livelock(
    loop: VirtualTimeLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "_max_callbacks", 1_000)

    async def polls() -> None:
        while True:
            await asyncio.sleep(0)

    with pytest.raises(Livelock, match="1000 callbacks ran while virtual time stood still"):
        loop.run_until_complete(polls())


@pytest.mark.parametrize("advances", [False, True])
def test_turns_at_one_time_are_reported(advances: bool, loop: VirtualTimeLoop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standstill, "_STANDSTILL_TURNS", 10)
    reports: list[bool] = []
    monkeypatch.setattr(loop, "_standstill", standstill.Standstill(reports.append))

    async def takes_turns() -> None:
        for _ in range(25):
            loop.wake(1)
            await loop.park(1)
            if advances:
                await asyncio.sleep(0.001)

    loop.run_until_complete(takes_turns())
    assert reports == ([] if advances else [False, False])


def test_stop_runs_queued_callbacks_and_keeps_later_ones(loop: VirtualTimeLoop) -> None:
    log: list[str] = []
    loop.call_soon(in_turn(loop.stop, loop.stop, loop.stop, lambda: loop.call_soon(log.append, "next run")))
    loop.call_soon(log.append, "this run")
    loop.run_forever()
    assert log == ["this run"]
    loop.call_soon(loop.stop)
    loop.run_forever()
    assert log == ["this run", "next run"]

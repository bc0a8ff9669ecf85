"""The lock that the actors of one task share: one holder at a time, first come first served, released by waits."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from flowsim.errors import InvariantViolation
from flowsim.legacy.checkpoint_lock import CheckpointLock
from flowsim.sim.run_virtual import run_virtual
from flowsim.sim.virtual_time_loop import VirtualTimeLoop
from flowsim.tasks.actor import Actor

Work = Callable[[Actor, CheckpointLock, list[str]], None]


def run(*works: Work) -> list[str]:
    """What the actors noted; they begin in their order."""
    lock, log = CheckpointLock(), list[str]()

    async def main(loop: VirtualTimeLoop) -> None:
        actors: list[Actor] = []
        for number, work in enumerate(works):
            actors.append(Actor(number, f"actor {number}", loop, lambda n=number, w=work: w(actors[n], lock, log)))  # type: ignore[misc]
        async with asyncio.TaskGroup() as group:
            for actor in actors:
                group.create_task(actor.run())

    run_virtual(main)
    assert lock.owner is None
    return log


def holding(name: str, cost_ns: int) -> Work:
    def work(actor: Actor, lock: CheckpointLock, log: list[str]) -> None:
        lock.acquire(actor)
        log.append(f"{name} has it")
        actor.spend(cost_ns)
        log.append(f"{name} gives it away")
        lock.release(actor)

    return work


def test_lock_is_held_by_one_actor_in_order_of_request() -> None:
    assert run(holding("a", 50), holding("b", 1), holding("c", 1)) == [
        "a has it", "a gives it away", "b has it", "b gives it away", "c has it", "c gives it away",
    ]  # fmt: skip


def test_actor_waiting_for_condition_releases_lock_and_keeps_its_turn() -> None:
    """As Object.wait does."""
    places: list[int] = []

    def waits(actor: Actor, lock: CheckpointLock, log: list[str]) -> None:
        lock.acquire(actor, lambda: bool(places))
        log.append("the place is mine")
        lock.release(actor)

    def makes_place(actor: Actor, lock: CheckpointLock, log: list[str]) -> None:
        lock.acquire(actor)
        log.append("there is a place")
        places.append(1)
        actor.spend(10)
        lock.release(actor)

    def comes_last(actor: Actor, lock: CheckpointLock, log: list[str]) -> None:
        actor.spend(5)
        assert lock.is_wanted, "the first could go on, were the lock free"
        lock.acquire(actor)
        log.append("the last one")
        lock.release(actor)

    assert run(waits, makes_place, comes_last) == ["there is a place", "the place is mine", "the last one"]


def test_lock_cannot_be_acquired_twice_or_released_by_others() -> None:
    def work(actor: Actor, lock: CheckpointLock, log: list[str]) -> None:
        with pytest.raises(InvariantViolation, match="releases a lock that it does not hold"):
            lock.release(actor)
        lock.acquire(actor)
        with pytest.raises(InvariantViolation, match="already holds or waits for"):
            lock.acquire(actor)
        lock.release(actor)
        log.append("done")

    assert run(work) == ["done"]

"""The lock that the actors of one task share. Flink: StreamTaskActionExecutor (synchronized), the checkpoint lock of 1.8."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.errors import InvariantViolation
from flowsim.tasks.actor import Actor


def at_once() -> bool:
    """Waits for nothing but the lock."""
    return True


class CheckpointLock:
    """Held by one actor of a task at a time; of those that can go on, who waits longest is the next.

    Java's monitors promise no order at all, so this is one of theirs. An actor may wait for something more than the lock,
    as with Object.wait: it lets others pass until that is so. Invariant: an actor that waits is not the owner.
    Flink: StreamTaskActionExecutor.SynchronizedStreamTaskActionExecutor.
    """

    __slots__ = ("owner", "_waiting")

    def __init__(self) -> None:
        self.owner: Actor | None = None
        self._waiting: dict[Actor, Callable[[], bool]] = {}
        """In the order in which they came."""

    @property
    def is_wanted(self) -> bool:
        """Whether somebody waits who could go on."""
        return self._next() is not None

    def is_awaited_by(self, actor: Actor) -> bool:
        return actor in self._waiting

    def acquire(self, actor: Actor, ready: Callable[[], bool] = at_once) -> None:
        """Blocks ``actor`` until the lock is its own and ``ready``; who makes that true wakes the actor."""
        if self.owner is actor or actor in self._waiting:
            raise InvariantViolation(f"{actor.name} asks for a lock that it holds or waits for already")
        self._waiting[actor] = ready
        try:
            actor.wait_until(lambda: self.owner is None and self._next() is actor)
        finally:
            del self._waiting[actor]
        self.owner = actor

    def release(self, actor: Actor) -> None:
        """Gives the lock to whoever is next; raises InvariantViolation when ``actor`` does not hold it."""
        if self.owner is not actor:
            raise InvariantViolation(f"{actor.name} releases a lock that it does not hold")
        self.owner = None
        following = self._next()
        if following is not None:
            following.wake()

    def _next(self) -> Actor | None:
        return next((actor for actor, ready in self._waiting.items() if ready()), None)

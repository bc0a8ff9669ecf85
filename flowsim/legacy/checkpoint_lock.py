"""The lock that the actors of one task share. Flink: StreamTaskActionExecutor (synchronized), the checkpoint lock of 1.8."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.errors import InvariantViolation
from flowsim.tasks.actor import Actor


def at_once() -> bool:
    """Returns True: the actor waits only for the lock, not for a condition."""
    return True


class CheckpointLock:
    """A lock that one actor of a task holds at a time; the longest waiting actor that is ready gets it next.

    Java's monitors guarantee no order, so this order is valid. An actor may also wait for a condition, as with
    Object.wait: other actors get the lock until then. Invariant: a waiting actor is not the owner. Flink:
    StreamTaskActionExecutor.SynchronizedStreamTaskActionExecutor.
    """

    __slots__ = ("owner", "_waiting")

    def __init__(self) -> None:
        self.owner: Actor | None = None
        self._waiting: dict[Actor, Callable[[], bool]] = {}
        """The waiting actors, in order of arrival."""

    @property
    def is_wanted(self) -> bool:
        """True if a waiting actor is ready."""
        return self._next() is not None

    def is_awaited_by(self, actor: Actor) -> bool:
        return actor in self._waiting

    def acquire(self, actor: Actor, ready: Callable[[], bool] = at_once) -> None:
        """Blocks ``actor`` until it has the lock and ``ready()`` is true.

        Code that makes ``ready()`` true must wake the actor.
        """
        if self.owner is actor or actor in self._waiting:
            raise InvariantViolation(f"{actor.name} requests a lock that it already holds or waits for")
        self._waiting[actor] = ready
        try:
            actor.wait_until(lambda: self.owner is None and self._next() is actor)
        finally:
            del self._waiting[actor]
        self.owner = actor

    def release(self, actor: Actor) -> None:
        """Passes the lock to the next actor; raises InvariantViolation if ``actor`` is not the owner."""
        if self.owner is not actor:
            raise InvariantViolation(f"{actor.name} releases a lock that it does not hold")
        self.owner = None
        following = self._next()
        if following is not None:
            following.wake()

    def _next(self) -> Actor | None:
        return next((actor for actor, ready in self._waiting.items() if ready()), None)

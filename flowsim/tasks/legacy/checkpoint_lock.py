"""The lock that a legacy source shares with the mails of its task. Flink: StreamTaskActionExecutor (synchronized)."""

from __future__ import annotations

from collections import deque

from flowsim.errors import InvariantViolation
from flowsim.tasks.actor import Actor


class CheckpointLock:
    """Held by one actor of a task at a time; who asked first gets it first.

    Java's monitors promise no order at all, so this is one of theirs. Invariant: an actor that waits is not the owner.
    Flink: StreamTaskActionExecutor.SynchronizedStreamTaskActionExecutor.
    """

    __slots__ = ("owner", "_waiting")

    def __init__(self) -> None:
        self.owner: Actor | None = None
        self._waiting: deque[Actor] = deque()

    def try_acquire(self, actor: Actor) -> bool:
        """Whether ``actor`` has the lock now; if not it is woken when its turn comes, and asks again."""
        if self.owner is actor:
            return True
        waiting = self._waiting
        if self.owner is None and (not waiting or waiting[0] is actor):
            if waiting:
                waiting.popleft()
            self.owner = actor
            return True
        if actor not in waiting:
            waiting.append(actor)
        return False

    def release(self, actor: Actor) -> None:
        """Gives the lock to whoever waits longest; raises InvariantViolation when ``actor`` does not hold it."""
        if self.owner is not actor:
            raise InvariantViolation(f"{actor.name} releases a lock that it does not hold")
        self.owner = None
        if self._waiting:
            self._waiting[0].wake()

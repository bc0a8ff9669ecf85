"""The turns of actors on the virtual loop: which actors wait, and which may run."""

from __future__ import annotations

from asyncio import Future


class Turns:
    """The futures of actors that wait for their turn.

    Invariants: an actor is in at most one of ``parked`` and ``_futures``; ``ready`` lists the keys of ``_futures``.
    """

    __slots__ = ("parked", "ready", "_futures", "_woken")

    def __init__(self) -> None:
        self.parked: dict[int, Future[None]] = {}
        """The actors that wait for a ``wake``."""
        self.ready: list[int] = []
        """The actors that wait only for their turn, in the order in which they became ready."""
        self._futures: dict[int, Future[None]] = {}
        self._woken: set[int] = set()

    def park(self, actor: int, future: Future[None]) -> None:
        """Lets the actor wait; replaces the future of an actor that waits."""
        if actor in self._futures:
            self._futures[actor] = future
        elif actor in self._woken:
            self._woken.discard(actor)
            self._make_ready(actor, future)
        else:
            self.parked[actor] = future

    def wake(self, actor: int) -> None:
        future = self.parked.pop(actor, None)
        if future is not None:
            self._make_ready(actor, future)
        elif actor not in self._futures:
            self._woken.add(actor)

    def unpark(self, actor: int) -> None:
        self.parked.pop(actor, None)
        if self._futures.pop(actor, None) is not None:
            self.ready.remove(actor)
            self._woken.add(actor)

    def take(self, actor: int) -> Future[None]:
        """Removes a ready actor, whose turn has come; returns its future."""
        self.ready.remove(actor)
        return self._futures.pop(actor)

    def clear(self) -> None:
        self.ready.clear()
        # Dropping a parked future ends its coroutine, which may call back to remove its park.
        for futures in (self.parked, self._futures):
            while futures:
                futures.popitem()

    def _make_ready(self, actor: int, future: Future[None]) -> None:
        self._futures[actor] = future
        self.ready.append(actor)

"""The actors of a run on the event loop: tasks, source threads and the job manager."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from flowsim.tasks.actor import Actor
from flowsim.tasks.stream_task import StreamTask


class StartedActors:
    """The started actors by id. An actor id is a task id, except for source threads and the job manager."""

    __slots__ = ("_actors",)

    def __init__(self) -> None:
        self._actors: dict[int, asyncio.Task[None]] = {}

    def start(self, actor: Actor, when_ended: Callable[[asyncio.Task[None]], None] | None = None) -> None:
        """Starts an actor on the running event loop."""
        started = asyncio.get_running_loop().create_task(_coroutine(actor), name=actor.name)
        if when_ended is not None:
            started.add_done_callback(when_ended)
        self._actors[actor.actor_id] = started

    def cancel(self, task: StreamTask) -> None:
        """Cancels a task and its started actors."""
        task.cancel()
        for each in task.actors:
            if each.actor_id in self._actors:
                self._actors[each.actor_id].cancel()

    def cancel_threads(self, task: StreamTask) -> None:
        """Cancels the started actors of a task that has ended."""
        for each in task.actors:
            if each is not task.actor and each.actor_id in self._actors:
                self._actors[each.actor_id].cancel()

    def has_ended(self, actor_id: int) -> bool:
        """True for an actor that ended, or never started."""
        started = self._actors.get(actor_id)
        return started is None or started.done()

    def forget(self, actor_id: int) -> bool:
        """Removes an ended actor, whose successor has the same id; returns False if it never started."""
        return self._actors.pop(actor_id, None) is not None

    async def when_all_ended(self) -> None:
        """Waits for all actors in the order of their ids; ignores failures, which were stored when they happened."""
        for number in sorted(self._actors):
            actor = self._actors[number]
            try:
                await actor
            except asyncio.CancelledError:
                if not actor.cancelled():
                    raise
            except Exception:
                continue


def _coroutine(actor: Actor) -> Coroutine[Any, Any, None]:
    return actor.run()

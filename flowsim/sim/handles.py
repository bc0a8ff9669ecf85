"""The entries of the virtual loop's queues: callbacks, timers, and tasks whose sets iterate in order of creation."""

from __future__ import annotations

import asyncio
from asyncio import AbstractEventLoop
from collections.abc import Callable, Coroutine, Generator
from contextvars import Context
from typing import Any, Protocol, TypeVar

from flowsim.sim.origin import Origin

_T = TypeVar("_T")


class VirtualHandle(asyncio.Handle):
    """A queued callback. It is faster to create than asyncio's own handle, which matters for every task switch."""

    __slots__ = ("callback", "context", "arguments")

    is_event_of_task = False

    def __init__(self, callback: Callable[..., object], arguments: tuple[Any, ...], context: Context) -> None:
        self.callback = callback
        self.arguments = arguments
        self.context = context
        self._cancelled = False

    def cancel(self) -> None:
        self._cancelled = True
        self.callback = _nothing
        self.arguments = ()

    def cancelled(self) -> bool:
        return self._cancelled

    def get_context(self) -> Context:
        return self.context

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {getattr(self.callback, '__qualname__', 'callback')}>"


class TimerOwner(Protocol):
    """An object that is notified of cancelled timers, so that it can count the pending timers."""

    def timer_cancelled(self, timer: VirtualTimer) -> None: ...


class VirtualTimer(asyncio.TimerHandle):
    """A callback at a virtual time; a daemon does not keep a run alive while ``daemon_while_not`` returns False."""

    __slots__ = (
        "callback",
        "context",
        "arguments",
        "when_ns",
        "daemon_while_not",
        "origin",
        "owner",
        "propagates",
        "cause",
    )

    def __init__(
        self,
        when_ns: int,
        callback: Callable[..., object],
        arguments: tuple[Any, ...],
        context: Context,
        owner: TimerOwner,
    ) -> None:
        self.when_ns = when_ns
        self.callback = callback
        self.arguments = arguments
        self.context = context
        self.owner = owner
        self.daemon_while_not: Callable[[], bool] | None = None
        self.origin: Origin | None = None
        self.propagates = False
        self.cause = -1
        self._cancelled = False
        self._scheduled = True

    def cancel(self) -> None:
        if not self._cancelled:
            self._cancelled = True
            self.callback = _nothing
            self.arguments = ()
            if self._scheduled:
                self.owner.timer_cancelled(self)

    def cancelled(self) -> bool:
        return self._cancelled

    @property
    def is_event_of_task(self) -> bool:
        """True if it only has an effect on flowsim's tasks, not on those of asyncio."""
        return self.propagates and self.origin is not None and self.origin.is_of_task

    def when(self) -> float:
        return self.when_ns / 1e9

    def get_context(self) -> Context:
        return self.context

    def __hash__(self) -> int:
        return hash(self.when_ns)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {self.when_ns} ns>"


class OrderedTask(asyncio.Task[_T]):
    """A task that hashes by its number, so that sets of tasks (``TaskGroup``, ``wait``) have the same order in every
    process.

    asyncio's own tasks hash by address, as plain futures do: never put plain futures into a set.
    """

    __slots__ = ("number",)

    def __init__(
        self,
        coroutine: Generator[Any, None, _T] | Coroutine[Any, Any, _T],
        loop: AbstractEventLoop,
        number: int,
        name: str | None,
        context: Context | None,
    ) -> None:
        # The base class adds the task to a set in its constructor.
        self.number = number
        super().__init__(coroutine, loop=loop, name=name or f"task-{number}", context=context)

    def __hash__(self) -> int:
        return self.number

    __eq__ = object.__eq__


def _nothing() -> None:
    """Does nothing: replaces the callback of a cancelled handle, so that the handle keeps no reference."""

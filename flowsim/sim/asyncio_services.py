"""The parts of an event loop that have nothing to do with time: failures, async generators, factories, debugging."""

from __future__ import annotations

import asyncio
import logging
import sys
from asyncio import Future, Task
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextvars import Context
from itertools import count
from typing import Any, TypeVar
from weakref import ReferenceType, ref

from flowsim.sim.handles import OrderedTask
from flowsim.sim.refusals import RefusingLoop

_T = TypeVar("_T")
ExceptionHandler = Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object]


class AsyncioServices(RefusingLoop):
    """Base of the virtual loop; nothing here depends on addresses, so it is the same in every process."""

    def __init__(self) -> None:
        self._tasks = count()
        self._task_factory: Any = None
        self._debug = sys.flags.dev_mode
        self._exception_handler: ExceptionHandler | None = None
        self._asyncgens: dict[int, ReferenceType[AsyncGenerator[Any, Any]]] = {}
        self._asyncgen_numbers = count()

    def create_future(self) -> Future[Any]:
        return Future(loop=self)

    def create_task(
        self,
        coro: Generator[Any, None, _T] | Coroutine[Any, Any, _T],
        *,
        name: str | None = None,
        context: Context | None = None,
    ) -> Task[_T]:
        if self.is_closed():
            raise RuntimeError("Event loop is closed")
        if self._task_factory is None:
            return OrderedTask(coro, self, next(self._tasks), name, context)
        made: Task[_T] = self._task_factory(self, coro, **({} if context is None else {"context": context}))
        if name is not None:
            made.set_name(name)
        return made

    def set_task_factory(self, factory: Any) -> None:
        self._task_factory = factory

    def get_task_factory(self) -> Any:
        return self._task_factory

    def get_debug(self) -> bool:
        return self._debug

    def set_debug(self, enabled: bool) -> None:
        self._debug = enabled

    def get_exception_handler(self) -> ExceptionHandler | None:
        return self._exception_handler

    def set_exception_handler(self, handler: ExceptionHandler | None) -> None:
        self._exception_handler = handler

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        if self._exception_handler is None:
            self.default_exception_handler(context)
        else:
            self._exception_handler(self, context)

    def default_exception_handler(self, context: dict[str, Any]) -> None:
        """Logs under the name ``asyncio``, as asyncio's own loops do."""
        details = [f"{key}: {value!r}" for key, value in sorted(context.items()) if key not in ("message", "exception")]
        message = context.get("message") or "Unhandled exception in event loop"
        logging.getLogger("asyncio").error("\n".join([message, *details]), exc_info=context.get("exception"))

    def install_asyncgen_hooks(self) -> Callable[[], None]:
        """Starts to watch async generators; the answer ends it."""
        firstiter, finalizer = sys.get_asyncgen_hooks()
        sys.set_asyncgen_hooks(firstiter=self._asyncgen_started, finalizer=self._asyncgen_dropped)
        return lambda: sys.set_asyncgen_hooks(firstiter=firstiter, finalizer=finalizer)

    def _asyncgen_started(self, generator: AsyncGenerator[Any, Any]) -> None:
        number = next(self._asyncgen_numbers)
        self._asyncgens[number] = ref(generator, lambda _: self._asyncgens.pop(number, None))

    def _asyncgen_dropped(self, generator: AsyncGenerator[Any, Any]) -> None:
        if not self.is_closed():
            self.create_task(_closed(generator))

    async def shutdown_asyncgens(self) -> None:
        """Closes unfinished async generators in the order in which they were started."""
        watched, self._asyncgens = self._asyncgens, {}
        for reference in watched.values():
            generator = reference()
            if generator is not None:
                await self._close_generator(generator)

    async def _close_generator(self, generator: AsyncGenerator[Any, Any]) -> None:
        try:
            await generator.aclose()
        except Exception as error:
            self.call_exception_handler(
                {
                    "message": "an error occurred while an async generator was closed",
                    "exception": error,
                }
            )


async def _closed(generator: AsyncGenerator[Any, Any]) -> None:
    await generator.aclose()

"""The asyncio services that work on virtual time, and the errors for all other services."""

from __future__ import annotations

import asyncio
import logging
import sys
from asyncio import Future, Task
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from contextvars import Context
from itertools import count
from typing import Any, NoReturn, TypeVar, TypeVarTuple, Unpack
from weakref import ReferenceType, ref

from flowsim.errors import VirtualClockRefusal
from flowsim.sim.handles import OrderedTask

_OUTSIDE = "processes, sockets and files do not wait for virtual time"

_THREADS = "threads would make the run depend on the machine"


def _refuse(name: str, why: str) -> Callable[..., NoReturn]:
    def refused(*arguments: object, **options: object) -> NoReturn:
        raise VirtualClockRefusal(name, why)

    refused.__name__ = name
    return refused


class RefusingLoop(asyncio.AbstractEventLoop):
    """The methods of an event loop that work outside the process or the thread; all of them raise."""

    run_in_executor = _refuse("run_in_executor", _THREADS)  # type: ignore[assignment]
    set_default_executor = _refuse("set_default_executor", _THREADS)

    getaddrinfo = _refuse("getaddrinfo", _OUTSIDE)
    getnameinfo = _refuse("getnameinfo", _OUTSIDE)
    create_connection = _refuse("create_connection", _OUTSIDE)
    create_server = _refuse("create_server", _OUTSIDE)
    create_unix_connection = _refuse("create_unix_connection", _OUTSIDE)
    create_unix_server = _refuse("create_unix_server", _OUTSIDE)
    create_datagram_endpoint = _refuse("create_datagram_endpoint", _OUTSIDE)
    connect_accepted_socket = _refuse("connect_accepted_socket", _OUTSIDE)
    start_tls = _refuse("start_tls", _OUTSIDE)
    sendfile = _refuse("sendfile", _OUTSIDE)
    connect_read_pipe = _refuse("connect_read_pipe", _OUTSIDE)
    connect_write_pipe = _refuse("connect_write_pipe", _OUTSIDE)
    subprocess_exec = _refuse("subprocess_exec", _OUTSIDE)
    subprocess_shell = _refuse("subprocess_shell", _OUTSIDE)
    add_reader = _refuse("add_reader", _OUTSIDE)  # type: ignore[assignment]
    remove_reader = _refuse("remove_reader", _OUTSIDE)
    add_writer = _refuse("add_writer", _OUTSIDE)  # type: ignore[assignment]
    remove_writer = _refuse("remove_writer", _OUTSIDE)
    sock_recv = _refuse("sock_recv", _OUTSIDE)
    sock_recv_into = _refuse("sock_recv_into", _OUTSIDE)
    sock_recvfrom = _refuse("sock_recvfrom", _OUTSIDE)
    sock_recvfrom_into = _refuse("sock_recvfrom_into", _OUTSIDE)
    sock_sendall = _refuse("sock_sendall", _OUTSIDE)
    sock_sendto = _refuse("sock_sendto", _OUTSIDE)
    sock_connect = _refuse("sock_connect", _OUTSIDE)
    sock_accept = _refuse("sock_accept", _OUTSIDE)
    sock_sendfile = _refuse("sock_sendfile", _OUTSIDE)
    add_signal_handler = _refuse("add_signal_handler", _OUTSIDE)  # type: ignore[assignment]
    remove_signal_handler = _refuse("remove_signal_handler", _OUTSIDE)

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """Does nothing: there is no executor."""


_T = TypeVar("_T")
_Ts = TypeVarTuple("_Ts")

ExceptionHandler = Callable[[asyncio.AbstractEventLoop, dict[str, Any]], object]


class AsyncioServices(RefusingLoop):
    """The base class of the virtual loop. It does not depend on addresses, so it is the same in every process."""

    now_ns: int

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

    # Timers: seconds outside, nanoseconds inside.

    def time(self) -> float:
        return self.now_ns / 1e9

    def call_later(
        self,
        delay: float,
        callback: Callable[[Unpack[_Ts]], object],
        *args: *_Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        return self._call_at(self.now_ns + round(delay * 1e9), callback, args, context)

    def call_at(
        self, when: float, callback: Callable[[Unpack[_Ts]], object], *args: *_Ts, context: Context | None = None
    ) -> asyncio.TimerHandle:
        return self._call_at(round(when * 1e9), callback, args, context)

    def _call_at(
        self, when_ns: int, callback: Callable[..., object], args: tuple[Any, ...], context: Context | None
    ) -> asyncio.TimerHandle:
        raise NotImplementedError

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
        """Starts to track async generators. The returned function stops the tracking."""
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

"""What the virtual clock cannot do, refused by name (architecture decision D4)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NoReturn

from flowsim.errors import BadInput

_OUTSIDE = "the outside world does not wait for virtual time"
_THREADS = "threads would make the run depend on the machine"


class VirtualClockRefusal(BadInput):
    """Something was asked of the virtual clock that only the real one has."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name} is not available on the virtual clock: {why}; use --clock real")
        self.name = name


class AnswerFromThread(VirtualClockRefusal):
    """Another thread answered ``record`` of ``operator`` on the virtual clock."""

    def __init__(self, operator: str, record: object) -> None:
        super().__init__("completing a ResultFuture in another thread", _THREADS)
        self.operator = operator
        self.record = record


def _refuse(name: str, why: str) -> Callable[..., NoReturn]:
    def refused(*arguments: object, **options: object) -> NoReturn:
        raise VirtualClockRefusal(name, why)

    refused.__name__ = name
    return refused


class RefusingLoop(asyncio.AbstractEventLoop):
    """The doors of an event loop that lead out of the process or into another thread, all shut."""

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
        """Nothing to shut down: there is no executor."""

"""Serves a game to one browser on this machine. The server ends when the page is closed."""

from __future__ import annotations

import asyncio
import secrets
import signal
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from http import HTTPStatus
from importlib.resources import files
from typing import Any, Final

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

from flowsim.errors import BadInput
from flowsim.play.game import Game
from flowsim.report.local_page import LOCAL_HEADERS, with_policy
from flowsim.sim.signal_handler import LIKE_CTRL_C

ADDRESS: Final = "127.0.0.1"
_NAMES: Final = (ADDRESS, "localhost")
_MOST_BYTES_POSTED: Final = 1_000
_LOOK_EVERY_S: Final = 0.2
_RELOAD_S: Final = 2.0
"""How long a page may be gone before it counts as closed: a reload takes less."""
_END_S: Final = 2

Move = Callable[[Mapping[str, int]], Mapping[str, Any]]


class PlayServer:
    """The page of a game at a port of the loopback address, below a path that no other page knows.

    Raises BadInput if the port cannot be used.
    """

    def __init__(self, game: Game, port: int = 0) -> None:
        self._game = game
        self._secret = secrets.token_urlsafe(16)
        self._pages = 0
        self._closed = 0
        """How often the last page was closed."""
        self._socket = socket.socket()
        try:
            self._socket.bind((ADDRESS, port))
        except OSError as error:
            self._socket.close()
            raise BadInput(f"--port {port}: {error.strerror}; leave it out for any free port") from None
        self._socket.listen()
        config = uvicorn.Config(
            self._app(), log_config=None, access_log=False, server_header=False, lifespan="off", ws="none", http="h11",
            loop="asyncio", timeout_graceful_shutdown=_END_S,
        )  # fmt: skip
        self._server = uvicorn.Server(config)

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{ADDRESS}:{self._socket.getsockname()[1]}/{self._secret}/"

    def run(self) -> None:
        """Serves until the page is closed. Raises KeyboardInterrupt after Ctrl-C."""
        # uvicorn handles SIGINT and SIGTERM only: at its end it raises them again.
        others = [number for number in LIKE_CTRL_C if number not in uvicorn.server.HANDLED_SIGNALS]
        hang_up = [number for number in others if signal.getsignal(number) is signal.default_int_handler]
        for number in hang_up:
            signal.signal(number, lambda _, frame: self._server.handle_exit(signal.SIGINT, frame))
        try:
            self._server.run(sockets=[self._socket])
        finally:
            for number in hang_up:
                signal.signal(number, signal.default_int_handler)
            self.close()

    def close(self) -> None:
        """Frees the port."""
        self._socket.close()

    def _app(self) -> Starlette:
        moves: dict[str, Move] = {
            "choose": lambda posted: self._game.choose(posted["made"], posted["option"]),
            "back": lambda posted: self._game.back_to(posted["made"]),
            "finish": lambda posted: self._game.finish(),
        }
        routes = [
            Route("/", self._page),
            Route("/state", self._state),
            Route("/report/{position}", self._report),
            Route("/open", self._open),
            *(Route(f"/{name}", self._moving(move), methods=["POST"]) for name, move in moves.items()),
        ]
        return Starlette(
            routes=[Mount(f"/{self._secret}", routes=routes)],
            middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=list(_NAMES))],
        )

    async def _page(self, request: Request) -> Response:
        html, policy = with_policy(files("flowsim.play").joinpath("page.html").read_text(encoding="utf-8"))
        return HTMLResponse(html, headers={**LOCAL_HEADERS, "Content-Security-Policy": policy})

    async def _state(self, request: Request) -> Response:
        return _json(await run_in_threadpool(self._game.state))

    async def _report(self, request: Request) -> Response:
        try:
            html = await run_in_threadpool(self._game.report, _choices_of(request.path_params["position"]))
        except BadInput as error:
            return PlainTextResponse(f"{error}\n", HTTPStatus.NOT_FOUND, LOCAL_HEADERS)
        return HTMLResponse(html, headers={**LOCAL_HEADERS, "Content-Security-Policy": "frame-ancestors 'self'"})

    def _moving(self, move: Move) -> Callable[[Request], Awaitable[Response]]:
        """Returns the endpoint of a move, which answers with the new state."""

        async def endpoint(request: Request) -> Response:
            try:
                posted = await _posted(request)
                return _json(await run_in_threadpool(move, posted))
            except (BadInput, KeyError) as error:
                return PlainTextResponse(f"{error}\n", HTTPStatus.BAD_REQUEST, LOCAL_HEADERS)

        return endpoint

    async def _open(self, request: Request) -> Response:
        """A stream that lasts as long as the page is open."""
        return StreamingResponse(self._while_open(), media_type="text/event-stream", headers=LOCAL_HEADERS)

    async def _while_open(self) -> AsyncIterator[str]:
        self._pages += 1
        try:
            while not self._server.should_exit:
                yield ": open\n\n"
                await asyncio.sleep(_LOOK_EVERY_S)
        finally:
            self._pages -= 1
            if not self._pages:
                self._closed += 1
                asyncio.get_running_loop().call_later(_RELOAD_S, self._end_if_closed, self._closed)

    def _end_if_closed(self, closed: int) -> None:
        """Ends the server if no page was opened since then."""
        if not self._pages and closed == self._closed:
            self._server.should_exit = True


def _json(state: Mapping[str, Any]) -> Response:
    return JSONResponse(dict(state), headers=LOCAL_HEADERS)


def _choices_of(position: str) -> tuple[int, ...]:
    """Returns the choices of a position's address. Raises BadInput."""
    if position == "start":
        return ()
    parts = position.split("-")
    if not all(part.isascii() and part.isdecimal() and len(part) < 10 for part in parts):
        raise BadInput("the address is not that of a position")
    return tuple(map(int, parts))


async def _posted(request: Request) -> Mapping[str, int]:
    """Returns the integers of a posted JSON object. Raises BadInput."""
    content = bytearray()
    try:
        async for chunk in request.stream():
            content += chunk
            if len(content) > _MOST_BYTES_POSTED:
                raise BadInput(f"more than {_MOST_BYTES_POSTED} bytes were posted")
    except ClientDisconnect:
        raise BadInput("the page went away") from None
    try:
        return msgspec.json.decode(bytes(content) or b"{}", type=dict[str, int])
    except msgspec.DecodeError as error:
        raise BadInput(str(error)) from None

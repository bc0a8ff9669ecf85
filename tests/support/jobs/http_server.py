"""A small real HTTP server on the loopback interface, in its own thread, that counts concurrent requests."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from aiohttp import web

SLOW_S = 60.0
PATIENCE_S = 60.0
GRACE_S = 0.3


class AirlineServer:
    """Answers ``/airline/<number>`` with a name.

    ``together``: answers only when so many requests wait at the same time, or have waited for long. ``fails_first``: keys
    whose first request gets a 500. ``slow``: keys that are answered after a minute.
    """

    def __init__(
        self, together: int = 1, fails_first: frozenset[int] = frozenset(), slow: frozenset[int] = frozenset()
    ) -> None:
        self.requests: Counter[int] = Counter()
        self.most_at_once = 0
        self.port = 0
        self._at_once = 0
        self._together = together
        self._are_together = asyncio.Event()
        self._fails_first = fails_first
        self._slow = slow

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/airline"

    async def _answer(self, request: web.Request) -> web.Response:
        key = int(request.match_info["key"])
        self.requests[key] += 1
        self._at_once += 1
        self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            if self._at_once == self._together:
                # More requests than the capacity would be counted during this time.
                asyncio.get_running_loop().call_later(GRACE_S, self._are_together.set)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._are_together.wait(), PATIENCE_S)
            if key in self._slow:
                await asyncio.sleep(SLOW_S)
        finally:
            self._at_once -= 1
        if key in self._fails_first and self.requests[key] == 1:
            return web.Response(status=500)
        return web.json_response({"name": f"airline {key}"})

    @contextmanager
    def running(self) -> Iterator[AirlineServer]:
        """From listening to the end of its thread; requests that are not answered by then never are."""
        listening = threading.Event()
        ends: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

        async def serve() -> None:
            end = asyncio.Event()
            ends.append((asyncio.get_running_loop(), end))
            app = web.Application()
            app.router.add_get("/airline/{key}", self._answer)
            runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
            await runner.setup()
            site = web.TCPSite(runner, "127.0.0.1", 0, backlog=4096)
            await site.start()
            self.port = runner.addresses[0][1]
            listening.set()
            await end.wait()
            await runner.cleanup()

        def run() -> None:
            try:
                asyncio.run(serve())
            finally:
                listening.set()

        thread = threading.Thread(target=run, name="airline server")
        thread.start()
        listening.wait()
        try:
            yield self
        finally:
            with suppress(IndexError):
                loop, end = ends[0]
                loop.call_soon_threadsafe(end.set)
            thread.join()


def closed_port() -> int:
    """A port on which no process listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])

"""The page of ``flowsim watch``: the last report in a frame, below how the last run ended. Served to this machine only."""

from __future__ import annotations

import hashlib
import json
import sys
import threading
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from socketserver import TCPServer
from typing import Any, Final

from flowsim.errors import BadInput
from flowsim.report.local_page import LOCAL_HEADERS, with_policy

ADDRESS: Final = "127.0.0.1"
_NAMES: Final = (ADDRESS, "localhost")
_MOST_BYTES_POSTED: Final = 1_000
_SIGN_OF_LIFE_S: Final = 15.0
_LOOK_FOR_END_S: Final = 0.1
_CONNECTION_WAITS_S: Final = 60


class WatchPage:
    """What the page shows; its threads wait for changes."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._number = 0
        self._state = b"{}"
        self._report: tuple[str, bytes] = ("", b"")
        self._is_closed = False

    def show(self, state: Mapping[str, Any], report: bytes | None = None) -> None:
        """Shows a state, and a new report if there is one. Reports of equal runs are equal, so a browser keeps them."""
        with self._changed:
            if report is not None:
                self._report = (hashlib.sha256(report).hexdigest(), report)
            self._state = json.dumps({**state, "report": self._report[0]}).encode()
            self._number += 1
            self._changed.notify_all()

    def close(self) -> None:
        """Lets all connections end."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    def state_after(self, number: int) -> tuple[int, bytes] | None:
        """Waits for a state after the one with this number, some seconds. Returns None if the page is closed."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed or self._number > number, _SIGN_OF_LIFE_S)
            return None if self._is_closed else (self._number, self._state)

    def report(self, digest: str) -> bytes | None:
        """Returns the last report, if it has this digest."""
        with self._changed:
            known, content = self._report
        return content if known and known == digest else None


class PageServer(ThreadingHTTPServer):
    """Serves a page at a port of the loopback address, in a thread of its own."""

    def __init__(self, page: WatchPage, port: int, choose: Callable[[int, int], bool]) -> None:
        """``choose``: called with the indexes of a choice and of its value; False if there is no such value.

        Raises BadInput if the port cannot be used.
        """
        self.page = page
        self.choose = choose
        try:
            super().__init__((ADDRESS, port), _Connection)
        except OSError as error:
            raise BadInput(f"--port {port}: {error.strerror}; leave it out for any free port") from None
        threading.Thread(target=self.serve_forever, args=(_LOOK_FOR_END_S,), daemon=True).start()

    def server_bind(self) -> None:
        """Binds without asking for the name of the address, which may take seconds."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = ADDRESS, int(self.server_address[1])

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{ADDRESS}:{self.server_port}/"

    def close(self) -> None:
        """Ends the server and its connections."""
        self.page.close()
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Reports a defect of the server; a browser that leaves is none."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Connection(BaseHTTPRequestHandler):
    """One request of a browser."""

    server: PageServer
    timeout = _CONNECTION_WAITS_S
    server_version = "flowsim"
    sys_version = ""

    def do_GET(self) -> None:
        """Gives the page, the last report, or the stream of states."""
        if not self._is_from_this_machine():
            return
        path = self.path.partition("?")[0]
        report = self.server.page.report(path.removeprefix("/report/")) if path.startswith("/report/") else None
        if path == "/":
            html, policy = shell()
            self._answer(HTTPStatus.OK, html, {"Content-Security-Policy": policy})
        elif path == "/states":
            self._give_states()
        elif report is not None:
            self._answer(HTTPStatus.OK, report, {"Content-Security-Policy": "frame-ancestors 'self'"})
        else:
            self._answer(HTTPStatus.NOT_FOUND, b"There is no such page.\n", {"Content-Type": "text/plain"})

    def do_POST(self) -> None:
        """Chooses a value: ``{"choice": index, "value": index}`` to ``/choose``."""
        if not self._is_from_this_machine():
            return
        chosen = self._posted() if self.path == "/choose" else None
        is_known = chosen is not None and self.server.choose(*chosen)
        self._answer(HTTPStatus.NO_CONTENT if is_known else HTTPStatus.BAD_REQUEST, b"", {})

    def _posted(self) -> tuple[int, int] | None:
        size = self.headers.get("Content-Length", "")
        if not size.isascii() or not size.isdecimal() or int(size) > _MOST_BYTES_POSTED:
            return None
        try:
            posted = json.loads(self.rfile.read(int(size)))
            choice, value = posted["choice"], posted["value"]
        except (ValueError, KeyError, TypeError):
            return None
        return (choice, value) if type(choice) is int and type(value) is int else None

    def _is_from_this_machine(self) -> bool:
        """Refuses requests for another name, and of another page: any page can let a browser call this address."""
        names = {f"{name}:{self.server.server_port}" for name in _NAMES}
        origin = self.headers.get("Origin")
        if self.headers.get("Host") in names and origin in (None, *(f"http://{name}" for name in names)):
            return True
        text = f"flowsim watch only answers at {self.server.url}\n"
        self._answer(HTTPStatus.FORBIDDEN, text.encode(), {"Content-Type": "text/plain"})
        return False

    def _give_states(self) -> None:
        self._begin(HTTPStatus.OK, {"Content-Type": "text/event-stream"})
        number = 0
        while (found := self.server.page.state_after(number)) is not None:
            is_new = found[0] > number
            number = found[0]
            self.wfile.write(b"data: " + found[1] + b"\n\n" if is_new else b": no change\n\n")

    def _answer(self, status: HTTPStatus, content: bytes, headers: Mapping[str, str]) -> None:
        self._begin(
            status, {"Content-Type": "text/html; charset=utf-8", **headers, "Content-Length": str(len(content))}
        )
        self.wfile.write(content)

    def _begin(self, status: HTTPStatus, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {**LOCAL_HEADERS, **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Prints nothing: the terminal shows the runs."""


def shell() -> tuple[bytes, str]:
    """Returns the page around the report, and its policy: its own script, and connections to this server only."""
    return with_policy(files("flowsim.cli.watching").joinpath("page.html").read_text(encoding="utf-8"))

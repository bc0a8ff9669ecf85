"""The server of the page: what it gives, to whom, and that it is reached from this machine only."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable, Iterator
from hashlib import sha256
from http.client import HTTPConnection, HTTPResponse

import pytest

from flowsim.cli.watching.page import PageServer, WatchPage
from flowsim.errors import BadInput

REPORT = b"<!doctype html><title>report</title>"
Ask = Callable[..., HTTPResponse]


@pytest.fixture
def page() -> WatchPage:
    return WatchPage()


@pytest.fixture
def chosen() -> list[tuple[int, int]]:
    return []


@pytest.fixture
def server(page: WatchPage, chosen: list[tuple[int, int]]) -> Iterator[PageServer]:
    def choose(choice: int, value: int) -> bool:
        chosen.append((choice, value))
        return choice == 0

    server = PageServer(page, 0, choose)
    yield server
    server.close()


@pytest.fixture
def ask(server: PageServer) -> Iterator[Ask]:
    """Sends a request: method, path, host (the default is right), body and further headers."""
    connections: list[HTTPConnection] = []

    def send(method: str, path: str, host: str | None = None, body: str | None = None, **headers: str) -> HTTPResponse:
        connection = HTTPConnection("127.0.0.1", server.server_port, timeout=30)
        connections.append(connection)
        headers["Host"] = host or f"127.0.0.1:{server.server_port}"
        connection.request(method, path, body, headers)
        return connection.getresponse()

    yield send
    for connection in connections:
        connection.close()


def next_state(response: HTTPResponse) -> dict[str, object]:
    line = response.readline()
    assert line.startswith(b"data: "), line
    assert response.readline() == b"\n"
    state: dict[str, object] = json.loads(line.removeprefix(b"data: "))
    return state


def test_server_listens_at_the_loopback_address_only(server: PageServer) -> None:
    assert server.socket.getsockname()[0] == "127.0.0.1"
    with socket.socket() as other:
        other.bind(("127.0.0.2", server.server_port))  # free: no other address is taken


def test_page_allows_its_own_script_and_connections_to_its_server(ask: Ask) -> None:
    answer = ask("GET", "/")
    policy = answer.headers["Content-Security-Policy"]
    assert (answer.status, answer.headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert "default-src 'none'; script-src 'sha256-" in policy
    assert "connect-src 'self'; frame-src 'self'; frame-ancestors 'none'" in policy
    html = answer.read().decode()
    assert not re.search(r"\b(src|href)=\"(?!data:)", html)


def test_states_come_one_after_the_other_beginning_with_the_last(ask: Ask, page: WatchPage) -> None:
    page.show({"line": "first"})
    page.show({"line": "second"})
    states = ask("GET", "/states")
    assert states.headers["Content-Type"] == "text/event-stream"
    assert next_state(states) == {"line": "second", "report": ""}
    page.show({"line": "third"}, REPORT)
    assert next_state(states) == {"line": "third", "report": sha256(REPORT).hexdigest()}
    page.show({"line": "fourth"})
    assert next_state(states) == {"line": "fourth", "report": sha256(REPORT).hexdigest()}
    page.close()
    assert states.read() == b""


def test_silent_stream_shows_that_it_lives(ask: Ask, page: WatchPage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flowsim.cli.watching.page._SIGN_OF_LIFE_S", 0.01)
    page.show({"line": "only"})
    states = ask("GET", "/states")
    next_state(states)
    assert [states.readline(), states.readline()] == [b": no change\n", b"\n"]


def test_last_report_is_found_by_its_digest(ask: Ask, page: WatchPage) -> None:
    digest = sha256(REPORT).hexdigest()
    assert ask("GET", f"/report/{digest}").status == 404
    page.show({}, REPORT)
    answer = ask("GET", f"/report/{digest}")
    assert (answer.status, answer.read()) == (200, REPORT)
    assert answer.headers["Content-Security-Policy"] == "frame-ancestors 'self'"
    page.show({}, b"other")
    assert ask("GET", f"/report/{digest}").status == 404


@pytest.mark.parametrize("path", ["/report/", "/report", "/favicon.ico", "/../page.html", "/report/../../etc/passwd"])
def test_nothing_else_is_served(ask: Ask, page: WatchPage, path: str) -> None:
    page.show({})
    assert ask("GET", path).status == 404


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example:{port}"]
)
@pytest.mark.parametrize(("method", "path"), [("GET", "/"), ("GET", "/states"), ("POST", "/choose")])
def test_other_host_is_refused(
    ask: Ask, server: PageServer, page: WatchPage, chosen: list[tuple[int, int]], host: str, method: str, path: str
) -> None:
    """A name that resolves to 127.0.0.1 makes a browser send the requests of another page here."""
    page.show({"line": "secret"})
    answer = ask(method, path, host.format(port=server.server_port), '{"choice": 0, "value": 0}')
    assert (answer.status, answer.read()) == (403, f"flowsim watch only answers at {server.url}\n".encode())
    assert chosen == []


def test_localhost_is_another_name_of_the_address(ask: Ask, server: PageServer) -> None:
    assert ask("GET", "/", f"localhost:{server.server_port}").status == 200


def test_value_is_chosen(ask: Ask, server: PageServer, chosen: list[tuple[int, int]]) -> None:
    own = {"Origin": f"http://localhost:{server.server_port}"}
    assert ask("POST", "/choose", body='{"choice": 0, "value": 2}', **own).status == 204
    assert ask("POST", "/choose", body='{"choice": 1, "value": 0}').status == 400
    assert chosen == [(0, 2), (1, 0)]


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1", "https://127.0.0.1:{port}"])
def test_choice_of_another_page_is_refused(
    ask: Ask, server: PageServer, chosen: list[tuple[int, int]], origin: str
) -> None:
    origin = origin.format(port=server.server_port)
    assert ask("POST", "/choose", body='{"choice": 0, "value": 2}', Origin=origin).status == 403
    assert chosen == []


@pytest.mark.parametrize(
    "body",
    ["", "[]", "{}", "x", "\xff", '{"choice": "0", "value": 0}', '{"choice": true, "value": 0}', "9" * 2000, "null"],
)
def test_invalid_choice_is_refused(ask: Ask, chosen: list[tuple[int, int]], body: str) -> None:
    assert ask("POST", "/choose", body=body).status == 400
    assert ask("POST", "/other", body='{"choice": 0, "value": 0}').status == 400
    assert chosen == []


def test_port_in_use_is_refused(server: PageServer) -> None:
    with pytest.raises(BadInput, match=f"--port {server.server_port}: .*in use; leave it out for any free port"):
        PageServer(WatchPage(), server.server_port, lambda choice, value: False)

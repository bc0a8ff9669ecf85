"""The server of ``flowsim play``: the secret, the loopback address, the moves, and its end."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from flowsim.errors import BadInput
from flowsim.play.server import PlayServer
from tests.support.played import Played, game_of_puzzle
from tests.support.watched import PATIENCE_S
from tests.unit.cli.conftest import Flowsim, flowsim

__all__ = ["flowsim"]


@pytest.fixture
def played(tmp_path: Path) -> Iterator[Played]:
    played = Played(tmp_path, "fourth_result")
    yield played
    played.close()


def ask(url: str, path: str, posted: object = None, **headers: str) -> HTTPResponse:
    parts = urlsplit(url)
    connection = HTTPConnection(parts.netloc, timeout=PATIENCE_S)
    body = None if posted is None else json.dumps(posted)
    connection.request("GET" if body is None else "POST", path, body, headers)
    return connection.getresponse()


def test_game_is_played_below_the_secret_path_only(played: Played) -> None:
    path = urlsplit(played.url).path
    page = ask(played.url, path)
    assert page.status == 200
    assert "frame-ancestors 'none'" in page.headers["Content-Security-Policy"]
    assert page.headers["Referrer-Policy"] == "no-referrer", "the address has the secret"
    state = json.loads(ask(played.url, f"{path}state").read())
    assert len(state["options"]) == 2
    moved = ask(played.url, f"{path}choose", {"made": 0, "option": 1})
    assert json.loads(moved.read())["made"] == 1
    report = ask(played.url, f"{path}report/1")
    assert report.status == 200
    assert report.headers["Content-Security-Policy"] == "frame-ancestors 'self'"
    for other in ("/", "/state", "/report/start", "/guess/", "/guess/state"):
        assert ask(played.url, other).status == 404
    assert ask(played.url, "/guess/choose", {"made": 0, "option": 1}).status == 404


def test_bad_requests_are_refused_with_a_sentence(played: Played) -> None:
    path = urlsplit(played.url).path
    for posted, sentence in (
        ({"made": 0, "option": 7}, "there is no option 7, there are 2"),
        ({"made": 3, "option": 0}, "0 choices were made, not 3"),
        ({"made": "x", "option": 0}, "Expected `int`, got `str` - at `$[...]`"),
        ({"made": 0}, "'option'"),
        ([], "Expected `object`, got `array`"),
        ({"made": 0, "x" * 2_000: 0}, "more than 1000 bytes were posted"),
    ):
        answer = ask(played.url, f"{path}choose", posted)
        assert (answer.status, answer.read().decode()) == (400, f"{sentence}\n")
    for position in ("1", "x", "-1", "99999999999"):
        assert ask(played.url, f"{path}report/{position}").status == 404


def test_server_answers_for_its_own_names_at_the_loopback_address_only(played: Played) -> None:
    parts = urlsplit(played.url)
    assert ask(played.url, f"{parts.path}state", Host=f"localhost:{parts.port}").status == 200
    assert ask(played.url, f"{parts.path}state", Host="attacker.example").status == 400
    (own, *_) = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
    if not str(own).startswith("127."):
        with pytest.raises(OSError):
            socket.create_connection((str(own), parts.port or 0), timeout=2)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_ends_the_command_also_while_a_page_is_open(played: Played, number: signal.Signals) -> None:
    stream = ask(played.url, f"{urlsplit(played.url).path}open")
    assert stream.readline() == b": open\n"
    assert played.end(number) == 130
    assert played.errors() in ("", "interrupted\n")


def test_closed_page_ends_the_command(played: Played) -> None:
    stream = ask(played.url, f"{urlsplit(played.url).path}open")
    assert stream.readline() == b": open\n"
    stream.close()
    assert played.process.wait(PATIENCE_S) == 0
    assert played.printed().endswith("the page was closed\n")


def test_secrets_of_two_servers_differ(tmp_path: Path) -> None:
    servers = [PlayServer(game_of_puzzle("fourth_result", tmp_path)) for _ in range(2)]
    assert len({urlsplit(server.url).path for server in servers}) == 2
    port = urlsplit(servers[0].url).port
    with pytest.raises(BadInput, match=f"--port {port}: Address already in use"):
        PlayServer(game_of_puzzle("fourth_result", tmp_path), port or 0)
    for server in servers:
        server.close()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "error: name a scenario file or a puzzle; flowsim play --list shows the puzzles\n"),
        (
            ("fourth_resul",),
            "error: fourth_resul: there is no such file and no such puzzle (did you mean 'fourth_result'?)",
        ),
        (("nowhere.yaml",), "error: nowhere.yaml: there is no such file"),
        (("fourth_result", "--set", "nonsense=1"), "error: "),
    ],
)
def test_bad_argument_is_refused(flowsim: Flowsim, arguments: tuple[str, ...], message: str) -> None:
    called = flowsim("play", *arguments)
    assert (called.code, called.out) == (2, "")
    assert called.err.startswith(message)


def test_list_names_the_puzzles(flowsim: Flowsim) -> None:
    listed = flowsim("play", "--list")
    assert listed.code == 0
    assert "Deadlock this job." in listed.out
    assert flowsim("play", "--list", "--json").document[0]["name"] == "fourth_result"
    assert flowsim("play", "tiny.yaml", "--json").document["error"]["message"] == "--json: applies to --list only"

"""A process of ``flowsim watch`` for tests: it saves files, chooses values, and waits for states of the page."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from tests.support.signals import default_signals

T = TypeVar("T")
PATIENCE_S: Final = 120
"""Bounds a test that fails; a run takes a second or two."""


def wait_for(condition: Callable[[], T | None], process: subprocess.Popen[str] | None = None) -> T:
    """Waits for a value; fails if none comes, or if the process ends before."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        assert process is None or process.poll() is None, "the process has ended"
        assert time.monotonic() < deadline_s, "waited in vain"
        time.sleep(0.05)
    return found


class Watched:
    """A process of ``flowsim watch``, its page, and the states that the page receives."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        with (folder / "printed.log").open("w") as printed, (folder / "errors.log").open("w") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "flowsim", "watch", "s.yaml", *options],
                cwd=folder, env=environment, text=True, stdout=printed, stderr=errors, preexec_fn=default_signals,
            )  # fmt: skip
        self._connections: list[HTTPConnection] = []
        self._states: HTTPResponse | None = None

    def printed(self) -> str:
        return (self.folder / "printed.log").read_text()

    def errors(self) -> str:
        return (self.folder / "errors.log").read_text()

    @property
    def url(self) -> str:
        """The address of the page, as soon as it is printed."""
        found = wait_for(lambda: re.search(r"page +(http://127\.0\.0\.1:\d+/)\n", self.printed()), self.process)
        return found[1]

    def ask(self, method: str, path: str, body: str | None = None) -> HTTPResponse:
        connection = HTTPConnection(urlsplit(self.url).netloc, timeout=PATIENCE_S)
        self._connections.append(connection)
        connection.request(method, path, body)
        return connection.getresponse()

    def save(self, text: str, name: str = "s.yaml", changed_ns: int | None = None) -> None:
        """As most editors do: writes a new file, and renames it. ``changed_ns``: the time of its change, if not now."""
        aside = self.folder / f"{name}.new"
        aside.write_text(text)
        if changed_ns is not None:
            os.utime(aside, ns=(changed_ns, changed_ns))
        aside.replace(self.folder / name)

    def choose(self, choice: int, value: int) -> None:
        assert self.ask("POST", "/choose", json.dumps({"choice": choice, "value": value})).status == 204

    def next_outcome(self) -> dict[str, Any]:
        """Waits for the next state of the page in which a run has ended."""
        self._states = self._states or self.ask("GET", "/states")
        deadline_s = time.monotonic() + PATIENCE_S
        while line := self._states.readline():
            assert time.monotonic() < deadline_s, "waited in vain"
            state: dict[str, Any] = json.loads(line.removeprefix(b"data: ")) if line.startswith(b"data: ") else {}
            if not state.get("running", True):
                return state
        raise AssertionError(f"the stream ended\n{self.printed()}\n{self.errors()}")

    def report(self, state: dict[str, Any]) -> str:
        answer = self.ask("GET", f"/report/{state['report']}")
        assert answer.status == 200
        return answer.read().decode()

    def end(self, number: signal.Signals = signal.SIGINT) -> int:
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)

    def close(self) -> None:
        for connection in self._connections:
            connection.close()
        if self.process.poll() is None:
            self.end(signal.SIGTERM)

"""A PostgreSQL server of the tests: private, on a Unix socket in a temporary directory."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest

HOW_TO_INSTALL = (
    "PostgreSQL is missing; install it with: apt-get update && apt-get install -y --no-install-recommends postgresql"
)
PASSWORD = "s3cret/@%"
_WAIT_SECONDS = 60
_UNTIL_INPUT_ENDS = '"$@" & cat > /dev/null; kill -INT $! 2> /dev/null; wait $!'
"""Runs a command until the standard input ends, as it does when the process of the tests ends in any way."""


def installed_programs() -> Path | None:
    """Returns the folder of ``initdb`` and ``postgres``; Debian has one for each version, which is not in PATH."""
    found = shutil.which("initdb")
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    return Path(found).resolve().parent if found else folders[-1].parent if folders else None


class PrivateServer:
    """A server that only this process connects to; it ends with ``stop``."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self._folder = Path(tempfile.mkdtemp(prefix="flowsim-postgres-"))
        self._process: subprocess.Popen[bytes] | None = None
        self._schemas = 0
        # A server refuses to run as root. Debian's package creates the user postgres.
        self._as_user: dict[str, Any] = {"user": "postgres", "group": "postgres"} if os.getuid() == 0 else {}
        if self._as_user:
            shutil.chown(self._folder, "postgres", "postgres")
        passwords = self._folder / "password"
        passwords.write_text(PASSWORD)
        passwords.chmod(0o644)
        subprocess.run(
            [
                self._programs / "initdb", "--pgdata", self._data, "--username", "flowsim", "--pwfile", passwords,
                "--auth", "scram-sha-256", "--encoding", "UTF8", "--locale", "C", "--no-sync",
            ],
            check=True, timeout=_WAIT_SECONDS, capture_output=True, cwd=self._folder, **self._as_user,
        )  # fmt: skip
        self.start()

    @property
    def _data(self) -> Path:
        return self._folder / "data"

    def url(self, schema: str = "public") -> str:
        return f"postgresql://flowsim:{quote(PASSWORD, safe='')}@/postgres?host={self._folder}&options=-csearch_path%3D{schema}"

    def new_schema(self) -> str:
        """Returns the URL of an empty schema."""
        self._schemas += 1
        schema = f"schema{self._schemas}"
        self.run(f"CREATE SCHEMA {schema}")
        return self.url(schema)

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        return select(self.url(), statement)

    def start(self) -> None:
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [
                    "sh", "-c", _UNTIL_INPUT_ENDS, "sh",
                    self._programs / "postgres", "-D", self._data, "-k", self._folder, "-c", "listen_addresses=",
                    "-c", "shared_buffers=8MB", "-c", "fsync=off", "-c", "autovacuum=off", "-c", "max_connections=40",
                ],
                stdin=subprocess.PIPE, stdout=log, stderr=log, cwd=self._folder, start_new_session=True, **self._as_user,
            )  # fmt: skip
        deadline = time.monotonic() + _WAIT_SECONDS
        while True:
            try:
                psycopg.connect(self.url()).close()
                return
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)

    def crash(self) -> None:
        """Ends the server at once; all connections are lost, committed transactions are kept."""
        os.kill(int((self._data / "postmaster.pid").read_text().split()[0]), signal.SIGQUIT)
        self._end()

    def stop(self) -> None:
        self._end()
        shutil.rmtree(self._folder)

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None or process.stdin is None:
            return
        process.stdin.close()
        try:
            process.wait(_WAIT_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def private_server() -> PrivateServer:
    """Starts a server; skips the test if none is installed."""
    programs = installed_programs()
    if programs is None:
        pytest.skip(HOW_TO_INSTALL)
    return PrivateServer(programs)


def select(url: str, statement: str) -> list[tuple[Any, ...]]:
    """Runs one statement, and returns its rows."""
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return [] if cursor.description is None else cursor.fetchall()

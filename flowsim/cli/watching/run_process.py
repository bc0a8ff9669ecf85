"""The processes of the runs: each run has a process of its own, so that it can be ended, and imports modules anew."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import msgspec

from flowsim.cli.watching.file_stamps import Stamps

_END_WITHIN_S: Final = 10


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What to run."""

    scenario: str
    out: str
    overrides: tuple[str, ...]
    limits: tuple[str, ...]
    allow_python: bool
    allow_path: bool


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run left."""

    line: str
    """How the job ended, and the verdict of the laws; or that there was no run."""
    problems: tuple[str, ...] = ()
    """What is not as the scenario expects: errors with their positions, laws, expectations."""
    report: str | None = None
    """The file of its report."""
    stamps: Stamps = field(default_factory=dict)
    """The files that it read, as they were then; empty: unknown."""


class RunProcess:
    """A process that has imported flowsim, waits for a request, runs it, answers with its outcome, and ends."""

    def __init__(self) -> None:
        program = f"import sys; sys.path[:] = {sys.path!r}; from flowsim.cli.watching.one_run import main; main()"
        # A session of its own: Ctrl-C reaches the process of the command only.
        self._process = subprocess.Popen(
            [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        self._is_started = False

    def start(self, request: RunRequest, on_end: Callable[[RunProcess, Outcome], object]) -> None:
        """Sends the request; ``on_end`` is called in another thread."""
        self._is_started = True
        stdin = self._process.stdin
        assert stdin is not None
        with contextlib.suppress(OSError):
            stdin.write(msgspec.json.encode(request) + b"\n")
            stdin.flush()
        threading.Thread(target=lambda: on_end(self, self._outcome()), daemon=True).start()

    def _outcome(self) -> Outcome:
        stdout = self._process.stdout
        assert stdout is not None
        answer = stdout.read()
        code = self._process.wait()
        try:
            return msgspec.json.decode(answer, type=Outcome)
        except msgspec.DecodeError:
            how = f"by signal {-code}" if code < 0 else f"with exit code {code}"
            return Outcome("no result", (f"the process of the run ended {how} and without a result",))

    def end(self) -> None:
        """Lets the run end as by Ctrl-C, and waits for the end of the process."""
        stdin = self._process.stdin
        assert stdin is not None
        with contextlib.suppress(OSError):
            stdin.close()
        if not self._is_started:
            self._process.kill()
        try:
            self._process.wait(_END_WITHIN_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

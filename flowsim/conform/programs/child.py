"""A child process that runs a program; it ends with its descendants when it is done, is late, or flowsim is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from flowsim.errors import BadInput

_LINES_OF_ERROR: Final = 15
_TURN_S: Final = 0.5
_TURNS_OF_END: Final = 20
_BYTES_OF_LINE: Final = 500


def _ignore(line: str) -> None:
    """Shows no progress."""


def ran(
    command: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    patience_s: float,
    what: str,
    on_output: Callable[[str], None] = _ignore,
) -> None:
    """Runs a command to its end; ``folder`` gets its output as the files ``out`` and ``err``.

    ``on_output`` gets the last line of its output, now and then. Raises BadInput if it takes longer than ``patience_s``,
    or fails; ``what`` names it in the message.
    """
    late_s = time.monotonic() + patience_s
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,  # Java and Python's workers are in this group, and Ctrl-C is for flowsim.
        )
        try:
            while (status := _status(process, min(_TURN_S, late_s - time.monotonic()))) is None:
                if time.monotonic() > late_s:
                    raise BadInput(
                        f"{what}: has not ended after {patience_s:g} s: only programs that end can be compared; "
                        "give a slow one more time by --timeout"
                    )
                on_output(_last_line(folder / "out"))
        finally:
            _end(process)
    if status:
        lines = (folder / "err").read_text(encoding="utf-8", errors="replace").splitlines()
        raise BadInput("\n".join([f"{what}: ended with exit status {status}", *lines[-_LINES_OF_ERROR:]]))


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and its descendants, which may have files in folders that are removed next."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for _ in range(_TURNS_OF_END):
            os.killpg(process.pid, 0)
            time.sleep(_TURN_S / 10)
    process.wait()


def _status(process: subprocess.Popen[bytes], patience_s: float) -> int | None:
    try:
        return process.wait(max(patience_s, 0))
    except subprocess.TimeoutExpired:
        return None


def _last_line(file: Path) -> str:
    with file.open("rb") as stream:
        stream.seek(max(0, file.stat().st_size - _BYTES_OF_LINE))
        lines = stream.read().decode("utf-8", errors="replace").split("\n")
    return next((line for line in reversed(lines[:-1]) if line.strip()), "")

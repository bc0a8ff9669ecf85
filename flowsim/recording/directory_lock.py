"""One run per directory: a lock file with the process and the host of the run."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Final

from flowsim.errors import BadInput

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

LOCK: Final = ".flowsim.lock"


class DirectoryLock:
    """The lock of a run on its directory, from the start of the run to its end.

    The kernel releases the lock when the process dies, so a lock file of a killed run does not block other runs.
    """

    def __init__(self, directory: Path, advice: str = "choose another directory with --out") -> None:
        """Takes the lock; ``advice`` ends the error for a directory that another run has locked.

        Raises BadInput that names the process with the lock, and OSError if no file can be created.
        """
        self._path = directory / LOCK
        self._file = self._opened(directory, advice)
        content = json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode()
        os.truncate(self._file, 0)
        os.pwrite(self._file, content, 0)

    def _opened(self, directory: Path, advice: str) -> int:
        while True:
            file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                if fcntl is not None:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if self._is_current(file):
                    return file
            except OSError:
                owner = _owner(file)
                os.close(file)
                raise BadInput(f"{directory}: {owner} is writing there: wait for it, or {advice}") from None
            os.close(file)  # another run released it and removed the file between the two steps

    def _is_current(self, file: int) -> bool:
        try:
            return os.path.samestat(os.fstat(file), os.stat(self._path))
        except FileNotFoundError:
            return False

    def release(self) -> None:
        """Releases the lock; may be called several times."""
        if self._file >= 0:
            self._path.unlink(missing_ok=True)
            os.close(self._file)
            self._file = -1


def writer_of(directory: Path) -> str:
    """Names the run that is writing in a directory, with its process and host; '' if none is, or if none can be known."""
    try:
        file = os.open(directory / LOCK, os.O_RDWR)
    except OSError:
        return ""
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return _owner(file)
    finally:
        os.close(file)
    return ""


def _owner(file: int) -> str:
    try:
        content = json.loads(os.pread(file, 1000, 0))
        return f"another run (process {content['pid']} on {content['host']})"
    except (OSError, ValueError, TypeError, KeyError):
        return "another run"

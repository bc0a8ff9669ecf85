"""Reads files of a recording or checkpoint, which may come from a stranger: only regular files inside it, up to a size."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from flowsim.errors import BadInput
from flowsim.limits import to_raise
from flowsim.recording.canonical import sha256

_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""A link is refused, and a pipe does not keep the process waiting."""


@dataclass(frozen=True, slots=True)
class StoredFiles:
    """The files of one kind of directory, and how an error names them."""

    kind: str
    """What flowsim wrote: a recording or a checkpoint."""
    written: str
    """What it did: recorded or written."""
    describing: str
    """What says which files there are: the epoch or the manifest."""
    remedy: str
    """What to do when a file is damaged."""

    def damaged(self, path: Path, what: str) -> BadInput:
        """Returns the error for a file that differs from what was written."""
        return BadInput(f"{path}: {what}: the {self.kind} is damaged; {self.remedy}")

    def content(self, path: Path, max_bytes: int, limit: str, depth: int = 0) -> bytes:
        """Returns the content of a file.

        Raises FileNotFoundError, and BadInput if the file cannot be read, is too large or is none of such a directory.
        ``limit``: the name of the limit of ``max_bytes``. ``depth``: the number of folders above the file that belong to
        the directory.
        """
        try:
            for linked in (*list(path.parents)[:depth], path):
                if linked.is_symlink():
                    raise self.damaged(linked, "is a link, which flowsim does not write")
            descriptor = os.open(path, _FLAGS)
            try:
                return self._content(path, descriptor, max_bytes, limit)
            finally:
                os.close(descriptor)
        except (FileNotFoundError, NotADirectoryError):
            raise FileNotFoundError(path) from None
        except OSError as error:
            raise self.damaged(path, f"cannot be read ({error.strerror})") from None

    def _content(self, path: Path, descriptor: int, max_bytes: int, limit: str) -> bytes:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise self.damaged(path, "is not a regular file")
        if about.st_size > max_bytes:
            raise _too_large(path, about.st_size, max_bytes, limit)
        with os.fdopen(os.dup(descriptor), "rb") as file:
            content = file.read(about.st_size + 1)  # Not max_bytes, which read would allocate.
        if len(content) > max_bytes:
            raise _too_large(path, len(content), max_bytes, limit)
        return content

    def check_hash(self, path: Path, content: bytes, digest: str) -> None:
        """Raises BadInput if the SHA-256 of the content is another one."""
        if sha256(content) != digest:
            raise self.damaged(path, f"is not the file that was {self.written}")


RECORDING: Final = StoredFiles("recording", "recorded", "its epoch", "record the run again")
damaged: Final = RECORDING.damaged


def out_of_range(directory: Path, table: str, task: int, seq: int) -> BadInput:
    """Returns the error for a fact with a number that no run records."""
    return damaged(directory / table, f"fact {seq} of task {task} has a number that is out of range")


def _too_large(path: Path, found: int, max_bytes: int, limit: str) -> BadInput:
    return BadInput(f"{path}: has {found:,} bytes, expected at most {max_bytes:,} {to_raise(limit)}")


def part_name(part: int) -> str:
    """Returns the name of the file with this number, in the folder of its table."""
    return f"part-{part:05d}.parquet"

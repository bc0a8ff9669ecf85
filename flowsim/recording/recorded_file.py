"""Reads the files of a recording, which may come from a stranger: only regular files inside it, up to a size."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Final

from flowsim.errors import BadInput
from flowsim.limits import to_raise

_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""A link is refused, and a pipe does not keep the process waiting."""


def damaged(path: Path, what: str) -> BadInput:
    """Returns the error for a recording file that differs from what was written."""
    return BadInput(f"{path}: {what}: the recording is damaged; record the run again")


def out_of_range(directory: Path, table: str, task: int, seq: int) -> BadInput:
    """Returns the error for a fact with a number that no run records."""
    return damaged(directory / table, f"fact {seq} of task {task} has a number that is out of range")


def recorded_bytes(
    path: Path, max_bytes: int, limit: str, depth: int = 0, error: Callable[[Path, str], BadInput] = damaged
) -> bytes:
    """The content of a file; raises FileNotFoundError or OSError if it cannot be opened, and BadInput if it is none of a
    recording.

    ``depth``: the number of folders above it that belong to the recording. ``limit``: the name of the limit of
    ``max_bytes``. ``error`` makes the BadInput of a file and what is wrong with it.
    """
    for linked in (*list(path.parents)[:depth], path):
        if linked.is_symlink():
            raise error(linked, "is a link, which flowsim does not write")
    descriptor = os.open(path, _FLAGS)
    try:
        about = os.fstat(descriptor)
        if not stat.S_ISREG(about.st_mode):
            raise error(path, "is not a regular file")
        if about.st_size > max_bytes:
            raise _too_large(path, about.st_size, max_bytes, limit)
        with os.fdopen(os.dup(descriptor), "rb") as file:
            content = file.read(about.st_size + 1)  # Not max_bytes, which read would allocate.
    finally:
        os.close(descriptor)
    if len(content) > max_bytes:
        raise _too_large(path, len(content), max_bytes, limit)
    return content


def _too_large(path: Path, found: int, max_bytes: int, limit: str) -> BadInput:
    return BadInput(f"{path}: has {found:,} bytes, expected at most {max_bytes:,} {to_raise(limit)}")

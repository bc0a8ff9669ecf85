"""Opens files for reading. A named pipe, which has no end and keeps its reader waiting for a writer, is refused."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, Final

_FLAGS: Final = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
"""Without O_NONBLOCK, the call itself waits for the writer of a pipe."""


def descriptor_of(path: str, flags: int = 0) -> int:
    """Opens a file for reading; raises OSError for a named pipe. The ``opener`` of Python's ``open``.

    Pipes without a name (``/dev/stdin``, ``<(...)`` of a shell) are open already and have an end: they are read.
    """
    descriptor = os.open(path, _FLAGS)
    try:
        if stat.S_ISFIFO(os.fstat(descriptor).st_mode) and os.path.exists(os.path.realpath(path)):
            raise OSError(errno.EINVAL, "it is a named pipe: expected a file", path)
        if hasattr(os, "set_blocking"):
            os.set_blocking(descriptor, True)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def open_file(path: str | Path) -> BinaryIO:
    """Opens a file for reading; raises OSError if it cannot be opened, or is a named pipe."""
    return open(path, "rb", opener=descriptor_of)


def file_bytes(path: str | Path) -> bytes:
    """Returns the content of a file; raises OSError if it cannot be read, or is a named pipe."""
    with open_file(path) as file:
        return file.read()

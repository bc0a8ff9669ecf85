"""The buffers of one blocking result partition, in a file. Flink: BoundedData, FileChannelBoundedData (rule 5.43)."""

from __future__ import annotations

import os
from pathlib import Path

from flowsim.network.misuse import IllegalState


class BoundedData:
    """A file that is written front to back and read anywhere, until it is closed. Flink: FileChannelBoundedData.

    The file is made with the first byte and removed by ``close``; one file serves all subpartitions of a partition, so that
    wide shuffles do not run out of open files.
    """

    __slots__ = ("path", "size_bytes", "_descriptor", "_closed")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size_bytes = 0
        self._descriptor: int | None = None
        self._closed = False

    def write(self, payload: bytes) -> int:
        """Appends; the position of the first byte. Raises IllegalState after ``close``, OSError when the disk is full."""
        if self._closed:
            raise IllegalState(f"{self.path.name} is closed")
        if self._descriptor is None:
            self._descriptor = os.open(
                self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR | getattr(os, "O_BINARY", 0), 0o600
            )
        position, rest = self.size_bytes, memoryview(payload)
        while rest:
            written = os.write(self._descriptor, rest)
            self.size_bytes += written
            rest = rest[written:]
        return position

    def read(self, position: int, length: int) -> bytes:
        """The bytes that ``write`` put at ``position``. Raises IllegalState after ``close``."""
        if self._descriptor is None:
            raise IllegalState(f"{self.path.name} is closed or empty")
        payload = b""
        while len(payload) < length:
            piece = os.pread(self._descriptor, length - len(payload), position + len(payload))
            if not piece:
                raise IllegalState(f"{self.path.name} ends before byte {position + length}")
            payload += piece
        return payload

    def close(self) -> None:
        """Removes the file; harmless when closed already."""
        self._closed = True
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
            self.path.unlink(missing_ok=True)

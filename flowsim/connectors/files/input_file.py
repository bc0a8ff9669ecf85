"""An input file: its content, decompressed and within limits, and the SHA-256 of its bytes."""

from __future__ import annotations

import hashlib
import io
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TextIO

from flowsim.errors import BadInput
from flowsim.limits import DEFAULT_LIMITS, Limits, to_raise
from flowsim.named_pipe import descriptor_of, open_file

_RATIO_FROM_BYTES: Final = 1 << 22
_BLOCK_BYTES: Final = 1 << 20
_GZIP_BLOCK_BYTES: Final = 1 << 13
_STEP_BYTES: Final = 1 << 14


class InputFile:
    """A file that a source reads. A ``.gz`` file is decompressed while it is read.

    Reading raises BadInput for a damaged ``.gz`` file, for content beyond the limits ``file_bytes`` or ``gzip_ratio``,
    and for a line beyond ``row_bytes``. Reading raises OSError if the file cannot be read.
    """

    def __init__(self, path: str | Path, name: str | None = None, limits: Limits = DEFAULT_LIMITS) -> None:
        self.path: Path = Path(path)
        self.name: str = str(path) if name is None else name
        """The name of the file as the user wrote it."""
        self.limits: Limits = limits
        self._sha256: str | None = None

    def open(self) -> Content:
        """Opens the content at its start."""
        return Content(self)

    def open_text(self, errors: str = "surrogateescape") -> TextIO:
        """Opens the content as text.

        Surrogates represent bytes that are not UTF-8, so that a scan does not end at them.
        """
        content = io.BufferedReader(self.open())
        return io.TextIOWrapper(content, encoding="utf-8-sig", errors=errors, newline="")

    def sha256(self) -> str:
        """Returns the digest of the file at its first complete reading; reads the file if it was not read yet."""
        if self._sha256 is None:
            with _RawBytes(self) as raw:
                while raw.read(_BLOCK_BYTES):
                    """Every block is hashed when it is read."""
        return self._sha256 or ""

    def hashed(self, digest: str) -> None:
        """Stores the digest of the first complete reading."""
        self._sha256 = self._sha256 or digest

    @property
    def is_hashed(self) -> bool:
        """True if the file was read to its end."""
        return self._sha256 is not None

    def check_size(self, size: int, what: str) -> None:
        """Raises BadInput if the file is larger than the limit ``file_bytes``."""
        limit = self.limits.file_bytes
        if size > limit:
            raise BadInput(f"{self.path}: expected {what} of at most {limit} bytes {to_raise('file_bytes')}")


def input_file_of(path: str | Path | InputFile) -> InputFile:
    """Returns the file at a path, with the default limits."""
    return path if isinstance(path, InputFile) else InputFile(path)


class _Bytes(io.RawIOBase):
    """A stream that implements ``read``: Arrow calls ``read``; ``readinto`` would copy each block twice more."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = self.read(len(buffer)) or b""
        buffer[: len(content)] = content
        return len(content)


class _RawBytes(_Bytes):
    """The bytes of the file, hashed while they are read."""

    def __init__(self, file: InputFile, block_bytes: int = _BLOCK_BYTES) -> None:
        self.bytes_read: int = 0
        self._block_bytes = block_bytes
        self._file = file
        self._raw = io.FileIO(str(file.path), "rb", opener=descriptor_of)
        file.check_size(self._raw.seek(0, io.SEEK_END), "a file")
        self._raw.seek(0)
        self._hash = None if file.is_hashed else hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        content = self._raw.read(self._block_bytes if size < 0 else min(size, self._block_bytes)) or b""
        self.bytes_read += len(content)
        self._file.check_size(self.bytes_read, "a file")
        if self._hash is not None:
            if content:
                self._hash.update(content)
            elif size:
                self._file.hashed(self._hash.hexdigest())
        return content

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Decompressed(_Bytes):
    """The content of a ``.gz`` file."""

    def __init__(self, file: InputFile, raw: _RawBytes) -> None:
        import pyarrow as pa

        self._file = file
        self._raw = raw
        self._bytes = 0
        self._gzip = pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), "gzip")

    def read(self, size: int = -1) -> bytes:
        file = self._file
        try:
            content: bytes = self._gzip.read(size)
        except OSError as error:
            if error.errno is not None:
                raise
            line = _lines_before_damage(file.path)
            raise BadInput(
                f"{file.path}: the .gz file is damaged in or after line {line} of its content ({error}): "
                "create or copy it again"
            ) from None
        self._bytes += len(content)
        file.check_size(self._bytes, "content")
        ratio = file.limits.gzip_ratio
        if self._bytes > max(_RATIO_FROM_BYTES, ratio * self._raw.bytes_read):
            raise BadInput(
                f"{file.path}: expected content at most {ratio} times as large as the .gz file {to_raise('gzip_ratio')}"
            )
        return content

    def close(self) -> None:
        self._gzip.close()
        self._raw.close()
        super().close()


def _lines_before_damage(path: Path) -> int:
    line = 1
    with suppress(OSError), open_file(path) as file:
        member = zlib.decompressobj(wbits=31)
        while block := file.read(_GZIP_BLOCK_BYTES):
            while block:
                before = member.copy()
                try:
                    line += member.decompress(block, _STEP_BYTES).count(b"\n")
                except zlib.error:
                    return line + _lines_before_error(before, block)
                block = member.unconsumed_tail
                if member.eof:
                    block, member = member.unused_data, zlib.decompressobj(wbits=31)
    return line


def _lines_before_error(member: zlib._Decompress, block: bytes) -> int:
    """Counts byte by byte: a call that meets the damage returns no content."""
    lines = 0
    with suppress(zlib.error):
        while block:
            lines += member.decompress(block, 1).count(b"\n")
            block = member.unconsumed_tail
    return lines


class Content(_Bytes):
    """The content with a limit for the length of lines, because readers load a whole line into memory."""

    def __init__(self, file: InputFile) -> None:
        self._file = file
        self._content = _content_of(file)
        self.quotes: int = 0
        """Number of double quotes read so far."""
        self._bytes = 0
        self._line_bytes = 0

    def read(self, size: int = -1) -> bytes:
        content = self._content.read(_BLOCK_BYTES if size < 0 else size)
        self._bytes += len(content)
        self.quotes += content.count(b'"')
        end = max(content.rfind(b"\n"), content.rfind(b"\r"))
        self._line_bytes = self._line_bytes + len(content) if end < 0 else len(content) - end - 1
        limit = self._file.limits.row_bytes
        if self._line_bytes > limit:
            line = self._line()
            raise BadInput(
                f"{self._file.path}:{line}:1 expected a line of at most {limit} bytes {to_raise('row_bytes')}"
            )
        return content

    def _line(self) -> int:
        """Returns the number of the line up to which the content was read."""
        with _content_of(self._file) as content:
            return 1 + sum(content.read(_BLOCK_BYTES).count(b"\n") for _ in range(0, self._bytes, _BLOCK_BYTES))

    def close(self) -> None:
        self._content.close()
        super().close()


def _content_of(file: InputFile) -> _Bytes:
    if not file.path.name.endswith(".gz"):
        return _RawBytes(file)
    # Small blocks: the ratio is known after each of them.
    return _Decompressed(file, _RawBytes(file, _GZIP_BLOCK_BYTES))

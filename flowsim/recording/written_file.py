"""Writes a file so that readers see either the complete file or none."""

from __future__ import annotations

import os
from errno import EEXIST
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa


def check_replaceable(path: Path) -> None:
    """Raises OSError for a device, pipe or socket, which a rename would replace by a file."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise OSError(EEXIST, "it is not a regular file")


def write_file(path: Path, content: bytes | pa.Buffer, *, durable: bool = False) -> None:
    """Writes a temporary file and renames it, so that readers see either the complete file or none.

    ``durable`` also waits for the disk. After an exception no temporary file remains.
    """
    check_replaceable(path)
    aside = path.with_name(f".{path.name}.tmp")
    try:
        with aside.open("wb") as file:
            file.write(memoryview(content))
            if durable:
                file.flush()
                os.fsync(file.fileno())
        os.replace(aside, path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise

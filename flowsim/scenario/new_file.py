"""A file that a command or a caller asks for: complete or not there, and part of a run if it lies in its directory."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from pathlib import Path
from typing import Final

from flowsim.errors import BadInput
from flowsim.recording.written_file import check_replaceable
from flowsim.scenario.run_directory import add_to_run, is_of_run

_GZIP_LEVEL: Final = 6


@contextmanager
def new_file(option: str, path: Path) -> Iterator[BufferedIOBase]:
    """Opens a temporary file beside ``path`` and renames it at the end; after an exception nothing remains.

    A file in the directory of a run belongs to the run: the next run there removes it. A file whose name ends with ``.gz``
    is compressed. Raises BadInput, which names the option, if it cannot be written, or is a file of the run itself.
    """
    if is_of_run(path):
        raise BadInput(f"{option}: {path}: only a run writes this file: give another one")
    aside = path.with_name(f".{path.name}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        check_replaceable(path)
        with aside.open("wb") as file:
            try:
                if path.suffix == ".gz":
                    with gzip.GzipFile("", "wb", _GZIP_LEVEL, file, mtime=0) as compressed:
                        yield compressed
                else:
                    yield file
            except BaseException:
                aside.unlink()
                raise
        os.replace(aside, path)
        add_to_run(path)
    except OSError as error:
        raise BadInput(f"{option}: {path}: cannot be written: {error.strerror or error}") from None

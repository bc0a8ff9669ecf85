"""Where the files of a program are: as it says, or below the output folder of a run that must not touch others."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Final

from flowsim.errors import BadInput

_SCHEME: Final = re.compile(r"([a-z][a-z0-9+.-]*):(?://)?", re.I)
_MARK: Final = ".written-by-flowsim"
_OUTPUT: Final[ContextVar[Path | None]] = ContextVar("output folder", default=None)


@contextmanager
def output_folder(folder: Path | None) -> Iterator[None]:
    """Lets sinks that are built meanwhile write below ``folder``; None: to the folder that the program names."""
    token = _OUTPUT.set(folder)
    try:
        yield
    finally:
        _OUTPUT.reset(token)


def empty_output_folder(folder: Path) -> None:
    """Removes an output folder of an earlier run. Raises BadInput for a folder of anyone else."""
    if not folder.exists():
        return
    if not (folder / _MARK).exists():
        raise BadInput(f"{folder}: files of the program go there, but flowsim did not create it: use another folder")
    shutil.rmtree(folder)


def output_path(path: str, owner: str) -> Path:
    """Returns the folder in which a sink writes.

    ``s3://bucket/orders`` and ``/orders`` are ``s3/bucket/orders`` and ``orders`` below an output folder. Raises BadInput.
    """
    folder = _OUTPUT.get()
    scheme, rest = _split(path, owner)
    if folder is None:
        return _local(scheme, rest, path, owner)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _MARK).write_text("Written by flowsim: the next run removes this folder.\n", encoding="utf-8")
    return _below(folder, scheme, rest)


def input_path(path: str, owner: str) -> Path:
    """Returns the file or folder that a source reads: what a sink of the program wrote there, or the path itself."""
    folder, (scheme, rest) = _OUTPUT.get(), _split(path, owner)
    if folder is not None and (written := _below(folder, scheme, rest)).exists():
        return written
    return _local(scheme, rest, path, owner)


def _below(folder: Path, scheme: str, rest: str) -> Path:
    parts = [part for part in Path(rest).parts if part not in ("/", "..", ".")]
    return folder.joinpath(*([] if scheme in ("", "file") else [scheme]), *parts)


def _split(path: str, owner: str) -> tuple[str, str]:
    if not isinstance(path, str) or not path:
        raise BadInput(f"{owner}: expected a path, got {path!r:.60}")
    match = _SCHEME.match(path)
    return ("", path) if match is None else (match[1].lower(), path[match.end() :])


def _local(scheme: str, rest: str, path: str, owner: str) -> Path:
    if scheme not in ("", "file"):
        raise BadInput(f"{owner}: {path}: flowsim has no file system {scheme!r}: give a local path")
    return Path(rest)

"""Keeps a scenario's files where they belong: inputs under its folder, outputs under the output folder."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from flowsim.errors import BadInput


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file that a scenario reads: as it is written there, where it is, and the SHA-256 of its bytes."""

    name: str
    path: Path
    sha256: str


def confined(name: str, folder: Path, *, allow_path: bool, what: str) -> Path:
    """``name`` resolved against ``folder``, symbolic links followed; BadInput when it leads out of it."""
    try:
        base = folder.resolve()
        path = (base / name).resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise BadInput(f"{what} {name!r} is no usable path: {error}") from None
    if not allow_path and not path.is_relative_to(base):
        raise BadInput(f"{what} {name!r} leads out of {folder}; pass --allow-path if that is meant")
    return path


def input_file(name: str, folder: Path, *, allow_path: bool) -> InputFile:
    """A readable regular file with its hash; BadInput otherwise."""
    path = confined(name, folder, allow_path=allow_path, what="input")
    if not path.exists():
        raise BadInput(f"there is no file {name!r} in {folder}")
    if not path.is_file():
        raise BadInput(f"{name!r} is no regular file")
    try:
        with path.open("rb") as opened:
            return InputFile(name, path, hashlib.file_digest(opened, "sha256").hexdigest())
    except OSError as error:
        raise BadInput(f"{name!r} cannot be read: {error.strerror}") from None

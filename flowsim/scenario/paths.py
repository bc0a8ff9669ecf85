"""Restricts a scenario's files: inputs to its folder, outputs to the output folder."""

from __future__ import annotations

import glob
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flowsim.errors import BadInput


@dataclass(frozen=True, slots=True)
class InputFile:
    """An input file of a scenario: its name there, its path, and the SHA-256 of its bytes."""

    name: str
    path: Path
    sha256: str


def confined(name: str, folder: Path, *, allow_path: bool, what: str) -> Path:
    """``name`` resolved against ``folder``, with symbolic links; raises BadInput if it is outside the folder."""
    try:
        base = folder.resolve()
        path = (base / name).resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise BadInput(f"{what} {name!r} is not a valid path: {error}") from None
    if not allow_path and not path.is_relative_to(base):
        raise BadInput(f"{what} {name!r} is outside of {folder}; use --allow-path to allow that")
    return path


def input_file(name: str, folder: Path, *, allow_path: bool) -> InputFile:
    """A readable regular file with its hash; BadInput otherwise."""
    path = confined(name, folder, allow_path=allow_path, what="input")
    if not path.exists():
        raise BadInput(f"there is no file {name!r} in {folder}")
    if not path.is_file():
        raise BadInput(f"{name!r} is not a regular file")
    try:
        with path.open("rb") as opened:
            return InputFile(name, path, hashlib.file_digest(opened, "sha256").hexdigest())
    except OSError as error:
        raise BadInput(f"{name!r} cannot be read: {error.strerror}") from None


def input_files(names: str | Sequence[str], folder: Path, *, allow_path: bool) -> list[InputFile]:
    """The files of one or several names, in order; ``*`` and ``?`` are wildcards, whose matches are sorted by name.

    Raises BadInput for a pattern without matches, and for a duplicate file.
    """
    found: list[InputFile] = []
    for name in [names] if isinstance(names, str) else names:
        matching = [name]
        if glob.has_magic(name):
            matching = sorted(glob.glob(name, root_dir=folder))
            if not matching:
                raise BadInput(f"no file in {folder} matches {name!r}")
        found += [input_file(each, folder, allow_path=allow_path) for each in matching]
    seen: dict[Path, str] = {}
    for file in found:
        if file.path in seen:
            raise BadInput(f"{file.name!r} is listed twice")
        seen[file.path] = file.name
    return found

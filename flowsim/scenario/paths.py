"""Restricts a scenario's files: inputs to its folder, outputs to the output folder."""

from __future__ import annotations

import errno
import glob
import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import Final

from flowsim.connectors.files.input_file import InputFile
from flowsim.errors import BadInput
from flowsim.limits import DEFAULT_LIMITS, Limits, to_raise
from flowsim.quantities import count_text

_MOST_NAME_BYTES: Final = 255
_MOST_PATH_BYTES: Final = 4095


def confined(name: str, folder: Path, *, allow_path: bool, what: str) -> Path:
    """Resolves ``name`` against ``folder``, with symbolic links; raises BadInput if it is outside the folder."""
    base = _resolved(folder, str(folder))
    path = _resolved(base / name, f"{what} {_shown(name)}")
    if not allow_path and not path.is_relative_to(base):
        raise BadInput(f"{what} {_shown(name)} is outside of {folder}; use --allow-path to allow that")
    return path


def _resolved(path: Path, name: str) -> Path:
    """Returns the path without symbolic links; raises BadInput for a name that no file can have."""
    try:
        resolved = path.resolve()
        if len(os.fsencode(resolved)) > _MOST_PATH_BYTES or any(
            len(os.fsencode(n)) > _MOST_NAME_BYTES for n in resolved.parts
        ):
            raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
        resolved.exists()
    except (OSError, ValueError, RuntimeError) as error:
        raise BadInput(f"{name} is not a valid path: {_reason(error)}") from None
    return resolved


def input_file(name: str, folder: Path, *, allow_path: bool, limits: Limits = DEFAULT_LIMITS) -> InputFile:
    """Returns a readable regular file; otherwise raises BadInput."""
    path = confined(name, folder, allow_path=allow_path, what="input")
    if not path.exists():
        raise BadInput(f"there is no file {_shown(name)} in {folder}")
    if not path.is_file():
        raise BadInput(f"{_shown(name)} is not a regular file")
    if not os.access(path, os.R_OK):
        raise BadInput(f"{_shown(name)} cannot be read: Permission denied")
    return InputFile(path, name, limits)


def input_files(
    names: str | Sequence[str], folder: Path, *, allow_path: bool, limits: Limits = DEFAULT_LIMITS
) -> list[InputFile]:
    """Returns the files of one or several names, in order. ``*`` and ``?`` are wildcards; matches are sorted by name.

    Raises BadInput for a pattern without matches, and for a duplicate file.
    """
    files: list[InputFile] = []
    for name in [names] if isinstance(names, str) else names:
        matching = _matching(name, folder, allow_path, limits) if glob.has_magic(name) else [name]
        files += [input_file(each, folder, allow_path=allow_path, limits=limits) for each in matching]
    seen: dict[Path, str] = {}
    for file in files:
        if file.path in seen:
            raise BadInput(f"{_shown(file.name)} is listed twice")
        seen[file.path] = file.name
    return files


def _matching(pattern: str, folder: Path, allow_path: bool, limits: Limits) -> list[str]:
    """Returns the sorted names that match; checks that a folder is inside the base folder before its names are read."""
    parts = pattern.split("/")
    wild = next(index for index, part in enumerate(parts) if glob.has_magic(part))
    rest = [part for part in parts[wild:] if part]
    if ".." in rest:
        raise BadInput(f"input {_shown(pattern)}: '..' cannot follow a wildcard: write the folder before it")
    names = ["".join(f"{part}/" for part in parts[:wild])]
    visited = 0
    for index, part in enumerate(rest):
        ending = "/" if index < len(rest) - 1 else ""
        matching: list[str] = []
        for parent in names:
            directory = confined(parent, folder, allow_path=allow_path, what="input")
            children = _children(directory, part, limits.searched_names)
            visited += len(children)
            if visited > limits.searched_names:
                raise BadInput(
                    f"input {_shown(pattern)}: expected at most {count_text(limits.searched_names, 'name')} in the folders to "
                    f"search {to_raise('searched_names')}: list the files, or move them to a folder of their own"
                )
            matching += [f"{parent}{name}{ending}" for name in children if _matches(name, part)]
        names = matching
    names = [name for name in names if _exists(folder / name)]
    if not names:
        raise BadInput(f"no file in {folder} matches {_shown(pattern)}")
    if len(names) > limits.matched_files:
        raise BadInput(
            f"input {_shown(pattern)}: expected at most {count_text(limits.matched_files, 'file')} {to_raise('matched_files')}, "
            f"{len(names)} match"
        )
    return sorted(names)


def _children(directory: Path, part: str, limit: int) -> list[str]:
    """Returns the names in a folder, or ``part`` if it has no wildcard; none if the folder cannot be read."""
    if not glob.has_magic(part):
        return [part]
    try:
        return list(islice((entry.name for entry in os.scandir(directory)), limit + 1))
    except OSError:
        return []


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:
        return False


def _matches(name: str, part: str) -> bool:
    """True if a name matches; as in a shell, a wildcard at the beginning does not match a dot."""
    return name == part or (fnmatchcase(name, part) and (not name.startswith(".") or part.startswith(".")))


def _shown(name: str) -> str:
    return repr(name if len(name) <= 200 else f"{name[:200]}...")


def _reason(error: Exception) -> str:
    """Returns the reason of an error without the path, which may be outside of the folder."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return "it leads back to itself" if isinstance(error, RuntimeError) else str(error)

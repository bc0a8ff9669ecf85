"""The directory of a recording: checks its contents, and removes an old recording."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

from flowsim.errors import BadInput
from flowsim.facts.schema import TABLES
from flowsim.named_pipe import file_bytes
from flowsim.recording.directory_lock import LOCK, DirectoryLock
from flowsim.recording.epoch_marker import EPOCHS
from flowsim.recording.graph_file import GRAPH
from flowsim.recording.manifest import MANIFEST, WALL

_OF_TABLE: Final = re.compile(r"\.?part-\d{5,}\.parquet(\.tmp)?")
_OF_EPOCHS: Final = re.compile(r"\.?\d{5,}\.json(\.tmp)?")
_AT_TOP: Final = re.compile(
    rf"{re.escape(LOCK)}|\.?({re.escape(MANIFEST)}|{re.escape(WALL)}|{re.escape(GRAPH)})(\.tmp)?"
)


def locked_room(directory: Path) -> DirectoryLock:
    """Locks a directory for a run and empties it as ``make_room`` does.

    The run writes there until it releases the lock. Raises BadInput if another run has the lock.
    """
    try:
        if directory.exists() and not directory.is_dir():
            raise BadInput(f"{directory}: is a file; give a directory for the recording")
        directory.mkdir(parents=True, exist_ok=True)
        lock = DirectoryLock(directory)
    except OSError as error:
        raise BadInput(f"{directory}: cannot be used for a recording: {error.strerror}") from None
    try:
        make_room(directory)
    except BaseException:
        lock.release()
        raise
    return lock


def make_room(directory: Path) -> None:
    """Empties a directory that contains only an old flowsim recording.

    Raises BadInput, and removes nothing, if the directory contains anything else.
    """
    try:
        if directory.exists() and not directory.is_dir():
            raise BadInput(f"{directory}: is a file; give a directory for the recording")
        directory.mkdir(parents=True, exist_ok=True)
        paths = sorted(directory.rglob("*"))
        foreign = [path for path in paths if not _is_ours(path.relative_to(directory), path)]
        if foreign:
            name = foreign[0].relative_to(directory)
            raise BadInput(f"{directory}: holds {name}, which is not part of a recording; choose another directory")
        if any(path.name != LOCK for path in paths) and not _looks_recorded(directory, paths):
            raise BadInput(f"{directory}: is not empty and has no {MANIFEST} of a recording; choose another directory")
        _remove(directory, paths)
    except OSError as error:
        raise BadInput(f"{directory}: cannot be used for a recording: {error.strerror}") from None


def is_of_recording(file: Path) -> bool:
    """Returns True for the path of a file that a recording has or can have."""
    return any((base / MANIFEST).is_file() and _is_ours(file.relative_to(base), file) for base in file.parents)


def _is_ours(relative: Path, path: Path) -> bool:
    if path.is_symlink():
        return False
    parts = relative.parts
    if path.is_dir():
        return len(parts) == 1 and (parts[0] in TABLES or parts[0] == EPOCHS)
    if len(parts) == 1:
        return _AT_TOP.fullmatch(parts[0]) is not None
    if len(parts) == 2 and parts[0] == EPOCHS:
        return _OF_EPOCHS.fullmatch(parts[1]) is not None
    return len(parts) == 2 and parts[0] in TABLES and _OF_TABLE.fullmatch(parts[1]) is not None


def _looks_recorded(directory: Path, found: list[Path]) -> bool:
    """Returns True if a flowsim manifest is there.

    A start that was interrupted left only the manifest's temporary file.
    """
    files = [path.name for path in found if not path.is_dir()]
    if all(name.startswith(".") for name in files):
        return True
    try:
        return "format_version" in json.loads(file_bytes(directory / MANIFEST))
    except (OSError, ValueError, TypeError):
        return False


def _remove(directory: Path, found: list[Path]) -> None:
    # Markers are removed first and the manifest last: an interrupted removal leaves an empty flowsim recording.
    files = [path for path in found if not path.is_dir()]
    rank = {EPOCHS: 0, directory.name: 2}
    for path in sorted(files, key=lambda p: (p.name == MANIFEST, rank.get(p.parent.name, 1), p)):
        if path.name != LOCK:
            path.unlink()
    for path in found:
        if path.is_dir():
            path.rmdir()

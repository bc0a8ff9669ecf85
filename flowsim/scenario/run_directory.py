"""The directory of a run: ``recording/``, ``sinks/<name>/``, ``run.json`` and written files; removal of an old run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from flowsim.checkpoints.storage.directory.manifest import MANIFEST, is_checkpoint, read_manifest
from flowsim.errors import BadInput
from flowsim.named_pipe import file_bytes
from flowsim.recording.directory import is_of_recording, locked_room
from flowsim.recording.directory_lock import LOCK, DirectoryLock
from flowsim.recording.written_file import write_file

RECORDING: Final = "recording"
RUN_FILE: Final = "run.json"
_KEY: Final = "flowsim_run"
_PART: Final = re.compile(r"\.?part-\d+(-\d+){0,2}\.(parquet|csv|jsonl)(\.inprogress)?|rows\.sqlite(-journal)?")
_AT_TOP: Final = re.compile(rf"\.?{re.escape(RUN_FILE)}(\.tmp)?")
_REPORT: Final = re.compile(r"report\.(html|png)")


def is_reserved(folder: Path, out_dir: Path) -> bool:
    """Returns True for a folder in which neither a sink nor checkpoints can be, because a run or a command writes there.

    Both paths are resolved. Upper and lower case count as equal, as in the file systems of macOS and Windows.
    """
    if LOCK in map(str.casefold, folder.parts) or folder == out_dir:
        return True
    if not folder.is_relative_to(out_dir):
        return False
    first = folder.relative_to(out_dir).parts[0].casefold()
    return first == RECORDING or _AT_TOP.fullmatch(first) is not None or _REPORT.fullmatch(first) is not None


def is_of_run(file: Path) -> bool:
    """Returns True for the path of a file that only a run writes: of its recording, sinks, checkpoints, or its lock."""
    file = file.resolve()
    if LOCK in map(str.casefold, file.parts) or is_of_recording(file):
        return True
    for base in file.parents:
        content = _marker(base)
        if content is None:
            continue
        relative = file.relative_to(base)
        is_part = relative.parent in _paths(content, "sinks") and _PART.fullmatch(file.name) is not None
        in_checkpoints = any(relative.is_relative_to(folder) for folder in _paths(content, "checkpoints"))
        first = relative.parts[0].casefold()
        return is_part or in_checkpoints or first == RECORDING or _AT_TOP.fullmatch(first) is not None
    return False


def add_to_run(file: Path) -> None:
    """Adds a file that flowsim has written, such as a report, to the run in whose directory it lies, if it lies in one.

    Raises OSError.
    """
    file = file.absolute()
    for base in file.parents:
        content = _marker(base)
        if content is None:
            continue
        relative = file.relative_to(base)
        files = _texts(content.get("files"))
        if relative.as_posix() not in files and relative.parts[0] not in (RECORDING, RUN_FILE):
            _write_marker(base, content | {"files": sorted([*files, relative.as_posix()])})
        return


def _marker(directory: Path) -> dict[str, object] | None:
    """Returns the content of ``run.json``; None if the directory is not that of a run."""
    try:
        content = json.loads(file_bytes(directory / RUN_FILE))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) and content.get(_KEY) == 1 else None


def _write_marker(directory: Path, content: dict[str, object]) -> None:
    write_file(directory / RUN_FILE, json.dumps(content, indent=2).encode() + b"\n")


@dataclass(frozen=True, slots=True)
class Start:
    """The snapshot from which a run starts. ``digest``: that of its manifest."""

    path: Path
    checkpoint_id: int
    digest: str


class RunDirectory:
    """The directory ``OUT`` of one run.

    ``run.json`` marks it as flowsim's and lists the folders of the sinks, those of checkpoints, and files that commands
    wrote into the directory.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock: DirectoryLock | None = None

    @property
    def recording(self) -> Path:
        """The folder of the recording."""
        return self.path / RECORDING

    def begin(
        self,
        scenario: str,
        sink_folders: Iterable[Path],
        checkpoint_folders: Iterable[Path] = (),
        start: Start | None = None,
    ) -> None:
        """Removes an earlier run except its checkpoints, marks the directory as flowsim's, locks it until ``end``.

        A run that starts from a snapshot of the earlier run continues it: the files of the sinks stay, and the sinks
        themselves remove what follows the snapshot. Raises BadInput, and removes nothing, if another run writes there, if
        the directory contains files that are not from a flowsim run, or rows that a snapshot of another run would replace.
        """
        try:
            if self.path.exists() and not self.path.is_dir():
                raise BadInput(f"{self.path}: is a file; give a directory with --out")
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = DirectoryLock(self.path)
            earlier, base = _marker(self.path) or {}, self.path.resolve()
            continues = self.continues(start)
            replaced = self._replaced(start) if start is not None and continues else {}
            kept = self._remove_old_run(start, continues)
            sinks = {folder.relative_to(base) for folder in sink_folders if folder.is_relative_to(base)}
            sinks |= set(_paths(earlier, "sinks")) if continues else set()
            content: dict[str, object] = {_KEY: 1, "scenario": scenario, "sinks": _names(sinks)}
            folders = {*checkpoint_folders, *(base / folder for folder in kept)}
            inside = {folder.relative_to(base) for folder in folders if folder.is_relative_to(base)}
            content |= {"checkpoints": _names(inside)} if inside else {}
            outside = {folder for folder in folders if not folder.is_relative_to(base)}
            content |= {"checkpoints_outside": _names(outside)} if outside else {}
            if continues:
                older = {**_stamps(earlier), **replaced}
            else:
                older = {str(path): _stamp(path) for path in _snapshots_in(folders)}
            content |= {"older": older} if older else {}
            started = earlier.get("started_from") if continues else start and start.digest
            content |= {"started_from": started} if started else {}
            _write_marker(self.path, content)
        except OSError as error:
            self.end()
            raise BadInput(f"{self.path}: cannot be used as output directory: {error.strerror or error}") from None
        except BadInput:
            self.end()
            raise

    def continues(self, start: Start | None) -> bool:
        """Returns True if a run that starts from this snapshot continues the run in this directory."""
        return start is not None and start.path.resolve() in self.snapshots()

    def snapshots(self) -> list[Path]:
        """Returns the checkpoints and savepoints that the run in this directory, and those that it continues, wrote."""
        content = _marker(self.path) or {}
        folders = [self.path / folder for folder in _paths(content, "checkpoints")]
        known = _stamps(content)
        stored = _snapshots_in([*folders, *map(Path, _texts(content.get("checkpoints_outside")))])
        return [path for path in stored if known.get(str(path)) != _stamp(path)]

    def _replaced(self, start: Start) -> dict[str, str]:
        """Returns the later snapshots, with their stamps: the sinks remove rows that they count as written."""
        later = {}
        for path in self.snapshots():
            try:
                if read_manifest(path).checkpoint_id > start.checkpoint_id:
                    later[str(path)] = _stamp(path)
            except BadInput:
                later[str(path)] = _stamp(path)
        return later

    @property
    def scenario(self) -> str | None:
        """The name of the scenario whose run is in this directory; None without a run."""
        name = (_marker(self.path) or {}).get("scenario")
        return name if isinstance(name, str) else None

    def end(self) -> None:
        """Unlocks the directory."""
        if self._lock is not None:
            self._lock.release()

    def _remove_old_run(self, start: Start | None = None, continues: bool = False) -> set[Path]:
        """Returns the folders of its checkpoints, which stay; ``continues``: the files of its sinks stay, too."""
        entries = sorted(path for path in self.path.iterdir() if path.name != LOCK)
        if not entries:
            return set()
        if all(_AT_TOP.fullmatch(path.name) and path.name != RUN_FILE for path in entries):
            _unlink(entries)  # a start that was interrupted
            return set()
        folders, files = self._listed("sinks"), self._listed("files")
        kept = {folder for folder in self._listed("checkpoints") if (self.path / folder).is_dir()}
        parts = self._checked(entries, folders, kept, files)
        if continues:
            parts = [part for part in parts if part.relative_to(self.path) in files]
        elif start is not None:
            self._check_rows(start, parts)
        if self.recording in entries:
            locked_room(self.recording).release()  # checks before it removes
            self.recording.rmdir()
        _unlink(parts)
        _remove_empty(self.path, [*folders, *(file.parent for file in files)], {*kept, *(folders if continues else ())})
        # Last: an interrupted removal leaves a directory that is still marked as flowsim's. A run that is continued stays
        # marked: what it has written is needed.
        _unlink(path for path in entries if _AT_TOP.fullmatch(path.name) and not (continues and path.name == RUN_FILE))
        return kept

    def _listed(self, kind: str) -> list[Path]:
        """Returns the folders or files of the earlier run; raises BadInput if the directory is not flowsim's."""
        content = _marker(self.path)
        if content is not None and isinstance(content.get("sinks"), list):
            return _paths(content, kind)
        raise BadInput(
            f"{self.path}: is not empty and not the output of an earlier run (it has no {RUN_FILE} that flowsim wrote); "
            "choose another directory with --out"
        )

    def _check_rows(self, start: Start, parts: Sequence[Path]) -> None:
        """Raises BadInput if rows would be lost: the run is restored, but not from a snapshot of the run that wrote them."""
        earlier = (_marker(self.path) or {}).get("started_from")
        if earlier != start.digest and any(not part.name.startswith(".") for part in parts):
            raise BadInput(
                f"{self.path}: holds rows of another run than the one that wrote {start.path}, and the run would delete "
                "them: choose another directory with --out, or continue the run that is there with --resume"
            )

    def _checked(
        self, found: Sequence[Path], folders: Sequence[Path], kept: set[Path], files: Sequence[Path]
    ) -> list[Path]:
        """Returns the files of sinks and of commands; raises BadInput for files that flowsim did not write."""
        parts: list[Path] = []
        ours = {folder for each in (*folders, *kept) for folder in (each, *each.parents)}
        ours |= {folder for file in files for folder in file.parents}
        for path in found:
            if (path == self.recording and not path.is_symlink()) or _AT_TOP.fullmatch(path.name):
                continue
            for inner in [path, *sorted(path.rglob("*"))] if path.is_dir() and not path.is_symlink() else [path]:
                relative = inner.relative_to(self.path)
                if any(relative.is_relative_to(folder) and relative != folder for folder in kept):
                    continue
                if inner.is_dir() and not inner.is_symlink() and relative in ours:
                    continue
                is_part = relative.parent in folders and _PART.fullmatch(inner.name) is not None
                if not inner.is_file() or inner.is_symlink() or not (is_part or relative in files):
                    raise BadInput(
                        f"{self.path}: holds {relative.as_posix()}, which no run of flowsim wrote; "
                        "choose another directory with --out"
                    )
                parts.append(inner)
        return parts


def _stamps(content: Mapping[str, object]) -> dict[str, str]:
    """Returns the snapshots that do not belong to the rows of the run, with the stamps that they had then."""
    older = content.get("older")
    return {str(path): str(stamp) for path, stamp in older.items()} if isinstance(older, dict) else {}


def _texts(listed: object) -> list[str]:
    return [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []


def _paths(content: Mapping[str, object], kind: str) -> list[Path]:
    """Returns the folders or files inside the directory that ``run.json`` lists."""
    return [path for path in map(Path, _texts(content.get(kind))) if _stays_inside(path)]


def _names(folders: Iterable[Path]) -> list[str]:
    return sorted(folder.as_posix() for folder in folders)


def _snapshots_in(folders: Iterable[Path]) -> list[Path]:
    """Returns the checkpoints and savepoints in these folders, the lowest name first."""
    paths = {path.resolve() for folder in folders if folder.is_dir() for path in folder.iterdir()}
    return sorted(path for path in paths if not path.name.startswith(".") and is_checkpoint(path))


def _stamp(snapshot: Path) -> str:
    """Identifies one write of a snapshot: equal runs write equal bytes, but not at the same time."""
    return str((snapshot / MANIFEST).stat().st_mtime_ns)


def _stays_inside(folder: Path) -> bool:
    return not folder.is_absolute() and ".." not in folder.parts


def _unlink(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink()


def _remove_empty(base: Path, folders: Iterable[Path], kept: Iterable[Path]) -> None:
    """Removes the empty folders of sinks and their parents, deepest first, but no parent of a ``kept`` folder."""
    all_folders = {folder for sink in folders for folder in (sink, *sink.parents)} - {Path(".")}
    all_folders -= {folder for each in kept for folder in (each, *each.parents)}
    for folder in sorted(all_folders, key=lambda path: (-len(path.parts), path)):
        if (base / folder).is_dir():
            (base / folder).rmdir()

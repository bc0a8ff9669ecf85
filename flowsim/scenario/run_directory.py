"""The directory of a run: ``recording/``, ``sinks/<name>/``, ``run.json`` and written files; removal of an old run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from flowsim.errors import BadInput
from flowsim.recording.directory import locked_room
from flowsim.recording.directory_lock import LOCK, DirectoryLock
from flowsim.recording.written_file import write_file

RECORDING: Final = "recording"
RUN_FILE: Final = "run.json"
_KEY: Final = "flowsim_run"
_PART: Final = re.compile(r"\.?part-\d+(-\d+){0,2}\.(parquet|csv|jsonl)(\.inprogress)?|rows\.sqlite(-journal)?")
_AT_TOP: Final = re.compile(rf"\.?{re.escape(RUN_FILE)}(\.tmp)?")


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
        listed = content.get("files")
        files = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
        if relative.as_posix() not in files and relative.parts[0] not in (RECORDING, RUN_FILE):
            _write_marker(base, content | {"files": sorted([*files, relative.as_posix()])})
        return


def _marker(directory: Path) -> dict[str, object] | None:
    """Returns the content of ``run.json``; None if the directory is not that of a run."""
    try:
        content = json.loads((directory / RUN_FILE).read_bytes())
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) and content.get(_KEY) == 1 else None


def _write_marker(directory: Path, content: dict[str, object]) -> None:
    write_file(directory / RUN_FILE, json.dumps(content, indent=2).encode() + b"\n")


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

    def begin(self, scenario: str, sink_folders: Iterable[Path], checkpoint_folders: Iterable[Path] = ()) -> None:
        """Removes an earlier run except its checkpoints, marks the directory as flowsim's, locks it until ``end``.

        Raises BadInput, and removes nothing, if another run writes there, or if it contains files that are not from a
        flowsim run.
        """
        try:
            if self.path.exists() and not self.path.is_dir():
                raise BadInput(f"{self.path}: is a file; give a directory with --out")
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = DirectoryLock(self.path)
            kept = self._remove_old_run()
            base = self.path.resolve()
            inside = sorted(f.relative_to(base).as_posix() for f in sink_folders if f.is_relative_to(base))
            content: dict[str, object] = {_KEY: 1, "scenario": scenario, "sinks": inside}
            kept |= {folder.relative_to(base) for folder in checkpoint_folders if folder.is_relative_to(base)}
            content |= {"checkpoints": sorted(folder.as_posix() for folder in kept)} if kept else {}
            _write_marker(self.path, content)
        except OSError as error:
            self.end()
            raise BadInput(f"{self.path}: cannot be used as output directory: {error.strerror or error}") from None
        except BadInput:
            self.end()
            raise

    def end(self) -> None:
        """Unlocks the directory."""
        if self._lock is not None:
            self._lock.release()

    def _remove_old_run(self) -> set[Path]:
        """Returns the folders of its checkpoints, which stay."""
        found = sorted(path for path in self.path.iterdir() if path.name != LOCK)
        if not found:
            return set()
        if all(_AT_TOP.fullmatch(path.name) and path.name != RUN_FILE for path in found):
            _unlink(found)  # a start that was interrupted
            return set()
        folders, files = self._listed("sinks"), self._listed("files")
        kept = {folder for folder in self._listed("checkpoints") if (self.path / folder).is_dir()}
        parts = self._checked(found, folders, kept, files)
        if self.recording in found:
            locked_room(self.recording).release()  # checks before it removes
            self.recording.rmdir()
        _unlink(parts)
        _remove_empty(self.path, [*folders, *(file.parent for file in files)], kept)
        # Last: an interrupted removal leaves a directory that is still marked as flowsim's.
        _unlink(path for path in found if _AT_TOP.fullmatch(path.name))
        return kept

    def _listed(self, kind: str) -> list[Path]:
        """Returns the folders or files of the earlier run; raises BadInput if the directory is not flowsim's."""
        content = _marker(self.path)
        listed = None if content is None else content.get(kind, None if kind == "sinks" else [])
        if isinstance(listed, list) and all(isinstance(name, str) for name in listed):
            return [path for path in map(Path, listed) if _stays_inside(path)]
        raise BadInput(
            f"{self.path}: is not empty and not the output of an earlier run (it has no {RUN_FILE} that flowsim wrote); "
            "choose another directory with --out"
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

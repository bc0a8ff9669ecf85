"""The directory of a study: ``study.json``, ``.csv``, ``.md``, ``.svg``, and ``runs/<number>/`` per combination."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Final

from flowsim.errors import BadInput
from flowsim.named_pipe import file_bytes
from flowsim.recording.written_file import write_file
from flowsim.studies.run import remove_run

RUNS: Final = "runs"
JSON_FILE, CSV_FILE, TABLE_FILE, PLOT_FILE = (f"study.{ending}" for ending in ("json", "csv", "md", "svg"))
KEY: Final = "flowsim_study"
"""The key of the format version in ``study.json``, which also marks the directory as flowsim's."""
_OURS: Final = re.compile(r"\.?study\.(json|csv|md|svg)(\.tmp)?")
_RUN: Final = re.compile(r"\d{3}")


class StudyDirectory:
    """The directory ``OUT`` of one study.

    A new study replaces an earlier study completely; other contents raise BadInput.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def run(self, number: int) -> Path:
        """Returns the directory of a combination's run; numbers count from 1."""
        return self.path / RUNS / f"{number:03d}"

    def begin(self) -> None:
        """Removes an earlier study. Raises BadInput, and removes nothing, if the directory contains anything else."""
        try:
            if self.path.exists() and not self.path.is_dir():
                raise BadInput(f"{self.path}: is a file; give a directory with --out")
            self.path.mkdir(parents=True, exist_ok=True)
            entries = sorted(self.path.iterdir())
            runs = self._checked(entries)
            for run in runs:
                remove_run(run)
            if (self.path / RUNS).is_dir():
                (self.path / RUNS).rmdir()
            for path in entries:
                if path.name not in (RUNS, JSON_FILE):
                    path.unlink()
        except OSError as error:
            raise BadInput(f"{self.path}: cannot be used as output directory: {error.strerror or error}") from None

    def write(self, name: str, content: str | bytes) -> None:
        """Writes one of the study's files; raises BadInput if that fails."""
        try:
            write_file(self.path / name, content.encode() if isinstance(content, str) else content)
        except OSError as error:
            raise BadInput(f"{self.path / name}: cannot be written: {error.strerror or error}") from None

    def remove_runs(self) -> None:
        """Removes the folder of the runs if it is empty."""
        if (self.path / RUNS).is_dir() and not any((self.path / RUNS).iterdir()):
            (self.path / RUNS).rmdir()

    def _checked(self, found: list[Path]) -> list[Path]:
        """Returns the runs of the earlier study; raises BadInput if the directory contains anything else."""
        if not found:
            return []
        if not self._is_ours():
            raise BadInput(
                f"{self.path}: is not empty and holds no study of flowsim (no {JSON_FILE} that flowsim wrote); "
                "choose another directory with --out"
            )
        runs = sorted((self.path / RUNS).iterdir()) if (self.path / RUNS).is_dir() else []
        foreign = [path for path in found if path.name != RUNS and not _OURS.fullmatch(path.name)]
        foreign += [path for path in runs if not _RUN.fullmatch(path.name) or not path.is_dir()]
        if foreign:
            raise BadInput(
                f"{self.path}: holds {foreign[0].relative_to(self.path)}, which is not part of a study; "
                "choose another directory with --out"
            )
        return runs

    def _is_ours(self) -> bool:
        try:
            return bool(json.loads(file_bytes(self.path / JSON_FILE))[KEY] == 1)
        except (OSError, ValueError, TypeError, KeyError):
            return False

"""A sink's file of one subtask: written aside, and under its final name only when it is complete."""

from __future__ import annotations

import os
import re
from pathlib import Path


class PartFile:
    """``part-<subtask>.<suffix>`` in a folder that belongs to one sink.

    While it grows it is ``.part-<subtask>.<suffix>.inprogress``. A part of the same suffix that an earlier run left is
    removed when this run opens the folder, so that a folder never mixes two runs.
    """

    def __init__(self, directory: str | Path, suffix: str, subtask_index: int, parallelism: int) -> None:
        folder = Path(directory)
        self.final = folder / f"part-{subtask_index}.{suffix}"
        self.growing = folder / f".part-{subtask_index}.{suffix}.inprogress"
        folder.mkdir(parents=True, exist_ok=True)
        self.final.unlink(missing_ok=True)
        if subtask_index == 0:
            _remove_beyond(folder, suffix, parallelism)

    def close(self, is_complete: bool) -> None:
        """Publishes a complete file; of an incomplete one nothing is left under either name."""
        if is_complete:
            os.replace(self.growing, self.final)
        else:
            self.growing.unlink(missing_ok=True)


def _remove_beyond(folder: Path, suffix: str, parallelism: int) -> None:
    of_a_sink = re.compile(rf"\.?part-(\d+)\.{re.escape(suffix)}(\.inprogress)?")
    for path in sorted(folder.iterdir()):
        found = of_a_sink.fullmatch(path.name)
        if found is not None and int(found.group(1)) >= parallelism:
            path.unlink()

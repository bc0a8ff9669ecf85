"""The files of a finished recording: those that its epochs list, and no others."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flowsim.recording.directory_lock import LOCK
from flowsim.recording.epoch_marker import EpochMarker, marker_path
from flowsim.recording.graph_file import GRAPH
from flowsim.recording.manifest import MANIFEST, WALL
from flowsim.recording.recorded_file import part_name


def foreign_file(directory: Path, markers: Sequence[EpochMarker]) -> Path | None:
    """Returns a file of a finished recording that its epochs do not list; None if there is none."""
    listed = {Path(MANIFEST), Path(WALL), Path(GRAPH), Path(LOCK)}
    for epoch, marker in enumerate(markers):
        listed |= {marker_path(Path(), epoch), *(Path(table) / part_name(epoch) for table in marker.parts)}
    folders = {parent for path in listed for parent in path.parents}
    for path in sorted(directory.rglob("*")):
        relative = path.relative_to(directory)
        if relative not in (folders if path.is_dir() and not path.is_symlink() else listed):
            return relative
    return None

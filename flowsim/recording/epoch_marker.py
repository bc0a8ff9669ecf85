"""Epoch markers: an epoch is complete in every table if its marker exists; the markers form a chain of hashes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from flowsim.recording.canonical import canonical_json

EPOCHS: Final = "epochs"


@dataclass(frozen=True, slots=True)
class PartDescription:
    """One file of an epoch: its rows, the SHA-256 of its bytes, and the rows of each task in file order.

    ``tasks`` is empty for a table whose facts have no task.
    """

    rows: int
    sha256: str
    tasks: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class EpochMarker:
    """The contents of an epoch.

    ``graph`` is the SHA-256 of ``graph.json``. ``before`` is the SHA-256 of the previous marker, or ''.
    """

    epoch: int
    graph: str
    before: str
    parts: Mapping[str, PartDescription]

    @property
    def rows(self) -> dict[str, int]:
        """Returns the number of rows per table; omits tables without rows in this epoch."""
        return {table: part.rows for table, part in self.parts.items()}

    def content(self) -> bytes:
        """Returns the bytes of the marker's file."""
        return canonical_json(asdict(self)) + b"\n"


def marker_path(directory: Path, epoch: int) -> Path:
    """Returns the path of an epoch's marker."""
    return directory / EPOCHS / f"{epoch:05d}.json"

"""Epoch markers: an epoch is complete in every table if its marker exists; the markers form a chain of hashes."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from flowsim.facts.schema import TABLES
from flowsim.garbage_collection import without_garbage_collection
from flowsim.limits import DEFAULT_LIMITS, Limits
from flowsim.recording.canonical import canonical_json, sha256
from flowsim.recording.recorded_file import damaged, recorded_bytes

EPOCHS: Final = "epochs"
_HASH: Final = re.compile("[0-9a-f]{64}")


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
        parts = {
            table: {"rows": part.rows, "sha256": part.sha256, "tasks": [list(pair) for pair in part.tasks]}
            for table, part in self.parts.items()
        }
        return canonical_json({"epoch": self.epoch, "graph": self.graph, "before": self.before, "parts": parts}) + b"\n"


def marker_path(directory: Path, epoch: int) -> Path:
    """Returns the path of an epoch's marker."""
    return directory / EPOCHS / f"{epoch:05d}.json"


def read_markers(directory: Path, limits: Limits = DEFAULT_LIMITS) -> tuple[tuple[EpochMarker, ...], str]:
    """Returns the markers before the first missing one, and the hash of the last of them ('' if there is none).

    Raises BadInput if a marker is damaged or does not follow the previous one.
    """
    markers: list[EpochMarker] = []
    before = ""
    while os.path.lexists(path := marker_path(directory, len(markers))):
        try:
            content = recorded_bytes(path, limits.description_bytes, "description_bytes", depth=1)
            with without_garbage_collection():
                marker = _parsed(json.loads(content))
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise damaged(path, "expected the parts of an epoch, with their rows and hashes") from None
        if marker.epoch != len(markers) or marker.content() != content:
            raise damaged(path, f"is not the marker of epoch {len(markers)}")
        if marker.before != before:
            raise damaged(path, "does not follow the marker before it: one of the two was changed")
        before = sha256(content)
        markers.append(marker)
    return tuple(markers), before


def _parsed(given: dict[str, object]) -> EpochMarker:
    parts: dict[str, PartDescription] = {}
    descriptions = given["parts"]
    if not isinstance(descriptions, dict) or not all(table in TABLES for table in descriptions):
        raise ValueError("unknown table")
    for table, about in descriptions.items():
        tasks = tuple((_count(task, 2**31), _count(rows)) for task, rows in about["tasks"])
        parts[table] = PartDescription(_count(about["rows"]), _hash(about["sha256"]), tasks)
        if any(one >= other for (one, _), (other, _) in pairwise(tasks)) or not all(rows for _, rows in tasks):
            raise ValueError("order of tasks")
        if sum(rows for _, rows in tasks) != (parts[table].rows if "task" in TABLES[table].names else 0):
            raise ValueError("rows of tasks")
    before, graph = given["before"], given["graph"]
    return EpochMarker(_count(given["epoch"]), _hash(graph), "" if before == "" else _hash(before), parts)


def _count(value: object, end: int = 2**63) -> int:
    if type(value) is not int or not 0 <= value < end:
        raise ValueError("count")
    return value


def _hash(value: object) -> str:
    if not isinstance(value, str) or _HASH.fullmatch(value) is None:
        raise ValueError("hash")
    return value

"""The manifest of a recording: a description of the run, its progress, and its digest.

``manifest.json`` contains no wall-clock times, absolute paths or host names. Wall-clock times are in ``wall.json``,
which no digest covers.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from flowsim.errors import BadInput
from flowsim.facts.kinds import Level
from flowsim.facts.schema import FORMAT_VERSION, TABLES
from flowsim.limits import DEFAULT_LIMITS, Limits
from flowsim.recording.canonical import canonical_json, sha256
from flowsim.recording.epoch_marker import EpochMarker, marker_path
from flowsim.recording.recorded_file import RECORDING, damaged
from flowsim.recording.stored_json import decoded, encoded, place_and_reason
from flowsim.recording.written_file import write_file

MANIFEST: Final = "manifest.json"
WALL: Final = "wall.json"
_HASH: Final = re.compile("[0-9a-f]{64}")
_HASHED: Final = {
    "format_version",
    "status",
    "level",
    "run",
    "rows",
    "facts_digest",
    "failure",
    "failures",
    "record_values",
}


class RunStatus(Enum):
    """The final status of a run. ``RUNNING`` in a recording on disk means that the run's process was killed."""

    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"
    CANCELED = "canceled"
    """An action of the run cancelled the job, or, with a failure entry, Ctrl-C did."""
    STOPPED = "stopped"
    """The run ended at ``until:`` while unbounded work was left."""


Count = Annotated[int, Meta(ge=0, le=2**63 - 1)]


# Dataclasses, not structs: type checkers of packages take the class Struct of msgspec for unknown.
@dataclass(frozen=True, slots=True)
class ScenarioText:
    """The text of the scenario file, so that a replay needs no other copy."""

    path: str
    """The relative path as the user gave it; only for display."""
    text: str
    digest: str

    def __post_init__(self) -> None:
        if ".." in PurePosixPath(self.path).parts:
            raise ValueError(f"expected a path below the working directory, got {self.path!r:.100}")
        _check_relative(self.path)


@dataclass(frozen=True, slots=True)
class FailureReport:
    """The cause of a job's failure, with task, operator and record if they are known."""

    task: str
    operator: str | None
    record: str | None
    cause: str


@dataclass(frozen=True, slots=True)
class RecordedReason(FailureReport):
    """The cause of a failure that the job's side handled; ``task`` is empty for a failure of the whole job."""

    failure: Count
    """Number of the failure, as in table ``restarts``."""


@dataclass(frozen=True, slots=True)
class RunDescription:
    """The description of a run before its first step; it is part of the digest."""

    scenario: ScenarioText | None = None
    """The scenario; None for jobs built in Python, which cannot be replayed from a recording."""
    settings: dict[str, Any] = field(default_factory=dict)
    """The resolved settings of job and cluster, with defaults."""
    options: dict[str, Any] = field(default_factory=dict)
    """Command line options that a replay must repeat, e.g. ``until``, ``set``."""
    inputs: dict[str, str] = field(default_factory=dict)
    """SHA-256 of every input file as the run read it, by path relative to the scenario; empty until the run ends."""
    seed: Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] = 0
    policy: str = "fifo"
    clock: str = "virtual"

    def __post_init__(self) -> None:
        for path in self.inputs:
            _check_relative(path)


@dataclass(frozen=True, slots=True)
class RecordedValues:
    """The final counts of table ``record_values``."""

    stored: Count
    """Number of rows."""
    bytes: Count
    """Size of the encoded records in bytes, plus 16 bytes per row."""
    distinct: Count
    """Number of distinct records of the run; estimated if only a sample was stored."""
    one_in: Count
    """1 if all records were stored; 2, 4, ...: one in this many distinct records was stored at the end."""
    too_large: Count
    """Number of distinct records that were omitted because of their size."""

    @property
    def is_complete(self) -> bool:
        """True if the value of every record is stored."""
        return self.stored == self.distinct


@dataclass(frozen=True, slots=True)
class SinkRows:
    """The rows that a sink has at the end of a run: their number, and the first of them as JSON, long ones cut."""

    rows: Count
    first: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Manifest:
    """The content of ``manifest.json``.

    The file is written with status running at the start, and replaced atomically at the end.
    """

    format_version: int = FORMAT_VERSION
    status: RunStatus
    level: str
    run: RunDescription
    versions: dict[str, str]
    """The versions of Python, flowsim and its dependencies; not part of the digest."""
    epochs: Count = 0
    last_marker: str = ""
    """SHA-256 of the last epoch's marker, which covers the whole chain of markers."""
    rows: dict[str, Count] = field(default_factory=dict)
    table_digests: dict[str, str] = field(default_factory=dict)
    facts_digest: str = ""
    """The digest of the facts only: a replay must have the same digest."""
    digest: str = ""
    """The digest of the facts and of the hashed part of this manifest."""
    failure: FailureReport | None = None
    failures: tuple[RecordedReason, ...] = ()
    """The causes of failures, the last 10,000 of a run; left out of the file if there are none."""
    results: dict[str, SinkRows] = field(default_factory=dict)
    """The rows of sinks that keep them in memory, by name; left out of the file if there are none. Not part of the digest,
    which covers how they came about."""
    record_values: RecordedValues | None = None
    """The final counts of table ``record_values``; None during the run."""

    def __post_init__(self) -> None:
        unknown = next((table for table in (*self.rows, *self.table_digests) if table not in TABLES), None)
        if unknown is not None:
            raise ValueError(f"there is no table {unknown!r:.100}")

    @property
    def recorded_level(self) -> Level:
        return Level[self.level.upper()]

    def hashed(self) -> str:
        """Returns the digest of facts, description, level, status and failures."""
        return sha256(canonical_json({name: value for name, value in self._content().items() if name in _HASHED}))

    def _content(self) -> dict[str, Any]:
        content: dict[str, Any] = msgspec.to_builtins(self)
        for name in ("failures", "results"):
            if not content[name]:
                del content[name]
        return content

    def write(self, directory: Path) -> None:
        """Replaces ``manifest.json`` atomically."""
        write_file(directory / MANIFEST, encoded(self._content()))


class _Version(Struct):
    format_version: int


def read_manifest(directory: Path, limits: Limits = DEFAULT_LIMITS) -> Manifest:
    """Reads and checks ``manifest.json``; raises BadInput that names the error."""
    path = directory / MANIFEST
    try:
        content = RECORDING.content(path, limits.description_bytes, "description_bytes")
    except FileNotFoundError:
        raise BadInput(
            f"{directory}: not a recording: it has no {MANIFEST}; give the directory that 'flowsim run --out' wrote"
        ) from None
    try:
        version = decoded(content, _Version).format_version
        if version != FORMAT_VERSION:
            raise BadInput(
                f"{path}: recorded in format {version}, but this flowsim reads format {FORMAT_VERSION}: "
                "record the run again"
            )
        manifest = decoded(content, Manifest)
        _refuse_unknown_fields(decoded(content, dict), msgspec.to_builtins(manifest), "$")
    except ValueError as error:
        raise BadInput(f"{path}: damaged manifest: {place_and_reason(error)}") from None
    levels = [level.name.lower() for level in Level]
    if manifest.level not in levels:
        expected = f"expected one of {', '.join(levels)}, got {manifest.level!r:.100}"
        raise BadInput(f"{path}: damaged manifest: level: {expected}")
    return manifest


def _refuse_unknown_fields(stored: object, known: object, place: str) -> None:
    if isinstance(stored, dict) and isinstance(known, dict):
        for name, value in stored.items():
            if name not in known:
                raise ValueError(f"Object contains unknown field `{name}` - at `{place}`")
            _refuse_unknown_fields(value, known[name], f"{place}.{name}")


def read_markers(directory: Path, limits: Limits = DEFAULT_LIMITS) -> tuple[tuple[EpochMarker, ...], str]:
    """Returns the markers before the first missing one, and the hash of the last of them ('' if there is none).

    Raises BadInput if a marker is damaged or does not follow the previous one.
    """
    markers: list[EpochMarker] = []
    before = ""
    while os.path.lexists(path := marker_path(directory, len(markers))):
        try:
            content = RECORDING.content(path, limits.description_bytes, "description_bytes", depth=1)
            marker = decoded(content, EpochMarker)
            _check_marker(marker)
        except (FileNotFoundError, ValueError):
            raise damaged(path, "expected the parts of an epoch, with their rows and hashes") from None
        if marker.epoch != len(markers) or marker.content() != content:
            raise damaged(path, f"is not the marker of epoch {len(markers)}")
        if marker.before != before:
            raise damaged(path, "does not follow the marker before it: one of the two was changed")
        before = sha256(content)
        markers.append(marker)
    return tuple(markers), before


def _check_marker(marker: EpochMarker) -> None:
    """Raises ValueError for numbers, hashes or tasks that no epoch has."""
    if not marker.parts.keys() <= TABLES.keys():
        raise ValueError("unknown table")
    for table, part in marker.parts.items():
        tasks = part.tasks
        if any(one >= other for (one, _), (other, _) in pairwise(tasks)):
            raise ValueError("order of tasks")
        counts = (part.rows, *(number for pair in tasks for number in pair), *(rows - 1 for _, rows in tasks))
        if not all(0 <= count < 2**63 for count in counts) or any(task >= 2**31 for task, _ in tasks):
            raise ValueError("numbers")
        if sum(rows for _, rows in tasks) != (part.rows if "task" in TABLES[table].names else 0):
            raise ValueError("rows of tasks")
    hashes = [marker.graph, marker.before or marker.graph, *(part.sha256 for part in marker.parts.values())]
    if not all(map(_HASH.fullmatch, hashes)):
        raise ValueError("hashes")


def scenario_text(path: str, text: str) -> ScenarioText:
    """Returns the manifest's copy of a scenario."""
    return ScenarioText(path=path, text=text, digest=sha256(text.encode()))


def _check_relative(path: str) -> None:
    if PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute():
        raise ValueError(f"expected a relative path, got {path!r}: recordings hold no absolute paths")

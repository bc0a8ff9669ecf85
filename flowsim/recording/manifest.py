"""The manifest of a recording: a description of the run, its progress, and its digest.

``manifest.json`` contains no wall-clock times, absolute paths or host names. Wall-clock times are in ``wall.json``,
which no digest covers.
"""

from __future__ import annotations

import platform
from enum import Enum
from importlib import metadata
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Annotated, Any, ClassVar, Final

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator

from flowsim.distribution import __version__
from flowsim.errors import BadInput
from flowsim.facts.kinds import Level
from flowsim.facts.schema import FORMAT_VERSION, TABLES
from flowsim.garbage_collection import without_garbage_collection
from flowsim.limits import DEFAULT_LIMITS, Limits
from flowsim.recording.canonical import canonical_json, sha256
from flowsim.recording.recorded_file import recorded_bytes
from flowsim.recording.written_file import write_file

MANIFEST: Final = "manifest.json"
WALL: Final = "wall.json"
_JSON_SPACE: Final = b" \t\r\n"
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
_DEPENDENCIES: Final = ("greenlet", "msgpack", "msgspec", "numpy", "pyarrow", "pydantic", "uvloop", "xxhash")


class RunStatus(Enum):
    """The final status of a run. ``RUNNING`` in a recording on disk means that the run's process was killed."""

    RUNNING = "running"
    COMPLETE = "complete"
    FAILED = "failed"
    CANCELED = "canceled"
    """An action of the run cancelled the job, or, with a failure entry, Ctrl-C did."""
    STOPPED = "stopped"
    """The run ended at ``until:`` while unbounded work was left."""


Count = Annotated[int, Field(ge=0, lt=2**63)]


class _Model(BaseModel):
    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid", strict=True)


class ScenarioText(_Model):
    """The text of the scenario file, so that a replay needs no other copy."""

    path: str
    """The relative path as the user gave it; only for display."""
    text: str
    digest: str

    @field_validator("path")
    @classmethod
    def _relative(cls, path: str) -> str:
        if ".." in PurePosixPath(path).parts:
            raise ValueError(f"expected a path below the working directory, got {path!r:.100}")
        return _relative_path(path)


class FailureReport(_Model):
    """The cause of a job's failure, with task, operator and record if they are known."""

    task: str
    operator: str | None
    record: str | None
    cause: str


class RecordedReason(FailureReport):
    """The cause of a failure that the job's side handled; ``task`` is empty for a failure of the whole job."""

    failure: Count
    """Number of the failure, as in table ``restarts``."""


class RunDescription(_Model):
    """The description of a run before its first step; it is part of the digest."""

    scenario: ScenarioText | None = None
    """The scenario; None for jobs built in Python, which cannot be replayed from a recording."""
    settings: dict[str, JsonValue] = {}
    """The resolved settings of job and cluster, with defaults."""
    options: dict[str, JsonValue] = {}
    """Command line options that a replay must repeat, e.g. ``until``, ``set``."""
    inputs: dict[str, str] = {}
    """SHA-256 of every input file as the run read it, by path relative to the scenario; empty until the run ends."""
    seed: Annotated[int, Field(ge=-(2**63), lt=2**63)] = 0
    policy: str = "fifo"
    clock: str = "virtual"

    @field_validator("inputs")
    @classmethod
    def _relative(cls, inputs: dict[str, str]) -> dict[str, str]:
        return {_relative_path(path): digest for path, digest in inputs.items()}


class RecordedValues(_Model):
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


class Manifest(_Model):
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
    rows: dict[str, Count] = {}
    table_digests: dict[str, str] = {}
    facts_digest: str = ""
    """The digest of the facts only: a replay must have the same digest."""
    digest: str = ""
    """The digest of the facts and of the hashed part of this manifest."""
    failure: FailureReport | None = None
    failures: tuple[RecordedReason, ...] = ()
    """The causes of failures, the last 10,000 of a run; left out of the file if there are none."""
    record_values: RecordedValues | None = None
    """The final counts of table ``record_values``; None during the run."""

    @field_validator("rows", "table_digests")
    @classmethod
    def _known(cls, of_tables: dict[str, Any]) -> dict[str, Any]:
        unknown = next((table for table in of_tables if table not in TABLES), None)
        if unknown is not None:
            raise ValueError(f"there is no table {unknown!r:.100}")
        return of_tables

    @property
    def recorded_level(self) -> Level:
        return Level[self.level.upper()]

    def hashed(self) -> str:
        """Returns the digest of facts, description, level, status and failures."""
        return sha256(canonical_json(self.model_dump(mode="json", include=_HASHED, exclude=self._left_out)))

    @property
    def _left_out(self) -> set[str]:
        return set() if self.failures else {"failures"}

    def write(self, directory: Path) -> None:
        """Replaces ``manifest.json`` atomically."""
        write_file(directory / MANIFEST, self.model_dump_json(indent=2, exclude=self._left_out).encode() + b"\n")


def read_manifest(directory: Path, limits: Limits = DEFAULT_LIMITS) -> Manifest:
    """Reads and checks ``manifest.json``; raises BadInput that names the error."""
    path = directory / MANIFEST
    try:
        content = recorded_bytes(path, limits.description_bytes, "description_bytes")
        if content.lstrip(_JSON_SPACE)[:1] == b"[":
            # pydantic would turn the whole list into objects, only to refuse it: forty times its size, for seconds.
            raise BadInput(f"{path}: damaged manifest: file: expected an object, got a list")
        with without_garbage_collection():
            manifest = Manifest.model_validate_json(content)
        manifest.recorded_level  # noqa: B018
    except FileNotFoundError:
        raise BadInput(
            f"{directory}: not a recording: it has no {MANIFEST}; give the directory that 'flowsim run --out' wrote"
        ) from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "file"
        raise BadInput(f"{path}: damaged manifest: {where}: {first['msg']}") from None
    except KeyError:
        raise BadInput(
            f"{path}: damaged manifest: level: expected one of {', '.join(level.name.lower() for level in Level)}, "
            f"got {manifest.level!r}"
        ) from None
    if manifest.format_version != FORMAT_VERSION:
        raise BadInput(
            f"{path}: recorded in format {manifest.format_version}, but this flowsim reads format {FORMAT_VERSION}: "
            "record the run again"
        )
    return manifest


def versions() -> dict[str, str]:
    """Returns the versions of Python, flowsim and the packages that determine the bytes of a recording."""
    version_of = {"python": platform.python_version(), "flowsim": __version__}
    for name in _DEPENDENCIES:
        try:
            version_of[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return version_of


def scenario_text(path: str, text: str) -> ScenarioText:
    """Returns the manifest's copy of a scenario."""
    return ScenarioText(path=path, text=text, digest=sha256(text.encode()))


def _relative_path(path: str) -> str:
    if PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute():
        raise ValueError(f"expected a relative path, got {path!r}: recordings hold no absolute paths")
    return path

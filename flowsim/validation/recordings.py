"""Opens recordings for the judge: which parts count, and one DataFrame per table over all runs.

Only parts of complete epochs are read: an epoch counts when its marker exists, and the first missing one ends the prefix.
The driver reads manifests, markers and the footers of parts; rows are read by Spark alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq

from flowsim.errors import BadInput
from flowsim.facts.kinds import Level
from flowsim.facts.schema import FORMAT_VERSION, TABLES, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_MANIFEST: Final = "manifest.json"
_STATUSES: Final = ("running", "complete", "failed", "canceled", "stopped")
_DDL_TYPES: Final = {"q": "bigint", "i": "int", "b": "tinyint", "s": "string"}
_PATTERN: Final = re.compile(r"[\\{}\[\]*?]")
_SMALL_ROWS: Final = 500_000
"""Tables up to this size are read once and kept: opening their files again would cost more than the rows."""
_UNION_LIMIT: Final = 8
"""Up to so many runs a table is a union of constants; beyond, the run is looked up from the file's folder."""


@dataclass(frozen=True, slots=True)
class Recording:
    """One recording directory: ``run`` is its position among the arguments."""

    run: int
    path: Path
    status: str
    level: Level
    parts: dict[str, tuple[str, ...]]
    """Per table the paths of its parts in complete epochs, in order."""
    rows: dict[str, int]
    """Per table how many rows these parts have."""

    @property
    def complete(self) -> bool:
        """Whether the run reached its end; otherwise laws about the end judge the prefix."""
        return self.status == "complete"

    @property
    def empty(self) -> bool:
        """Whether nothing was kept, not even the description of the job."""
        return not any(self.rows.values())


def open_recording(run: int, given: str | Path) -> Recording:
    """Opens a run directory or its ``recording`` folder; raises BadInput that names what is missing or damaged."""
    path = Path(given)
    if not path.exists():
        raise BadInput(f"{path}: no such recording; give the directory that 'flowsim run --out' wrote")
    inside = path / "recording"
    root = (inside if not (path / _MANIFEST).exists() and inside.is_dir() else path).absolute()
    if not (root / _MANIFEST).is_file():
        raise BadInput(
            f"{path}: not a recording: it has no {_MANIFEST}; give the directory that 'flowsim run --out' wrote"
        )
    manifest = _json_object(root / _MANIFEST)
    version = manifest.get("format_version")
    if version != FORMAT_VERSION:
        raise BadInput(
            f"{root / _MANIFEST}: recorded in format {version}, but this flowsim reads format {FORMAT_VERSION}: "
            "record the run again"
        )
    status = manifest.get("status")
    if status not in _STATUSES:
        raise BadInput(f"{root / _MANIFEST}: status: expected one of {', '.join(_STATUSES)}, got {status!r}")
    epochs = _complete_epochs(root)
    if status != "running" and manifest.get("epochs") != len(epochs):
        raise BadInput(
            f"{root}: has {len(epochs)} complete epochs, but its manifest says {manifest.get('epochs')}: the recording is damaged"
        )
    parts = {t: tuple(_part(root, t, n, rows[t]) for n, rows in enumerate(epochs) if rows.get(t)) for t in TABLES}
    rows = {t: sum(epoch.get(t, 0) for epoch in epochs) for t in TABLES}
    return Recording(run, root, str(status), _level(root / _MANIFEST, manifest.get("level")), parts, rows)


def _json_object(path: Path) -> dict[str, object]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: cannot be read: {error}") from None
    if not isinstance(content, dict):
        raise BadInput(f"{path}: expected a JSON object: the recording is damaged")
    return content


def _level(path: Path, given: object) -> Level:
    for level in Level:
        if given == level.name.lower():
            return level
    raise BadInput(f"{path}: level: expected one of {', '.join(v.name.lower() for v in Level)}, got {given!r}")


def _complete_epochs(root: Path) -> list[dict[str, int]]:
    """Rows per table of each epoch, up to the first whose marker is missing."""
    epochs: list[dict[str, int]] = []
    while (marker := root / "epochs" / f"{len(epochs):05d}.json").is_file():
        rows = _json_object(marker).get("rows")
        if not isinstance(rows, dict) or not all(t in TABLES and isinstance(n, int) for t, n in rows.items()):
            raise BadInput(f"{marker}: damaged epoch marker: expected rows per table")
        epochs.append(rows)
    return epochs


def _part(root: Path, table: str, epoch: int, rows: int) -> str:
    """The path of a part, whose footer is checked against the epoch's marker."""
    path = root / table / f"part-{epoch:05d}.parquet"
    try:
        footer = pq.read_metadata(path)
    except FileNotFoundError:
        raise BadInput(f"{path}: missing, but epoch {epoch} says {rows} rows: the recording is damaged") from None
    except (OSError, pa.ArrowException) as error:
        raise BadInput(f"{path}: cannot be read as Parquet: {str(error).splitlines()[0]}") from None
    if footer.num_rows != rows:
        raise BadInput(f"{path}: has {footer.num_rows} rows, but epoch {epoch} says {rows}: the recording is damaged")
    if tuple(footer.schema.to_arrow_schema().names) != TABLES[table].names:
        raise BadInput(f"{path}: its columns are not those of table {table}: the recording is damaged")
    return str(path)


def ddl(table: Table) -> str:
    """The table's columns as Spark writes a schema."""
    return ", ".join(f"`{c.name}` {_DDL_TYPES[c.code]}" for c in table.columns)


@dataclass(slots=True)
class Recordings:
    """The facts of one or more runs, as DataFrames with a column ``run``."""

    spark: SparkSession
    runs: tuple[Recording, ...]
    whole: Recordings | None = None
    """The facts that these are a part of."""
    _tables: dict[str, DataFrame] = field(default_factory=dict)
    _shared: dict[str, DataFrame] = field(default_factory=dict)
    _persisted: list[DataFrame] = field(default_factory=list)

    def __getitem__(self, table: str) -> DataFrame:
        """All rows of a table, over all runs."""
        if table not in self._tables:
            if self.whole is not None:
                self._tables[table] = self._kept(self.whole[table])
            else:
                rows = self._read(TABLES[table])
                small = sum(r.rows[table] for r in self.runs) <= _SMALL_ROWS
                self._tables[table] = self._keep(rows) if small else rows
        return self._tables[table]

    def has(self, table: str) -> bool:
        """Whether any run has rows of a table: plans for what nobody recorded need not be made."""
        return any(r.rows[table] for r in self.runs)

    @property
    def incomplete(self) -> list[int]:
        """The runs whose recording is a prefix."""
        return [r.run for r in self.runs if not r.complete]

    def shared(self, name: str, build: Callable[[Recordings], DataFrame]) -> DataFrame:
        """A DataFrame that several laws read, computed once."""
        if self.whole is not None:
            return self._kept(self.whole.shared(name, build))
        if name not in self._shared:
            self._shared[name] = self._keep(build(self))
        return self._shared[name]

    def only(self, runs: Sequence[int]) -> Recordings:
        """The facts of some of the runs."""
        if len(runs) == len(self.runs):
            return self
        return Recordings(self.spark, tuple(r for r in self.runs if r.run in runs), self)

    def _kept(self, rows: DataFrame) -> DataFrame:
        from pyspark.sql import functions as F

        return rows.where(F.col("run").isin([r.run for r in self.runs]))

    def _keep(self, rows: DataFrame) -> DataFrame:
        self._persisted.append(rows.persist())
        return self._persisted[-1]

    def release(self) -> None:
        """Gives back the memory of what was kept."""
        for frame in self._persisted:
            frame.unpersist()
        for kept in (self._persisted, self._shared, self._tables):
            kept.clear()

    def _read(self, table: Table) -> DataFrame:
        parts = {r.run: r.parts[table.name] for r in self.runs if r.parts[table.name]}
        if not parts:
            return self.spark.createDataFrame([], f"{ddl(table)}, `run` int")
        if len(parts) > _UNION_LIMIT:
            return self._read_by_folder(table, parts)
        from pyspark.sql import functions as F

        frames = [self._load(table, files).withColumn("run", F.lit(run)) for run, files in parts.items()]
        whole = frames[0]
        for frame in frames[1:]:
            whole = whole.unionByName(frame)
        return whole

    def _load(self, table: Table, files: Sequence[str]) -> DataFrame:
        # Spark reads paths as patterns, so a folder named [x] must be escaped.
        return self.spark.read.schema(ddl(table)).parquet(*(_PATTERN.sub(r"\\\g<0>", file) for file in files))

    def _read_by_folder(self, table: Table, parts: dict[int, tuple[str, ...]]) -> DataFrame:
        from pyspark.sql import functions as F

        folders = [(str(Path(files[0]).parent), run) for run, files in parts.items()]
        runs = self.spark.createDataFrame(folders, "folder string, run int")
        address = F.regexp_replace(F.col("_metadata.file_path"), r"\+", "%2B")
        folder = F.regexp_extract(F.url_decode(address), r"^file:(?://)?(/.*)/[^/]+$", 1)
        rows = self._load(table, [f for files in parts.values() for f in files]).withColumn("folder", folder)
        return rows.join(F.broadcast(runs), "folder").drop("folder")


def open_recordings(spark: SparkSession, paths: Sequence[str | Path]) -> Recordings:
    """Opens all paths; raises BadInput for none, for what is not a recording, and for one given twice."""
    if not paths:
        raise BadInput("no recording given; give the directory that 'flowsim run --out' wrote")
    runs = tuple(open_recording(run, path) for run, path in enumerate(paths))
    seen: dict[Path, int] = {}
    for recording in runs:
        if recording.path in seen:
            raise BadInput(f"{recording.path}: given twice")
        seen[recording.path] = recording.run
    return Recordings(spark, runs)

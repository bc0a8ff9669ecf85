"""Recordings on paths that only Spark opens (``s3a:``, ``hdfs:``, ``file:`` ...): Spark passes their files to the
workers.

One stage splits each file into the rows of its tasks, which are shuffled to the shards that examine those tasks.
"""

from __future__ import annotations

import pickle
import re
import tempfile
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pyarrow as pa

from flowsim.errors import BadInput
from flowsim.facts.checkpoint_tables import CHECKPOINTS, RESTARTS
from flowsim.laws.files import SeqOrder, TaskRange, part_rows
from flowsim.laws.law import reads_of
from flowsim.laws.slices import Slice, slices_of_attempts
from flowsim.limits import DEFAULT_LIMITS, Limits
from flowsim.quantities import count_text
from flowsim.recording.manifest import MANIFEST
from flowsim.recording.reader import Recording
from flowsim.recording.recorded_file import RECORDING, part_name
from flowsim.recording.spark_views import plain_path
from flowsim.validation.recorded_run import Work
from flowsim.validation.spark_worker import SCHEMA, examined, row_batch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_PART_OF_PATH: Final = re.compile(r"([a-z_]+)/part-(\d+)\.parquet$")
_CUT_SCHEMA: Final = "shard int, epoch int, task int, table string, rows binary, refused string"
_CUT_TYPES: Final = {
    "shard": pa.int32(),
    "epoch": pa.int32(),
    "task": pa.int32(),
    "table": pa.string(),
    "rows": pa.binary(),
    "refused": pa.string(),
}
_OF_JOB: Final = (CHECKPOINTS, RESTARTS)
"""The facts of the job's side: small tables that each worker gets with the graph."""
_SETTINGS: Final = {
    # Files are small, and each is one row: many of them per task, few per batch.
    "spark.sql.files.openCostInBytes": "65536",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "16",
}


class Cut(NamedTuple):
    """The rows of one task in one file.

    ``refused``: why the file cannot be checked. A cut with epoch -1 only identifies the shard.
    """

    shard: int
    epoch: int
    task: int
    table: str
    rows: bytes
    refused: str


def is_uri(path: str) -> bool:
    """True if a path is a URI; a single letter before the colon is a drive."""
    return _SCHEME.match(path) is not None


def open_remote(session: SparkSession, uri: str, limits: Limits = DEFAULT_LIMITS) -> Recording:
    """Opens the recording at a URI, or in its folder ``recording``, from a copy of its JSON files.

    Hadoop's rules for paths apply: no character is escaped. Raises BadInput for missing or damaged files.
    """
    from pyspark.errors import PySparkException

    uri = uri.rstrip("/")
    try:
        files = _listed(session, uri, "*.json").select("path", "content").collect()
    except PySparkException as error:
        first = str(error).strip().splitlines()[0]
        raise BadInput(f"{uri}: Spark cannot read it: {first}") from None
    manifests = [row["path"] for row in files if row["path"].endswith(f"/{MANIFEST}")]
    name = uri.rpartition("/")[2]
    places = (f"/{name}/{MANIFEST}", f"/{name}/recording/{MANIFEST}")
    folders = [path.removesuffix(f"/{MANIFEST}") for place in places for path in manifests if path.endswith(place)]
    if not folders:
        raise BadInput(f"{uri}: no such recording; give what 'flowsim run --out' wrote")
    with tempfile.TemporaryDirectory(prefix="flowsim-recording-") as folder:
        for row in files:
            if row["path"].startswith(f"{folders[0]}/"):
                path = Path(folder) / row["path"].removeprefix(f"{folders[0]}/")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(row["content"])
        try:
            recording = Recording.open(folder, folders[0], limits)
            recording.static_rows("tasks")
            for table in _OF_JOB:
                _copy(session, recording, table.name)
                recording.rows(table.name)
        except BadInput as error:
            raise BadInput(str(error).replace(folder, folders[0])) from None
    return recording


def _copy(session: SparkSession, recording: Recording, table: str) -> None:
    """Copies the parts of a table to the copy of the description."""
    if not recording.row_count(table):
        return
    (recording.directory / table).mkdir()
    for row in _listed(session, f"{recording.location}/{table}", "part-*.parquet").select("path", "content").collect():
        (recording.directory / table / row["path"].rpartition("/")[2]).write_bytes(row["content"])


def remote_rows(session: SparkSession, work: Work, shards: Sequence[TaskRange]) -> Sequence[Any]:
    """Examines one recording whose parts only Spark opens; returns the results of its shards."""
    _, run, _ = work
    with _settings(session):
        files = _listed(session, run.files.directory, "part-*.parquet").select("path", "content")
        cuts = files.mapInArrow(FileCutter(work, tuple(shards)), _CUT_SCHEMA)
        empty = "cast(id as int) shard, -1 epoch, -1 task, '' table, cast('' as binary) rows, '' refused"
        every = session.range(0, len(shards), 1, 1).selectExpr(*empty.split(", "))
        sorted_cuts = (
            cuts.union(every).repartition(len(shards), "shard").sortWithinPartitions("shard", "epoch", "task", "table")
        )
        return sorted_cuts.mapInArrow(CutExaminer(work, tuple(shards), _missing(files, work)), SCHEMA).collect()


def _listed(session: SparkSession, uri: str, names: str) -> DataFrame:
    reader = session.read.format("binaryFile").option("recursiveFileLookup", "true").option("pathGlobFilter", names)
    return reader.load(plain_path(uri))


def _missing(files: DataFrame, work: Work) -> str:
    """Returns the name of a missing part, or None; only reads file names."""
    there = {_part_of(row["path"]) for row in files.select("path").collect()}
    _, run, _ = work
    for epoch, marker in enumerate(run.files.markers):
        for table, about in marker.parts.items():
            if (table, epoch) not in there:
                path = f"{run.files.directory}/{table}/{part_name(epoch)}"
                return f"{path}: missing, but its epoch has {count_text(about.rows, 'row')} of it: the recording is damaged"
    return ""


def _part_of(path: str) -> tuple[str, int] | None:
    match = _PART_OF_PATH.search(path)
    return (match[1], int(match[2])) if match else None


@contextmanager
def _settings(session: SparkSession) -> Iterator[None]:
    before = {name: session.conf.get(name) for name in _SETTINGS}
    for name, value in _SETTINGS.items():
        session.conf.set(name, value)
    try:
        yield
    finally:
        for name, kept in before.items():
            session.conf.set(name, str(kept))


@dataclass(frozen=True, slots=True)
class FileCutter:
    """Checks the hash of each file, and splits it into the rows of its tasks, in ``mapInArrow``."""

    work: Work
    shards: Sequence[TaskRange]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for path, content in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist(), strict=True):
                part = _part_of(path)
                if part is not None:
                    yield from self._cut(path, content, *part)

    def _cut(self, path: str, content: bytes, table: str, epoch: int) -> Iterator[pa.RecordBatch]:
        _, run, errand = self.work
        about = run.files.markers[epoch].parts.get(table) if epoch < len(run.files.markers) else None
        if about is None:
            return
        reads = reads_of(errand.laws, run.graph)
        starts = [tasks.first for tasks in self.shards]
        try:
            RECORDING.check_hash(Path(path), content, about.sha256)
            if table in reads:
                for task, rows in part_rows(Path(path), content, table, about, reads[table], limits=run.files.limits):
                    shard = bisect_right(starts, task) - 1
                    yield row_batch(_CUT_TYPES, Cut(shard, epoch, task, table, pickle.dumps(rows), ""))
        except BadInput as error:
            yield row_batch(_CUT_TYPES, Cut(0, 0, 0, table, b"", str(error).replace(str(Path(path)), path)))


@dataclass(frozen=True, slots=True)
class CutExaminer:
    """Examines cuts in the order of shard, epoch and task, in ``mapInArrow``.

    ``refused``: why nothing can be examined.
    """

    work: Work
    shards: Sequence[TaskRange]
    refused: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        cuts = (
            Cut(*values)
            for batch in batches
            for values in zip(*(column.to_pylist() for column in batch.columns), strict=True)
        )
        for shard, of_shard in groupby(cuts, attrgetter("shard")):
            yield examined(0, self.work, self.shards[shard], self._slices(of_shard))

    def _slices(self, cuts: Iterator[Cut]) -> Iterator[Slice]:
        if self.refused:
            raise BadInput(self.refused)
        order = SeqOrder(self.work[1].files.directory)
        for (epoch, task), of_slice in groupby(cuts, attrgetter("epoch", "task")):
            cuts_of_part = list(of_slice)
            for cut in cuts_of_part:
                if cut.refused:
                    raise BadInput(cut.refused)
            if epoch >= 0:
                tables = {cut.table: pickle.loads(cut.rows) for cut in cuts_of_part}
                order.check(epoch, task, tables)
                yield from slices_of_attempts(task, tables)

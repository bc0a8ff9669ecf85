"""Reads a recording up to the last epoch that is complete in every table."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import pyarrow as pa
import pyarrow.parquet as pq

from flowsim.errors import BadInput
from flowsim.facts.kinds import Level
from flowsim.facts.schema import FACT_TABLES, GRAPH_TABLES, STATIC_TABLES, TABLES, TASK_ATTEMPT, TEXT_TABLES
from flowsim.limits import DEFAULT_LIMITS, Limits
from flowsim.notebook_html import html_block, html_table
from flowsim.quantities import count_text
from flowsim.recording.digest import NO_TASK, ContentHashes, content_hashes, facts_digest, is_static, packed
from flowsim.recording.directory_lock import writer_of
from flowsim.recording.epoch_marker import EpochMarker
from flowsim.recording.file_list import foreign_file
from flowsim.recording.graph_file import GraphRow, read_graph
from flowsim.recording.manifest import MANIFEST, Manifest, RunStatus, read_manifest, read_markers
from flowsim.recording.parquet_part import arrow_schema, as_numpy, from_rows, known_table, table_file, to_packed
from flowsim.recording.recorded_file import RECORDING, damaged, part_name
from flowsim.recording.spark_views import register_views
from flowsim.recording.table_file import open_file, part_content, reading

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

_GRAPH_NAMES = frozenset(table.name for table in GRAPH_TABLES)


_NUMBERS_FROM_0: Final = frozenset({"task", TASK_ATTEMPT.name})
"""Columns of tables of facts that number tasks and their attempts."""


_MOST_OPEN_BYTES: Final = 1 << 26
"""Of the parts that stay open."""


class Recording:
    """A recording on disk. Implements ``laws.slices.Facts``; every method raises BadInput for damaged files.

    Rows are ordered by epoch, then by task, and within a task as recorded. Parts without an epoch marker, which a
    killed run had open, are ignored.
    """

    def __init__(
        self,
        directory: Path,
        manifest: Manifest,
        markers: tuple[EpochMarker, ...],
        location: str = "",
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        self.directory = directory
        self.location: str = location or str(directory.resolve())
        """The location of the recording's parts for other readers: a path or a URI."""
        self.is_remote: bool = bool(location)
        """Whether the parts are not in ``directory``, which then has only a copy of the description."""
        self.manifest = manifest
        self.limits: Limits = limits
        self.level: Level = manifest.recorded_level
        self.markers = markers
        """The marker of each complete epoch."""
        self.epochs: tuple[dict[str, int], ...] = tuple(marker.rows for marker in markers)
        """The number of rows per table of each complete epoch."""
        self._rows: dict[str, list[tuple[int | str, ...]]] = {}
        self._time_bounds: dict[tuple[str, int], tuple[int, int]] = {}
        self._open: dict[tuple[str, int], tuple[pq.ParquetFile, int]] = {}
        """Parts in memory, compressed, with their bytes; the one that was opened last at the end."""

    @classmethod
    def open(cls, path: str | Path, location: str = "", limits: Limits = DEFAULT_LIMITS) -> Self:
        """Opens a recording, or the run directory that contains one as ``recording/``.

        Checks the chain of markers and the execution graph; the readers of the parts check the parts. ``location``: the
        URI of the recording, if ``path`` is only a copy of its description.
        """
        given = Path(path)
        try:
            exists = given.exists()
        except (OSError, ValueError) as error:
            raise BadInput(f"{given}: is not a valid path: {getattr(error, 'strerror', None) or error}") from None
        if not exists:
            raise BadInput(f"{given}: no such recording; give the directory that 'flowsim run --out' wrote")
        inside = given / "recording"
        directory = inside if not (given / MANIFEST).exists() and inside.is_dir() else given
        manifest = read_manifest(directory, limits)
        markers, last = read_markers(directory, limits)
        if manifest.status is not RunStatus.RUNNING and (len(markers), last) != (manifest.epochs, manifest.last_marker):
            raise damaged(
                directory / MANIFEST,
                f"has {manifest.epochs} epochs, but {len(markers)} are complete, or one of them was changed",
            )
        recording = cls(directory, manifest, markers, location, limits)
        recording._compare_rows()
        recording._compare_digests()
        return recording

    @property
    def how_it_broke_off(self) -> str:
        """Why a recording has the status running: its run goes on, or its process was killed; '' for another status."""
        if self.status is not RunStatus.RUNNING:
            return ""
        writer = writer_of(self.directory)
        return f"the run goes on ({writer})" if writer else "the run was killed"

    @property
    def status(self) -> RunStatus:
        return self.manifest.status

    @property
    def is_complete(self) -> bool:
        """True if the run reached its end; otherwise the facts are a prefix."""
        return self.manifest.status is RunStatus.COMPLETE

    def verify(self, tables: Collection[str] = tuple(TABLES)) -> None:
        """Checks the hash and the columns of every part of these tables. Raises BadInput for the first that differs.

        Also raises BadInput for a file in a finished recording that is not part of it.
        """
        foreign = None if self.status is RunStatus.RUNNING else foreign_file(self.directory, self.markers)
        if foreign is not None:
            raise BadInput(f"{self.directory}: holds {foreign}, which is not part of the recording: remove it")
        for epoch, marker in enumerate(self.markers):
            for table in marker.parts:
                if table in tables:
                    self._checked(table, epoch, self._content(table, epoch))

    def row_count(self, table: str) -> int:
        """Returns the number of rows in the complete epochs."""
        return sum(rows.get(table, 0) for rows in self.epochs)

    def table(self, table: str) -> pa.Table:
        """Returns all rows of a table as stored: one column for each column of ``docs/recording.md``.

        Raises BadInput for an unknown table.
        """
        known_table(table)
        if table in _GRAPH_NAMES:
            return from_rows(TABLES[table], self._graph[table])
        parts = [self.part(table, epoch) for epoch, rows in enumerate(self.epochs) if rows.get(table)]
        return pa.concat_tables(parts) if parts else pa.Table.from_batches([], arrow_schema(TABLES[table]))

    def to_arrow(self, table: str, *, readable: bool = True, keys: bool = False, values: bool = False) -> pa.Table:
        """Returns all rows of a table in a form for people.

        ``readable``: numbers with a meaning are their names (``RECORD``), points in time are timestamps in UTC whose
        columns lose the unit from their names (``time_ns`` becomes ``time``), and ``task_name``, ``operator_name`` and
        ``status`` are added. A missing time, for example before the first watermark, is null; the end of event time is
        the last millisecond of the year 9999. Without ``readable`` the columns are the same as in ``table``.

        ``keys`` adds ``key_value``, the key as JSON, to tables with a key. ``values`` adds ``value``, the value of the
        record as JSON, to tables with fingerprints (``left_value`` and ``right_value`` to ``join_pairs``); null if the
        recording does not have it. Raises BadInput for an unknown table.
        """
        from flowsim.recording.frames import to_arrow

        return to_arrow(self, table, readable=readable, keys=keys, values=values)

    def to_pandas(self, table: str, *, readable: bool = True, keys: bool = False, values: bool = False) -> pd.DataFrame:
        """Returns the data of ``to_arrow`` as a data frame.

        Keys and values are Python values, with tuples for arrays. Raises MissingExtra without pandas.

        Raises MissingExtra without pandas.
        """
        from flowsim.recording.frames import to_pandas

        return to_pandas(self, table, readable=readable, keys=keys, values=values)

    def part(self, table: str, epoch: int, columns: Sequence[str] | None = None) -> pa.Table:
        """Returns the rows of one table in one epoch; ``columns`` None selects all columns."""
        names = [column.name for column in TABLES[table].stored_columns] if columns is None else list(columns)
        if table not in self.epochs[epoch]:
            return pa.Table.from_batches([], arrow_schema(TABLES[table])).select(names)
        with self._reading(table, epoch) as file:
            rows = file.read(columns=names, use_threads=False)
        for name in _NUMBERS_FROM_0.intersection(names):
            least = as_numpy(rows[name]).min(initial=0)
            if least < 0:
                path = self.directory / table / part_name(epoch)
                raise damaged(path, f"column {name} has the value {least}, expected a number from 0")
        return rows

    def time_bounds(self, table: str, epoch: int) -> tuple[int, int] | None:
        """Returns the minimum and maximum ``time_ns`` of one table in one epoch; None without rows."""
        if table not in self.epochs[epoch]:
            return None
        if (table, epoch) not in self._time_bounds:
            self._time_bounds[table, epoch] = self._read_time_bounds(table, epoch)
        return self._time_bounds[table, epoch]

    def _read_time_bounds(self, table: str, epoch: int) -> tuple[int, int]:
        position = TABLES[table].names.index("time_ns")
        with self._reading(table, epoch) as file:
            columns = [file.metadata.row_group(group).column(position) for group in range(file.num_row_groups)]
            statistics = [
                column.statistics for column in columns if column.is_stats_set and column.statistics.has_min_max
            ]
        if not statistics or len(statistics) < len(columns):
            raise damaged(self.directory / table / part_name(epoch), "has no bounds of time_ns")
        return min(each.min for each in statistics), max(each.max for each in statistics)

    @contextmanager
    def _reading(self, table: str, epoch: int) -> Iterator[pq.ParquetFile]:
        """An open part; the parts that were opened last stay open."""
        path = self.directory / table / part_name(epoch)
        if (table, epoch) not in self._open:
            content = self._content(table, epoch)
            self._open[table, epoch] = self._checked(table, epoch, content), len(content)
            while len(self._open) > 1 and sum(size for _, size in self._open.values()) > _MOST_OPEN_BYTES:
                del self._open[next(iter(self._open))]
        with reading(RECORDING, path):
            yield self._open[table, epoch][0]

    def _content(self, table: str, epoch: int) -> bytes:
        about, path = self.markers[epoch].parts[table], self.directory / table / part_name(epoch)
        return part_content(RECORDING, path, about.rows, about.sha256, self.limits)

    def _checked(self, table: str, epoch: int, content: bytes) -> pq.ParquetFile:
        path, rows = self.directory / table / part_name(epoch), self.markers[epoch].parts[table].rows
        return open_file(path, table_file(TABLES[table]), rows, content, self.limits)

    def rows(self, table: str) -> Sequence[tuple[int, ...]]:
        """Returns the rows of a fact table as tuples; cached."""
        return self._tuples(table)  # type: ignore[return-value]

    def static_rows(self, table: str) -> Sequence[tuple[int | str, ...]]:
        """Returns the rows of a description table as tuples; cached."""
        return self._graph[table] if table in _GRAPH_NAMES else self._tuples(table)

    @cached_property
    def _graph(self) -> dict[str, list[GraphRow]]:
        if not self.markers:
            return {table: [] for table in _GRAPH_NAMES}
        return read_graph(self.directory, self.markers[-1].graph, self.limits)

    def spark(self, session: SparkSession, tables: Container[str] = TABLES) -> dict[str, DataFrame]:
        """Returns the tables, or those named in ``tables``, as DataFrames of a Spark session.

        Each DataFrame is also registered as a temporary view with its name.
        """
        return register_views(session, self.location, self.epochs, self._graph, tables)

    def columns(self, table: str) -> tuple[str, ...]:
        """Returns the names of a table's columns."""
        return TABLES[table].names

    @cached_property
    def computed_facts_digest(self) -> str:
        """Computes the digest of the facts on disk. It equals the manifest's digest unless the files were changed."""
        kept = [t for t in TABLES.values() if t.level <= self.level or t in STATIC_TABLES]
        digests = {}
        for table in kept:
            if table.name in _GRAPH_NAMES:
                digests[table.name] = content_hashes(table, self._graph[table.name]).digest()
                continue
            hashes = ContentHashes()
            for epoch, marker in enumerate(self.markers):
                about = marker.parts.get(table.name)
                if about is None:
                    continue
                part, start = self.part(table.name, epoch), 0
                for task, rows in about.tasks or ((NO_TASK, about.rows),):
                    piece = part.slice(start, rows)
                    packed_rows = (
                        packed(table, _as_tuples(piece)) if is_static(table) else to_packed(table, piece).tobytes()
                    )
                    hashes.update(task, packed_rows)
                    start += rows
            digests[table.name] = hashes.digest()
        return facts_digest(self.level, digests)

    def __repr__(self) -> str:
        return f"<Recording {self.directory}: {self.status.value}>"

    def _repr_html_(self) -> str:
        """Shows in a notebook how the run ended, and how many rows each table has. Reads no facts."""
        manifest, run = self.manifest, self.manifest.run
        about = [
            ("status", manifest.status.value),
            ("level", manifest.level),
            ("scenario", "" if run.scenario is None else run.scenario.path),
            ("schedule", f"seed {run.seed}, policy {run.policy}, {run.clock} clock"),
            ("failure", "" if manifest.failure is None else f"{manifest.failure.task}: {manifest.failure.cause}"),
            ("facts digest", manifest.facts_digest),
        ]
        counted = [(t.name, self.row_count(t.name), t.meaning) for t in (*FACT_TABLES, *TEXT_TABLES)]
        return html_block(
            "Recording",
            str(self.directory),
            html_table((), [row for row in about if row[1]]),
            html_table(("table", "rows", "one row is"), [row for row in counted if row[1]]),
        )

    def _tuples(self, table: str) -> list[tuple[int | str, ...]]:
        if table not in self._rows:
            self._rows[table] = _as_tuples(self.table(table).select(TABLES[table].names))
        return self._rows[table]

    def _compare_digests(self) -> None:
        """Raises BadInput unless the digests of the tables, of the facts and of the manifest fit together."""
        manifest = self.manifest
        if self.status is RunStatus.RUNNING:
            return
        if facts_digest(self.level, manifest.table_digests) != manifest.facts_digest:
            raise damaged(self.directory / MANIFEST, "its digests of tables do not fit its digest of facts")
        if manifest.hashed() != manifest.digest:
            raise damaged(self.directory / MANIFEST, "its digest does not fit its content")

    def _compare_rows(self) -> None:
        if self.status is RunStatus.RUNNING:
            return
        for table, rows in self.manifest.rows.items():
            count = len(self._graph[table]) if table in _GRAPH_NAMES else self.row_count(table)
            if count != rows:
                raise damaged(
                    self.directory / MANIFEST,
                    f"states {count_text(rows, 'row')} for table {table}, but its parts have {count}",
                )


def _as_tuples(columns: pa.Table) -> list[tuple[int | str, ...]]:
    return list(zip(*(column.to_pylist() for column in columns.columns), strict=True))

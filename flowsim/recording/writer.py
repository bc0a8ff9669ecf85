"""Writes a recording as Parquet parts, in epochs that are complete in every table or do not exist (decision D6)."""

from __future__ import annotations

import hashlib
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib import metadata
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Final

import pyarrow as pa

from flowsim.distribution import __version__
from flowsim.errors import InvariantViolation, RecordingFailed
from flowsim.facts.kinds import Level
from flowsim.facts.recorder import VALUES_BYTES, Append
from flowsim.facts.row_buffer import RowBuffer
from flowsim.facts.schema import FACT_TABLES, GRAPH_TABLES, KEYS, RECORD_VALUES, STATES, STATIC_TABLES, TABLES, Table
from flowsim.recording.attempts import Attempts
from flowsim.recording.canonical import canonical_json, sha256
from flowsim.recording.digest import NO_TASK, ContentHashes, content_hashes, facts_digest, packed
from flowsim.recording.directory import locked_room
from flowsim.recording.distinct_values import DistinctValues
from flowsim.recording.epoch_marker import EpochMarker, PartDescription, marker_path
from flowsim.recording.graph_file import GRAPH, graph_bytes
from flowsim.recording.manifest import (
    WALL,
    FailureReport,
    Manifest,
    RecordedReason,
    RecordedValues,
    RunDescription,
    RunStatus,
    SinkRows,
)
from flowsim.recording.memory import MemoryRecorder, ignore
from flowsim.recording.parquet_part import (
    TaskRows,
    from_packed,
    from_rows,
    from_values,
    part_bytes,
    sorted_by_task,
)
from flowsim.recording.recorded_file import part_name
from flowsim.recording.value_columns import ValueColumns
from flowsim.recording.written_file import write_file

ROWS_PER_EPOCH: Final = 1 << 16

_DEPENDENCIES: Final = ("greenlet", "msgpack", "msgspec", "numpy", "pyarrow", "pydantic", "uvloop", "xxhash")

_GROWING: Final = (KEYS, STATES)
"""The description tables that get rows during the run."""


@cache
def _versions() -> dict[str, str]:
    """Returns the versions of Python, flowsim and the packages that determine the bytes of a recording."""
    version_of = {"python": platform.python_version(), "flowsim": __version__}
    for name in _DEPENDENCIES:
        with suppress(metadata.PackageNotFoundError):
            version_of[name] = metadata.version(name)
    return version_of


@dataclass(frozen=True)
class _Epoch:
    """What one epoch adds to the recording."""

    facts: list[tuple[Table, bytes]]
    descriptions: list[tuple[Table, list[tuple[int | str, ...]]]]
    values: ValueColumns
    attempts: Attempts


class RecordingWriter:
    """Stores the facts of one run in a directory. Implements ``facts.tracer.Recorder``.

    All tables close their parts together, when one of them has ``rows_per_epoch`` rows; the epoch's marker is written
    last. A thread writes an epoch while the run goes on with the next one. So the recording of a killed process has all
    epochs but the last two, and memory is bounded by two blocks per table.
    """

    def __init__(
        self,
        directory: str | Path,
        level: Level,
        run: RunDescription,
        *,
        rows_per_epoch: int = ROWS_PER_EPOCH,
        durable: bool = False,
        values_bytes: int = VALUES_BYTES,
        records_state: bool = False,
        inputs: Callable[[], Mapping[str, str]] | None = None,
    ) -> None:
        """Replaces an old recording in ``directory``; raises BadInput if the directory contains anything else.

        With ``durable`` the writer waits for the disk after every part, so that a power failure loses no complete
        epoch. ``values_bytes``: the size limit of table ``record_values``; 0: the table stays empty. ``inputs`` is
        called at the end of the run; it returns the SHA-256 of every input file, by its path relative to the scenario.
        """
        if level is Level.OFF:
            raise InvariantViolation("a run at recording level off has no recorder")
        if rows_per_epoch < 1:
            raise ValueError(f"rows_per_epoch: expected an integer >= 1, got {rows_per_epoch}")
        self.directory = Path(directory)
        self.level: Level = level
        self.records_state = records_state
        self.values: DistinctValues = DistinctValues(values_bytes)
        self._attempts = Attempts()
        self._run = run
        self._inputs = inputs
        self._durable = durable
        self._started_s = time.time()
        self._epochs = 0
        self._closed = False
        self._failures: tuple[RecordedReason, ...] = ()
        self._results: dict[str, SinkRows] = {}
        self._tables = [t for t in FACT_TABLES if t.level <= level]
        self._buffers = {t.name: RowBuffer(t, rows_per_epoch, self._close_epoch) for t in self._tables}
        self._static: dict[str, list[tuple[int | str, ...]]] = {t.name: [] for t in STATIC_TABLES}
        self._hashes = {t.name: ContentHashes() for t in (*self._tables, *STATIC_TABLES)}
        self._rows = dict.fromkeys(self._hashes, 0)
        self._last_marker = ""
        self._graph_hash = ""
        self._is_graph_complete = False
        self._thread: ThreadPoolExecutor | None = None
        self._writing: Future[None] | None = None
        """The epoch that the thread writes, or the last that it wrote."""
        self._lock = locked_room(self.directory)
        self._write_manifest(RunStatus.RUNNING, None)

    def appender(self, table: Table) -> Append:
        """Returns the append function of one fact table for all tasks; it drops rows of tables above the level."""
        buffer = self._buffers.get(table.name)
        return ignore if buffer is None else buffer.append

    def row_buffer(self, table: Table) -> RowBuffer:
        """Returns the rows of all tasks in a fact table that every level records."""
        return self._buffers[table.name]

    def static(self, table: Table, rows: Sequence[tuple[int | str, ...]]) -> None:
        """Adds rows to a description table; for a graph table only before the first epoch closes."""
        if self._is_graph_complete and table not in _GROWING:
            raise InvariantViolation("the execution graph changed after it was written")
        self._static[table.name].extend(rows)

    def begin_attempt(self, task: int, seq: int) -> None:
        """Starts a new attempt of a task; its facts from this ``seq`` on belong to that attempt."""
        self._attempts.begin(task, seq)

    def add_recorded(self, recorded: MemoryRecorder) -> None:
        """Adds the facts of a run that was recorded in memory, as one epoch; nothing else may be added."""
        for table in self._tables:
            self._buffers[table.name].out.write(recorded.packed_rows(table))
        for table in STATIC_TABLES:
            if table is not RECORD_VALUES:
                self._static[table.name].extend(recorded.static_rows(table.name))
        self._attempts, self.values = recorded.attempts, recorded.values.copy()

    def finish(
        self,
        status: RunStatus,
        failure: FailureReport | None = None,
        wall: Mapping[str, object] | None = None,
        failures: Sequence[RecordedReason] = (),
        results: Mapping[str, SinkRows] | None = None,
    ) -> Manifest:
        """Closes the last epoch and stores the final status; ``wall`` adds wall-clock facts to ``wall.json``.

        ``results``: the rows of sinks, by name.
        """
        if self._closed:
            raise InvariantViolation("the recording is already finished")
        self._closed = True
        try:
            self._failures, self._results = tuple(failures), dict(results or {})
            return self._finish(status, failure, wall or {})
        finally:
            if self._thread is not None:
                self._thread.shutdown()
            self._lock.release()

    def _finish(self, status: RunStatus, failure: FailureReport | None, wall: Mapping[str, object]) -> Manifest:
        last = self._take_epoch()
        self.wait()
        self._write_epoch(last)
        ended_s = time.time()
        about = {
            "started_s": self._started_s, "ended_s": ended_s, "elapsed_s": ended_s - self._started_s,
            "platform": platform.platform(), "machine": platform.machine(), **wall,
        }  # fmt: skip
        write_file(self.directory / WALL, canonical_json(about) + b"\n")
        if self._inputs is not None:
            self._run = replace(self._run, inputs=dict(self._inputs()))
        return self._write_manifest(status, failure)

    def _close_epoch(self) -> None:
        """Hands the rows since the last epoch to the thread, as soon as it has written the epoch before.

        After a disk error the epoch is dropped completely and nothing more is written: the recording keeps its status
        ``running`` and its complete epochs. In this case raises RecordingFailed at the end of the next epoch, and at
        every later call.
        """
        epoch = self._take_epoch()
        self.wait()
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="flowsim-recording")
        self._writing = self._thread.submit(self._write_epoch, epoch)

    def _take_epoch(self) -> _Epoch:
        facts = [(table, rows) for table in self._tables if (rows := self._buffers[table.name].take())]
        descriptions = [(table, self._static[table.name]) for table in _GROWING if self._static[table.name]]
        for table in _GROWING:
            self._static[table.name] = []
        self._is_graph_complete = True
        return _Epoch(facts, descriptions, self.values.take(), self._attempts.copy())

    def wait(self) -> None:
        """Waits until all complete epochs are written; raises RecordingFailed if one could not be."""
        if self._writing is not None:
            self._writing.result()

    def _write_epoch(self, epoch: _Epoch) -> None:
        """Writes a part per table with rows, then the marker."""
        parts: dict[str, PartDescription] = {}
        try:
            for table, rows in epoch.facts:
                parts[table.name] = self._write_facts(table, rows, epoch.attempts)
            for table, described in epoch.descriptions:
                parts[table.name] = self._write_descriptions(table, described)
            if len(epoch.values.numbers):
                parts[RECORD_VALUES.name] = self._write_values(epoch.values)
            if not parts:
                return
            graph = self._write_graph()
            marker = EpochMarker(self._epochs, graph, self._last_marker, parts).content()
            path = marker_path(self.directory, self._epochs)
            path.parent.mkdir(exist_ok=True)
            write_file(path, marker, durable=self._durable)
        except OSError as error:
            self._drop_epoch()
            kept = "its first epoch" if self._epochs == 1 else f"its {self._epochs} complete epochs"
            judged = f"; {kept} can be checked as a prefix" if self._epochs else ""
            reason = error.strerror or error
            raise RecordingFailed(f"{self.directory}: the recording cannot be written: {reason}{judged}") from error
        self._last_marker = sha256(marker)
        for name, part in parts.items():
            self._rows[name] += part.rows
        self._epochs += 1

    def _write_facts(self, table: Table, rows: bytes, attempts: Attempts) -> PartDescription:
        packed, tasks = sorted_by_task(table, rows)
        packed = attempts.filled(packed, tasks)
        hashes, start = self._hashes[table.name], 0
        for task, count in tasks or ((NO_TASK, len(packed)),):
            hashes.update(task, packed[start : start + count].tobytes())
            start += count
        return self._write_part(table, from_packed(table, packed), tasks)

    def _write_values(self, columns: ValueColumns) -> PartDescription:
        self._hashes[RECORD_VALUES.name].update(NO_TASK, columns.packed())
        return self._write_part(RECORD_VALUES, from_values(columns), ())

    def _write_descriptions(self, table: Table, rows: list[tuple[int | str, ...]]) -> PartDescription:
        place = table.names.index("task")
        rows = sorted(rows, key=itemgetter(place))
        tasks = []
        for task, group in groupby(rows, key=itemgetter(place)):
            of_task = list(group)
            self._hashes[table.name].update(int(task), packed(table, of_task))
            tasks.append((int(task), len(of_task)))
        return self._write_part(table, from_rows(table, rows), tuple(tasks))

    def _write_part(self, table: Table, columns: pa.Table, tasks: TaskRows) -> PartDescription:
        content = part_bytes(table, columns, tasks)
        path = self.directory / table.name / part_name(self._epochs)
        path.parent.mkdir(exist_ok=True)
        write_file(path, content, durable=self._durable)
        return PartDescription(columns.num_rows, hashlib.sha256(memoryview(content)).hexdigest(), tasks)

    def _write_graph(self) -> str:
        """Writes the execution graph with the first epoch; returns its hash."""
        if not self._graph_hash:
            content = graph_bytes(self._static)
            write_file(self.directory / GRAPH, content, durable=self._durable)
            self._graph_hash = sha256(content)
            for table in GRAPH_TABLES:
                self._rows[table.name] = len(self._static[table.name])
                self._hashes[table.name] = content_hashes(table, self._static[table.name])
        return self._graph_hash

    def _drop_epoch(self) -> None:
        """Removes the parts of an incomplete epoch; without a marker they would not be read."""
        for table in TABLES:
            for name in (part_name(self._epochs), f".{part_name(self._epochs)}.tmp"):
                with suppress(OSError):
                    (self.directory / table / name).unlink(missing_ok=True)

    def _write_manifest(self, status: RunStatus, failure: FailureReport | None) -> Manifest:
        manifest = Manifest(
            status=status, level=self.level.name.lower(), run=self._run, versions=_versions(), failure=failure,
        )  # fmt: skip
        if status is not RunStatus.RUNNING:
            digests = {name: hashes.digest() for name, hashes in self._hashes.items()}
            manifest = replace(
                manifest,
                epochs=self._epochs, last_marker=self._last_marker, rows=self._rows, table_digests=digests,
                facts_digest=facts_digest(self.level, digests),
                record_values=RecordedValues(**asdict(self.values.counts)), failures=self._failures,
                results=self._results,
            )  # fmt: skip
            manifest = replace(manifest, digest=manifest.hashed())
        manifest.write(self.directory)
        return manifest

"""Writes a recording as Parquet parts, in epochs that are complete in every table or not there at all (decision D6)."""

from __future__ import annotations

import hashlib
import platform
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from flowsim.errors import BadInput, InvariantViolation
from flowsim.facts.kinds import Level
from flowsim.facts.schema import FACT_TABLES, STATIC_TABLES, Table
from flowsim.facts.tracer import Append, Stamp
from flowsim.recording.block import Block
from flowsim.recording.digest import canonical_json, facts_digest, packed
from flowsim.recording.directory import EPOCHS, make_room, marker_name
from flowsim.recording.manifest import (
    WALL,
    FailureStory,
    Manifest,
    RunDescription,
    RunStatus,
    replace_file,
    versions,
)
from flowsim.recording.memory import ignore
from flowsim.recording.parquet_part import from_packed, from_tuples, part_name, write_part

ROWS_PER_EPOCH: Final = 1 << 18


class RecordingWriter:
    """Keeps the facts of one run in a directory. Implements ``facts.tracer.Recorder``.

    All tables close their parts together, when one of them has ``rows_per_epoch`` rows; the epoch's marker is written
    last. So a process that is killed leaves its complete epochs, and memory is bounded by one block per table.
    """

    def __init__(
        self,
        directory: str | Path,
        level: Level,
        run: RunDescription,
        *,
        rows_per_epoch: int = ROWS_PER_EPOCH,
        durable: bool = False,
    ) -> None:
        """Replaces an old recording in ``directory``; raises BadInput when anything else is there.

        ``durable`` waits for the disk at every part, so that a power failure loses no complete epoch either.
        """
        if level is Level.OFF:
            raise InvariantViolation("a run at level off has no recorder")
        if rows_per_epoch < 1:
            raise ValueError(f"rows_per_epoch: expected an integer >= 1, got {rows_per_epoch}")
        self.directory = Path(directory)
        self.level: Level = level
        self._run = run
        self._durable = durable
        self._started_s = time.time()
        self._epochs = 0
        self._closed = False
        self._tables = [t for t in FACT_TABLES if t.level <= level]
        self._blocks = {t.name: Block(t, rows_per_epoch, self._close_epoch) for t in self._tables}
        self._static: dict[str, list[tuple[int | str, ...]]] = {t.name: [] for t in STATIC_TABLES}
        self._hashes = {t.name: hashlib.sha256() for t in (*self._tables, *STATIC_TABLES)}
        self._rows = dict.fromkeys(self._hashes, 0)
        make_room(self.directory)
        self._write_manifest(RunStatus.RUNNING, None)

    def appender(self, table: Table) -> Append:
        """The door of one fact table; every task may share it. Rows of tables above the level are ignored."""
        block = self._blocks.get(table.name)
        return ignore if block is None else block.append

    def stamped_appender(self, table: Table, stamp: Stamp) -> Append:
        """As ``appender``; the door fills in what every fact of a task begins with, which saves a call per fact."""
        block = self._blocks.get(table.name)
        return ignore if block is None else block.stamped(stamp)

    def static(self, table: Table, rows: Sequence[tuple[int | str, ...]]) -> None:
        """Adds rows to a description table; they are written with the running epoch."""
        self._static[table.name].extend(rows)

    def finish(
        self, status: RunStatus, failure: FailureStory | None = None, wall: Mapping[str, object] | None = None
    ) -> Manifest:
        """Closes the last epoch and says how the run ended; ``wall`` adds facts of the wall clock to ``wall.json``."""
        if self._closed:
            raise InvariantViolation("a recording is finished once")
        self._closed = True
        self._close_epoch()
        ended_s = time.time()
        about = {
            "started_s": self._started_s, "ended_s": ended_s, "elapsed_s": ended_s - self._started_s,
            "platform": platform.platform(), "machine": platform.machine(), **(wall or {}),
        }  # fmt: skip
        replace_file(self.directory / WALL, canonical_json(about) + b"\n")
        return self._write_manifest(status, failure)

    def _close_epoch(self) -> None:
        try:
            rows = {t.name: self._close_facts(t) for t in self._tables}
            rows.update((t.name, self._close_static(t)) for t in STATIC_TABLES)
            if not any(rows.values()):
                return
            folder = self.directory / EPOCHS
            folder.mkdir(exist_ok=True)
            marker = canonical_json({"epoch": self._epochs, "rows": rows})
            replace_file(folder / marker_name(self._epochs), marker + b"\n")
        except OSError as error:
            raise BadInput(f"{self.directory}: the recording cannot be written: {error.strerror or error}") from error
        for name, count in rows.items():
            self._rows[name] += count
        self._epochs += 1

    def _close_facts(self, table: Table) -> int:
        block = self._blocks[table.name]
        content = block.take()
        if content:
            self._hashes[table.name].update(content)
            write_part(table, from_packed(table, content), self._part(table), durable=self._durable)
        return len(content) // block.row_size

    def _close_static(self, table: Table) -> int:
        rows = self._static[table.name]
        if rows:
            self._static[table.name] = []
            self._hashes[table.name].update(packed(table, rows))
            write_part(table, from_tuples(table, rows), self._part(table), durable=self._durable)
        return len(rows)

    def _part(self, table: Table) -> Path:
        folder = self.directory / table.name
        folder.mkdir(exist_ok=True)
        return folder / part_name(self._epochs)

    def _write_manifest(self, status: RunStatus, failure: FailureStory | None) -> Manifest:
        manifest = Manifest(
            status=status, level=self.level.name.lower(), run=self._run, versions=versions(), failure=failure,
        )  # fmt: skip
        if status is not RunStatus.RUNNING:
            digests = {name: found.hexdigest() for name, found in self._hashes.items()}
            manifest = manifest.model_copy(update={
                "epochs": self._epochs, "rows": self._rows, "table_digests": digests,
                "facts_digest": facts_digest(self.level, digests),
            })  # fmt: skip
            manifest = manifest.model_copy(update={"digest": manifest.hashed()})
        manifest.write(self.directory)
        return manifest

"""What a report embeds: a head in JSON, and a body of compressed sections, within a budget of bytes.

The body is a sequence of gzip members: one per table of facts, one of keys, one of texts of records. The head names the offset of
each, and the encoding of each column. Equal recordings give equal bytes.
"""

from __future__ import annotations

import gzip
import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from flowsim.facts.schema import GRAPH_TABLES, RECEIVED, STATES, TASK_MANAGERS
from flowsim.recording.causal_order import TASK_TABLES
from flowsim.recording.reader import Recording
from flowsim.report.encoding import encoded
from flowsim.report.fact_columns import (
    STEPS,
    WITH_RECORDS,
    FactColumns,
    Ints,
    less_records,
    less_sent,
    read_facts,
    times_of_records,
)
from flowsim.report.record_texts import RECORDS, record_texts
from flowsim.report.rules import rule_texts
from flowsim.report.wording import wording
from flowsim.trace.time import start_of

FORMAT: Final = 1
BUDGET_BYTES: Final = 5_000_000
"""The default size of a report."""
KEYS: Final = "keys"

ALL: Final = "all"
TASK: Final = "task"
CHANNEL: Final = "channel"
TASK_AND_RECORD: Final = "task_and_record"
"""Groups: rows of one task, rows of one channel, and of one task with records and without apart."""
_GROUPS: Final = (TASK, CHANNEL)
_GROUPS_OF: Final = {CHANNEL: (TASK,), TASK: (), "timestamp": (TASK, CHANNEL, TASK_AND_RECORD)}
"""Groups of a column: no column is grouped by itself, nor by a column that is grouped by it."""

RECORD_TIMES: Final = "record_times"

_TABLE_NAMES: Final = [table.name for table in TASK_TABLES]
_GZIP_LEVEL: Final = 6
_DIRECTORY_BYTES: Final = 12_000
"""Of the directory of all tables and columns."""

_LEAST_NEEDED: Final = (
    "segments", "mails", "metrics", "state_changes", "timers", "actions", "buffers", "credits", "window_intake",
    "async_elements", "join_pairs", "received", "sent",
)  # fmt: skip
"""In this order tables are left out of a report that is larger than its budget: ``received`` needs ``sent``."""


@dataclass(frozen=True, slots=True)
class Payload:
    """``body``: base64. ``facts``: their number in the recording; ``omitted``: the tables that did not fit."""

    head: str
    body: str
    facts: int
    omitted: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.head.encode()) + len(self.body)


@dataclass(frozen=True, slots=True)
class _Section:
    about: dict[str, Any]
    data: bytes


def build_payload(
    recording: Recording, path: str, laws: Mapping[str, object] | None = None, budget_bytes: int = BUDGET_BYTES
) -> Payload:
    """Reads the recording; ``path``: its name for the user; ``laws``: the verdicts, None if it was not judged.

    ``budget_bytes``: without the viewer. Above it tables and texts are left out, but never the small tables.

    Raises BadInput for a damaged recording.
    """
    facts = read_facts(recording, _TABLE_NAMES)
    head: dict[str, Any] = {
        "format": FORMAT,
        "recording": _described(recording, path),
        "facts": sum(recording.row_count(name) for name in _TABLE_NAMES),
        "table_names": _TABLE_NAMES,
        "description": _description(recording),
        "laws": laws,
        "wording": wording(),
        "rules": rule_texts(),
    }
    left = (budget_bytes - len(_json(head)) - _DIRECTORY_BYTES) * 3 // 4
    sections, omitted = _sections(facts, left)
    sections[KEYS] = _Section({"rows": len(facts.keys)}, gzip.compress(_json(_keys(recording, facts.keys)), mtime=0))
    texts = record_texts(recording, facts, left - sum(map(_size, sections.values())))
    sections[RECORDS] = _Section({"rows": len(facts.records), "texts": texts.count}, texts.data)
    members, directory, offset = [], {}, 0
    for name, section in sections.items():
        directory[name] = {**section.about, "offset": offset, "bytes": len(section.data)}
        members.append(section.data)
        offset += len(section.data)
    text = _json({**head, "sections": directory, "omitted": omitted}).decode()
    return Payload(text, b64encode(b"".join(members)).decode(), head["facts"], tuple(omitted))


def _json(document: object) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _size(section: _Section) -> int:
    return len(section.data)


def _sections(facts: FactColumns, limit_bytes: int) -> tuple[dict[str, _Section], list[str]]:
    """A section per table with rows, then that of all facts; and the tables that were left out to stay in the limit."""
    times = times_of_records(facts)
    sections = {name: _section(facts, name, times) for name in facts.tables if name != STEPS and len(facts.tasks[name])}
    omitted: list[str] = []
    steps = _steps_of(facts, sections)
    for name in _LEAST_NEEDED:
        if sum(map(_size, sections.values())) + _size(steps) <= limit_bytes:
            break
        if sections.pop(name, None) is not None:
            omitted.append(name)
            steps = _steps_of(facts, sections)
    return {STEPS: steps, RECORD_TIMES: _packed({"timestamp": times}, {}), **sections}, omitted


def _steps_of(facts: FactColumns, sections: Mapping[str, _Section]) -> _Section:
    columns = facts.tables.get(STEPS, {})
    if not columns:
        return _packed({"step": np.zeros(0, dtype=np.int64)}, {})
    wanted = np.isin(columns["table"], [_TABLE_NAMES.index(name) for name in sections])
    kept = {name: values[wanted] for name, values in columns.items()}
    return _packed(kept, {TASK: kept["task"]})


def _section(facts: FactColumns, name: str, times: Ints) -> _Section:
    columns = facts.tables[name]
    groups = {TASK: facts.tasks[name]}
    if CHANNEL in columns:
        groups[CHANNEL] = columns[CHANNEL]
    if name in WITH_RECORDS:
        groups[TASK_AND_RECORD] = facts.tasks[name] * 2 + (columns["record"] > 0)
        columns = less_records(columns, times)
    return _packed(less_sent(facts.tables, columns) if name == RECEIVED.name else columns, groups)


def _packed(columns: Mapping[str, Ints], groups: Mapping[str, Ints]) -> _Section:
    """Columns one after another; ``coverage``: which part of the run has all its rows here."""
    described, parts = [], []
    for name, values in columns.items():
        usable = {key: group for key, group in groups.items() if key in _GROUPS_OF.get(name, _GROUPS)}
        encoding, data = encoded(values, usable)
        described.append({"name": name, "encoding": encoding, "bytes": len(data)})
        parts.append(data)
    rows = len(next(iter(columns.values())))
    about = {"rows": rows, "coverage": ALL, "columns": described}
    return _Section(about, gzip.compress(b"".join(parts), _GZIP_LEVEL, mtime=0))


def _described(recording: Recording, path: str) -> dict[str, Any]:
    manifest = recording.manifest
    run = manifest.run
    return {
        "path": path,
        "name": path.rstrip("/").rpartition("/")[2] if run.scenario is None else run.scenario.path,
        "status": manifest.status.value,
        "level": manifest.level,
        "seed": run.seed,
        "policy": run.policy,
        "clock": run.clock,
        "start_ns": start_of(recording),
        "epochs": len(recording.epochs),
        "digest": manifest.digest,
        "scenario": None if run.scenario is None else run.scenario.text,
        "settings": run.settings,
        "failure": None if manifest.failure is None else manifest.failure.model_dump(mode="json"),
        "flowsim": manifest.versions.get("flowsim", ""),
    }


def _description(recording: Recording) -> dict[str, Any]:
    tables = [table for table in GRAPH_TABLES if table is not TASK_MANAGERS]
    return {
        table.name: {"columns": table.names, "rows": recording.static_rows(table.name)} for table in (*tables, STATES)
    }


def _keys(recording: Recording, fingerprints: Ints) -> Sequence[str]:
    """The keys as JSON, by their number, less 1."""
    known = {int(row[1]): str(row[4]) for row in recording.static_rows("keys")}
    return [known.get(key, f"#{key}") for key in fingerprints.tolist()]

"""What a report embeds: a head in JSON, and a body of compressed sections, within a budget of bytes.

The body is a sequence of gzip members: one per table of facts, one of keys, one of texts of records. The head names the offset of
each, and the encoding of each column. Equal recordings give equal bytes.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np

from flowsim.facts.checkpoint_tables import STORED_CHANNELS
from flowsim.facts.schema import GRAPH_TABLES, LATE_DROP, RECEIVED, STATES, TASK_MANAGERS
from flowsim.history.run_span import start_of
from flowsim.recording.causal_order import TASK_TABLES
from flowsim.recording.reader import Recording
from flowsim.report.causes import (
    ARRIVAL_COLUMNS,
    ARRIVALS,
    CAUSE_COLUMNS,
    CAUSES,
    arrival_sections,
    late_sections,
)
from flowsim.report.checkpoint_facts import has_checkpoints, job_tables, points_of_job
from flowsim.report.encoding import Groups, compressed, encoded
from flowsim.report.exact_parts import ExactPart, part_between, parts_around
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
from flowsim.report.job_causes import job_causes
from flowsim.report.look_at import LookAt, look_at
from flowsim.report.overview import Point, overview_of
from flowsim.report.record_texts import RECORDS, record_texts
from flowsim.report.rules import RULES, rules_section
from flowsim.report.start import start_page
from flowsim.report.wording import wording
from flowsim.trace.alignment import alignment_data
from flowsim.trace.names import Names
from flowsim.why.run_facts import RunFacts

FORMAT: Final = 1
BUDGET_BYTES: Final = 5_250_000
"""The default size of a report."""
KEYS: Final = "keys"

TASK: Final = "task"
CHANNEL: Final = "channel"
TASK_AND_RECORD: Final = "task_and_record"
"""Groups: rows of one task, rows of one channel, and of one task with records and without apart."""
_GROUPS: Final = (TASK, CHANNEL)
_GROUPS_OF: Final = {CHANNEL: (TASK,), TASK: (), "timestamp": (TASK, CHANNEL, TASK_AND_RECORD)}
"""Groups of a column: no column is grouped by itself, nor by a column that is grouped by it."""

RECORD_TIMES: Final = "record_times"

_TABLE_NAMES: Final = [table.name for table in TASK_TABLES]
_DIRECTORY_BYTES: Final = 12_000
"""Of the directory of all tables and columns."""

_WHOLE: Final = "all"
_IN_PARTS: Final = "parts"
_COUNTS: Final = "overview"
_JOB: Final = "job"
"""Coverage of a section: every fact of the run, every fact of the exact parts, counts of all facts, or facts of the
job's side, which have no task."""

_ONLY_WHOLE: Final = ("actions", "buffers", "credits")
"""States, queues and credits are sums from the begin on: these tables are whole, or left out."""
_RATHER_WHOLE: Final = (
    "checkpoint_steps", *_ONLY_WHOLE, "task_watermark", "mails", "timers", "async_elements", "system_timers", "segments",
    "generated_watermark", "metrics", "state_changes", "source_positions", "committables", "stored_state",
)  # fmt: skip
"""In this order the tables of a recording that does not fit are whole as long as they need half of the budget."""
_NEVER_WHOLE: Final = ("sent", "received", "window_intake", "join_pairs")
"""If the recording does not fit, then only with the facts of exact parts. All other tables are always whole."""

_BYTES_OF_FACT: Final = 1.6
_BYTES_OF_WHOLE_FACT: Final = 2.5
"""Estimates, compressed: in a part, and alone with its step."""
_BYTES_OF_LATE_RECORD: Final = 6
_MOST_BYTES_OF_LATE_RECORD: Final = 16
_BYTES_OF_WORDS: Final = 4_000
"""Of causes, compressed: an estimate, and what they always get."""
_MOST_FACTS: Final = 4_000_000
"""In a report: what a browser reads within a few seconds."""
_ATTEMPTS: Final = 4
_SHARE_OF_CHANNELS: Final = 0.2
"""Of the budget: at most for the in-flight data of checkpoints."""
_SHARE_OF_FACTS: Final = 0.95
"""Of a report in parts; the rest is for values of records."""


_Points = tuple[list[tuple[int, int, int, str]], list[tuple[int, int, str]]]
"""Facts of interest by rank, task and seq, and times by rank, since the start of the run in ns; both with reasons."""


@dataclass(frozen=True, slots=True)
class Payload:
    """``body``: base64. ``facts``: their number in the recording; ``omitted``: the tables that did not fit.

    ``parts``: those that the report holds fact by fact; None: the whole recording, but for tables that were left out.
    """

    head: str
    body: str
    facts: int
    omitted: tuple[str, ...]
    parts: tuple[ExactPart, ...] | None = None
    look_at: tuple[LookAt, ...] = ()


@dataclass(frozen=True, slots=True)
class _Section:
    about: dict[str, Any]
    data: bytes


@dataclass(frozen=True, slots=True)
class _Contents:
    """The facts that fit, and the sections for them."""

    facts: FactColumns
    sections: dict[str, _Section]
    omitted: tuple[str, ...] = ()
    parts: tuple[ExactPart, ...] | None = None

    @property
    def size(self) -> int:
        return sum(len(section.data) for section in self.sections.values())


@dataclass(frozen=True, slots=True)
class Span:
    """A part of the run, in ns since its start; None: from its begin, to its end."""

    from_ns: int | None
    to_ns: int | None


def build_payload(
    recording: Recording,
    path: str,
    laws: Mapping[str, Any] | None = None,
    budget_bytes: int = BUDGET_BYTES,
    span: Span | None = None,
    difference: int | None = None,
) -> Payload:
    """Reads the recording; ``path``: its name for the user; ``laws``: the verdicts, None if it was not judged.

    ``budget_bytes``: without the viewer. A recording that does not fit is given in counts, and fact by fact in parts
    around violations, the first late records and fires, the fullest queues, the begin and the end; with ``span`` in
    this part. Small tables are always whole. ``difference``: a step that is in a part.

    Raises BadInput for a damaged recording.
    """
    of_run = RunFacts(recording)
    moments = look_at(of_run, laws)
    head: dict[str, Any] = {
        "format": FORMAT,
        "recording": _described(recording, path),
        "facts": sum(recording.row_count(name) for name in _TABLE_NAMES),
        "table_names": _TABLE_NAMES,
        "description": _description(recording),
        "start": start_page(of_run, moments),
        "laws": laws,
        "wording": wording(has_checkpoints(recording)),
        "alignment": alignment_data(Names(recording)) if has_checkpoints(recording) else None,
        "job_causes": job_causes(of_run) if has_checkpoints(recording) else None,
    }
    job, left_out = _job_sections(recording, budget_bytes)
    count, rules = rules_section(has_checkpoints(recording))
    job[RULES] = _Section({"rows": count}, rules)
    left = (budget_bytes - len(_json(head)) - _DIRECTORY_BYTES) * 3 // 4 - sum(len(one.data) for one in job.values())
    left -= (late := recording.row_count(LATE_DROP.name)) * _BYTES_OF_LATE_RECORD
    contents = None if span is not None or head["facts"] > min(left, _MOST_FACTS) else _whole(recording)
    if contents is None or contents.size > left:
        contents = _in_parts(recording, left, _points(laws, moments), span, difference)
    sections, facts = {**contents.sections, **job}, contents.facts
    causes = late_sections(of_run, facts, max(left // 2, late * _MOST_BYTES_OF_LATE_RECORD + _BYTES_OF_WORDS))
    sections[CAUSES] = _Section({"rows": causes.rows}, causes.document)
    sections[CAUSE_COLUMNS] = _Section({"rows": causes.rows}, causes.columns)
    sections[KEYS] = _Section({"rows": len(facts.keys)}, compressed(_json(_keys(recording, facts.keys))))
    left += late * _BYTES_OF_LATE_RECORD - causes.size
    arrivals = arrival_sections(of_run, facts, max(0, left - contents.size) // 2)
    sections[ARRIVALS] = _Section({"rows": arrivals.rows}, arrivals.document)
    sections[ARRIVAL_COLUMNS] = _Section({"rows": arrivals.rows}, arrivals.columns)
    left -= arrivals.size
    texts = record_texts(recording, facts, left - contents.size)
    sections[RECORDS] = _Section({"rows": len(facts.records), "texts": texts.count}, texts.data)
    members, directory, offset = [], {}, 0
    for name, section in sections.items():
        directory[name] = {**section.about, "offset": offset, "bytes": len(section.data)}
        members.append(section.data)
        offset += len(section.data)
    parts = None if contents.parts is None else _described_parts(facts, contents.parts)
    omitted = (*contents.omitted, *left_out)
    text = _json({**head, "sections": directory, "omitted": omitted, "parts": parts}).decode()
    return Payload(text, b64encode(b"".join(members)).decode(), head["facts"], omitted, contents.parts, tuple(moments))


def _job_sections(recording: Recording, budget_bytes: int) -> tuple[dict[str, _Section], tuple[str, ...]]:
    """Facts of the job's side, and the tables that are left out: of wide jobs those of many channels."""
    sections = {name: _packed(columns, {}, _JOB) for name, columns in job_tables(recording).items()}
    large = sections.get(STORED_CHANNELS.name)
    if large is None or len(large.data) <= budget_bytes * _SHARE_OF_CHANNELS:
        return sections, ()
    return {name: section for name, section in sections.items() if section is not large}, (STORED_CHANNELS.name,)


def _whole(recording: Recording) -> _Contents:
    facts = read_facts(recording, _TABLE_NAMES)
    return _Contents(facts, _sections(facts))


def _in_parts(recording: Recording, left: int, points: _Points, span: Span | None, difference: int | None) -> _Contents:
    """Counts of all facts, and as many facts as fit around the points of interest."""
    overview = overview_of(recording, *points)
    if difference is not None and difference < overview.steps:
        overview.points.append(Point(0, difference, "first difference"))
    overview.points += [Point(rank, overview.step_at(time), why) for rank, time, why in points_of_job(recording)]
    counts = {name: _packed(columns, {}, _COUNTS) for name, columns in overview.tables.items()}
    for section in counts.values():
        section.about["buckets"] = overview.buckets
    limit, most, best = float(max(0, left)), left * _SHARE_OF_FACTS, None
    for _ in range(_ATTEMPTS):
        whole, omitted = _tables(recording, limit / 2)
        room = limit - _BYTES_OF_WHOLE_FACT * sum(recording.row_count(name) for name in whole)
        number = min(int(max(0.0, room) / _BYTES_OF_FACT), overview.steps, _MOST_FACTS)
        if span is None:
            parts = parts_around(overview, number)
        else:
            parts = part_between(overview, span.from_ns, span.to_ns, number)
        facts = read_facts(recording, _TABLE_NAMES, parts, whole, omitted)
        contents = _Contents(facts, {**_sections(facts, whole), **counts}, omitted, tuple(parts))
        if best is None or contents.size <= most or contents.size < best.size:
            best = contents
        if not limit or (contents.size <= most and (contents.size >= most / 2 or number == overview.steps)):
            break
        limit *= 0.9 * most / contents.size
    assert best is not None
    return best


def _tables(recording: Recording, limit_bytes: float) -> tuple[frozenset[str], tuple[str, ...]]:
    """The tables that are whole, and those that are left out."""
    whole = {name for name in _TABLE_NAMES if name not in (*_RATHER_WHOLE, *_NEVER_WHOLE)}
    omitted = []
    for name in _RATHER_WHOLE:
        size = recording.row_count(name) * _BYTES_OF_WHOLE_FACT
        if size <= limit_bytes:
            limit_bytes -= size
            whole.add(name)
        elif name in _ONLY_WHOLE:
            omitted.append(name)
    return frozenset(whole), tuple(omitted)


def _points(laws: Mapping[str, Any] | None, moments: Sequence[LookAt]) -> _Points:
    """Where the start page leads to, and violations, as facts and as times."""
    ranks = [*enumerate(moments)]
    facts = [(rank, one.task, one.seq, one.what) for rank, one in ranks if one.task is not None and one.seq is not None]
    times = [(rank, one.time_ns, one.what) for rank, one in ranks if one.seq is None]
    for law in (laws or {"laws": ()})["laws"]:
        for evidence in law["evidence"]:
            why = f"violation of {law['law']}"
            if evidence["task"] is not None and evidence["seq"] is not None:
                facts.append((0, evidence["task"], evidence["seq"], why))
            elif evidence["time_ns"] is not None:
                times.append((0, evidence["time_ns"], why))
    return facts, times


def _described_parts(facts: FactColumns, parts: Sequence[ExactPart]) -> list[dict[str, Any]]:
    """``seqs``: of the first fact of each task in the part."""
    steps = facts.tables.get(STEPS, {"step": np.zeros(0, dtype=np.int64), "time": np.zeros(0, dtype=np.int64)})
    found = []
    for part, seqs in zip(parts, facts.seqs, strict=True):
        inside = steps["time"][(steps["step"] >= part.first) & (steps["step"] < part.end)]
        if len(inside):
            found.append(
                {
                    "first": part.first, "end": part.end, "from_ns": int(inside[0]), "to_ns": int(inside[-1]),
                    "why": list(part.why), "seqs": seqs.tolist(),
                }
            )  # fmt: skip
    return found


def _json(document: object) -> bytes:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _sections(facts: FactColumns, whole: Collection[str] | None = None) -> dict[str, _Section]:
    """Sections of all facts, of the timestamps of records, and of each table with rows. ``whole``: None: all tables."""
    times = times_of_records(facts)
    tables = {}
    for name in facts.tables:
        if name != STEPS and len(facts.tasks[name]):
            tables[name] = _section(facts, name, times, _WHOLE if whole is None or name in whole else _IN_PARTS)
    return {STEPS: _steps_of(facts), RECORD_TIMES: _packed({"timestamp": times}, {}), **tables}


def _steps_of(facts: FactColumns) -> _Section:
    columns = facts.tables.get(STEPS, {})
    if not columns:
        return _packed({"step": np.zeros(0, dtype=np.int64)}, {})
    return _packed(columns, {TASK: Groups(columns["task"])})


def _section(facts: FactColumns, name: str, times: Ints, coverage: str) -> _Section:
    columns = facts.tables[name]
    groups = {TASK: Groups(facts.tasks[name])}
    if CHANNEL in columns:
        groups[CHANNEL] = Groups(columns[CHANNEL])
    if name in WITH_RECORDS:
        groups[TASK_AND_RECORD] = Groups(facts.tasks[name] * 2 + (columns["record"] > 0))
        columns = less_records(columns, times)
    return _packed(less_sent(facts.tables, columns) if name == RECEIVED.name else columns, groups, coverage)


def _packed(columns: Mapping[str, Ints], groups: Mapping[str, Groups], coverage: str = _WHOLE) -> _Section:
    """Columns one after another."""
    described, parts = [], []
    for name, values in columns.items():
        usable = {key: group for key, group in groups.items() if key in _GROUPS_OF.get(name, _GROUPS)}
        encoding, data = encoded(values, usable)
        limits = [int(values.min()), int(values.max())] if len(values) else [0, 0]
        described.append({"name": name, "encoding": encoding, "bytes": len(data), "limits": limits})
        parts.append(data)
    rows = len(next(iter(columns.values())))
    about = {"rows": rows, "coverage": coverage, "columns": described}
    return _Section(about, compressed(b"".join(parts)))


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
        "failure": None if manifest.failure is None else asdict(manifest.failure),
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

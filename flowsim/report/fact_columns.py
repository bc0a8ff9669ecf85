"""The facts of a recording as columns in causal order, with dense numbers for keys and records."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from flowsim.facts.checkpoint_tables import COMMITTABLES, SOURCE_POSITIONS, STORED_STATE
from flowsim.facts.schema import ASYNC_ELEMENTS, LATE_DROP, SENT, WINDOW_INTAKE
from flowsim.history.run_span import start_of
from flowsim.recording.merged_facts import MergedRows, Selection, merged_rows
from flowsim.recording.parquet_part import as_numpy
from flowsim.recording.reader import Recording
from flowsim.report.encoding import bounded
from flowsim.report.exact_parts import Bools, ExactPart, is_inside

Ints = npt.NDArray[np.int64]

STEPS: Final = "steps"
"""The table of all facts: step, time, task and number of its table in ``TABLE_NAMES``."""

_KEYS: Final = ("key",)
_RECORDS: Final = ("fingerprint", "left_fingerprint", "right_fingerprint")
_NAMES: Final = {STORED_STATE.name: "state", SOURCE_POSITIONS.name: "split", COMMITTABLES.name: "committable"}
"""Columns of fingerprints that name something: they get numbers of records too, but keep their name."""
_TIMES: Final = ("requested_ns",)
_EXPLAINED: Final = (LATE_DROP.name, WINDOW_INTAKE.name)
_OMITTED: Final = (
    "seq", "task", "time_ns", "key_hash", "epoch",
    "fingerprint_sum", "fingerprint_xor", "left_sum", "right_sum", "product_sum",
)  # fmt: skip
"""A fact's task and time are in table ``steps``, and its seq is its number in the task. The rest nothing shows."""

WITH_RECORDS: Final = (SENT.name, WINDOW_INTAKE.name, LATE_DROP.name, ASYNC_ELEMENTS.name)
"""Tables with the timestamp of a record, which is known from the first of them that has the record."""

_JOINED: Final = ("kind", "timestamp", "record")
"""Columns of ``received`` that are given less those of the sent element."""


class Numbering:
    """Fingerprints by dense numbers from 1, in the order of first use; 0 stays 0."""

    def __init__(self) -> None:
        self._places: list[tuple[list[Ints], int]] = []
        self._parts: list[Ints] = [np.zeros(1, dtype=np.int64)]

    def append(self, column: list[Ints], fingerprints: Ints) -> None:
        """Adds a part to a column, whose fingerprints become numbers when all parts are known."""
        self._places.append((column, len(column)))
        self._parts.append(fingerprints)
        column.append(fingerprints)

    def number(self) -> Ints:
        """Replaces the fingerprints in all columns by numbers; returns the fingerprints of the numbers from 1."""
        coded = pa.chunked_array(self._parts).dictionary_encode().chunks
        numbers: Ints = as_numpy(pa.chunked_array([chunk.indices for chunk in coded])).astype(np.int64)
        ends = np.cumsum([len(part) for part in self._parts])
        for (column, place), part in zip(self._places, np.split(numbers, ends[:-1])[1:], strict=True):
            column[place] = part
        fingerprints: Ints = as_numpy(pa.chunked_array([coded[-1].dictionary]))
        return fingerprints[1:]


@dataclass(slots=True)
class FactColumns:
    """All facts: per table its columns, in causal order; ``steps`` has a row for each fact."""

    tables: dict[str, dict[str, Ints]]
    tasks: dict[str, Ints]
    """Per table the task of each row."""
    keys: Ints
    """Fingerprints of keys by their number, less 1."""
    records: Ints
    """Fingerprints of records by their number, less 1."""
    seqs: list[Ints]
    """Per exact part the ``seq`` of the first fact of each task in it."""
    seqs_of: dict[str, Ints] = field(default_factory=dict)
    """The ``seq`` of each row of the tables that a report explains."""


def _new_name(name: str) -> str:
    return name.replace("fingerprint", "record") if name in _RECORDS else name


def read_facts(
    recording: Recording,
    table_names: list[str],
    parts: Sequence[ExactPart] | None = None,
    whole: Collection[str] = (),
    without: Collection[str] = (),
) -> FactColumns:
    """Reads the whole recording, or with ``parts`` these and all facts of the tables ``whole``.

    ``without``: tables that are left out. Raises BadInput for a damaged part.
    """
    start_ns = start_of(recording)
    keys, records = Numbering(), Numbering()
    chunks: dict[str, dict[str, list[Ints]]] = {name: {} for name in (STEPS, *table_names)}
    tasks: dict[str, list[Ints]] = {name: [] for name in table_names}
    seqs_of: dict[str, list[Ints]] = {name: [] for name in _EXPLAINED}
    step, task_count = 0, len(recording.static_rows("tasks"))
    seqs: list[Ints] = [np.zeros(task_count, dtype=np.int64) for _ in parts or ()]
    for merged in merged_rows(recording, Selection()):
        wanted, steps = _wanted(merged, step, parts, whole, without), _steps(merged, step, start_ns, table_names)
        _append(chunks[STEPS], {name: of[wanted] for name, of in steps.items()})
        for part, before in zip(parts or (), seqs, strict=True):
            before += np.bincount(steps["task"][: max(0, part.first - step)], minlength=task_count)
        step += len(merged.index)
        for number, rows in enumerate(merged.rows):
            index, name = merged.index[(merged.table_of == number) & wanted], rows.table.name
            tasks[name].append(rows.column("task")[index])
            if name in seqs_of:
                seqs_of[name].append(rows.column("seq")[index])
            for column in rows.table.names:
                if column in _OMITTED:
                    continue
                values, parts_of = rows.column(column)[index], chunks[name].setdefault(_new_name(column), [])
                if column in _KEYS:
                    keys.append(parts_of, values)
                elif column in _RECORDS or _NAMES.get(name) == column:
                    records.append(parts_of, values)
                else:
                    parts_of.append(bounded(values - start_ns if column in _TIMES else values))
    of_keys, of_records = keys.number(), records.number()
    tables = {
        name: {column: np.concatenate(values) for column, values in columns.items()} for name, columns in chunks.items()
    }
    tables = {name: columns for name, columns in tables.items() if columns}
    of_tasks = {name: np.concatenate(values) for name, values in tasks.items() if values}
    of_rows = {name: np.concatenate(values) for name, values in seqs_of.items() if values}
    return FactColumns(tables, of_tasks, of_keys, of_records, seqs, of_rows)


def _wanted(
    merged: MergedRows, first: int, parts: Sequence[ExactPart] | None, whole: Collection[str], without: Collection[str]
) -> Bools:
    names = [rows.table.name for rows in merged.rows]
    left_out: Bools = np.array([name in without for name in names])[merged.table_of]
    if parts is None:
        return ~left_out
    is_whole: Bools = np.array([name in whole for name in names])[merged.table_of]
    return (is_inside(first, len(merged.index), parts) | is_whole) & ~left_out


def _append(parts: dict[str, list[Ints]], columns: dict[str, Ints]) -> None:
    for name, values in columns.items():
        parts.setdefault(name, []).append(values)


def _steps(merged: MergedRows, first: int, start_ns: int, table_names: list[str]) -> dict[str, Ints]:
    count = len(merged.index)
    times, tasks = np.empty(count, dtype=np.int64), np.empty(count, dtype=np.int64)
    for number, rows in enumerate(merged.rows):
        of_table = merged.table_of == number
        times[of_table] = rows.times[merged.index[of_table]]
        tasks[of_table] = rows.column("task")[merged.index[of_table]]
    numbers = np.array([table_names.index(rows.table.name) for rows in merged.rows], dtype=np.int64)
    return {
        "step": np.arange(first, first + count), "time": times - start_ns, "task": tasks,
        "table": numbers[merged.table_of],
    }  # fmt: skip


def numbers_of_names(facts: FactColumns) -> Ints:
    """Returns the numbers of records that are names: of states, splits and committables."""
    found = [facts.tables[table][column] for table, column in _NAMES.items() if table in facts.tables]
    return np.unique(np.concatenate(found)) if found else np.zeros(0, dtype=np.int64)


def times_of_records(facts: FactColumns) -> Ints:
    """Returns the timestamp of each record by its number, less 1: that of its first use."""
    found, is_known = np.zeros(len(facts.records), dtype=np.int64), np.zeros(len(facts.records), dtype=np.bool_)
    for name in WITH_RECORDS:
        columns = facts.tables.get(name)
        if columns is None:
            continue
        record, first = np.unique(columns["record"], return_index=True)
        wanted = record > 0
        wanted[wanted] = ~is_known[record[wanted] - 1]
        found[record[wanted] - 1] = columns["timestamp"][first[wanted]]
        is_known[record[wanted] - 1] = True
    return found


def less_records(columns: dict[str, Ints], times: Ints) -> dict[str, Ints]:
    """Returns the columns with timestamps less those of the records: 0 but for watermarks and other elements."""
    return {**columns, "timestamp": columns["timestamp"] - np.append(0, times)[columns["record"]]}


def less_sent(tables: dict[str, dict[str, Ints]], received: dict[str, Ints]) -> dict[str, Ints]:
    """``received`` with the columns that a sent element has as well less that element's: 0 for all intact channels."""
    sent = tables.get(SENT.name)
    if sent is None or not len(sent["channel"]):
        return received
    at = sent_of(sent, received)
    found = at >= 0
    changed = {name: received[name] - np.where(found, sent[name][np.maximum(at, 0)], 0) for name in _JOINED}
    return {**received, **changed}


def sent_of(sent: dict[str, Ints], received: dict[str, Ints]) -> Ints:
    """For each received element the row of the sent one at the same position of its channel, -1 if there is none."""
    place, wanted = _places(sent), _places(received)
    order = np.argsort(place, kind="stable")
    if not len(order):
        return np.full(len(wanted), -1)
    at = np.minimum(np.searchsorted(place[order], wanted), len(order) - 1)
    return np.where(place[order][at] == wanted, order[at], -1)


def _places(rows: dict[str, Ints]) -> Ints:
    return rows["channel"] << 40 | rows["position"]

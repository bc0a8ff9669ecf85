"""Tables of a recording for people: named values, points in time, and the keys and values of records, in Arrow or pandas."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from flowsim.errors import MissingExtra
from flowsim.facts.kinds import DRAIN, ActionKind, ActionPhase, ElementKind, WaitKind
from flowsim.facts.schema import ACTIONS, FACT_TABLES, Column, Table
from flowsim.recording.parquet_part import known_table
from flowsim.units import NO_TIMESTAMP

if TYPE_CHECKING:
    from enum import IntEnum

    import pandas as pd

POINTS_IN_TIME: Final = {
    **dict.fromkeys(("time_ns", "requested_ns"), "ns"),
    **dict.fromkeys(("timestamp", "max_timestamp", "watermark", "input_watermark", "output_watermark"), "ms"),
    **dict.fromkeys(("window_start", "window_end", "into_start", "into_end", "at", "limit", "marked_ms"), "ms"),
}
"""The unit of each column with points in time; columns with durations or counts are not included."""

VALUES_OF: Final = {"fingerprint": "value", "left_fingerprint": "left_value", "right_fingerprint": "right_value"}
"""Maps a column with fingerprints of records to the column with their values."""

_FIRST_MS: Final = -62_135_596_800_000
"""The first and the last day of Python's datetime, in ms: 0001-01-01 and 9999-12-31."""
_LAST_MS: Final = 253_402_300_799_999
_STATUS: Final = {0: "ACTIVE", -1: "IDLE"}
_END_OF_DATA: Final = {DRAIN: "DRAIN", 0: "NO_DRAIN"}

Columns = Iterator[tuple[str, pa.ChunkedArray]]


class Tables(Protocol):
    """The tables of a run as stored, by name."""

    def table(self, table: str, /) -> pa.Table: ...


def to_arrow(tables: Tables, name: str, *, readable: bool, keys: bool, values: bool) -> pa.Table:
    """Returns one table as Arrow; see ``Recording.to_arrow``."""
    table, stored = known_table(name), tables.table(name)
    columns: list[tuple[str, pa.ChunkedArray]] = []
    for column in table.stored_columns:
        readables = _readable(tables, table, column, stored) if readable else iter([(column.name, stored[column.name])])
        columns += readables
        if table in FACT_TABLES and keys and column.name == "key":
            columns.append(("key_value", _joined(stored["key"], tables.table("keys"), "key", "key_json")))
        if table in FACT_TABLES and values and column.name in VALUES_OF:
            texts = _joined(stored[column.name], tables.table("record_values"), "fingerprint", "value")
            columns.append((VALUES_OF[column.name], texts))
    fields = [_field(stored.schema, name, column) for name, column in columns]
    return pa.Table.from_arrays([column for _, column in columns], schema=pa.schema(fields))


def _field(stored: pa.Schema, name: str, column: pa.ChunkedArray) -> pa.Field:
    """Returns the stored field, which has no nulls; a new field if the type of the column changed."""
    same = name in stored.names and stored.field(name).type == column.type
    return stored.field(name) if same else pa.field(name, column.type)


def to_pandas(tables: Tables, name: str, *, readable: bool, keys: bool, values: bool) -> pd.DataFrame:
    """Returns one table as a data frame; see ``Recording.to_pandas``."""
    if importlib.util.find_spec("pandas") is None:
        raise MissingExtra("pandas", "to_pandas (to_arrow needs none)")
    arrow = to_arrow(tables, name, readable=readable, keys=keys, values=values)
    frame: pd.DataFrame = arrow.to_pandas()
    for column in ("key_value", *VALUES_OF.values()):
        if column in frame and known_table(name) in FACT_TABLES:
            frame[column] = _decoded(arrow[column])
    return frame


def _readable(tables: Tables, table: Table, column: Column, stored: pa.Table) -> Columns:
    """Yields a column, and the columns that are derived from it."""
    numbers = stored[column.name]
    if column.name in POINTS_IN_TIME:
        unit = POINTS_IN_TIME[column.name]
        yield column.name.removesuffix(f"_{unit}"), _points_in_time(table, column.name, stored)
        if column.name == "timestamp" and _has_elements(table):
            yield "status", _status(stored)
    elif table is ACTIONS and column.name == "kind":
        is_action = pc.is_in(stored["phase"], pa.array([ActionPhase.BEGIN, ActionPhase.END], pa.int8()))
        yield "kind", pc.if_else(is_action, _names(numbers, ActionKind), _names(numbers, WaitKind))
    elif column.values is not None:
        yield column.name, _names(numbers, column.values)
    else:
        yield column.name, numbers
    if table in FACT_TABLES and column.name == "task":
        yield "task_name", _joined(numbers, tables.table("tasks"), "task", "name")
    if table in FACT_TABLES and column.name == "operator":
        yield "operator_name", _operator_names(tables, stored)


def _names(numbers: pa.ChunkedArray, kind: type[IntEnum]) -> pa.ChunkedArray:
    return _mapped(numbers, {member.value: member.name for member in kind})


def _mapped(numbers: pa.ChunkedArray, texts: dict[int, str]) -> pa.ChunkedArray:
    """Returns the text of each number; null for a number without text."""
    known = pa.array(list(texts), numbers.type)
    return _taken(pa.array(list(texts.values()), pa.string()), pc.index_in(numbers, value_set=known))


def _joined(numbers: pa.ChunkedArray, described: pa.Table, number: str, text: str) -> pa.ChunkedArray:
    """Returns the text that a description table has for each number; null for a number without text."""
    known = described[number].combine_chunks()
    return _taken(described[text].combine_chunks(), pc.index_in(numbers, value_set=known.cast(numbers.type)))


def _taken(texts: pa.Array, places: pa.ChunkedArray) -> pa.ChunkedArray:
    return pa.chunked_array([texts.take(chunk) for chunk in places.chunks], pa.string())


def _operator_names(tables: Tables, stored: pa.Table) -> pa.ChunkedArray:
    """Returns the name of each operator, by its index in the task's chain; null for index -1, the task itself."""
    tasks, operators = tables.table("tasks"), tables.table("operators")
    vertices: dict[int, list[tuple[int, str]]] = {}
    for vertex, index, name in zip(*(operators[c].to_pylist() for c in ("vertex", "operator", "name")), strict=True):
        vertices.setdefault(vertex, []).append((index, name))
    described = [
        (task << 32 | index, name)
        for task, vertex in zip(tasks["task"].to_pylist(), tasks["vertex"].to_pylist(), strict=True)
        for index, name in vertices.get(vertex, ())
    ]
    task, operator = stored["task"].cast(pa.int64()), stored["operator"].cast(pa.int64())
    places = pc.bit_wise_or(pc.shift_left(task, 32), operator)
    return _mapped(places, dict(described))


def _points_in_time(table: Table, name: str, stored: pa.Table) -> pa.ChunkedArray:
    """Returns the column as timestamps: null for no time.

    The end of event time is the last millisecond of Python's calendar.
    """
    numbers, unit = stored[name], POINTS_IN_TIME[name]
    if unit == "ns":
        return numbers.cast(pa.timestamp("ns"))
    has_time = pc.not_equal(numbers, NO_TIMESTAMP)
    if name == "timestamp" and _has_elements(table):
        kinds = [ElementKind.RECORD, ElementKind.WATERMARK, ElementKind.LATENCY_MARKER]
        has_time = pc.and_(has_time, pc.is_in(stored["kind"], pa.array(kinds, pa.int8())))
    if name in ("window_start", "window_end"):
        # No window is empty, so equal bounds mean that the fact has no window.
        has_time = pc.and_(has_time, pc.not_equal(stored["window_start"], stored["window_end"]))
    within = pc.min_element_wise(pc.max_element_wise(numbers, _FIRST_MS), _LAST_MS)
    return pc.if_else(has_time, within, pa.scalar(None, pa.int64())).cast(pa.timestamp("ms"))


def _has_elements(table: Table) -> bool:
    """True if the kind of the element determines the meaning of the table's column ``timestamp``."""
    return any(column.name == "kind" and column.values is ElementKind for column in table.columns)


def _status(stored: pa.Table) -> pa.ChunkedArray:
    """Returns the status of a STATUS, and whether an END_OF_DATA drains; null for other elements."""
    kind, numbers = stored["kind"], stored["timestamp"]
    none = pa.scalar(None, pa.string())
    ends = pc.if_else(pc.equal(kind, ElementKind.END_OF_DATA.value), _mapped(numbers, _END_OF_DATA), none)
    return pc.if_else(pc.equal(kind, ElementKind.STATUS.value), _mapped(numbers, _STATUS), ends)


def _decoded(texts: pa.ChunkedArray) -> list[object]:
    """Decodes JSON texts to Python values."""
    known: dict[str | None, object] = {None: None}
    values = []
    for text in texts.to_pylist():
        if text not in known:
            known[text] = _with_tuples(json.loads(text))
        values.append(known[text])
    return values


def _with_tuples(value: object) -> object:
    """Returns a JSON value with tuples instead of arrays, so that pandas can group by the value."""
    if isinstance(value, list):
        return tuple(map(_with_tuples, value))
    if isinstance(value, dict):
        return {name: _with_tuples(item) for name, item in value.items()}
    return value

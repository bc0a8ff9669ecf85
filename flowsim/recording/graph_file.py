"""The execution graph of a recording: its six description tables in one file, ``graph.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from flowsim.facts.schema import GRAPH_TABLES, Table
from flowsim.recording.digest import canonical_json, sha256
from flowsim.recording.epoch_marker import damaged

GRAPH: Final = "graph.json"
_TYPES: Final = {"q": int, "i": int, "b": int, "s": str}

GraphRow = tuple[int | str, ...]
GraphRows = Mapping[str, Sequence[GraphRow]]
"""The rows of each table, each row in the order of the table's columns."""


def graph_bytes(rows: GraphRows) -> bytes:
    """Returns the content of the file: columns and rows per table."""
    described = {
        t.name: {"columns": t.names, "rows": [list(row) for row in rows.get(t.name, ())]} for t in GRAPH_TABLES
    }
    return canonical_json(described) + b"\n"


def read_graph(directory: Path, expected_hash: str) -> dict[str, list[GraphRow]]:
    """Returns the rows of every table.

    Raises BadInput if the file is missing, or does not match the marker of an epoch.
    """
    path = directory / GRAPH
    try:
        content = path.read_bytes()
    except OSError:
        raise damaged(path, "missing or not readable") from None
    if sha256(content) != expected_hash:
        raise damaged(path, "was changed after it was recorded")
    try:
        given = json.loads(content)
        return {table.name: [_row(table, row) for row in given[table.name]["rows"]] for table in GRAPH_TABLES}
    except (ValueError, TypeError, KeyError):
        raise damaged(path, "expected the tables of the execution graph") from None


def _row(table: Table, given: Sequence[object]) -> GraphRow:
    if len(given) != len(table.columns):
        raise ValueError("columns")
    for value, column in zip(given, table.columns, strict=True):
        if type(value) is not _TYPES[column.code]:
            raise TypeError(column.name)
    return tuple(given)  # type: ignore[arg-type]

"""The execution graph of a recording: its six description tables in one file, ``graph.json``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import msgspec

from flowsim.facts.schema import GRAPH_TABLES
from flowsim.limits import DEFAULT_LIMITS, Limits
from flowsim.recording.canonical import canonical_json, sha256
from flowsim.recording.recorded_file import RECORDING, damaged
from flowsim.recording.stored_json import decoded

GRAPH: Final = "graph.json"
_TYPES: Final[Mapping[str, Any]] = {
    "q": int,
    "i": Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)],
    "b": Annotated[int, msgspec.Meta(ge=-(2**7), le=2**7 - 1)],
    "s": str,
}
_GRAPH_FILE: Final[type[Any]] = msgspec.defstruct(
    "GraphFile",
    [
        (
            table.name,
            msgspec.defstruct(
                f"Table_{table.name}",
                [("columns", list[str]), ("rows", list[tuple[*(_TYPES[c.code] for c in table.columns)]])],  # type: ignore[misc]
                forbid_unknown_fields=True,
            ),
        )
        for table in GRAPH_TABLES
    ],
    forbid_unknown_fields=True,
)
"""Checks each value as it is read, so a file of other values takes no memory."""

GraphRow = tuple[int | str, ...]
GraphRows = Mapping[str, Sequence[GraphRow]]
"""The rows of each table, each row in the order of the table's columns."""


def graph_bytes(rows: GraphRows) -> bytes:
    """Returns the content of the file: columns and rows per table."""
    described = {
        t.name: {"columns": t.names, "rows": [list(row) for row in rows.get(t.name, ())]} for t in GRAPH_TABLES
    }
    return canonical_json(described) + b"\n"


def read_graph(directory: Path, expected_hash: str, limits: Limits = DEFAULT_LIMITS) -> dict[str, list[GraphRow]]:
    """Returns the rows of every table.

    Raises BadInput if the file is missing, or does not match the marker of an epoch.
    """
    path = directory / GRAPH
    try:
        content = RECORDING.content(path, limits.graph_bytes, "graph_bytes")
    except FileNotFoundError:
        raise damaged(path, "missing") from None
    if sha256(content) != expected_hash:
        raise damaged(path, "was changed after it was recorded")
    try:
        given = decoded(content, _GRAPH_FILE)
    except ValueError as error:
        raise damaged(path, f"expected the tables of the execution graph ({error})") from None
    return {table.name: getattr(given, table.name).rows for table in GRAPH_TABLES}

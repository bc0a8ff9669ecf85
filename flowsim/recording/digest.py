"""The digest of a recording: a hash of the facts, independent of their storage.

Each task has one content hash per table. For facts, it is the hash of their packed bytes in the order of ``seq``; for
keys, of one JSON array per line. So a recording in memory and a recording in Parquet parts of any size have the same
digest, and the facts of one task can be checked without other tasks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from struct import Struct
from typing import Final

import numpy as np

from flowsim.facts.kinds import Level
from flowsim.facts.schema import FORMAT_VERSION, RECORD_VALUES, STATIC_TABLES, Table
from flowsim.recording.canonical import canonical_json, sha256
from flowsim.recording.value_columns import ValueColumns

NO_TASK: Final = -1
"""The task number of facts without a task."""

_STATIC_NAMES: Final = frozenset(t.name for t in STATIC_TABLES)


def is_static(table: Table) -> bool:
    """True if the table is a description table, which may contain text."""
    return table.name in _STATIC_NAMES


class ContentHashes:
    """The hashes of one table's contents, per task."""

    def __init__(self) -> None:
        self._hashes: dict[int, hashlib._Hash] = {}

    def update(self, task: int, content: bytes | memoryview) -> None:
        """Adds the next rows of a task."""
        hash_of_task = self._hashes.get(task)
        if hash_of_task is None:
            hash_of_task = self._hashes[task] = hashlib.sha256()
        hash_of_task.update(content)

    def digest(self) -> str:
        """Returns one digest for the table."""
        return sha256(
            canonical_json([[task, hash_of_task.hexdigest()] for task, hash_of_task in sorted(self._hashes.items())])
        )


def content_hashes(table: Table, rows: Iterable[Sequence[int | str]]) -> ContentHashes:
    """Returns the hashes of rows that are stored as tuples."""
    place = table.names.index("task") if "task" in table.names else None
    by_task: dict[int, list[Sequence[int | str]]] = {}
    for row in rows:
        task = NO_TASK if place is None else int(row[place])
        by_task.setdefault(task, []).append(row)
    hashes = ContentHashes()
    for task, kept in by_task.items():
        hashes.update(task, packed(table, kept))
    return hashes


def packed(table: Table, rows: Sequence[Sequence[int | str]]) -> bytes:
    """Returns the bytes of rows for a table's digest."""
    if table is RECORD_VALUES:
        numbers, timestamps, texts = ([row[place] for row in rows] for place in range(3))
        lines = [f"{text}\n".encode() for text in texts]
        bounds = np.cumsum([0, *map(len, lines)])
        return ValueColumns(
            np.array(numbers, np.int64), np.array(timestamps, np.int64), b"".join(lines), bounds
        ).packed()
    if is_static(table):
        return b"".join(canonical_json(list(row)) + b"\n" for row in rows)
    pack = Struct(table.struct_format).pack
    return b"".join(pack(*row) for row in rows)


def facts_digest(level: Level, table_digests: Mapping[str, str]) -> str:
    """Returns one digest over the digests of all tables of a recording of this level."""
    return sha256(canonical_json([FORMAT_VERSION, level.name, sorted(table_digests.items())]))

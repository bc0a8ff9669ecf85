"""The digest of a recording: a hash of the facts themselves, independent of how they are stored.

A fact table is hashed as the packed bytes of its rows in the order in which they were recorded, a description table as
one JSON array a line. So a recording in memory and one in Parquet parts of any size have the same digest.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from struct import Struct
from typing import Final

from flowsim.facts.kinds import Level
from flowsim.facts.schema import FORMAT_VERSION, STATIC_TABLES, Table

_STATIC_NAMES: Final = frozenset(t.name for t in STATIC_TABLES)


def is_static(table: Table) -> bool:
    """Whether it is a description table, which may hold text."""
    return table.name in _STATIC_NAMES


def packed(table: Table, rows: Iterable[Sequence[int | str]]) -> bytes:
    """The bytes of rows that a table's digest is made of."""
    if is_static(table):
        return b"".join(canonical_json(list(row)) + b"\n" for row in rows)
    pack = Struct(table.struct_format).pack
    return b"".join(pack(*row) for row in rows)


def canonical_json(value: object) -> bytes:
    """JSON with sorted keys, no spaces, ASCII only: equal values give equal bytes."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def sha256(content: bytes) -> str:
    """Hexadecimal SHA-256."""
    return hashlib.sha256(content).hexdigest()


def facts_digest(level: Level, table_digests: Mapping[str, str]) -> str:
    """One digest over the digests of all tables of a recording of this level."""
    return sha256(canonical_json([FORMAT_VERSION, level.name, sorted(table_digests.items())]))

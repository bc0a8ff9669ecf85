"""A table that is asked for the row with a key, read from a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from flowsim.connectors.columns import columns_of
from flowsim.connectors.csv_blocks import CsvFile
from flowsim.connectors.csv_diagnosis import position_of
from flowsim.errors import BadInput

MAX_ROWS: Final = 1_000_000


class LookupTable:
    """Rows by their key, which a row holds no more. It never changes, so all subtasks share one."""

    __slots__ = ("names", "_rows")

    def __init__(self, names: tuple[str, ...], rows: Mapping[object, tuple[object, ...]]) -> None:
        self.names = names
        self._rows = rows

    def __deepcopy__(self, memo: Mapping[int, object]) -> LookupTable:
        return self

    def __len__(self) -> int:
        return len(self._rows)

    def get(self, key: object) -> tuple[object, ...] | None:
        """The row with that key, None where there is none; None is no key. Raises TypeError for a list and the like."""
        return self._rows.get(key)


def read_lookup_table(
    path: str | Path, columns: Mapping[str, str], key_column: str, delimiter: str = ","
) -> LookupTable:
    """The table in the declared columns of a CSV file with a header line (``.gz`` too); ``key_column`` is one of them.

    Raises BadInput, with ``file:line:column`` where there is one, for a file that cannot be read, lacks a column, has a
    field of another type, a row without key, a key twice, or more than a million rows.
    """
    name = str(path)
    if key_column not in columns:
        raise BadInput(f"lookup table {name!r}: key {key_column!r} is none of the columns {', '.join(columns)}")
    at = list(columns).index(key_column)
    rows: dict[object, tuple[object, ...]] = {}
    for block in CsvFile(name, columns_of(columns, f"lookup table {name!r}"), delimiter).blocks():
        for row in block:
            key = row[at]
            if key is None or key in rows:
                where = position_of(name, delimiter, key_column, len(rows))
                problem = (
                    "expected a key, got nothing" if key is None else f"the key {key!r} stands in a row above already"
                )
                raise BadInput(f"{where} column {key_column!r}: {problem}")
            rows[key] = row[:at] + row[at + 1 :]
        if len(rows) > MAX_ROWS:
            raise BadInput(f"{name}: the table has more than {MAX_ROWS} rows")
    return LookupTable(tuple(column for column in columns if column != key_column), rows)

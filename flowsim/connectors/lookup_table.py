"""Tables from files, kept in memory: values by key, and recorded latencies."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from flowsim.connectors.files.columns import columns_of, reason_of
from flowsim.connectors.files.csv_diagnosis import position_of
from flowsim.connectors.files.input_file import InputFile, input_file_of
from flowsim.errors import BadInput, SourcePosition
from flowsim.operators.async_wait.latency import MAX_LATENCY_NS, TraceLatency

MAX_ROWS: Final = 1_000_000


class LookupTable:
    """Rows by key, without the key itself. The table never changes, so all subtasks share it."""

    __slots__ = ("names", "_rows")

    def __init__(self, names: tuple[str, ...], rows: Mapping[object, tuple[object, ...]]) -> None:
        self.names: tuple[str, ...] = names
        self._rows = rows

    def __deepcopy__(self, memo: Mapping[int, object]) -> LookupTable:
        return self

    def __len__(self) -> int:
        return len(self._rows)

    def get(self, key: object) -> tuple[object, ...] | None:
        """Returns the row with that key, or None if there is no such row.

        None is never a key. Raises TypeError for an unhashable key.
        """
        return self._rows.get(key)


def read_lookup_table(
    path: str | Path | InputFile, columns: Mapping[str, str], key_column: str, delimiter: str = ","
) -> LookupTable:
    """Reads a CSV file (``.gz`` too) with a header line into a table with the declared columns.

    ``key_column`` is one of the columns.

    Raises BadInput, with ``file:line:column`` if known: for a file that cannot be read, a missing column, a field of
    another type, a row without key, a duplicate key, or more than a million rows.
    """
    from flowsim.connectors.files.csv_file import CsvFile

    file = input_file_of(path)
    name = str(file.path)
    if key_column not in columns:
        raise BadInput(
            f"lookup table {name!r}: key column {key_column!r} is not one of the columns {', '.join(columns)}"
        )
    at = list(columns).index(key_column)
    rows: dict[object, tuple[object, ...]] = {}
    for block in CsvFile(file, columns_of(columns, f"lookup table {name!r}"), delimiter).blocks():
        for row in block:
            key = row[at]
            if key is None or key in rows:
                where = position_of(file, delimiter, key_column, len(rows))
                problem = "expected a key, got nothing" if key is None else f"an earlier row has the key {key!r}"
                raise BadInput(f"{where} column {key_column!r}: {problem}")
            rows[key] = row[:at] + row[at + 1 :]
        if len(rows) > MAX_ROWS:
            raise BadInput(f"{name}: the table has more than {MAX_ROWS} rows")
    return LookupTable(tuple(column for column in columns if column != key_column), rows)


UNITS_NS: Final = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}

MAX_LATENCIES: Final = 1_000_000

_NUMBER: Final = re.compile(r"\d{1,18}(\.\d{1,18})?([eE][+-]?\d{1,2})?", re.ASCII)


def read_latency_trace(path: str | Path | InputFile, column: str | None = None, unit: str = "ms") -> TraceLatency:
    """Reads latencies from a column of a CSV file with a header line, or, without ``column``, one number per line.

    Numbers are >= 0 in ``unit``: ns, us, ms or s; ``.gz`` files are supported. Raises BadInput, with
    ``file:line:column`` if known, for a file that cannot be read, has no numbers, too many, or other text.
    """
    if unit not in UNITS_NS:
        raise BadInput(f"trace of latencies: expected one of the units {', '.join(UNITS_NS)}, got {unit!r}")
    file, scale = input_file_of(path), UNITS_NS[unit]
    name = str(file.path)
    latencies = _of_lines(file, scale, unit) if column is None else _of_column(file, column, scale, unit)
    if not latencies:
        raise BadInput(f"{name}: expected at least one latency, the file has none")
    if len(latencies) > MAX_LATENCIES:
        raise BadInput(f"{name}: the file holds more than {MAX_LATENCIES} latencies")
    return TraceLatency(latencies)


def _of_lines(file: InputFile, scale: int, unit: str) -> list[int]:
    latencies: list[int] = []
    try:
        with file.open_text() as lines:
            for number, line in enumerate(lines, 1):
                text = line.strip()
                if not text:
                    continue
                ns = round(float(text) * scale) if _NUMBER.fullmatch(text) else -1
                if not 0 <= ns <= MAX_LATENCY_NS:
                    raise _wrong(SourcePosition(str(file.path), number, line.index(text) + 1), unit, repr(text[:60]))
                latencies.append(ns)
                if len(latencies) > MAX_LATENCIES:
                    break
    except OSError as error:
        raise BadInput(f"{file.path}: cannot be read: {reason_of(error)}") from None
    return latencies


def _of_column(file: InputFile, column: str, scale: int, unit: str) -> list[int]:
    from flowsim.connectors.files.csv_file import CsvFile

    latencies: list[int] = []
    for rows in CsvFile(file, columns_of({column: "double"}, f"trace of latencies {str(file.path)!r}")).blocks():
        for (value,) in rows:
            ns = round(value * scale) if isinstance(value, float) and 0 <= value * scale <= MAX_LATENCY_NS else -1
            if ns < 0:
                got = "nothing" if value is None else str(value)
                raise _wrong(position_of(file, ",", column, len(latencies)), unit, got)
            latencies.append(ns)
        if len(latencies) > MAX_LATENCIES:
            break
    return latencies


def _wrong(where: SourcePosition, unit: str, got: str) -> BadInput:
    return BadInput(f"{where} expected a latency in {unit}, a number of at least 0, got {got}")

"""Latencies that somebody measured, read from a file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from flowsim.connectors.columns import columns_of
from flowsim.connectors.csv_blocks import CsvFile
from flowsim.connectors.csv_diagnosis import open_text, position_of
from flowsim.errors import BadInput, SourcePosition
from flowsim.operators.async_wait.latency import MAX_LATENCY_NS, TraceLatency

UNITS_NS: Final = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
MAX_LATENCIES: Final = 1_000_000

_NUMBER: Final = re.compile(r"\d{1,18}(\.\d{1,18})?([eE][+-]?\d{1,2})?", re.ASCII)


def read_latency_trace(path: str | Path, column: str | None = None, unit: str = "ms") -> TraceLatency:
    """The latencies in a column of a CSV file with a header line, or, without ``column``, one number a line.

    Numbers are at least 0 and count ``unit``: ns, us, ms or s; ``.gz`` is read too. Raises BadInput, with
    ``file:line:column`` where there is one, for a file that cannot be read, holds none, too many, or something else.
    """
    if unit not in UNITS_NS:
        raise BadInput(f"trace of latencies: expected one of the units {', '.join(UNITS_NS)}, got {unit!r}")
    name, scale = str(path), UNITS_NS[unit]
    latencies = _of_lines(name, scale, unit) if column is None else _of_column(name, column, scale, unit)
    if not latencies:
        raise BadInput(f"{name}: the file holds no latency, expected at least one")
    if len(latencies) > MAX_LATENCIES:
        raise BadInput(f"{name}: the file holds more than {MAX_LATENCIES} latencies")
    return TraceLatency(latencies)


def _of_lines(path: str, scale: int, unit: str) -> list[int]:
    found: list[int] = []
    try:
        with open_text(path) as lines:
            for number, line in enumerate(lines, 1):
                text = line.strip()
                if not text:
                    continue
                ns = round(float(text) * scale) if _NUMBER.fullmatch(text) else -1
                if not 0 <= ns <= MAX_LATENCY_NS:
                    raise _wrong(SourcePosition(path, number, line.index(text) + 1), unit, repr(text[:60]))
                found.append(ns)
                if len(found) > MAX_LATENCIES:
                    break
    except (OSError, EOFError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise BadInput(f"{path}: cannot be read: {reason}") from None
    return found


def _of_column(path: str, column: str, scale: int, unit: str) -> list[int]:
    found: list[int] = []
    for rows in CsvFile(path, columns_of({column: "double"}, f"trace of latencies {path!r}")).blocks():
        for (value,) in rows:
            ns = round(value * scale) if isinstance(value, float) and 0 <= value * scale <= MAX_LATENCY_NS else -1
            if ns < 0:
                got = "nothing" if value is None else str(value)
                raise _wrong(position_of(path, ",", column, len(found)), unit, got)
            found.append(ns)
        if len(found) > MAX_LATENCIES:
            break
    return found


def _wrong(where: SourcePosition, unit: str, got: str) -> BadInput:
    return BadInput(f"{where} expected a latency in {unit}, a number of at least 0, got {got}")

"""Measured latencies from a file: one number per line, or a column."""

from __future__ import annotations

import gzip
from pathlib import Path
from random import Random

import pytest

from flowsim.connectors.lookup_table import read_latency_trace
from flowsim.errors import BadInput

MS = 1_000_000


def first(path: Path, count: int, column: str | None = None, unit: str = "ms") -> list[int]:
    trace, random = read_latency_trace(path, column, unit), Random(1)
    return [trace.draw_ns(None, random) for _ in range(count)]


def test_one_number_per_line_is_read_in_order_and_repeated(tmp_path: Path) -> None:
    path = tmp_path / "trace.txt"
    path.write_text("12\n\n 0.5 \n1e2\n")
    assert first(path, 4) == [12 * MS, MS // 2, 100 * MS, 12 * MS]
    assert first(path, 2, unit="us") == [12_000, 500]
    zipped = tmp_path / "trace.gz"
    zipped.write_bytes(gzip.compress(path.read_bytes()))
    assert first(zipped, 3, unit="s") == [12_000 * MS, 500 * MS, 100_000 * MS]


def test_csv_column_is_read(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text("at,took\na,3\nb,4.25\n")
    assert first(path, 3, "took") == [3 * MS, 4_250_000, 3 * MS]
    assert first(path, 2, "took", "ns") == [3, 4]


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("1\nsoon\n", None, ":2:1 expected a latency in ms, a number of at least 0, got 'soon'"),
        ("1\n\n  -4\n", None, ":3:3 expected a latency in ms, a number of at least 0, got '-4'"),
        ("nan\n", None, ":1:1 expected a latency in ms, a number of at least 0, got 'nan'"),
        ("1e60\n", None, ":1:1 expected a latency in ms, a number of at least 0, got '1e60'"),
        ("\n\n", None, ": expected at least one latency, the file has none"),
        ("", None, ": expected at least one latency, the file has none"),
        ("took\n", "took", ": expected at least one latency, the file has none"),
        ("at,took\na,1\nb,-2\n", "took", ":3:3 expected a latency in ms, a number of at least 0, got -2.0"),
        ("at,took\na,1\nb,\n", "took", ":3:3 expected a latency in ms, a number of at least 0, got nothing"),
        ("at,took\na,1\nb,inf\n", "took", ":3:3 expected a latency in ms, a number of at least 0, got inf"),
        ("took\n1e60\n", "took", ":2:1 expected a latency in ms, a number of at least 0, got 1e+60"),
        ("at,took\na,x\n", "took", ":2:3 column 'took': expected a double or nothing, got 'x'"),
        ("at,tok\na,1\n", "took", ":1:1 no column 'took' (did you mean 'tok'?); the header has: at, tok"),
    ],
)
def test_invalid_latency_is_refused_with_position(text: str, column: str | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(text)
    with pytest.raises(BadInput) as error:
        read_latency_trace(path, column)
    assert str(error.value) == f"{path}{message}"


def test_missing_file_and_unknown_unit_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"trace\.txt: cannot be read: No such file"):
        read_latency_trace(tmp_path / "trace.txt")
    with pytest.raises(BadInput, match="expected one of the units ns, us, ms, s, got 'min'"):
        read_latency_trace(tmp_path / "trace.txt", unit="min")

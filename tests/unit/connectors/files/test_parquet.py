from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flowsim.connectors.files.columns import columns_of
from flowsim.connectors.files.csv_file import ARROW_TYPES
from flowsim.connectors.files.parquet_file import BATCH_ROWS, ParquetFile, ParquetPart
from flowsim.errors import BadInput


def written(folder: Path, columns: dict[str, pa.Array]) -> Path:
    path = folder / "rows.parquet"
    pq.write_table(pa.table(columns), path)
    return path


def rows_of(path: Path, **declared: str) -> list[tuple[object, ...]]:
    file = ParquetFile(path, columns_of(declared, "test") if declared else None)
    return [row for block in file.blocks() for row in block]


def test_rows_have_file_order_and_declared_column_order(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        {
            "number": pa.array([1, None, -3], pa.int16()),
            "name": pa.array(["a", "", None]).dictionary_encode(),
            "ratio": pa.array([0.5, None, 2.0], pa.float32()),
            "flag": pa.array([True, False, None]),
        },
    )
    rows = rows_of(path, flag="boolean", name="string", number="int", ratio="double")
    assert rows == [(True, "a", 1, 0.5), (False, "", None, None), (None, None, -3, 2.0)]
    assert [type(cell) for cell in rows[0]] == [bool, str, int, float]


def test_undeclared_columns_are_all_read_with_their_types(tmp_path: Path) -> None:
    path = written(tmp_path, {"b": pa.array([7], pa.int64()), "a": pa.array(["x"]), "i": pa.array([1], pa.int32())})
    file = ParquetFile(path)
    assert [(column.name, column.type.value) for column in file.columns] == [
        ("b", "long"), ("a", "string"), ("i", "int"),
    ]  # fmt: skip
    assert rows_of(path) == [(7, "x", 1)]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamp_is_read_as_milliseconds_since_1970(tmp_path: Path, unit: str) -> None:
    moments = [datetime(2013, 1, 1, 5, tzinfo=UTC), datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC), None]
    path = written(tmp_path, {"at": pa.array(moments, pa.timestamp(unit, "UTC"))})
    assert rows_of(path, at="long") == [(1_357_016_400_000,), (-1000,), (None,)]


def test_timestamp_is_rounded_down_to_milliseconds(tmp_path: Path) -> None:
    path = written(tmp_path, {"at": pa.array([1_999, -1, -1_000, -1_001], pa.timestamp("us"))})
    assert rows_of(path, at="long") == [(1,), (-1,), (-1,), (-2,)]


def test_long_file_is_read_in_several_blocks(tmp_path: Path) -> None:
    count = 2 * BATCH_ROWS + 1
    path = written(tmp_path, {"n": pa.array(range(count), pa.int64())})
    blocks = list(ParquetFile(path, columns_of({"n": "long"}, "test")).blocks())
    assert [len(block) for block in blocks] == [BATCH_ROWS, BATCH_ROWS, 1]
    assert [row[0] for block in blocks for row in block] == list(range(count))


def test_missing_column_is_refused_with_nearest_name(tmp_path: Path) -> None:
    path = written(tmp_path, {"carrier": pa.array(["AA"])})
    with pytest.raises(BadInput, match=r"no column 'carier' \(did you mean 'carrier'\?\); it has: carrier"):
        rows_of(path, carier="string")


@pytest.mark.parametrize(
    ("array", "declared", "message"),
    [
        (pa.array(["x"]), "long", "expected a long .*, the file has string"),
        (pa.array([1], pa.int64()), "int", "expected an int .*, the file has int64"),
        (pa.array([1], pa.uint64()), "long", "the file has uint64"),
        (pa.array([1.5]), "long", "the file has double"),
        (pa.array([1], pa.timestamp("ms")), "int", r"the file has timestamp\[ms\]"),
    ],
)
def test_column_of_other_type_is_refused(tmp_path: Path, array: pa.Array, declared: str, message: str) -> None:
    path = written(tmp_path, {"c": array})
    with pytest.raises(BadInput, match=f"column 'c': .*{message}"):
        rows_of(path, c=declared)


def test_undeclared_column_of_unsupported_type_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, {"c": pa.array([[1]])})
    with pytest.raises(BadInput, match=r"column 'c' is list.*declare the columns to read"):
        ParquetFile(path)


def test_file_that_is_not_parquet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    path.write_text("a,b\n")
    with pytest.raises(BadInput, match=r"rows.parquet: cannot be read as Parquet: "):
        ParquetFile(path)
    with pytest.raises(BadInput, match=r"none\.parquet: cannot be read: No such file"):
        ParquetFile(tmp_path / "none.parquet")


def test_truncated_file_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, {"n": pa.array(range(100_000), pa.int64())})
    file = ParquetFile(path, columns_of({"n": "long"}, "test"))
    content = bytearray(path.read_bytes())
    content[100:5000] = bytes(4900)
    path.write_bytes(content)
    with pytest.raises(BadInput, match="cannot be read after row 0: "):
        list(file.blocks())


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("string", ("a", None, "", "\u00fc\U0001f600")),
        ("int", (2**31 - 1, None, -(2**31))),
        ("long", (2**63 - 1, -(2**63), 0)),
        ("double", (1.5, None, float("inf"), -0.0)),
        ("boolean", (True, None, False, True, True, False, True, True, False, None, True)),
        ("boolean", (False, True)),
        ("long", (None, None)),
    ],
)
def test_written_column_equals_that_of_arrow(tmp_path: Path, column: str, values: tuple[object, ...]) -> None:
    """The writer makes columns without ``pa.array``, which would import pandas."""
    columns = columns_of({"c": column}, "test")
    part = ParquetPart(tmp_path / "rows.parquet", columns, 65_536)
    for value in values:
        part.write_row((value,))
    part.finish()
    part.close()
    written_by_arrow = pa.table({"c": pa.array(values, ARROW_TYPES[columns[0].type])})
    assert pq.read_table(tmp_path / "rows.parquet").equals(written_by_arrow)

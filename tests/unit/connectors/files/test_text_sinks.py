from __future__ import annotations

import io
import json
import math
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from flowsim.connectors.files.parquet import ParquetSink
from flowsim.connectors.files.text_sinks import CsvSink, JsonLinesSink
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.print import PrintSink
from flowsim.datastream.building.operator_factories import sink_operator
from flowsim.errors import ValueNotAllowed
from flowsim.operators.stream_operator import OperatorContext
from flowsim.streamrecord.output import Output
from flowsim.values.row import Row

FIELDS = {"name": "string", "count": "int", "at": "long", "share": "double", "ok": "boolean"}
ROWS = [("a", 1, 2**40, 0.5, True), ("b,\n", None, None, None, False)]


class Writing:
    """One sink subtask, written to by hand."""

    def __init__(self, sink: object, ctx: OperatorContext, output: Output) -> None:
        self.operator = sink_operator(sink)("sink")  # type: ignore[arg-type]
        self.operator.setup(ctx, output)
        self.operator.open()

    def write(self, *values: object, timestamp: int | None = None) -> Writing:
        for value in values:
            self.operator.process_element(value, timestamp)
        return self

    def complete(self) -> None:
        self.operator.finish()
        self.operator.close()

    def fail(self) -> None:
        self.operator.close()


@pytest.fixture
def writing(context: Callable, output: Output) -> Callable[..., Writing]:
    def make(sink: object, index: int = 0, parallelism: int = 1) -> Writing:
        return Writing(sink, context(index, parallelism), output)

    return make


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_parquet_keeps_row_order_names_and_types(tmp_path: Path, writing: Callable) -> None:
    sink = ParquetSink(tmp_path / "out", FIELDS, row_group_rows=3)
    writing(sink, 1, 2).write(*ROWS * 4).complete()
    file = pq.ParquetFile(tmp_path / "out" / "part-1.parquet")
    assert [tuple(row.values()) for row in file.read().to_pylist()] == ROWS * 4
    assert [f"{field.name}:{field.type}" for field in file.schema_arrow] == [
        "name:string", "count:int32", "at:int64", "share:double", "ok:bool",
    ]  # fmt: skip
    assert file.num_row_groups == 3


def test_equal_rows_give_equal_parquet_bytes(tmp_path: Path, writing: Callable) -> None:
    for folder in ("one", "two"):
        writing(ParquetSink(tmp_path / folder, FIELDS)).write(*ROWS * 100).complete()
    assert (tmp_path / "one/part-0.parquet").read_bytes() == (tmp_path / "two/part-0.parquet").read_bytes()


def test_sink_without_rows_writes_file_with_columns(tmp_path: Path, writing: Callable) -> None:
    writing(ParquetSink(tmp_path, FIELDS)).complete()
    assert pq.read_table(tmp_path / "part-0.parquet").column_names == list(FIELDS)
    writing(CsvSink(tmp_path, FIELDS)).complete()
    assert (tmp_path / "part-0.csv").read_text() == "name,count,at,share,ok\n"


def test_csv_quotes_where_needed_and_writes_none_as_empty(tmp_path: Path, writing: Callable) -> None:
    writing(CsvSink(tmp_path, FIELDS)).write(*ROWS).complete()
    assert (tmp_path / "part-0.csv").read_bytes() == (
        b'name,count,at,share,ok\na,1,1099511627776,0.5,true\n"b,\n",,,,false\n'
    )


@pytest.mark.parametrize("make", [ParquetSink, CsvSink])
def test_file_has_temporary_name_until_complete(tmp_path: Path, writing: Callable, make: Callable) -> None:
    suffix = {ParquetSink: "parquet", CsvSink: "csv"}[make]
    part = writing(make(tmp_path, FIELDS)).write(*ROWS)
    assert names(tmp_path) == [f".part-0.{suffix}.inprogress"]
    part.complete()
    assert names(tmp_path) == [f"part-0.{suffix}"]


@pytest.mark.parametrize("make", [ParquetSink, CsvSink])
def test_failed_run_removes_parts_of_this_and_earlier_runs(tmp_path: Path, writing: Callable, make: Callable) -> None:
    for index in range(3):
        writing(make(tmp_path, FIELDS), index, 3).write(*ROWS).complete()
    (tmp_path / "notes.txt").write_text("not a part")
    writing(make(tmp_path, FIELDS), 0, 1).write(*ROWS).fail()
    assert names(tmp_path) == ["notes.txt"]


def test_tuples_lists_rows_dicts_and_single_values_are_written(tmp_path: Path, writing: Callable) -> None:
    sink = ParquetSink(tmp_path, {"a": "long", "b": "string"})
    writing(sink).write((1, "t"), [2, "l"], Row(3, "r"), Row(a=4, b="n"), {"b": "d", "a": 5}).complete()
    rows = [tuple(row.values()) for row in pq.read_table(tmp_path / "part-0.parquet").to_pylist()]
    assert rows == [(1, "t"), (2, "l"), (3, "r"), (4, "n"), (5, "d")]
    writing(CsvSink(tmp_path, {"a": "long"})).write(7).complete()
    assert (tmp_path / "part-0.csv").read_text() == "a\n7\n"


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ((1.0, "x"), "column 'a': expected an int (-2147483648 to 2147483647), got 1.0 (float) in (1.0, 'x')"),
        ((True, "x"), "column 'a': expected an int (-2147483648 to 2147483647), got True (bool) in (True, 'x')"),
        ((2**31, "x"), "column 'a': expected an int (-2147483648 to 2147483647), got 2147483648 (int)"),
        ((1, b"x"), "column 'b': expected text, got b'x' (bytes)"),
        ((1,), "expected 2 fields (a, b), got 1 in (1,)"),
        ({"a": 1, "c": "x"}, "expected the fields a, b, got a, c"),
    ],
)
def test_value_of_wrong_type_is_refused_with_column(
    tmp_path: Path, writing: Callable, value: object, message: str
) -> None:
    part = writing(ParquetSink(tmp_path, {"a": "int", "b": "string"})).write((1, "fine"))
    with pytest.raises(ValueNotAllowed) as refused:
        part.write(value)
    assert message in str(refused.value)


def test_collect_sink_keeps_records_of_last_run_per_subtask(writing: Callable) -> None:
    sink = CollectSink()
    writing(sink, 1, 2).write("b", timestamp=5)
    writing(sink, 0, 2).write("a", "c")
    assert sink.values() == ["a", "c", "b"]
    assert sink.records(1) == [("b", 5)]
    writing(sink, 0, 1)
    assert sink.records() == []


@pytest.mark.parametrize(
    ("identifier", "parallelism", "line"),
    [("", 1, "(1, 'x')\n"), ("", 4, "3> (1, 'x')\n"), ("out", 1, "out> (1, 'x')\n"), ("out", 4, "out:3> (1, 'x')\n")],
)
def test_print_line_has_flinks_prefix(writing: Callable, identifier: str, parallelism: int, line: str) -> None:
    stream = io.StringIO()
    writing(PrintSink(identifier, stream), 2 if parallelism > 1 else 0, parallelism).write((1, "x")).complete()
    assert stream.getvalue() == line


def test_print_writes_to_current_standard_output(writing: Callable, capsys: pytest.CaptureFixture[str]) -> None:
    writing(PrintSink()).write("seen").complete()
    assert capsys.readouterr().out == "seen\n"


def test_json_lines_are_objects_with_fields_in_declared_order(tmp_path: Path, writing: Callable) -> None:
    writing(JsonLinesSink(tmp_path / "out", FIELDS), 1, 2).write(
        *ROWS, ("\u00e4\u2028", -1, -(2**63), -0.0, None)
    ).complete()
    text = (tmp_path / "out" / "part-1.jsonl").read_text(encoding="utf-8")
    assert text == (
        '{"name":"a","count":1,"at":1099511627776,"share":0.5,"ok":true}\n'
        '{"name":"b,\\n","count":null,"at":null,"share":null,"ok":false}\n'
        '{"name":"\u00e4\u2028","count":-1,"at":-9223372036854775808,"share":-0.0,"ok":null}\n'
    )
    assert [json.loads(line) for line in text.split("\n")[:-1]][1]["name"] == "b,\n"


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_non_finite_number_is_refused_in_json(tmp_path: Path, writing: Callable, number: float) -> None:
    sink = writing(JsonLinesSink(tmp_path / "out", {"a": "long", "x": "double"}))
    with pytest.raises(ValueNotAllowed, match=f"no number for NaN and infinity: a = 1, x = {number}"):
        sink.write((1, number))
    sink.fail()
    assert names(tmp_path / "out") == []

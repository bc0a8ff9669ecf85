"""CsvReaderFormat reads files as Flink's, with Jackson's CsvSchema."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.connectors.file_system.source import FileSource
from flowsim.connectors.files.input_file import InputFile
from flowsim.connectors.formats.csv_files import CsvReaderFormat, CsvSchema, CsvSchemaBuilder
from flowsim.connectors.memory import CollectSink
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.common import Row, Types, WatermarkStrategy
from flowsim.errors import BadInput, JobFailed


def columns() -> CsvSchemaBuilder:
    made = CsvSchema.builder().add_number_column("id", Types.INT()).add_string_column("name")
    return made.add_array_column("list", ",").set_column_separator("|")


def rows(folder: Path, schema: CsvSchema, text: str, first_row: int = 0) -> list[list[object]]:
    (folder / "in.csv").write_text(text)
    file = CsvReaderFormat.for_schema(schema).records_of(InputFile(folder / "in.csv"))
    read = [row for block in file.blocks(first_row) for row in block]
    assert all(isinstance(row, Row) and tuple(row.field_names or ()) == schema.names for row in read)
    return [list(row) for row in read if isinstance(row, Row)]


@pytest.mark.parametrize(
    ("schema", "text", "expected"),
    [
        (columns(), "1|a|x,y\n 2 |b|\n", [[1, "a", ["x", "y"]], [2, "b", []]]),
        (columns(), '1|"a|""b\nc"|x\r\n', [[1, 'a|"b\nc', ["x"]]]),
        (columns().disable_quote_char(), '1|"a|x\n', [[1, '"a', ["x"]]]),
        (columns().set_quote_char("'"), "1|'a|b'|x\n", [[1, "a|b", ["x"]]]),
        (columns().set_escape_char("\\"), "1|a\\|b|x\n", [[1, "a|b", ["x"]]]),
        (columns().set_null_value("-"), "-|-|x,-\n", [[None, None, ["x", None]]]),
        (columns().set_use_header(), "a|b|c\n1|a|x\n", [[1, "a", ["x"]]]),
        (columns().set_use_header().set_strict_headers(), "id|name|list\n1|a|x\n", [[1, "a", ["x"]]]),
        (columns().set_use_header().set_skip_first_data_row(), "a|b|c\n1|a|x\n2|b|y\n", [[2, "b", ["y"]]]),
        (columns().set_allow_comments(), "# none\n1|a|x\n#\n", [[1, "a", ["x"]]]),
        (columns().remove_array_element_separator(2), "1|a|x,y\n", [[1, "a", ["x,y"]]]),
        (columns().clear_columns().add_boolean_column("ok"), " True \nyes\n\n", [[True], [False], [False]]),
        (CsvSchema.builder().add_columns_from(columns().build()), "1,a,x\n", [[1, "a", ["x"]]]),
        (CsvSchema.builder().add_number_column("n").add_number_column("d", Types.DOUBLE()), "9,1e3\n", [[9, 1000.0]]),
        (columns(), "", []),
    ],
)
def test_file_is_read_as_by_flink(
    tmp_path: Path, schema: CsvSchemaBuilder, text: str, expected: list[list[object]]
) -> None:
    assert rows(tmp_path, schema.build(), text) == expected
    assert rows(tmp_path, schema.build(), text, first_row=1) == expected[1:]


@pytest.mark.parametrize(
    ("schema", "text", "message"),
    [
        (columns(), "1|a|x\n2|b\n", r"in.csv:2: Row length mismatch. 3 fields expected but was 2."),
        (columns(), "1|a|x|y\n", "in.csv:1: Too many entries: expected at most 3, got 4"),
        (columns(), "1|a|x\n\n", "in.csv:2: Row length mismatch. 3 fields expected but was 1."),
        (columns(), "x|a|x\n", "in.csv:1: expected INT, got 'x'"),
        (columns(), "9999999999|a|x\n", "in.csv:1: expected INT, got '9999999999'"),
        (
            columns().set_use_header().set_strict_headers(),
            "id|list|name\n",
            "in.csv:1: Mismatched header: expected id, name",
        ),
        (columns(), '1|"a|x\n', "in.csv:1: unexpected end of data"),
    ],
)
def test_line_that_cannot_be_read_is_named(tmp_path: Path, schema: CsvSchemaBuilder, text: str, message: str) -> None:
    with pytest.raises(BadInput) as refused:
        rows(tmp_path, schema.build(), text)
    assert message in str(refused.value)


def test_source_reads_rows_and_fails_the_job_at_a_wrong_line(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("1|a|x\n2|b|y\n")

    def run() -> list[object]:
        env, sink = StreamExecutionEnvironment.get_execution_environment(), CollectSink()
        built = FileSource.for_record_stream_format(
            CsvReaderFormat.for_schema(columns().build()), str(tmp_path)
        ).build()
        stream = env.from_source(built, WatermarkStrategy.no_watermarks(), "csv")
        types = [Types.INT(), Types.STRING(), Types.LIST(Types.STRING())]
        assert stream.get_type() == Types.ROW_NAMED(["id", "name", "list"], types)
        stream.map(lambda row: (row.id, row["name"], row[2])).sink_to(sink)
        env.execute()
        return list(sink.values())

    assert run() == [(1, "a", ["x"]), (2, "b", ["y"])]
    (tmp_path / "in.csv").write_text("1|a|x\n2|b\n")
    with pytest.raises(JobFailed, match=r"in\.csv:2: Row length mismatch"):
        run()


def test_builder_has_the_size_of_its_columns_and_refuses_others() -> None:
    assert (len(columns()), columns().size(), columns().build().size(), len(columns().build())) == (3, 3, 3, 3)
    with pytest.raises(BadInput, match="the column 'id' is there already"):
        columns().add_string_column("id")
    with pytest.raises(BadInput, match=r"add_number_column: expected a type such as DataTypes\.INT\(\), got SQL_DATE"):
        columns().add_number_column("day", Types.SQL_DATE())
    with pytest.raises(BadInput, match="there is no column 3"):
        columns().remove_array_element_separator(3)
    with pytest.raises(BadInput, match="set_column_separator: expected one character, got '::'"):
        columns().set_column_separator("::")
    with pytest.raises(BadInput, match="expected a CsvSchema with columns"):
        CsvReaderFormat.for_schema(CsvSchema.builder().build())

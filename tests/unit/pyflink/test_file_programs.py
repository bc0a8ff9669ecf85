"""Programs that read and write files run as they are; what they write is below the folder of the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.connectors.kafka.topics import Topics
from flowsim.errors import BadInput
from flowsim.pyflink import ProgramExecutor, run_program

WORD_COUNT = """
import sys
from pyflink.common import Encoder, Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import (
    BucketAssigner, FileSink, FileSource, OutputFileConfig, RollingPolicy, StreamFormat
)

env = StreamExecutionEnvironment.get_execution_environment()
source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), sys.argv[1]).process_static_file_set()
words = env.from_source(source.build(), WatermarkStrategy.for_monotonous_timestamps(), "file_source")
counts = (words.flat_map(lambda line: line.split(), Types.STRING()).map(lambda word: (word, 1))
    .key_by(lambda pair: pair[0]).reduce(lambda a, b: (a[0], a[1] + b[1])))
counts.map(lambda pair: f"{pair[0]}={pair[1]}", Types.STRING()).sink_to(
    FileSink.for_row_format(sys.argv[2], Encoder.simple_string_encoder())
    .with_bucket_assigner(BucketAssigner.base_path_bucket_assigner())
    .with_output_file_config(OutputFileConfig.builder().with_part_prefix("counts").with_part_suffix(".txt").build())
    .with_rolling_policy(RollingPolicy.default_rolling_policy()).build())
env.execute("count")
env.from_source(FileSource.for_record_stream_format(StreamFormat.text_line_format(), sys.argv[2]).build(),
                WatermarkStrategy.no_watermarks(), "counts").print()
env.execute("print")
"""


def test_second_job_reads_the_files_of_the_first_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, words = tmp_path / "program.py", tmp_path / "words.txt"
    program.write_text(WORD_COUNT)
    words.write_text("to be\nor to\n")
    output = tmp_path / "nowhere" / "output"
    run_program(program, [str(words), f"file://{output}"], ProgramExecutor(), Topics(), tmp_path / "out" / "files")
    assert capsys.readouterr().out == "to=1\nbe=1\nor=1\nto=2\n"
    assert not output.exists()
    written = tmp_path / "out" / "files" / output.relative_to("/") / "counts-0-0.txt"
    assert written.read_text() == "to=1\nbe=1\nor=1\nto=2\n"


def test_without_a_folder_of_the_run_files_are_where_the_program_says(tmp_path: Path) -> None:
    program, words = tmp_path / "program.py", tmp_path / "words.txt"
    program.write_text(WORD_COUNT)
    words.write_text("to\n")
    run_program(program, [str(words), str(tmp_path / "output")], ProgramExecutor())
    assert (tmp_path / "output" / "counts-0-0.txt").read_text() == "to=1\n"


TUPLES = """
import sys
from pyflink.common import Encoder, Types
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import BucketAssigner, FileSink

env = StreamExecutionEnvironment.get_execution_environment()
sink = FileSink.for_row_format(sys.argv[1], Encoder.simple_string_encoder())
tuples = env.from_collection([("hi", 1.0)], Types.TUPLE([Types.STRING(), Types.DOUBLE()]))
tuples.sink_to(sink.with_bucket_assigner(BucketAssigner.base_path_bucket_assigner()).build())
env.execute()
"""


def test_values_of_a_declared_type_are_written_as_java_writes_them(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(TUPLES)
    run_program(tmp_path / "program.py", [str(tmp_path / "output")], ProgramExecutor())
    assert (tmp_path / "output" / "part-0-0").read_text() == "(hi,1.0)\n"


CSV = """
import sys
from pyflink.common import WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSource
from pyflink.datastream.formats.csv import CsvReaderFormat, CsvSchema
from pyflink.table import DataTypes
from pyflink.table.types import DataTypes as SameTypes

schema = CsvSchema.builder().add_number_column("id", number_type=DataTypes.INT()).add_string_column("name")
schema = schema.add_array_column("list", ",", element_type=SameTypes.SMALLINT()).set_column_separator("|").build()
source = FileSource.for_record_stream_format(CsvReaderFormat.for_schema(schema), sys.argv[1]).build()
env = StreamExecutionEnvironment.get_execution_environment()
env.from_source(source, WatermarkStrategy.no_watermarks(), "csv").map(lambda row: (row.id, row.name, row["list"])).print()
env.execute("csv")
print(DataTypes.ROW([]))
"""


def test_csv_is_read_with_the_types_of_a_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rows.py").write_text(CSV)
    (tmp_path / "in.csv").write_text("1|a|7,8\n2|b|\n")
    with pytest.raises(BadInput, match=r"rows\.py:16: DataTypes\.ROW"):
        run_program(tmp_path / "rows.py", [str(tmp_path / "in.csv")], ProgramExecutor())
    assert capsys.readouterr().out == "(1, 'a', [7, 8])\n(2, 'b', [])\n"

"""FileSource reads the lines of files, each file as a split that a reader requests."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from flowsim.cluster.failures import FailTask
from flowsim.connectors.file_system.source import FileSource, StreamFormat
from flowsim.connectors.memory import CollectSink
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.common import Duration, Types, WatermarkStrategy
from flowsim.errors import BadInput
from flowsim.graph.checkpoint_settings import FixedDelayRestart
from flowsim.units import NS_PER_MS


def lines(source: FileSource, parallelism: int = 1) -> tuple[list[object], bool]:
    env = StreamExecutionEnvironment.get_execution_environment().configure(parallelism=parallelism)
    sink = CollectSink()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "lines")
    assert stream.get_type() == Types.STRING()
    stream.sink_to(sink).set_parallelism(1)
    result = env.execute()
    return list(sink.values()), result.is_idle


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "below").mkdir()
    (tmp_path / "a.txt").write_bytes(b"one\r\n\ntwo")
    (tmp_path / "below" / "b.txt.gz").write_bytes(gzip.compress("dr\u00e9i\n".encode()))
    for hidden in (".c.txt", "_c.txt"):
        (tmp_path / hidden).write_text("hidden\n")
    return tmp_path


@pytest.mark.parametrize("parallelism", [1, 3])
def test_lines_of_all_files_are_read_once(folder: Path, parallelism: int) -> None:
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(folder)).build()
    values, is_idle = lines(source, parallelism)
    assert sorted(map(str, values)) == ["", "dr\u00e9i", "one", "two"]
    assert (parallelism > 1 or values == ["one", "", "two", "dr\u00e9i"], is_idle) == (True, False)


def test_files_are_named_one_by_one_with_their_character_set(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes("\u00e9\n".encode("latin-1"))
    text = StreamFormat.text_line_format("ISO-8859-1")
    path = str(tmp_path / "a")
    assert lines(FileSource.for_record_stream_format(text, path, f"file://{path}").build())[0] == ["\u00e9"]
    assert lines(FileSource.for_record_stream_format(StreamFormat.text_line_format(), path).build())[0] == ["\ufffd"]


def test_monitored_folder_does_not_end_the_source(folder: Path) -> None:
    builder = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(folder))
    values, is_idle = lines(builder.monitor_continuously(Duration.of_seconds(1)).build(), 2)
    assert (len(values), is_idle) == (4, True)
    assert lines(builder.process_static_file_set().build())[1] is False


def test_restored_job_reads_each_line_once(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text("".join(f"{name}{n}\n" for n in range(20)))
    env = StreamExecutionEnvironment.get_execution_environment()
    env.enable_checkpointing(10)
    env.settings.restart_strategy = FixedDelayRestart(attempts=1, delay_ms=1)
    sink = CollectSink()
    source = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path)).build()
    env.from_source(source, WatermarkStrategy.no_watermarks(), "lines").cost(NS_PER_MS).sink_to(sink)
    result = env.flowsim_settings(failures=(FailTask("Source: lines", at_ns=28 * NS_PER_MS),)).execute()
    assert result.restarts == 1
    assert list(sink.values()) == [f"{name}{n}" for name in "ab" for n in range(20)]


def test_wrong_paths_and_formats_are_refused(tmp_path: Path) -> None:
    text = StreamFormat.text_line_format()
    with pytest.raises(BadInput, match="none: cannot be read: No such file or directory"):
        FileSource.for_record_stream_format(text, str(tmp_path / "none")).build()
    with pytest.raises(BadInput, match="there is no file at "):
        FileSource.for_record_stream_format(text, str(tmp_path)).build()
    with pytest.raises(BadInput, match="flowsim has no file system 'hdfs'"):
        FileSource.for_record_stream_format(text, "hdfs://a/b").build()
    with pytest.raises(BadInput, match="expected a StreamFormat"):
        FileSource.for_record_stream_format("text", "a")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="use a StreamFormat, or ParquetSource"):
        FileSource.for_bulk_file_format(None, "a")
    with pytest.raises(BadInput, match="expected a Duration, got 5"):
        FileSource.for_record_stream_format(text, "a").monitor_continuously(5)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="expected the name of a character set such as UTF-8, got 'klingon'"):
        StreamFormat.text_line_format("klingon")

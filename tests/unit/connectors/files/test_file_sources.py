"""Sources of several files, distributed over the subtasks, each file with its own event time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flowsim.connectors.files.csv import CsvSource
from flowsim.connectors.files.file_sources import JsonLinesSource, ParquetSource
from flowsim.connectors.source import Source
from flowsim.errors import BadInput
from flowsim.operators.stream_operator import DataInputStatus


def parquet(folder: Path, *files: list[int]) -> Source:
    paths = []
    for i, numbers in enumerate(files):
        paths.append(folder / f"{i}.parquet")
        pq.write_table(pa.table({"n": pa.array(numbers, pa.int64())}), paths[-1])
    return ParquetSource(paths)


def json_lines(folder: Path, *files: list[int]) -> Source:
    paths = []
    for i, numbers in enumerate(files):
        paths.append(folder / f"{i}.jsonl")
        paths[-1].write_text("".join(f'{{"n": {n}}}\n' for n in numbers))
    return JsonLinesSource(paths, {"n": "long"})


def csv(folder: Path, *files: list[int]) -> Source:
    paths = []
    for i, numbers in enumerate(files):
        paths.append(folder / f"{i}.csv")
        paths[-1].write_text("\n".join(["n", *map(str, numbers)]) + "\n")
    return CsvSource(paths, {"n": "long"})


FORMATS = pytest.mark.parametrize("files_of", [parquet, json_lines, csv])


def numbers(elements: list[object]) -> list[object]:
    return [value[0] for value, _ in elements]  # type: ignore[misc, index]


@FORMATS
def test_file_i_is_read_by_subtask_i_modulo_parallelism(
    tmp_path: Path, subtask: Callable, files_of: Callable[..., Source]
) -> None:
    source = files_of(tmp_path, [1, 2], [3], [], [4, 5], [6])
    assert source.required_parallelism is None
    read = [numbers(subtask(source.create_reader(), index, 3).drain()) for index in range(3)]
    assert read == [[1, 2, 4, 5], [3, 6], []]


@FORMATS
def test_subtask_without_file_ends_at_once(tmp_path: Path, subtask: Callable, files_of: Callable[..., Source]) -> None:
    source = files_of(tmp_path, [1], [2])
    assert subtask(source.create_reader(), 2, 4).poll() is DataInputStatus.END_OF_DATA


@FORMATS
def test_batch_may_end_inside_file(tmp_path: Path, subtask: Callable, files_of: Callable[..., Source]) -> None:
    reading = subtask(files_of(tmp_path, [1, 2], [3]).create_reader())
    seen = []
    for _ in range(3):
        assert reading.poll(1) is DataInputStatus.MORE_AVAILABLE
        seen.append(numbers(reading.take()))
    assert seen == [[1], [2], [3]]
    assert reading.poll() is DataInputStatus.END_OF_DATA


@FORMATS
def test_params_have_file_names_without_folders(tmp_path: Path, files_of: Callable[..., Source]) -> None:
    source = files_of(tmp_path, [1], [2])
    names = [f"{i}.{source.kind}" for i in range(2)]
    assert source.params == {"files": names, "columns": ["n"]}


def test_constructor_checks_every_file(tmp_path: Path) -> None:
    first, second = tmp_path / "a.parquet", tmp_path / "b.parquet"
    pq.write_table(pa.table({"n": pa.array([1], pa.int64())}), first)
    pq.write_table(pa.table({"m": pa.array([1], pa.int64())}), second)
    with pytest.raises(BadInput, match=r"b\.parquet: no column 'n'"):
        ParquetSource([first, second])
    with pytest.raises(BadInput, match=r"c\.jsonl: cannot be read: No such file"):
        JsonLinesSource([tmp_path / "c.jsonl"], {"n": "long"})
    with pytest.raises(BadInput, match="expected at least one file, got none"):
        ParquetSource([])


def test_single_file_is_read_by_one_subtask_at_any_parallelism(tmp_path: Path, subtask: Callable) -> None:
    source = json_lines(tmp_path, [1, 2])
    assert numbers(subtask(source.create_reader(), 0, 2).drain()) == [1, 2]
    assert subtask(source.create_reader(), 1, 2).drain() == []


def test_split_by_of_several_csv_files_is_refused(tmp_path: Path) -> None:
    csv(tmp_path, [1], [2])
    with pytest.raises(BadInput, match="split_by distributes the rows of one file"):
        CsvSource([tmp_path / "0.csv", tmp_path / "1.csv"], {"n": "long"}, split_by="n")


def test_bad_line_of_second_file_is_refused_with_position(tmp_path: Path, subtask: Callable) -> None:
    source = json_lines(tmp_path, [1], [2])
    (tmp_path / "1.jsonl").write_text('{"n": "x"}\n')
    with pytest.raises(BadInput, match=r"1\.jsonl:1:7 key 'n': expected a long"):
        subtask(source.create_reader()).drain()


class Splits:
    """A reader's output that keeps what happened to splits, in order."""

    def __init__(self) -> None:
        self.happened: list[object] = []
        self.stop_after = 10**9

    def create_output_for_split(self, split_id: str) -> Splits:
        self.happened.append(("begin", Path(split_id).name))
        return self

    def release_output_for_split(self, split_id: str) -> None:
        self.happened.append(("end", Path(split_id).name))

    def collect_batch(self, values: object) -> bool:
        for value in values:  # type: ignore[attr-defined]
            self.happened.append(value[0])
            self.stop_after -= 1
            if self.stop_after == 0:
                return True
        return False


@FORMATS
def test_each_file_is_a_split_with_begin_and_end(
    tmp_path: Path, context: Callable, files_of: Callable[..., Source]
) -> None:
    source = files_of(tmp_path, [1], [], [2])
    reader, output = source.create_reader(), Splits()
    reader.open(context())
    assert reader.poll_next(output) is DataInputStatus.END_OF_DATA  # type: ignore[arg-type]
    names = [f"{i}.{source.kind}" for i in range(3)]
    assert output.happened == [
        ("begin", names[0]), 1, ("end", names[0]), ("begin", names[1]), ("end", names[1]), ("begin", names[2]), 2,
        ("end", names[2]),
    ]  # fmt: skip


def test_paused_split_stops_reading_of_later_splits(tmp_path: Path, context: Callable) -> None:
    reader, output = json_lines(tmp_path, [1, 2], [3]).create_reader(), Splits()
    first = str(tmp_path / "0.jsonl")
    output.stop_after = 1
    reader.open(context())
    assert reader.poll_next(output) is DataInputStatus.MORE_AVAILABLE  # type: ignore[arg-type]
    reader.pause_or_resume_splits([first], [])  # type: ignore[attr-defined]
    assert reader.poll_next(output) is DataInputStatus.NOTHING_AVAILABLE  # type: ignore[arg-type]
    reader.pause_or_resume_splits([], [first])  # type: ignore[attr-defined]
    assert reader.poll_next(output) is DataInputStatus.END_OF_DATA  # type: ignore[arg-type]
    assert [each for each in output.happened if isinstance(each, int)] == [1, 2, 3]

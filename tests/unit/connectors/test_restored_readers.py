"""A reader that is restored from a snapshot emits exactly what followed the snapshot (rule 12.111)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flowsim.connectors.files.csv import CsvSource
from flowsim.connectors.files.file_sources import JsonLinesSource, ParquetSource
from flowsim.connectors.generator import (
    Choice,
    GeneratorSource,
    JitteredTime,
    Normal,
    SequenceOf,
    UniformDouble,
    UniformInt,
)
from flowsim.connectors.memory import CollectionSource
from flowsim.connectors.script import ScriptedSource, end, idle, record, sleep, watermark
from flowsim.connectors.source import Source
from flowsim.errors import BadInput
from flowsim.operators.sources.source import SourceOperator
from flowsim.operators.sources.source_output import ReaderOutput
from flowsim.operators.stream_operator import DataInputStatus, OperatorContext
from flowsim.state.snapshots.snapshot_contexts import StateInitializationContext
from tests.support.checkpoints.coordinated_source import OneListState, Records

LETTERS = ["a", "b", "a", "c", "b", "a", "c", "c", "a", "b", "b"]


def collection(folder: Path) -> Source:
    return CollectionSource([[n] for n in range(11)])


def generator(folder: Path) -> Source:
    fields = {
        "id": SequenceOf(), "u": UniformInt(0, 9), "d": UniformDouble(0, 1), "n": Normal(0, 1),
        "c": Choice("xyz", [1, 2, 3]), "t": JitteredTime(0, 10, 30),
    }  # fmt: skip
    return GeneratorSource(11, fields, timestamp_field="t")


def paced_generator(folder: Path) -> Source:
    return GeneratorSource(11, {"id": SequenceOf(), "n": Normal(0, 1)}, pace_ns=UniformInt(500, 5_000))


def one_csv(folder: Path) -> Source:
    path = folder / "one.csv"
    path.write_text("k,n\n" + "".join(f"{letter},{n}\n" for n, letter in enumerate(LETTERS)))
    return CsvSource(path, {"k": "string", "n": "long"})


def grouped_csv(folder: Path) -> Source:
    one_csv(folder)
    return CsvSource(folder / "one.csv", {"k": "string", "n": "long"}, split_by="k")


def csv_files(folder: Path) -> Source:
    paths = []
    for name, numbers in (("0", range(4)), ("1", range(0)), ("2", range(4, 11))):
        paths.append(folder / f"{name}.csv")
        paths[-1].write_text("\n".join(["n", *map(str, numbers)]) + "\n")
    return CsvSource(paths, {"n": "long"})


def json_lines(folder: Path) -> Source:
    paths = [folder / "a.jsonl", folder / "b.jsonl"]
    paths[0].write_text("".join(f'{{"n": {n}}}\n\n' for n in range(5)))
    paths[1].write_text("".join(f'\n{{"n": {n}}}\n' for n in range(5, 11)))
    return JsonLinesSource(paths, {"n": "long"})


def parquet(folder: Path) -> Source:
    pq.write_table(pa.table({"n": pa.array(range(11), pa.int64())}), folder / "n.parquet", row_group_size=4)
    return ParquetSource(folder / "n.parquet")


def script(folder: Path) -> Source:
    return ScriptedSource(
        [
            record("a", 1, step=0), record("b"), watermark(1), sleep(3), idle(), record("c", 4, split="p0", step=5),
            idle(split="p0"), record("d", split="p1"), end(split="p0"), sleep(2), record("e", 9, step=7), idle(), end(),
            record("never"),
        ]
    )  # fmt: skip


SOURCES = pytest.mark.parametrize(
    "source_of",
    [
        collection, generator, paced_generator, one_csv, grouped_csv, csv_files, json_lines, parquet, script
    ],
)  # fmt: skip


def without_status(elements: Sequence[object]) -> list[object]:
    """A stream that was idle at the position is marked idle again."""
    return [element for element in elements if not isinstance(element, str)]


@SOURCES
def test_restored_reader_continues_at_every_position(
    tmp_path: Path, subtask: Callable, source_of: Callable[[Path], Source]
) -> None:
    source = source_of(tmp_path)
    undisturbed = subtask(source.create_reader(), seed=5).drain()
    assert len(undisturbed) >= 7
    running = subtask(source.create_reader(), seed=5)
    before: list[object] = []
    splits, done = running.snapshot(), False
    while not done:
        rest = subtask(source.create_reader(), seed=6, restored=splits).drain()
        assert without_status([*before, *rest]) == without_status(undisturbed)
        status = running.poll(1)
        done = status.name == "END_OF_DATA"
        if status.name == "NOTHING_AVAILABLE":
            running.clock.now_ns = running.operator.wake_time_ns
        before += running.take()
        splits = running.snapshot()
    assert subtask(source.create_reader(), restored=splits).drain() in ([], ["IDLE"])


@SOURCES
def test_reader_that_is_restored_without_splits_has_no_share(
    tmp_path: Path, subtask: Callable, source_of: Callable[[Path], Source]
) -> None:
    assert subtask(source_of(tmp_path).create_reader(), restored=[]).drain() == []


@SOURCES
def test_restored_state_of_another_source_is_refused(
    tmp_path: Path, subtask: Callable, source_of: Callable[[Path], Source]
) -> None:
    with pytest.raises(BadInput, match="it belongs to another source"):
        subtask(source_of(tmp_path).create_reader(), restored=[("else", "where")])


def rows(elements: Sequence[object]) -> list[object]:
    return [value for value, _ in elements]  # type: ignore[misc]


@pytest.mark.parametrize(("old", "new"), [(2, 1), (3, 2), (1, 3), (2, 4)])
@pytest.mark.parametrize("source_of", [generator, paced_generator, grouped_csv, csv_files, json_lines])
def test_splits_that_other_subtasks_restore_are_read_once(
    tmp_path: Path, subtask: Callable, source_of: Callable[[Path], Source], old: int, new: int
) -> None:
    source = source_of(tmp_path)
    running = [subtask(source.create_reader(), i, old) for i in range(old)]
    read: list[object] = []
    splits: list[object] = []
    for i, one in enumerate(running):
        one.poll(1 + i)
        read += rows(one.take())
        splits += one.snapshot()
    for i in range(new):
        read += rows(subtask(source.create_reader(), i, new, restored=splits[i::new]).drain())
    undisturbed = [row for i in range(old) for row in rows(subtask(source.create_reader(), i, old).drain())]
    assert sorted(map(repr, read)) == sorted(map(repr, undisturbed))


def test_groups_of_one_file_are_read_in_file_order_after_restore(tmp_path: Path, subtask: Callable) -> None:
    source = grouped_csv(tmp_path)
    name = str(tmp_path / "one.csv")
    reading = subtask(source.create_reader(), restored=[(name, ("a",), 6), (name, ("c",), 4), (name, ("b",), 10)])
    assert [number for _, number in rows(reading.drain())] == [6, 7, 8, 10]


def test_place_of_record_counts_from_start_of_file_after_restore(tmp_path: Path, subtask: Callable) -> None:
    for source, place in ((grouped_csv(tmp_path), "one.csv:8"), (json_lines(tmp_path), "b.jsonl:6")):
        split = (
            (str(tmp_path / "one.csv"), ("c",), 5) if isinstance(source, CsvSource) else (str(tmp_path / "b.jsonl"), 2)
        )
        reading = subtask(source.create_reader(), restored=[split])
        reading.poll(1)
        assert reading.operator.place_of_record() == place
        reading.operator.close()
        assert reading.operator.place_of_record() == place


def test_new_operator_of_restored_job_reads_its_share(context: Callable) -> None:
    """Rule 12.26: ``is_restored`` is true for it all the same."""
    for is_new, read in ((True, 3), (False, 0)):
        operator, emitted = SourceOperator(CollectionSource("abc").create_reader()), Records()
        operator.setup(context(), emitted)
        operator.initialize_state(
            StateInitializationContext(OneListState(), restored_checkpoint_id=3, is_new_operator=is_new)
        )
        operator.open()
        operator.poll_next()
        assert len(emitted.records) == read


def test_job_with_checkpoints_needs_reader_with_state(context: Callable) -> None:
    operator = SourceOperator(Stateless())
    operator.setup(context(), Records())
    with pytest.raises(
        BadInput, match="test: a job with checkpoints needs readers with the methods snapshot_state and"
    ):
        operator.initialize_state(StateInitializationContext(OneListState()))


class Stateless:
    """A reader of a user, for jobs without checkpoints."""

    hands_over = False
    wake_time_ns = None

    def open(self, ctx: OperatorContext) -> None: ...

    def poll_next(self, output: ReaderOutput) -> DataInputStatus:
        return DataInputStatus.END_OF_DATA

    def close(self) -> None: ...

"""Sinks with a committer lose nothing and write nothing twice, wherever their attempts fail (rules 12.30-12.34, 12.135)."""

from __future__ import annotations

import csv
import itertools
import json
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyarrow import dataset

from flowsim.connectors.databases.sqlite import SqliteSink
from flowsim.connectors.files.parquet import ParquetSink
from flowsim.connectors.files.part_files import FileSink
from flowsim.connectors.files.text_sinks import CsvSink, JsonLinesSink
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.sinks.committables.commit_request import CommitRequest
from flowsim.connectors.sinks.sink import DeliveryGuarantee, SupportsCommitter
from flowsim.errors import BadInput
from flowsim.operators.sink import InitContext
from tests.support.operators.sink_job import ReplayedInput, SinkJob

FIELDS = {"number": "long", "name": "string"}
VALUES = [[(subtask * 100 + i, f"value {i}") for i in range(5)] for subtask in range(2)]
ALL = sorted(value for values in VALUES for value in values)
STEPS = 40
"""Steps of an undisturbed run; a test checks the number."""

Rows = list[tuple[object, ...]]


def read_csv(path: Path) -> Rows:
    with path.open(newline="") as file:
        return [(int(number), name) for number, name in list(csv.reader(file))[1:]]


def read_jsonl(path: Path) -> Rows:
    return [tuple(json.loads(line).values()) for line in path.read_text().splitlines()]


def read_parquet(path: Path) -> Rows:
    return [tuple(row.values()) for row in pq.read_table(path).to_pylist()]


class Place:
    """A place for the output of a sink, outside of the sink's memory."""

    def __init__(self, folder: Path, delivery: DeliveryGuarantee = DeliveryGuarantee.EXACTLY_ONCE) -> None:
        self.folder = folder
        self.delivery = delivery

    def sink(self) -> SupportsCommitter:
        raise NotImplementedError

    def rows(self) -> Rows:
        """The rows that a reader sees now."""
        raise NotImplementedError

    def hidden(self) -> list[str]:
        """What is there and not visible."""
        return []


class Files(Place):
    kind: type[FileSink]
    read: Callable[[Path], Rows]

    def sink(self) -> FileSink:
        return self.kind(self.folder, FIELDS, delivery=self.delivery)

    def names(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir() if not path.name.startswith("."))

    def rows(self) -> Rows:
        return sorted(row for name in self.names() for row in type(self).read(self.folder / name))

    def hidden(self) -> list[str]:
        return sorted(path.name for path in self.folder.iterdir() if path.name.startswith("."))


class CsvFiles(Files):
    kind, read = CsvSink, staticmethod(read_csv)


class JsonLinesFiles(Files):
    kind, read = JsonLinesSink, staticmethod(read_jsonl)


class ParquetFiles(Files):
    kind, read = ParquetSink, staticmethod(read_parquet)


class Table(Place):
    """A table of a SQLite file."""

    def sink(self) -> SqliteSink:
        return SqliteSink(self.folder / "rows.sqlite", "rows", FIELDS, self.delivery, batch_rows=2)

    def rows(self) -> Rows:
        return self._selected("SELECT * FROM rows ORDER BY number")

    def hidden(self) -> list[str]:
        return [str(row) for row in self._selected("SELECT * FROM flowsim_staged_rows")]

    def _selected(self, query: str) -> Rows:
        with closing(sqlite3.connect(self.folder / "rows.sqlite")) as connection:
            return connection.execute(query).fetchall()


class Memory(Place):
    def __init__(self, folder: Path, delivery: DeliveryGuarantee = DeliveryGuarantee.EXACTLY_ONCE) -> None:
        super().__init__(folder, delivery)
        self.collected = CollectSink(delivery)

    def sink(self) -> CollectSink:
        return self.collected

    def rows(self) -> Rows:
        return sorted(self.collected.values())  # type: ignore[type-var]

    def hidden(self) -> list[str]:
        return [str(key) for key in self.collected._staged]


PLACES = [CsvFiles, JsonLinesFiles, ParquetFiles, Memory, Table]


@pytest.fixture(params=PLACES, ids=lambda place: place.__name__)
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Place]:
    """Returns an empty place at each call."""
    numbers = itertools.count()
    return lambda: request.param(tmp_path / str(next(numbers)))


@pytest.fixture
def place(new_place: Callable[[], Place]) -> Place:
    return new_place()


def test_undisturbed_run_writes_every_row_once(place: Place) -> None:
    assert ReplayedInput(place.sink, VALUES).run() == STEPS
    assert (place.rows(), place.hidden()) == (ALL, [])


def test_rows_become_visible_when_their_checkpoint_is_notified(place: Place) -> None:
    job = SinkJob(place.sink)
    job.subtasks[0].write((1, "a"), (2, "b"))
    assert place.rows() == []
    job.completed = job.snapshot(1)
    assert place.rows() == []
    job.subtasks[0].write((3, "c"))
    job.notify(1)
    assert place.rows() == [(1, "a"), (2, "b")]
    job.close()
    assert place.rows() == [(1, "a"), (2, "b")]
    assert place.hidden() == []


def test_crash_after_any_step_changes_no_output(new_place: Callable[[], Place]) -> None:
    for step in range(1, STEPS + 1):
        place = new_place()
        ReplayedInput(place.sink, VALUES).run([step])
        assert (place.rows(), place.hidden()) == (ALL, []), step


def test_second_crash_during_the_recovery_changes_no_output(new_place: Callable[[], Place]) -> None:
    for step in range(1, STEPS + 1, 3):
        for further in (1, 6, 15):
            place = new_place()
            ReplayedInput(place.sink, VALUES).run([step, step + further])
            assert (place.rows(), place.hidden()) == (ALL, []), (step, further)


def test_rows_of_an_aborted_checkpoint_are_committed_with_the_next_one(new_place: Callable[[], Place]) -> None:
    for crash in (0, 7, 10, 13, 16, 19):
        place = new_place()
        ReplayedInput(place.sink, VALUES, aborted=[1, 3, 4]).run([crash])
        assert (place.rows(), place.hidden()) == (ALL, []), crash


def test_reader_sees_only_rows_of_completed_checkpoints(new_place: Callable[[], Place]) -> None:
    for crash in (12, 19):
        place = new_place()

        def look() -> None:
            rows, completed = place.rows(), replayed.job.completed  # noqa: B023
            assert len(rows) == len(set(rows))
            positions = [0, 0] if completed is None else completed.positions
            allowed = [row for values, position in zip(VALUES, positions, strict=True) for row in values[:position]]
            assert set(rows) <= set(allowed)

        replayed = ReplayedInput(place.sink, VALUES, after_step=look)
        replayed.run([crash])


def test_rescaled_job_commits_what_its_old_subtasks_staged(new_place: Callable[[], Place]) -> None:
    for old, new in ((3, 1), (2, 3)):
        place = new_place()
        job = SinkJob(place.sink, parallelism=old)
        for index, subtask in enumerate(job.subtasks):
            subtask.write((index, "first"))
        job.checkpoint(1, notify=False)
        for subtask in job.subtasks:
            subtask.write((9, "lost"))
        job.fail(parallelism=new)
        for index, subtask in enumerate(job.subtasks):
            subtask.write((index, "second"))
        job.finish(2)
        expected = [(index, "first") for index in range(old)] + [(index, "second") for index in range(new)]
        assert (place.rows(), place.hidden()) == (sorted(expected), [])


def test_crash_within_a_commit_of_several_checkpoints_changes_no_output(
    new_place: Callable[[], Place], monkeypatch: pytest.MonkeyPatch
) -> None:
    place = new_place()
    commits = place.sink().create_committer(InitContext("sink", 0, 1)).__class__
    commit, calls = commits.commit, itertools.count(1)

    def failing(self: object, requests: Sequence[CommitRequest[object]]) -> None:
        if next(calls) == 2:
            raise OSError("no space left")
        commit(self, requests)  # type: ignore[arg-type]

    monkeypatch.setattr(commits, "commit", failing)
    job = SinkJob(place.sink)
    job.subtasks[0].write((1, "a"))
    job.snapshot(1)
    job.subtasks[0].write((2, "b"))
    with pytest.raises(OSError, match="no space left"):
        job.checkpoint(2)
    assert place.rows() == [(1, "a")]
    job.fail()
    assert (place.rows(), place.hidden()) == ([(1, "a"), (2, "b")], [])


def test_at_least_once_delivery_shows_rows_before_their_checkpoint_and_again_after_a_crash(
    request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    for number, kind in enumerate(PLACES):
        place = kind(tmp_path / str(number), DeliveryGuarantee.AT_LEAST_ONCE)
        job = SinkJob(place.sink)
        job.subtasks[0].write((1, "a"))
        job.checkpoint(1)
        job.subtasks[0].write((2, "b"))
        job.snapshot(2)
        assert place.rows() == [(1, "a"), (2, "b")]
        job.subtasks[0].write((3, "c"))
        job.fail()
        assert place.rows() == [(1, "a"), (2, "b"), (3, "c")]
        job.subtasks[0].write((2, "b"), (3, "c"))
        job.finish(3)
        assert (place.rows(), place.hidden()) == ([(1, "a"), (2, "b"), (2, "b"), (3, "c"), (3, "c")], [])


def test_names_of_files_have_the_subtask_and_the_checkpoint_before_them(tmp_path: Path) -> None:
    place = CsvFiles(tmp_path)
    ReplayedInput(place.sink, VALUES).run([13])
    assert place.names() == [
        "part-0-1.csv",
        "part-0-2.csv",
        "part-0-3.csv",
        "part-1-1.csv",
        "part-1-2.csv",
        "part-1-3.csv",
    ]


def test_readers_of_folders_skip_files_in_progress(tmp_path: Path) -> None:
    place = ParquetFiles(tmp_path)
    job = SinkJob(place.sink)
    for number in (1, 2):
        job.subtasks[0].write((number, "a"))
        job.checkpoint(number)
    job.subtasks[0].write((3, "a"))
    job.snapshot(3)
    job.subtasks[0].write((4, "a"))
    assert len(place.hidden()) == 2
    # As Spark does, Arrow skips names that start with a dot.
    assert dataset.dataset(tmp_path, format="parquet").to_table().to_pylist() == [
        {"number": 1, "name": "a"},
        {"number": 2, "name": "a"},
    ]
    job.close()


def test_new_run_removes_the_files_of_an_earlier_one(tmp_path: Path) -> None:
    for name in (
        "part-0.csv",
        "part-0-7.csv",
        "part-5-2.csv",
        ".part-0-9.csv.inprogress",
        "part-0-1-2.csv",
        "notes.txt",
    ):
        (tmp_path / name).write_text("old")
    place = CsvFiles(tmp_path)
    job = SinkJob(place.sink)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["notes.txt"]
    job.close()


def test_restore_from_a_savepoint_keeps_the_files_up_to_it(tmp_path: Path) -> None:
    place = CsvFiles(tmp_path)
    job = SinkJob(place.sink)
    for number in (1, 2, 3):
        job.subtasks[0].write((number, "a"))
        job.checkpoint(number)
        if number == 2:
            savepoint = job.completed
    job.close()
    job.completed, job.attempt = savepoint, -1
    job.fail()  # a new run, whose attempt 0 starts from the savepoint
    assert place.names() == ["part-0-1.csv", "part-0-2.csv"]
    job.close()


def test_committable_whose_file_is_in_another_folder_is_ignored(tmp_path: Path) -> None:
    job = SinkJob(CsvFiles(tmp_path / "old").sink)
    job.subtasks[0].write((1, "a"))
    job.checkpoint(1, notify=False)
    job._sink, job.attempt = CsvFiles(tmp_path / "new").sink, -1
    job.fail()
    job.subtasks[0].write((2, "b"))
    job.finish(2)
    assert CsvFiles(tmp_path / "new").rows() == [(2, "b")]


def test_committables_of_another_sink_are_refused(tmp_path: Path) -> None:
    for sink in (CsvFiles(tmp_path).sink(), CollectSink(), Table(tmp_path).sink()):
        committer = sink.create_committer(InitContext("sink", 0, 1))
        with pytest.raises(BadInput, match="the state belongs to another sink"):
            committer.commit([CommitRequest({"table": "t"})])


def test_rows_are_counted_when_their_file_is_visible(tmp_path: Path) -> None:
    for delivery, rows in ((DeliveryGuarantee.EXACTLY_ONCE, 10), (DeliveryGuarantee.AT_LEAST_ONCE, 11)):
        sink = CsvFiles(tmp_path, delivery).sink()
        ReplayedInput(lambda: sink, VALUES).run([12])  # noqa: B023
        assert sink.committed_rows == rows

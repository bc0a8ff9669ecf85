"""Sinks of whole jobs with checkpoints and failures: the output equals that of the undisturbed job (rule 12.135)."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from flowsim.cluster.failures import FailTask, LoseJobManager, RunFailure
from flowsim.cluster.run_actions import StopJob, StopWithSavepoint
from flowsim.connectors.databases.sqlite import SqliteSink
from flowsim.connectors.files.parquet import ParquetSink
from flowsim.connectors.files.text_sinks import CsvSink, JsonLinesSink
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import ScriptedSource
from flowsim.connectors.script_entries import record, sleep
from flowsim.connectors.sinks.committables.commit_request import CommitRequest
from flowsim.connectors.sinks.sink import DeliveryGuarantee, Sink
from flowsim.datastream.common import WatermarkStrategy
from flowsim.datastream.environment import StreamExecutionEnvironment
from flowsim.errors import JobFailed
from flowsim.graph.checkpoint_settings import CheckpointSettings, FixedDelayRestart, NoRestart
from flowsim.laws.law import Verdict
from flowsim.operators.sink import InitContext
from flowsim.testing import run_job
from tests.unit.connectors.sinks.test_exactly_once_sinks import FIELDS, CsvFiles, Files, JsonLinesFiles, ParquetFiles
from tests.unit.connectors.sinks.test_sink_operators import ListSink

ROWS = [(number, f"value {number}") for number in range(30)]
FAILURES = [(7,), (13, 29), (2, 3, 4)]
"""The numbers of the calls of the map that fail, counted over all attempts."""


def job(sink: Sink, failing_calls: Sequence[int] = (), *, restarts: int = 5) -> StreamExecutionEnvironment:
    """Every 5 ms a row reaches one of two writers at once; a checkpoint is taken every 20 ms."""
    env = StreamExecutionEnvironment.get_execution_environment().set_buffer_timeout(0)
    env.settings.checkpointing = CheckpointSettings(interval_ms=20)
    env.settings.restart_strategy = FixedDelayRestart(attempts=restarts, delay_ms=1) if restarts else NoRestart()
    calls = 0

    def fail(row: object) -> object:
        nonlocal calls
        calls += 1
        if calls in failing_calls:
            raise OSError("the machine has failed")
        return row

    source = ScriptedSource([entry for row in ROWS for entry in (record(row), sleep(5))])
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "rows").map(fail)
    stream.rebalance().sink_to(sink).name("out").set_parallelism(2)
    return env


@pytest.mark.parametrize("failing_calls", FAILURES, ids=str)
@pytest.mark.parametrize("files", [CsvFiles, JsonLinesFiles, ParquetFiles], ids=lambda kind: kind.__name__)
def test_files_of_a_failing_job_have_every_row_once(
    tmp_path: Path, files: type[Files], failing_calls: Sequence[int]
) -> None:
    place = files(tmp_path)
    sink = place.sink()
    job(sink, failing_calls).execute()
    assert (place.rows(), place.hidden(), sink.committed_rows) == (ROWS, [], len(ROWS))


@pytest.mark.parametrize("failing_calls", FAILURES, ids=str)
def test_table_of_a_failing_job_has_every_row_once(tmp_path: Path, failing_calls: Sequence[int]) -> None:
    sink = SqliteSink(tmp_path / "rows.sqlite", "rows", FIELDS)
    job(sink, failing_calls).execute()
    with closing(sqlite3.connect(tmp_path / "rows.sqlite")) as connection:
        assert connection.execute("SELECT * FROM rows ORDER BY number").fetchall() == ROWS
        assert connection.execute("SELECT count(*) FROM flowsim_staged_rows").fetchone() == (0,)
    assert sink.committed_rows == len(ROWS)


@pytest.mark.parametrize("failing_calls", FAILURES, ids=str)
def test_collected_results_of_a_failing_job_have_every_row_once(failing_calls: Sequence[int]) -> None:
    sink = CollectSink()
    run = run_job(job(sink, failing_calls))
    assert sorted(sink.values()) == sorted(run.values("out")) == ROWS  # type: ignore[type-var]


PLACES_OF_FAILURE: list[tuple[RunFailure, ...]] = [
    (FailTask("out", 1, in_snapshot=3),),
    (FailTask("Source: rows", in_snapshot=3),),
    (FailTask("out", 0, in_notification=3),),
    (FailTask("Source: rows", in_notification=2),),
    (FailTask("out", 1, at_record=0),),
    (FailTask("out", 1, at_record=6), FailTask("out", 0, at_record=0, attempt=1)),
    (FailTask("out", 0, in_notification=2), FailTask("out", 0, in_snapshot=4, attempt=1)),
    (FailTask("out", 0, at_ns=61_000_000), FailTask("Source: rows", 0, at_ns=62_500_000, attempt=1)),
    (FailTask("out", 0, in_snapshot=8),),
    (FailTask("out", 1, in_notification=9), FailTask("out", 1, in_notification=8)),
    (LoseJobManager(70_000_000),),
]


@pytest.mark.parametrize("failures", PLACES_OF_FAILURE, ids=str)
def test_failures_at_any_place_change_no_output(tmp_path: Path, failures: tuple[RunFailure, ...]) -> None:
    place, collected = CsvFiles(tmp_path), CollectSink()
    for sink in (place.sink(), collected):
        job(sink).flowsim_settings(failures=failures).execute()
    assert (place.rows(), place.hidden()) == (ROWS, [])
    assert sorted(collected.values()) == ROWS  # type: ignore[type-var]


def test_committers_in_tasks_of_their_own_commit_every_row_once(tmp_path: Path) -> None:
    place = CsvFiles(tmp_path)
    env = job(place.sink()).disable_operator_chaining()
    failures = (FailTask("out: Committer", 1, in_notification=2), FailTask("out", 0, at_record=3, attempt=1))
    env.flowsim_settings(failures=failures).execute()
    assert (place.rows(), place.hidden()) == (ROWS, [])


def test_restart_of_one_region_keeps_the_files_of_the_others(tmp_path: Path) -> None:
    place = CsvFiles(tmp_path)
    env = StreamExecutionEnvironment.get_execution_environment().set_buffer_timeout(0)
    env.settings.checkpointing = CheckpointSettings(interval_ms=20)
    env.settings.restart_strategy = FixedDelayRestart(attempts=2, delay_ms=1)
    scripts = [[entry for row in ROWS[half::2] for entry in (record(row), sleep(5))] for half in (0, 1)]
    source = ScriptedSource(*scripts)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "rows").set_parallelism(2)
    stream.sink_to(place.sink()).name("out").set_parallelism(2).disable_chaining()
    failures = (FailTask("out", 1, at_record=9), FailTask("out", 1, in_notification=4, attempt=1))
    env.flowsim_settings(failures=failures).execute()
    assert (place.rows(), place.hidden()) == (ROWS, [])


@pytest.mark.parametrize("drain", [False, True])
def test_stopped_job_commits_all_rows_before_the_stop(tmp_path: Path, drain: bool) -> None:
    place = CsvFiles(tmp_path)
    job(place.sink()).flowsim_settings(actions=(StopJob(72_000_000, drain),)).execute()
    assert (place.rows(), place.hidden()) == (ROWS[:15], [])


@pytest.mark.parametrize("drain", [False, True])
def test_stop_with_savepoint_commits_all_rows_before_it(tmp_path: Path, drain: bool) -> None:
    place = CsvFiles(tmp_path)
    job(place.sink()).flowsim_settings(actions=(StopWithSavepoint(72_000_000, drain),)).execute()
    assert place.hidden() == []
    assert place.rows() == ROWS[:15]


def test_action_with_savepoint_gives_a_job_without_settings_a_committer(tmp_path: Path) -> None:
    place = CsvFiles(tmp_path)
    env = job(place.sink())
    env.settings.checkpointing = None
    env.flowsim_settings(actions=(StopWithSavepoint(72_000_000),)).execute()
    assert (place.rows(), place.names()) == (ROWS[:15], ["part-0-1.csv", "part-1-1.csv"])


def test_run_until_a_time_keeps_the_rows_of_completed_checkpoints(tmp_path: Path) -> None:
    place = CsvFiles(tmp_path)
    job(place.sink()).flowsim_settings(until_ns=72_000_000).execute()
    assert place.hidden() == []
    assert place.rows() == ROWS[: len(place.rows())]
    assert 8 <= len(place.rows()) < 15


def test_at_least_once_sinks_show_the_rows_that_are_replayed(tmp_path: Path) -> None:
    collected = CollectSink(DeliveryGuarantee.AT_LEAST_ONCE)
    job(collected, [11]).execute()
    files = CsvFiles(tmp_path / "files", DeliveryGuarantee.AT_LEAST_ONCE)
    job(files.sink(), [11]).execute()
    table = SqliteSink(tmp_path / "rows.sqlite", "rows", FIELDS, DeliveryGuarantee.AT_LEAST_ONCE)
    job(table, [11]).execute()
    with closing(sqlite3.connect(tmp_path / "rows.sqlite")) as connection:
        inserted = connection.execute("SELECT * FROM rows ORDER BY number").fetchall()
    rows = sorted(collected.values())  # type: ignore[type-var]
    assert rows == files.rows() == inserted
    assert sorted(set(rows)) == ROWS
    assert len(rows) > len(ROWS)


def test_failed_job_keeps_the_rows_of_its_completed_checkpoints(tmp_path: Path) -> None:
    place = CsvFiles(tmp_path)
    with pytest.raises(JobFailed):
        job(place.sink(), [15], restarts=0).execute()
    assert place.hidden() == []
    assert 0 < len(place.rows()) < 15
    assert place.rows() == ROWS[: len(place.rows())]


class GlobalSink(ListSink):
    """Also has a committer for all subtasks, which adds to ``last``."""

    def __init__(self) -> None:
        super().__init__()
        self.last: list[object] = []

    def create_global_committer(self, context: InitContext) -> LastCommitter:
        return LastCommitter(self)


class LastCommitter:
    def __init__(self, sink: GlobalSink) -> None:
        self.sink = sink

    def commit(self, requests: Sequence[CommitRequest[object]]) -> None:
        self.sink.last += [request.committable for request in requests]

    def close(self) -> None: ...


@pytest.mark.parametrize("failing_calls", [(), (13,)], ids=str)
def test_global_committer_lacks_only_what_the_final_checkpoint_commits(failing_calls: Sequence[int]) -> None:
    sink = GlobalSink()
    job(sink, failing_calls).execute()
    # A restore commits the committables of its checkpoint again, in both committers (rule 12.135).
    once = {str(committable): committable for committable in sink.committed}
    assert sorted(row for _, *rows in once.values() for row in rows) == ROWS  # type: ignore[misc]
    # The committers send the committables of the final checkpoint after EndOfData (rules 4.11, 12.94).
    final = sink.committed[-2:]
    assert sorted(map(str, [*sink.last, *final])) == sorted(map(str, sink.committed))


@pytest.mark.parametrize("actions", [(), (StopWithSavepoint(40_000_000),)], ids=["drained", "stopped"])
def test_job_with_global_committer_violates_no_law(actions: tuple[StopWithSavepoint, ...]) -> None:
    run = run_job(job(GlobalSink()), actions=actions)
    assert [each.law for each in run.outcomes if each.verdict is Verdict.VIOLATED] == []


@pytest.mark.parametrize(
    "make", [lambda at: CsvSink(at, FIELDS), lambda at: JsonLinesSink(at, FIELDS), lambda at: ParquetSink(at, FIELDS)]
)
def test_job_without_checkpoints_writes_one_file_per_subtask(make: Callable[[Path], Sink], tmp_path: Path) -> None:
    env = job(make(tmp_path))
    env.settings.checkpointing = None
    env.settings.restart_strategy = None
    env.execute()
    assert [path.stem for path in sorted(tmp_path.iterdir())] == ["part-0", "part-1"]

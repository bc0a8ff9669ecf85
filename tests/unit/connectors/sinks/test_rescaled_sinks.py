"""Sinks of jobs that continue from savepoints with another parallelism: no row is lost or written twice (12.133, 12.135)."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.cluster.failures import FailTask
from flowsim.cluster.run_actions import CancelJob, RunAction, StopWithSavepoint, TriggerSavepoint
from flowsim.connectors.script import ScriptedSource
from flowsim.connectors.script_entries import record, sleep
from flowsim.connectors.sinks.sink import SupportsCommitter
from flowsim.datastream.common import WatermarkStrategy
from flowsim.datastream.environment import StreamExecutionEnvironment
from flowsim.graph.checkpoint_settings import CheckpointSettings, FixedDelayRestart, SavepointRestoreSettings
from flowsim.units import NS_PER_MS
from tests.unit.connectors.sinks.test_exactly_once_sinks import CsvFiles, JsonLinesFiles, ParquetFiles, Place, Table

ROWS = [(number, f"value {number}") for number in range(30)]
PLACES = [CsvFiles, JsonLinesFiles, ParquetFiles, Table]


def run(
    sink: SupportsCommitter,
    parallelism: int,
    savepoint: str | None,
    *actions: RunAction,
    failures: tuple[FailTask, ...] = (),
    interval_ms: int | None = 20,
) -> str | None:
    """Every 5 ms a row reaches one of the writers, with periodic checkpoints; returns the path of the savepoint."""
    env = StreamExecutionEnvironment.get_execution_environment().set_buffer_timeout(0)
    env.settings.checkpointing = CheckpointSettings(interval_ms)
    env.settings.restart_strategy = FixedDelayRestart(attempts=3, delay_ms=1)
    source = ScriptedSource([entry for row in ROWS for entry in (record(row), sleep(5))])
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "rows").uid("rows").rebalance()
    stream.sink_to(sink).name("out").uid("out").set_parallelism(parallelism)
    restore = None if savepoint is None else SavepointRestoreSettings(savepoint)
    result = env.flowsim_settings(actions=actions, failures=failures, savepoint=restore).execute()
    taken = [each.path for each in result.requested_snapshots]
    return taken[0] if taken else None


@pytest.fixture(params=PLACES, ids=lambda place: place.__name__)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    made: Place = request.param(tmp_path / "out")
    return made


@pytest.mark.parametrize("parallelisms", [(2, 3, 1), (1, 2, 4), (3, 3, 2)], ids=str)
def test_runs_that_continue_from_savepoints_write_every_row_once(
    place: Place, tmp_path: Path, parallelisms: tuple[int, int, int]
) -> None:
    """The second and the third run also recover from a failure."""
    first, second, third = parallelisms
    stop = StopWithSavepoint(48 * NS_PER_MS, directory=str(tmp_path / "savepoints"))
    savepoint = run(place.sink(), first, None, stop)
    assert place.rows() == ROWS[:10]
    savepoint = run(place.sink(), second, savepoint, stop, failures=(FailTask("out", at_ns=23 * NS_PER_MS),))
    assert 10 < len(place.rows()) < 25
    run(place.sink(), third, savepoint, failures=(FailTask("Source: rows", at_ns=31 * NS_PER_MS),))
    assert (place.rows(), place.hidden()) == (ROWS, [])


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_restore_commits_what_a_savepoint_of_a_canceled_job_contains(
    place: Place, tmp_path: Path, parallelism: int
) -> None:
    """A savepoint of a running job commits nothing (rule 12.51); its rows become visible with the restore."""
    savepoint = TriggerSavepoint(52 * NS_PER_MS, str(tmp_path / "savepoints"))
    path = run(place.sink(), 2, None, savepoint, CancelJob(58 * NS_PER_MS), interval_ms=None)
    assert place.rows() == []
    run(place.sink(), parallelism, path)
    assert (place.rows(), place.hidden()) == (ROWS, [])


def test_restore_from_an_earlier_savepoint_removes_later_files_but_no_rows_of_tables(
    place: Place, tmp_path: Path
) -> None:
    path = run(place.sink(), 2, None, TriggerSavepoint(52 * NS_PER_MS, str(tmp_path / "savepoints")))
    assert place.rows() == ROWS
    run(place.sink(), 3, path)
    repeated = ROWS[11:] if isinstance(place, Table) else []
    assert place.rows() == sorted([*ROWS, *repeated])

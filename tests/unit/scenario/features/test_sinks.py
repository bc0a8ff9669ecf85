"""Sinks of scenarios: kinds, delivery, and the rows that they report with and without checkpoints."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from flowsim.cluster.job_execution import JobStatus
from flowsim.errors import BadInput
from flowsim.graph.checkpoint_settings import CheckpointSettings, NoRestart
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_text
from flowsim.scenario.runner import ScenarioRun, run_compiled

TICKS = """\
flowsim: 1
name: ticks
settings: {record: "off"}
sources:
  ticks: {generator: {fields: {n: {sequence: {}}}, count: 20, pace: 10 ms}, buffer_timeout: 0 ms}
operators:
  shares: {input: ticks, map: {add: {share: 100 / (FAILS_AT - n)}}}
sinks:
"""
SINKS = """\
  files: {input: shares, csv: {}, parallelism: 2, partition: rebalance}
  table: {input: shares, sqlite: {}}
  again: {input: shares, jsonl: {}, delivery: at_least_once}
  results: {input: shares, collect: {}}
  shown: {input: shares, print: {}}
"""


def run(out: Path, *, sinks: str = SINKS, interval_ms: int | None = None, fails_at: int = 1000) -> ScenarioRun:
    text = (TICKS + sinks).replace("FAILS_AT", str(fails_at))
    compiled = compile_scenario(load_text(text, "ticks.yaml", out), out_dir=out)
    if interval_ms is not None:
        compiled.env.settings.checkpointing = CheckpointSettings(interval_ms=interval_ms)
        compiled.env.settings.restart_strategy = NoRestart()
    return run_compiled(compiled, out=out)


def rows_of(done: ScenarioRun) -> dict[str, int]:
    return {sink.name: sink.rows for sink in done.sinks}


def parts(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def rows_in_table(out: Path) -> int:
    with closing(sqlite3.connect(out / "sinks/table/rows.sqlite")) as connection:
        (count,) = connection.execute('SELECT count(*) FROM "table"').fetchone()
    return int(count)


def test_all_sinks_have_all_rows_without_checkpoints(tmp_path: Path) -> None:
    done = run(tmp_path)
    assert rows_of(done) == dict.fromkeys(("files", "table", "again", "results", "shown"), 20)
    assert parts(tmp_path / "sinks/files") == ["part-0.csv", "part-1.csv"]
    assert rows_in_table(tmp_path) == 20


def test_all_sinks_have_all_rows_with_checkpoints(tmp_path: Path) -> None:
    done = run(tmp_path, interval_ms=50)
    assert rows_of(done) == dict.fromkeys(("files", "table", "again", "results", "shown"), 20)
    assert parts(tmp_path / "sinks/files")[:2] == ["part-0-1.csv", "part-0-2.csv"]
    assert rows_in_table(tmp_path) == 20
    (results,) = (sink for sink in done.sinks if sink.records is not None)
    assert len(results.records or ()) == 20


def test_failed_job_reports_and_keeps_the_rows_of_completed_checkpoints(tmp_path: Path) -> None:
    done = run(tmp_path, interval_ms=50, fails_at=15)
    rows = rows_of(done)
    assert done.result.status is JobStatus.FAILED
    assert (rows["again"], rows["shown"]) == (15, 15)
    assert 0 < rows["files"] == rows["table"] == rows["results"] == rows_in_table(tmp_path) < 15
    assert all(sink.is_kept for sink in done.sinks)


def test_failed_job_without_checkpoints_keeps_no_rows(tmp_path: Path) -> None:
    done = run(tmp_path, fails_at=15)
    assert rows_of(done)["table"] == 15
    assert not any(sink.is_kept for sink in done.sinks)
    assert parts(tmp_path / "sinks/files") == []
    assert rows_in_table(tmp_path) == 0


def test_next_run_replaces_the_output_of_all_sinks(tmp_path: Path) -> None:
    run(tmp_path, interval_ms=50)
    run(tmp_path, sinks="  files: {input: shares, csv: {}}\n")
    assert parts(tmp_path / "sinks") == ["files"]
    assert parts(tmp_path / "sinks/files") == ["part-0.csv"]
    run(tmp_path)
    run(tmp_path)
    assert rows_in_table(tmp_path) == 20


@pytest.mark.parametrize(
    ("sinks", "message"),
    [
        ("  out: {input: shares, print: {}, delivery: exactly_once}\n", "a print sink has no delivery"),
        ("  out: {input: shares, csv: {}, delivery: exactly-once}\n", "ticks.yaml:9:43 sinks.out.delivery: expected"),
        (
            "  out: {input: shares, sqlite: {table: sqlite_x}}\n",
            "sinks.out.sqlite.table: .*does not start with sqlite_",
        ),
        ("  out: {input: shares, sqlite: {path: ../other}}\n", "sinks.out.sqlite.path: .*is outside of"),
        (
            "  a: {input: shares, sqlite: {path: here}}\n  b: {input: shares, csv: {path: here}}\n",
            "sink 'a' writes to the same folder",
        ),
    ],
)
def test_bad_sinks_are_refused(tmp_path: Path, sinks: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        run(tmp_path / "out", sinks=sinks)
    assert not (tmp_path / "out").exists()

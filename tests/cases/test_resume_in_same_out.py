"""A killed run continues in its own directory: every row once, also if the checkpoint is named instead of found."""

from __future__ import annotations

import csv
import json
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from flowsim import run_scenario
from flowsim.errors import BadInput

SCENARIO = Path(__file__).parent / "inputs" / "resume_in_same_out.yaml"
COUNT = 3000
SMALL = ("--set", f"sources.numbers.generator.count={COUNT}")


def flowsim(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "flowsim", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return flowsim(folder, "run", "job.yaml", "--out", "out", *arguments)


def checkpoints(folder: Path) -> list[Path]:
    found = (folder / "out/ck").glob("chk-*/manifest.json")
    return sorted((path.parent for path in found), key=lambda path: int(path.name.partition("-")[2]))


def kill_after_parts(folder: Path, pattern: str, count: int, *arguments: str) -> None:
    """Kills a run when a sink has so many part files, and the run a checkpoint."""
    process = subprocess.Popen(
        [sys.executable, "-m", "flowsim", "run", "job.yaml", "--out", "out", *arguments],
        cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    for _ in range(1200):
        if len(list((folder / "out/sinks").glob(pattern))) >= count and checkpoints(folder):
            break
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=60)


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """A run that was killed after some checkpoints, with committed rows in its sinks."""
    shutil.copy(SCENARIO, tmp_path / "job.yaml")
    kill_after_parts(tmp_path, "kept/part-*.csv", 3)
    assert 0 < len(rows(tmp_path)[0]) < COUNT
    return tmp_path


def rows(folder: Path) -> tuple[list[int], list[int]]:
    """The numbers in the files of the CSV sink, and in the table of the SQLite sink."""
    numbers = []
    for part in (folder / "out/sinks/kept").glob("part-*.csv"):
        with part.open() as file:
            numbers += [int(row["n"]) for row in csv.DictReader(file)]
    with sqlite3.connect(folder / "out/sinks/tbl/rows.sqlite") as database:
        (table,) = database.execute(
            "select name from sqlite_master where type = 'table' and name not like '\\_%' escape '\\'"
        ).fetchone()
        stored = [row[0] for row in database.execute(f'select n from "{table}"')]
    return sorted(numbers), sorted(stored)


def test_resumed_run_has_every_row_once(killed: Path) -> None:
    done = run(killed, "--resume", *SMALL)
    assert done.returncode == 0, done.stderr
    assert f"resuming from out/ck/{checkpoints_before(done)}" in done.stderr
    assert rows(killed) == (list(range(COUNT)), list(range(COUNT)))


def test_other_file_formats_have_every_row_once_after_several_kills(tmp_path: Path) -> None:
    text, _, _ = SCENARIO.read_text().partition("  kept:")
    (tmp_path / "job.yaml").write_text(
        text + "  lines: {input: numbers, jsonl: {}}\n  columns: {input: numbers, parquet: {}}\n"
    )
    kill_after_parts(tmp_path, "columns/part-*.parquet", 3)
    for parts in (6, 10):
        kill_after_parts(tmp_path, "columns/part-*.parquet", parts, "--resume")
    parts_before = len(list((tmp_path / "out/sinks/lines").glob("part-*.jsonl")))
    done = run(tmp_path, "--resume", *SMALL)
    assert done.returncode == 0, done.stderr
    lines = [
        json.loads(line)["n"]
        for part in (tmp_path / "out/sinks/lines").glob("part-*.jsonl")
        for line in part.read_text().splitlines()
    ]
    columns = [
        number
        for part in (tmp_path / "out/sinks/columns").glob("part-*.parquet")
        for number in pq.read_table(part)["n"].to_pylist()
    ]
    assert (sorted(lines), sorted(columns)) == (list(range(COUNT)), list(range(COUNT)))
    assert 0 < parts_before < len(list((tmp_path / "out/sinks/lines").glob("part-*.jsonl")))


def checkpoints_before(done: subprocess.CompletedProcess[str]) -> str:
    return done.stderr.partition("resuming from out/ck/")[2].splitlines()[0]


@pytest.mark.parametrize("form", ["relative", "absolute", "link"])
def test_named_checkpoint_of_the_directory_continues_it_too(killed: Path, form: str) -> None:
    newest = checkpoints(killed)[-1]
    (killed / "link").symlink_to(newest)
    given = {"relative": newest.relative_to(killed), "absolute": newest, "link": Path("link")}[form]
    done = run(killed, "--from-savepoint", str(given), *SMALL)
    assert done.returncode == 0, done.stderr
    assert rows(killed) == (list(range(COUNT)), list(range(COUNT)))
    # Once more: files of later rows are replaced, but rows of a table would be there twice.
    again = run(killed, "--from-savepoint", str(given), *SMALL)
    assert again.returncode == 2
    assert "holds rows that were committed after checkpoint" in again.stderr
    assert rows(killed) == (list(range(COUNT)), list(range(COUNT)))


def test_damaged_newest_checkpoint_is_skipped_and_named(killed: Path) -> None:
    *_, older, newest = checkpoints(killed)
    part = next(newest.glob("*/part-*.parquet"))
    part.write_bytes(part.read_bytes()[:-1])
    done = run(killed, "--resume", *SMALL)
    assert "warning: not resumed from: " in done.stderr
    assert f"resuming from out/ck/{older.name}" in done.stderr
    if done.returncode == 0:
        # The run was killed before the rows of the newest checkpoint were committed.
        assert rows(killed) == (list(range(COUNT)), list(range(COUNT)))
        return
    # Files of later rows are replaced; a table cannot go back.
    assert done.returncode == 2
    assert "holds rows that were committed after checkpoint" in done.stderr
    job = killed / "job.yaml"
    job.write_text(job.read_text().replace("  tbl: {input: numbers, sqlite: {}}\n", ""))
    done = run(killed, "--resume", "--allow-non-restored-state", *SMALL)
    assert done.returncode == 0, done.stderr
    assert rows(killed)[0] == list(range(COUNT))


def test_checkpoint_of_another_run_is_refused_where_rows_would_be_lost(killed: Path) -> None:
    shutil.copytree(checkpoints(killed)[-1], killed / "elsewhere/chk-1")
    before = rows(killed)
    done = run(killed, "--from-savepoint", "elsewhere/chk-1", *SMALL)
    assert done.returncode == 2
    assert "holds rows of another run than the one that wrote elsewhere/chk-1" in done.stderr
    assert "--resume" in done.stderr
    assert rows(killed) == before
    # Into a directory of its own it runs, and again.
    for _ in range(2):
        assert (
            flowsim(killed, "run", "job.yaml", "--out", "new", "--from-savepoint", "elsewhere/chk-1", *SMALL).returncode
            == 0
        )


def test_checkpoint_that_an_earlier_run_left_is_not_of_the_run(killed: Path) -> None:
    """A new run replaces the earlier one except its checkpoints; they do not belong to the rows that are there now."""
    old = checkpoints(killed)[-1]
    assert run(killed, "--set", "sources.numbers.generator.count=50").returncode == 0
    assert old.exists()
    done = run(killed, "--from-savepoint", str(old), *SMALL)
    assert done.returncode == 2
    assert "holds rows of another run" in done.stderr
    resumed = run(killed, "--resume", *SMALL)
    assert resumed.returncode == 2
    assert "has no complete checkpoint to resume from" in resumed.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--out", "nowhere"), "holds no run that could be resumed"),
        (("--from-savepoint", "x"), "leave out --from-savepoint"),
    ],
)
def test_nothing_to_resume_is_refused(killed: Path, arguments: tuple[str, str], message: str) -> None:
    done = run(killed, "--resume", *arguments)
    assert (done.returncode, message in done.stderr) == (2, True), done.stderr


def test_run_of_another_scenario_is_refused(killed: Path) -> None:
    text = (killed / "job.yaml").read_text().replace("name: sameout", "name: other")
    (killed / "job.yaml").write_text(text)
    done = run(killed, "--resume")
    assert (done.returncode, "holds a run of scenario 'sameout', not of 'other'" in done.stderr) == (2, True)


def test_replay_of_resumed_run_starts_from_the_same_checkpoint(killed: Path) -> None:
    assert run(killed, "--resume", "--record", "elements", *SMALL).returncode == 0
    replayed = flowsim(killed, "replay", "out")
    assert replayed.returncode == 0, replayed.stderr


@pytest.mark.parametrize("named", [False, True])
def test_python_api_continues_the_directory_too(killed: Path, named: bool) -> None:
    start = {"from_savepoint": checkpoints(killed)[-1]} if named else {}
    done = run_scenario(
        killed / "job.yaml", out=killed / "out", resume=not named, overrides=SMALL[1:], **start
    )  # fmt: skip
    assert done.result.error is None
    assert rows(killed) == (list(range(COUNT)), list(range(COUNT)))


def test_python_api_refuses_a_directory_with_rows_of_another_run(killed: Path) -> None:
    shutil.copytree(checkpoints(killed)[-1], killed / "elsewhere/chk-1")
    before = rows(killed)
    with pytest.raises(BadInput, match="holds rows of another run"):
        run_scenario(killed / "job.yaml", out=killed / "out", from_savepoint=killed / "elsewhere/chk-1")
    assert rows(killed) == before


@pytest.mark.parametrize("form", ["resume", "named"])
def test_savepoint_in_the_directory_continues_the_run(tmp_path: Path, form: str) -> None:
    """The action stop writes its savepoint below the directory of the run."""
    shutil.copy(SCENARIO, tmp_path / "job.yaml")
    stop = "actions=[{stop: {at: 550 ms, savepoint: {directory: sv}}}]"
    stopped = run(tmp_path, "--set", stop)
    assert stopped.returncode == 0, stopped.stderr
    assert 0 < len(rows(tmp_path)[0]) < COUNT
    (savepoint,) = (tmp_path / "out/sv").iterdir()
    done = run(tmp_path, *(["--resume"] if form == "resume" else ["--from-savepoint", str(savepoint)]), *SMALL)
    assert done.returncode == 0, done.stderr
    assert rows(tmp_path) == (list(range(COUNT)), list(range(COUNT)))


def test_later_checkpoints_are_not_resumed_after_an_earlier_one(tmp_path: Path) -> None:
    """A run from an earlier checkpoint removes the files that the later one counts as written."""
    text = SCENARIO.read_text().replace("  tbl: {input: numbers, sqlite: {}}\n", "")
    (tmp_path / "job.yaml").write_text(text.replace("retained: 2", "retained: 3, retention: retain_on_cancellation"))
    assert run(tmp_path, "--set", "actions=[{cancel: {at: 650 ms}}]", *SMALL).returncode == 0
    *_, earlier, _, newest = checkpoints(tmp_path)
    # Ends before its first checkpoint, as if it were killed there.
    cut = run(tmp_path, "--from-savepoint", str(earlier), "--set", "settings.until=10 ms", *SMALL)
    assert cut.returncode == 0, cut.stderr
    refused = run(tmp_path, "--from-savepoint", str(newest), *SMALL)
    assert (refused.returncode, "holds rows of another run" in refused.stderr) == (2, True), refused.stderr
    done = run(tmp_path, "--resume", *SMALL)
    assert done.returncode == 0, done.stderr
    assert f"resuming from out/ck/{earlier.name}" in done.stderr
    numbers = [
        int(row["n"])
        for part in (tmp_path / "out/sinks/kept").glob("part-*.csv")
        for row in csv.DictReader(part.open())
    ]
    assert sorted(numbers) == list(range(COUNT))


RETAINED = "retention: retain_on_cancellation"


def canceled_job(folder: Path, *, retained: bool, expect: str = "") -> None:
    text = SCENARIO.read_text().replace("retained: 2", f"retained: 2, {RETAINED}" if retained else "retained: 2")
    (folder / "job.yaml").write_text(text + "  held: {input: numbers, collect: {}}\n" + expect)
    done = run(folder, "--set", "actions=[{cancel: {at: 350 ms}}]", "--set", "expect={}", *SMALL)
    assert done.returncode == 0, done.stderr


def test_rows_in_memory_are_not_resumed_and_the_run_says_so(tmp_path: Path) -> None:
    """Expectations of rows describe the whole run, so they are not judged by the rest of it."""
    canceled_job(tmp_path, retained=True, expect=f"expect: {{rows: {{kept: {COUNT}, tbl: {COUNT}, held: {COUNT}}}}}\n")
    done = run(tmp_path, "--resume", *SMALL)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warning: sink held (collect) has only the rows after chk-3" in done.stderr
    assert "this run continues another one" in done.stdout
    assert rows(tmp_path) == (list(range(COUNT)), list(range(COUNT)))


def test_canceled_run_without_retained_checkpoints_says_what_a_new_run_deletes(tmp_path: Path) -> None:
    canceled_job(tmp_path, retained=False)
    before = rows(tmp_path)
    done = run(tmp_path, "--resume", *SMALL)
    assert done.returncode == 2
    assert "has no complete checkpoint to resume from" in done.stderr
    assert RETAINED.partition(": ")[2] in done.stderr
    assert "a run without --resume starts anew, deletes the rows that this one has written there" in done.stderr
    assert rows(tmp_path) == before

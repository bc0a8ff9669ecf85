"""A killed run that writes to PostgreSQL continues: every row once in the table, or a refusal that changes nothing."""

from __future__ import annotations

import csv
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.postgres import PrivateServer, private_server, select
from tests.unit.cli.test_processes import command

pytestmark = pytest.mark.postgres
SCENARIO = Path(__file__).parent / "inputs/resume_postgres.yaml"
COUNT = 1200
ALL = list(range(COUNT))


@pytest.fixture(scope="module")
def server() -> Iterator[PrivateServer]:
    started = private_server()
    yield started
    started.stop()


class Runs:
    """Runs of the scenario in one folder, which write to one table."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.url = url
        shutil.copy(SCENARIO, folder / "job.yaml")

    def start(self, *arguments: str, out: str = "out") -> subprocess.Popen[str]:
        return subprocess.Popen(
            command("run", "job.yaml", "--out", out, "--connect", f"db={self.url}", *arguments),
            cwd=self.folder, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip

    def run(self, *arguments: str, out: str = "out") -> tuple[int, str]:
        process = self.start(*arguments, out=out)
        _, err = process.communicate(timeout=300)
        return process.returncode, err

    def kill(self, *arguments: str, out: str = "out", after: int = 3, pause_s: float = 0.0) -> None:
        """Runs until so many new checkpoints are complete, then kills the process."""
        before = {path: path.stat().st_mtime_ns for path in self.checkpoints(out)}
        seen: set[tuple[Path, int]] = set()
        process = self.start(*arguments, out=out)
        for _ in range(6000):
            for path in self.checkpoints(out):
                stamp = path.stat().st_mtime_ns
                if before.get(path) != stamp:
                    seen.add((path, stamp))
            if len(seen) >= after or process.poll() is not None:
                break
            time.sleep(0.005)
        time.sleep(pause_s)
        process.send_signal(signal.SIGKILL)
        _, err = process.communicate(timeout=60)
        assert process.returncode == -signal.SIGKILL, err

    def checkpoints(self, out: str = "out") -> list[Path]:
        found = (self.folder / out / "ck").glob("chk-*/manifest.json")
        return sorted((path.parent for path in found), key=lambda path: int(path.name.partition("-")[2]))

    def table(self) -> list[int]:
        return [n for (n,) in select(self.url, "SELECT n FROM tbl ORDER BY n")]

    def files(self, out: str = "out") -> list[int]:
        numbers: list[int] = []
        for part in (self.folder / out / "sinks/kept").glob("part-*.csv"):
            with part.open() as file:
                numbers += [int(row["n"]) for row in csv.DictReader(file)]
        return sorted(numbers)


@pytest.fixture
def runs(tmp_path: Path, server: PrivateServer) -> Runs:
    return Runs(tmp_path, server.new_schema())


@pytest.mark.parametrize("pause_s", [0.0, 0.01, 0.03, 0.05])
def test_resumed_run_has_every_row_once(runs: Runs, pause_s: float) -> None:
    runs.kill(pause_s=pause_s)
    assert 0 < len(runs.files()) < COUNT
    assert runs.run("--resume")[0] == 0
    assert (runs.table(), runs.files()) == (ALL, ALL)


def test_run_that_is_killed_again_and_again_has_every_row_once(runs: Runs) -> None:
    runs.kill()
    for after in (1, 0, 2):
        runs.kill("--resume", after=after)
    assert runs.run("--resume", "--set", "settings.parallelism=1")[0] == 0
    assert (runs.table(), runs.files()) == (ALL, ALL)


def test_older_checkpoint_is_refused_and_changes_nothing(runs: Runs) -> None:
    runs.kill(after=5)
    before = runs.table(), runs.files()
    older = runs.checkpoints()[0]
    code, err = runs.run("--from-savepoint", str(older))
    assert (code, "holds rows that were committed after checkpoint" in err) == (2, True), err
    assert "restore a later checkpoint" in err
    code, err = runs.run("--from-savepoint", str(older), out="elsewhere")
    assert (code, "holds rows that were committed after checkpoint" in err) == (2, True), err
    assert not (runs.folder / "elsewhere").exists()
    assert (runs.table(), runs.files()) == before
    assert runs.run("--resume")[0] == 0
    assert (runs.table(), runs.files()) == (ALL, ALL)


def test_checkpoint_is_restored_once(runs: Runs) -> None:
    """Also if it was moved: the checkpoint itself names the runs whose rows it has."""
    runs.kill()
    newest = shutil.copytree(runs.checkpoints()[-1], runs.folder / "moved")
    assert runs.run("--from-savepoint", "moved", out="second")[0] == 0
    assert runs.table() == ALL
    for out in ("second", "third"):
        code, err = runs.run("--from-savepoint", str(newest), out=out)
        assert (code, "holds rows that were committed after checkpoint" in err) == (2, True), err
    code, err = runs.run("--resume")
    assert (code, "holds rows that were committed after checkpoint" in err) == (2, True), err
    assert runs.table() == ALL


def test_run_is_not_resumed_after_another_one_with_its_prefix(runs: Runs) -> None:
    """The other run has discarded what the first one had staged, and numbers its commits anew."""
    runs.kill(after=4)
    mine = runs.table()
    runs.kill(out="other", after=2)
    before = runs.table()
    assert len(before) > len(set(before)) > 0
    code, err = runs.run("--resume")
    assert (code, "another run has written to the table as 'resumed: Sink: tbl'" in err) == (2, True), err
    assert runs.table() == before
    assert runs.run("--resume", out="other")[0] == 0
    assert runs.table() == sorted([*mine, *ALL])


def test_resumed_run_that_was_killed_at_once_can_be_resumed(runs: Runs) -> None:
    runs.kill()
    newest = runs.checkpoints()[-1]
    process = runs.start("--resume")
    assert process.stderr is not None
    for _ in range(2000):
        found = select(runs.url, "SELECT count(*) FROM flowsim_staged_tbl WHERE flowsim_subtask = -1")
        if found[0][0] == 2:
            break
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    code, err = runs.run("--resume")
    assert code == 0, err
    assert re.search(r"resuming from out/ck/chk-(\d+)", err), newest
    assert (runs.table(), runs.files()) == (ALL, ALL)

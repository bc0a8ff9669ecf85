"""Checks on other engines: a standalone cluster whose processes die, and Spark Connect."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from flowsim.laws.law_ids import LAW_IDS
from flowsim.validation.judge import open_runs, validate
from tests.benchmarks.bench_judge import write
from tests.benchmarks.big_recording import BigJob
from tests.support.facts.cases import SMALL_JOBS
from tests.support.facts.random_mutations import KINDS
from tests.support.facts.valid_job import honest_job
from tests.support.spark_cluster import bare_python, connect_server, standalone_cluster
from tests.unit.cli.test_explored_results import PAIRS

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(280)]
_SHIPPED = ("numpy", "pyarrow", "py4j", "pyspark")


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A big recording, and some small ones that are damaged."""
    folder = tmp_path_factory.mktemp("recordings")
    write(BigJob.of_facts(300_000), folder / "big" / "recording")
    paths = [folder / "big"]
    seed, records, pace_ms = SMALL_JOBS[1]
    for number, kind in enumerate(KINDS[::24]):
        facts = honest_job(seed=seed, records=records, pace_ms=pace_ms)
        kind.damage(facts, Random(number))
        paths.append(facts.write(folder / str(number)))
    return paths


@pytest.fixture(scope="module")
def expected(recordings: list[Path]) -> list[dict[str, Any]]:
    report = validate(open_runs(recordings))
    return [
        {
            "law": line.outcome.law, "verdict": line.outcome.verdict.value, "rows_examined": line.outcome.rows_examined,
            "violations": line.outcome.violations, "evidence": list(line.outcome.evidence),
        }
        for line in report.lines
    ]  # fmt: skip


@pytest.fixture(scope="module")
def cluster_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where all processes of the cluster work."""
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(scope="module")
def cluster(cluster_folder: Path) -> Iterator[str]:
    with standalone_cluster(cluster_folder) as url:
        yield url


def validating(paths: list[Path], *options: str, python: Path | None = None) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "flowsim", "validate", *map(str, paths), "--engine", "spark", "--json", *options]
    return started(command, python)


def started(command: list[str], python: Path | None) -> subprocess.Popen[str]:
    """A process whose Spark workers run this interpreter."""
    variables = os.environ | ({} if python is None else {"PYSPARK_PYTHON": str(python)})
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=variables)


def verdicts(process: subprocess.Popen[str]) -> list[dict[str, Any]]:
    output, errors = process.communicate(timeout=240)
    assert process.returncode == 1, errors
    return shown(output)


def shown(output: str) -> list[dict[str, Any]]:
    keys = ("law", "verdict", "rows_examined", "violations", "evidence")
    return [{key: line[key] for key in keys} for line in json.loads(output)["laws"]]


def of_cluster(text: str, folder: Path) -> list[int]:
    """Processes of the cluster, which work below its folder, with a text in their command; no other session's."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            command = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            works_in = (path / "cwd").readlink()
        except OSError:
            continue
        if text in command and works_in.is_relative_to(folder):
            found.append(int(path.name))
    return found


def kill_one(text: str, folder: Path) -> None:
    """Kills a process of this kind."""
    os.kill(of_cluster(text, folder)[-1], signal.SIGKILL)


VALIDATE_AGAIN_AND_AGAIN = """\
import contextlib, sys
from flowsim.cli.main import main
from flowsim.validation.spark_session import spark_session

master, *paths = sys.argv[1:]
with spark_session(master, for_judge=True):
    for line in sys.stdin:
        sys.argv = ["flowsim", "validate", *paths, "--engine", "spark", "--master", master, "--json"]
        with open(line.strip(), "w") as output, contextlib.redirect_stdout(output), contextlib.suppress(SystemExit):
            main()
        print("done", flush=True)
"""
"""The command ``validate`` in one session, once for each file whose name it reads; the file gets what it prints."""


def test_cluster_gives_same_verdicts_despite_missing_packages_and_kills(
    cluster: str, cluster_folder: Path, recordings: list[Path], expected: list[dict[str, Any]], tmp_path: Path
) -> None:
    """The workers have only numpy and pyarrow; then an executor is killed in the middle, and then a Python worker."""
    python = bare_python(tmp_path / "bare", *_SHIPPED)
    command = [sys.executable, "-c", VALIDATE_AGAIN_AND_AGAIN, cluster, *map(str, recordings)]
    with started(command, python) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for killed in ("", "CoarseGrainedExecutorBackend", "pyspark.daemon"):
            answer = tmp_path / (killed or "alive")
            process.stdin.write(f"{answer}\n")
            process.stdin.flush()
            if killed:
                time.sleep(0.7)
                kill_one(killed, cluster_folder)
            assert process.stdout.readline() == "done\n", process.communicate()
            assert shown(answer.read_text()) == expected, killed
        process.stdin.close()


def test_worker_without_pyarrow_is_reported(cluster: str, recordings: list[Path], tmp_path: Path) -> None:
    python = bare_python(tmp_path / "bare", "numpy", "py4j", "pyspark")
    process = validating(recordings[1:2], "--master", cluster, python=python)
    _, errors = process.communicate(timeout=240)
    assert process.returncode == 2
    assert "Spark's Python workers have no pyarrow: install numpy and pyarrow there" in errors


def test_spark_connect_gives_same_verdicts(
    recordings: list[Path], expected: list[dict[str, Any]], tmp_path: Path
) -> None:
    python = bare_python(tmp_path / "bare", *_SHIPPED)
    with connect_server(tmp_path, str(python)) as address:
        assert verdicts(validating(recordings[1:], "--remote", address)) == expected[len(LAW_IDS) :]


def test_exploration_on_a_cluster_whose_executor_dies_has_the_table_of_one_process(
    cluster: str, cluster_folder: Path, tmp_path: Path
) -> None:
    """The first task waits for its Python until its executor is dead."""
    (tmp_path / "pairs.yaml").write_text(PAIRS)
    waits = tmp_path / "python"
    waits.write_text(f"""#!/bin/sh
touch {tmp_path}/waits
while [ ! -e {tmp_path}/killed ]; do sleep 0.05; done
exec {sys.executable} "$@"
""")
    waits.chmod(0o755)
    command = [sys.executable, "-m", "flowsim", "explore", str(tmp_path / "pairs.yaml"), "--runs", "400", "--json"]
    command += ["--seconds", "600"]
    exploring = started([*command, "--spark", "--master", cluster], waits)
    while not (tmp_path / "waits").exists():
        assert exploring.poll() is None, exploring.communicate()
        time.sleep(0.1)
    kill_one("CoarseGrainedExecutorBackend", cluster_folder)
    (tmp_path / "killed").touch()
    output, errors = exploring.communicate(timeout=240)
    assert exploring.returncode == 1, errors
    here = subprocess.run(command, capture_output=True, text=True, check=False)
    assert json.loads(output) == json.loads(here.stdout)

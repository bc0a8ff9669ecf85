"""The judge on engines that people have: a standalone cluster whose processes die, and Spark Connect."""

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

from flowsim.validation.judge import open_runs, validate
from tests.benchmarks.bench_judge import write
from tests.benchmarks.big_recording import BigJob
from tests.support.facts.random_mutations import KINDS
from tests.support.facts.valid_job import honest_job
from tests.support.spark_cluster import bare_python, connect_server, standalone_cluster

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(280)]
_SHIPPED = ("numpy", "pyarrow", "py4j", "pyspark")


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A big recording, and some small ones that are damaged."""
    folder = tmp_path_factory.mktemp("recordings")
    write(BigJob.of_facts(1_500_000), folder / "big" / "recording")
    paths = [folder / "big"]
    for number, kind in enumerate(KINDS[::9]):
        facts = honest_job(seed=1, records=11)
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
    variables = os.environ | ({} if python is None else {"PYSPARK_PYTHON": str(python)})
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=variables)


def verdicts(process: subprocess.Popen[str]) -> list[dict[str, Any]]:
    output, errors = process.communicate(timeout=240)
    assert process.returncode == 1, errors
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


def kill_one(process: subprocess.Popen[str], text: str, folder: Path) -> None:
    """Kills the first process of this kind as soon as a Python worker is at work."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()
        if of_cluster("pyspark.daemon", folder) and (found := of_cluster(text, folder)):
            time.sleep(0.3)
            os.kill(found[-1], signal.SIGKILL)
            return
        time.sleep(0.02)
    raise AssertionError("no worker came up")


def test_a_standalone_cluster_whose_workers_have_only_numpy_and_pyarrow_says_the_same(
    cluster: str, recordings: list[Path], expected: list[dict[str, Any]], tmp_path: Path
) -> None:
    python = bare_python(tmp_path / "bare", *_SHIPPED)
    assert verdicts(validating(recordings, "--master", cluster, python=python)) == expected


@pytest.mark.parametrize("killed", ["CoarseGrainedExecutorBackend", "pyspark.daemon"])
def test_a_killed_executor_or_python_worker_changes_nothing(
    cluster: str, cluster_folder: Path, recordings: list[Path], expected: list[dict[str, Any]], killed: str
) -> None:
    process = validating(recordings, "--master", cluster)
    kill_one(process, killed, cluster_folder)
    assert verdicts(process) == expected


def test_a_worker_without_pyarrow_is_named(cluster: str, recordings: list[Path], tmp_path: Path) -> None:
    python = bare_python(tmp_path / "bare", "numpy", "py4j", "pyspark")
    process = validating(recordings[1:2], "--master", cluster, python=python)
    _, errors = process.communicate(timeout=240)
    assert process.returncode == 2
    assert "Spark's Python workers have no pyarrow: install numpy and pyarrow there" in errors


def test_spark_connect_says_the_same(recordings: list[Path], expected: list[dict[str, Any]], tmp_path: Path) -> None:
    python = bare_python(tmp_path / "bare", *_SHIPPED)
    with connect_server(tmp_path, str(python)) as address:
        assert verdicts(validating(recordings, "--remote", address)) == expected

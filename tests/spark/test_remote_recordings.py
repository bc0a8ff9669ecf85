"""Recordings at URIs: Spark passes their files to the workers, and the verdicts equal those of local files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from flowsim.errors import BadInput
from flowsim.laws.law import Outcome
from flowsim.validation.judge import open_runs, validate
from flowsim.validation.on_spark import OnSpark
from flowsim.validation.remote_recording import open_remote
from flowsim.validation.verdict import NotJudged
from tests.benchmarks.bench_judge import write
from tests.benchmarks.big_recording import BigJob
from tests.support.facts.random_mutations import KINDS
from tests.support.facts.valid_job import honest_job

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPARK_DIES = """\
import sys
from flowsim.cli.main import main
from flowsim.validation.on_spark import OnSpark

rows = OnSpark._rows
asked = []

def rows_of_the_first_job(self, works):
    if asked:
        self._session.sparkContext._gateway.proc.kill()
    asked.append(works)
    return rows(self, works)

OnSpark._rows = rows_of_the_first_job
sys.argv = ["flowsim", "validate", *sys.argv[1:], "--json"]
main()
"""
"""The command ``validate``; Spark is killed when its second job begins."""

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


def damaged(folder: Path) -> Path:
    facts = honest_job(seed=1, records=11)
    KINDS[0].damage(facts, Random(0))
    return facts.write(folder, epochs=3)


def outcomes(spark: SparkSession, path: Path) -> list[Outcome]:
    (run,) = open_runs([open_remote(spark, f"file:{path}")])
    return [line.outcome for line in validate([run], engine=OnSpark(spark)).lines]


def test_verdicts_equal_those_of_local_files(spark: SparkSession, tmp_path: Path) -> None:
    write(BigJob(8, 9, 20), tmp_path / "a b" / "recording")
    for path in (tmp_path / "a b", damaged(tmp_path / "[1]")):
        assert outcomes(spark, path) == [line.outcome for line in validate(open_runs([path])).lines]


def test_damage_is_refused_with_uri(spark: SparkSession, tmp_path: Path) -> None:
    path = damaged(tmp_path / "run")
    part = sorted((path / "recording" / "sent").iterdir())[-1]
    content = part.read_bytes()
    part.write_bytes(content[:100] + bytes([content[100] ^ 1]) + content[101:])
    with pytest.raises(NotJudged, match=r"^file:.*/sent/part-\d+\.parquet: is not the file that was recorded"):
        outcomes(spark, path)
    part.unlink()
    with pytest.raises(NotJudged, match=r"^file:.*/sent/part-\d+\.parquet: missing"):
        outcomes(spark, path)
    (path / "recording" / "graph.json").unlink()
    with pytest.raises(BadInput, match=r"^file:.*graph\.json: missing"):
        outcomes(spark, path)


def test_uri_without_recording_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no such recording"):
        open_remote(spark, f"file:{tmp_path}")
    with pytest.raises(BadInput, match="Spark cannot read it"):
        open_remote(spark, f"file:{tmp_path}/missing")


def test_verdicts_before_spark_failure_are_printed(tmp_path: Path) -> None:
    uris = [f"file:{honest_job(records=11).write(tmp_path / name)}" for name in ("first", "second")]
    done = subprocess.run([sys.executable, "-c", SPARK_DIES, *uris], capture_output=True, text=True, timeout=250)
    assert done.returncode == 2, done.stderr
    answer = json.loads(done.stdout)
    assert {line["recording"] for line in answer["laws"]} == {uris[0]}
    assert {line["verdict"] for line in answer["laws"]} == {"holds", "not applicable"}
    assert [one["recording"] for one in answer["not_judged"]] == [uris[1]]
    assert "Spark failed" in answer["error"]["message"]
    assert "error: the recordings cannot be checked: Spark failed" in done.stderr
    assert "This is a bug in flowsim" not in done.stderr

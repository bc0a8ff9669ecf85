"""Flights from YAML to verdict: every law holds on both engines, for all 328,521 with one source and some with three."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from flowsim.facts.kinds import Level
from flowsim.laws.catalogue import LAWS
from flowsim.laws.law import Verdict
from flowsim.laws.law_ids import LAW_IDS
from flowsim.validation.judge import open_runs, validate
from flowsim.validation.on_spark import OnSpark
from flowsim.validation.recompute import recompute
from tests.support.law_families import CHECKPOINTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

SCENARIOS = Path(__file__).parents[2] / "scenarios"
FLIGHTS, FIRST = 328_521, 15_000
ONE, THREE = "01_nyc_flights.yaml", "01b_nyc_flights_three_sources.yaml"
FLIGHTS_FILE = "data/nyc_flights_2013.csv.gz"


@dataclass(frozen=True)
class Run:
    """One run of the command line in a process of its own."""

    out: Path
    reported: dict[str, Any]

    @property
    def parts(self) -> dict[str, str]:
        """SHA-256 of every Parquet file of recording and sinks, by path."""
        return {
            str(path.relative_to(self.out)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(self.out.rglob("*.parquet"))
        }


def start(scenario: Path, out: Path, hash_seed: int, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "flowsim", "run", str(scenario), "--out", str(out), "--json", "--policy", "random"]
    return subprocess.Popen(
        [*command, *options],
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
        stdout=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str], out: Path) -> Run:
    reported, _ = process.communicate(timeout=600)
    assert process.returncode == 0
    return Run(out, json.loads(reported))


@pytest.fixture(scope="module")
def first_flights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with both scenarios beside the first weeks of their data."""
    folder = tmp_path_factory.mktemp("first flights")
    (folder / "data").mkdir()
    for name in (ONE, THREE, "01_nyc_flights_recompute.py"):
        shutil.copy(SCENARIOS / name, folder)
    with gzip.open(SCENARIOS / FLIGHTS_FILE, "rt") as whole, gzip.open(folder / FLIGHTS_FILE, "wt") as part:
        part.writelines(islice(whole, FIRST + 1))
    return folder


@pytest.fixture(scope="module")
def runs(first_flights: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    """01 over all flights, and 01b over the first."""
    folder = tmp_path_factory.mktemp("flights")
    started = {
        "one source": start(SCENARIOS / ONE, folder / "one source", 0, "--seed", "7", "--record", "full"),
        "three sources": start(first_flights / THREE, folder / "three sources", 0, "--seed", "1"),
    }
    return {name: finish(process, folder / name) for name, process in started.items()}


def test_equal_seeds_write_equal_recordings_in_two_processes(first_flights: Path) -> None:
    outs = first_flights / "first", first_flights / "second"
    options = "--seed", "7", "--record", "full"
    started = [start(first_flights / ONE, out, hash_seed, *options) for hash_seed, out in enumerate(outs)]
    one, same = map(finish, started, outs)
    assert one.reported["digest"] == same.reported["digest"]
    assert one.parts == same.parts
    assert len(one.parts) > 20


def test_late_rows_of_three_sources_depend_on_schedule(first_flights: Path, runs: dict[str, Run]) -> None:
    out = first_flights / "seed 2"
    first, second = runs["three sources"], finish(start(first_flights / THREE, out, 0, "--seed", "2"), out)
    assert first.reported["digest"] != second.reported["digest"]
    assert late_rows(first) != late_rows(second)


def test_every_flight_is_in_a_window_or_late(runs: dict[str, Run]) -> None:
    for name, flights in (("one source", FLIGHTS), ("three sources", FIRST)):
        counted = sum(pq.read_table(runs[name].out / "sinks" / "windows").column("flights").to_pylist())
        assert counted + late_rows(runs[name]) == flights


def late_rows(run: Run) -> int:
    return pq.read_table(run.out / "sinks" / "late").num_rows


def test_every_law_examines_flights_and_holds_on_both_engines(spark: SparkSession, runs: dict[str, Run]) -> None:
    full, elements = runs["one source"], runs["three sources"]
    recordings = open_runs([full.out, elements.out])
    report = validate(recordings, engine=OnSpark(spark))
    assert report.lines == validate(recordings).lines
    verdicts = [(line.run, line.outcome.law, line.outcome.verdict) for line in report.lines]
    # All exchanges of 01b are keyed.
    missing_of_three_sources = {law.id for law in LAWS if law.level is Level.FULL} | {"distribution"}
    missing_operators = (
        {law for law in LAW_IDS if law.startswith("async-")} | {"joins", "window-joins", "state"} | CHECKPOINTS
    )
    assert len(missing_operators) == 22
    assert verdicts == [
        (run, law, Verdict.NOT_APPLICABLE if law in missing else Verdict.HOLDS)
        for run, missing in ((0, missing_operators), (1, missing_operators | missing_of_three_sources))
        for law in LAW_IDS
    ]
    examined = {(line.run, line.outcome.law): line.outcome.rows_examined for line in report.lines}
    assert (examined[0, "key-routing"], examined[1, "key-routing"]) == (FLIGHTS, FIRST)


def test_windows_and_late_rows_equal_recomputation(spark: SparkSession, runs: dict[str, Run]) -> None:
    run = runs["one source"]
    source = SCENARIOS / FLIGHTS_FILE
    outcome = recompute(spark, SCENARIOS / "01_nyc_flights_recompute.py", source, run.out, allow_python=True)
    windows = pq.read_table(run.out / "sinks" / "windows").num_rows
    assert (outcome.verdict, outcome.rows_examined) == (Verdict.HOLDS, 2 * (windows + late_rows(run)))

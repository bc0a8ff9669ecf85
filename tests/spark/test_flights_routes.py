"""The first 8,000 flights with their routes, waves, alarms and weather: the laws and the recomputation hold."""

from __future__ import annotations

import gzip
import json
import shutil
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flowsim.facts.kinds import Level
from flowsim.laws.catalogue import LAWS
from flowsim.laws.law import Verdict
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_scenario
from flowsim.scenario.runner import ScenarioRun, run_compiled
from flowsim.validation.judge import open_runs, validate
from flowsim.validation.on_spark import OnSpark
from flowsim.validation.recompute import recompute
from tests.support.law_families import CHECKPOINTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

SCENARIOS = Path(__file__).parents[2] / "scenarios"
SCRIPT = SCENARIOS / "01c_nyc_flights_routes_recompute.py"
FLIGHTS = 8_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scenario beside some weeks of its data."""
    folder = tmp_path_factory.mktemp("routes")
    shutil.copy(SCENARIOS / "01c_nyc_flights_routes.yaml", folder)
    shutil.copy(SCRIPT, folder)
    data = folder / "data"
    data.mkdir()
    shutil.copy(SCENARIOS / "data" / "airlines.csv", data)
    name = "nyc_flights_2013.csv.gz"
    with gzip.open(SCENARIOS / "data" / name, "rt") as whole, gzip.open(data / name, "wt") as part:
        part.writelines(islice(whole, FLIGHTS + 1))
    (data / "nyc_weather_2013").mkdir()
    for path in sorted((SCENARIOS / "data" / "nyc_weather_2013").glob("*.parquet")):
        pq.write_table(pq.read_table(path).slice(0, 500), data / "nyc_weather_2013" / path.name)
    return folder


@pytest.fixture(scope="module")
def run(folder: Path) -> ScenarioRun:
    scenario = load_scenario(folder / "01c_nyc_flights_routes.yaml")
    compiled = compile_scenario(scenario, out_dir=folder / "out", allow_python=True)
    return run_compiled(compiled, out=folder / "out", record=Level.ELEMENTS)


def rows(run: ScenarioRun, sink: str) -> int:
    return next(outcome.rows for outcome in run.sinks if outcome.name == sink)


def test_every_flight_is_in_an_output(run: ScenarioRun, folder: Path) -> None:
    waves = pq.read_table(folder / "out" / "sinks" / "wave_windows").column("flights").to_pylist()
    assert sum(waves) + rows(run, "wave_late") == FLIGHTS
    assert min(rows(run, sink) for sink in ("route_windows", "route_late", "wave_late", "alarms")) > 0
    lines = (folder / "out" / "sinks" / "wave_late" / "part-0.jsonl").read_text().splitlines()
    assert list(json.loads(lines[0])) == [
        "scheduled_ms", "origin", "dest", "carrier", "tailnum", "dep_delay_min", "airline",
    ]  # fmt: skip


def test_every_law_holds_on_both_engines(spark: SparkSession, run: ScenarioRun, folder: Path) -> None:
    recordings = open_runs([folder / "out"])
    report = validate(recordings, engine=OnSpark(spark))
    assert report.lines == validate(recordings).lines
    # Of the laws at level elements only those of async operators, window joins and checkpoints do not apply.
    missing = {law.id for law in LAWS if law.level is Level.FULL or law.id.startswith("async-")}
    missing |= {"window-joins"} | CHECKPOINTS
    assert [(line.outcome.law, line.outcome.verdict) for line in report.lines] == [
        (law.id, Verdict.NOT_APPLICABLE if law.id in missing else Verdict.HOLDS) for law in LAWS
    ]


def test_results_equal_recomputation(spark: SparkSession, run: ScenarioRun, folder: Path) -> None:
    outcome = recompute(spark, SCRIPT, folder / "data" / "nyc_flights_2013.csv.gz", folder / "out", allow_python=True)
    assert (outcome.verdict, outcome.evidence) == (Verdict.HOLDS, ())
    compared = ("route_windows", "route_late", "wave_windows", "wave_late", "alarms", "departures")
    assert outcome.rows_examined == 2 * sum(rows(run, sink) for sink in compared)


def test_lost_results_violate(spark: SparkSession, run: ScenarioRun, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "out" / "sinks", tmp_path / "sinks")
    for sink in ("route_windows", "wave_windows", "departures"):
        part = tmp_path / "sinks" / sink / "part-0.parquet"
        table = pq.read_table(part)
        pq.write_table(pa.concat_tables([table.slice(0, 100), table.slice(101)]), part)
    outcome = recompute(spark, SCRIPT, folder / "data" / "nyc_flights_2013.csv.gz", tmp_path, allow_python=True)
    assert (outcome.verdict, outcome.violations) == (Verdict.VIOLATED, 3)

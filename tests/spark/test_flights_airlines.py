"""The first 8,000 flights with the airlines' names, requested in both modes: the laws and the recomputation hold."""

from __future__ import annotations

import gzip
import shutil
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from flowsim.facts.kinds import Level
from flowsim.laws.catalogue import LAWS
from flowsim.laws.law import Outcome, Verdict
from flowsim.recording.reader import Recording
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_scenario
from flowsim.scenario.runner import run_compiled
from flowsim.studies.async_stage import AsyncStage, async_stages
from flowsim.validation.judge import open_runs, validate
from flowsim.validation.on_spark import OnSpark
from flowsim.validation.recompute import recompute
from tests.support.law_families import CHECKPOINTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.timeout(600)]

SCENARIOS = Path(__file__).parents[2] / "scenarios"
SCRIPT = "01d_nyc_flights_airlines_recompute.py"
MODES = {"ordered": "01d_nyc_flights_airlines.yaml", "unordered": "01e_nyc_flights_airlines_unordered.yaml"}
FLIGHTS, LATE, OF_HAWAIIAN = 8_000, 461, 9
INPUT = "nyc_flights_2013.csv.gz"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both scenarios beside some weeks of their data, and what their runs left in ``ordered`` and ``unordered``."""
    folder = tmp_path_factory.mktemp("airlines")
    for name in (*MODES.values(), SCRIPT, "01_nyc_flights_recompute.py"):
        shutil.copy(SCENARIOS / name, folder)
    data = folder / "data"
    data.mkdir()
    shutil.copy(SCENARIOS / "data" / "airlines.csv", data)
    with gzip.open(SCENARIOS / "data" / INPUT, "rt") as whole, gzip.open(data / INPUT, "wt") as part:
        part.writelines(islice(whole, FLIGHTS + 1))
    for mode, name in MODES.items():
        compiled = compile_scenario(load_scenario(folder / name), out_dir=folder / mode, allow_python=True)
        run_compiled(compiled, out=folder / mode, record=Level.ELEMENTS)
    return folder


def named(folder: Path, mode: str) -> list[tuple[object, ...]]:
    columns = pq.read_table(folder / mode / "sinks" / "named").to_pydict()
    return list(zip(*columns.values(), strict=True))


def stage(folder: Path, mode: str) -> AsyncStage:
    (found,) = async_stages(Recording.open(folder / mode))
    return found


def test_both_modes_name_every_flight_and_have_equal_late_rows(folder: Path) -> None:
    ordered, unordered = (named(folder, mode) for mode in MODES)
    assert len(ordered) == FLIGHTS
    assert sorted(ordered) == sorted(unordered)
    assert ordered != unordered
    late = [sorted(pq.read_table(folder / mode / "sinks" / "late").to_pylist(), key=str) for mode in MODES]
    assert late[0] == late[1]
    assert len(late[0]) == LATE


def test_first_answer_for_hawaiian_airlines_is_retried(folder: Path) -> None:
    assert sum(row[3] == "HA" for row in named(folder, "ordered")) == OF_HAWAIIAN
    for mode in MODES:
        found = stage(folder, mode)
        assert (found.records, found.calls, found.peak_queued) == (FLIGHTS, FLIGHTS + OF_HAWAIIAN, 64)


def test_every_law_holds_on_both_engines(spark: SparkSession, folder: Path) -> None:
    recordings = open_runs([folder / mode for mode in MODES])
    report = validate(recordings, engine=OnSpark(spark))
    assert report.lines == validate(recordings).lines
    not_applicable = {law.id for law in LAWS if law.level is Level.FULL} | {"joins", "window-joins"} | CHECKPOINTS
    assert [(line.run, line.outcome.law, line.outcome.verdict) for line in report.lines] == [
        (run, law.id, Verdict.NOT_APPLICABLE if law.id in not_applicable else Verdict.HOLDS)
        for run in range(2)
        for law in LAWS
    ]


def recomputed(spark: SparkSession, folder: Path, out: Path, mode: str) -> Outcome:
    return recompute(spark, folder / SCRIPT, folder / "data" / INPUT, out, allow_python=True, function=f"check_{mode}")


@pytest.mark.parametrize("mode", MODES)
def test_results_equal_recomputation(mode: str, spark: SparkSession, folder: Path) -> None:
    outcome = recomputed(spark, folder, folder / mode, mode)
    assert (outcome.verdict, outcome.evidence) == (Verdict.HOLDS, ())
    windows = pq.read_table(folder / mode / "sinks" / "windows").num_rows
    assert outcome.rows_examined == 2 * (FLIGHTS + windows + LATE)


def test_unordered_output_violates_recomputation_of_ordered_mode(spark: SparkSession, folder: Path) -> None:
    outcome = recomputed(spark, folder, folder / "unordered", "ordered")
    misplaced = sum(a != b for a, b in zip(*(named(folder, mode) for mode in MODES), strict=True))
    assert (outcome.verdict, outcome.violations) == (Verdict.VIOLATED, 2 * misplaced)


def test_flight_that_overtook_a_watermark_violates(spark: SparkSession, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "unordered" / "sinks", tmp_path / "sinks")
    part = tmp_path / "sinks" / "named" / "part-0.parquet"
    table = pq.read_table(part)
    pq.write_table(table.take([*range(100), *range(1_000, FLIGHTS), *range(100, 1_000)]), part)
    outcome = recomputed(spark, folder, tmp_path, "unordered")
    assert outcome.verdict is Verdict.VIOLATED
    assert {row["in"] for row in outcome.evidence} == {"named"}

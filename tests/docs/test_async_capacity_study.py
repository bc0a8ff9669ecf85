"""The study of docs/studies/async_capacity.md equals the output of its command: numbers, table and plot."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from flowsim.studies.async_stage import AsyncStage
from flowsim.studies.distribution import Distribution
from flowsim.studies.files import row_data, table_text
from flowsim.studies.measures import Measures
from flowsim.studies.plot import plot_svg
from flowsim.studies.run import Study, StudyPlan, StudyRow, run_combination
from flowsim.studies.variation import Combination, Variation, combinations_of

ROOT = Path(__file__).parents[2]
STUDIES = ROOT / "docs" / "studies"
SCENARIO = ROOT / "scenarios" / "01d_nyc_flights_airlines.yaml"
AGAIN = (("ordered", "every_record", 256), ("unordered", "periodic", 64))


@pytest.fixture(scope="module")
def reported() -> dict[str, Any]:
    document: dict[str, Any] = json.loads((STUDIES / "async_capacity.json").read_text())
    return document


@pytest.fixture(scope="module")
def page() -> str:
    return (STUDIES / "async_capacity.md").read_text()


def study_of(reported: dict[str, Any]) -> Study:
    variations = tuple(Variation(key, tuple(values)) for key, values in reported["vary"].items())
    rows = tuple(map(row_of, combinations_of(variations), reported["rows"]))
    return Study(
        reported["scenario"], reported["scenario_digest"], reported["seed"], tuple(reported["set"]), variations, rows
    )


def row_of(combination: Combination, reported: dict[str, Any]) -> StudyRow:
    assert dict(combination.values) == reported["values"]
    stages = tuple(stage_of(name, stage) for name, stage in reported["async"].items())
    counted = (reported[name] for name in ("elapsed_ns", "records", "records_per_s", "back_pressured", "late"))
    return StudyRow(combination, reported["status"], reported["error"], False, Measures(*counted, stages))


def stage_of(name: str, reported: dict[str, Any]) -> AsyncStage:
    spread = {part: Distribution(**reported[part]) for part in ("latency", "answer", "held")}
    return AsyncStage(operator=name, **{**reported, **spread})


def test_study_is_complete_and_of_the_shipped_scenario(reported: dict[str, Any]) -> None:
    study = study_of(reported)
    assert study.is_complete
    assert {row.status for row in study.rows} == {"finished"}
    assert StudyPlan(SCENARIO, study.overrides).scenario_digest() == study.scenario_digest


@pytest.mark.slow
@pytest.mark.parametrize("values", AGAIN, ids=str)
def test_repeated_combination_gives_its_row(
    values: tuple[object, ...], reported: dict[str, Any], tmp_path: Path
) -> None:
    study = study_of(reported)
    row = next(row for row in study.rows if tuple(row.combination.values.values()) == values)
    again = run_combination(StudyPlan(SCENARIO, study.overrides, allow_python=True), row.combination, tmp_path / "run")
    assert row_data(again) == reported["rows"][row.combination.number - 1]


def test_page_has_the_table_of_the_study(reported: dict[str, Any], page: str) -> None:
    assert table_text(study_of(reported)) in page


def test_plot_is_drawn_from_the_study(reported: dict[str, Any], page: str) -> None:
    assert "](async_capacity.svg)" in page
    assert (STUDIES / "async_capacity.svg").read_bytes() == plot_svg(study_of(reported))


def test_command_of_page_equals_that_of_study(reported: dict[str, Any], page: str) -> None:
    (command,) = re.findall(r"^flowsim study (?:.*\\\n)*.*$", page, re.M)
    varied = dict(re.findall(r"--vary ([\w.]+)=([\w,]+)", command))
    assert varied == {key: ",".join(map(str, values)) for key, values in reported["vary"].items()}
    assert re.findall(r"--set (\S+)", command) == reported["set"]
    assert "scenarios/01d_nyc_flights_airlines.yaml" in command

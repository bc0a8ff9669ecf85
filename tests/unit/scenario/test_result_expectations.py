"""Expectations of a scenario on the records in its collect sinks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flowsim.scenario.runner import run_compiled
from tests.support.jobs.scenarios import compiled, refused

JOB = """\
flowsim: 1
name: results
sources:
  rows:
    collection: {fields: {word: string, ratio: double}, rows: [[a, 1], [b, 0.5], [c, null]]}
sinks:
  out: {input: rows, collect: {}}
  file: {input: rows, csv: {}}
expect: {results: {EXPECTED}}
"""


@pytest.mark.parametrize(
    ("rows", "met", "wanted", "found"),
    [
        ("[[a, 1], [b, 0.5], [c, null]]", True, "3 rows", "3 rows"),
        ("[[a, 1.0], [b, 0.5], [c, null]]", True, "3 rows", "3 rows"),
        ("[[a, 1], [c, null], [b, 0.5]]", False, "row 1 ['c', None]", "row 1 ['b', 0.5]"),
        ("[[a, 1], [b, 0.5]]", False, "2 rows", "row 2 ['c', None]"),
        ("[[a, 1], [b, 0.5], [c, null], [d, 2]]", False, "row 3 ['d', 2]", "3 rows"),
        ("[]", False, "0 rows", "row 0 ['a', 1]"),
    ],
)
def test_records_are_compared_in_order(rows: str, met: bool, wanted: str, found: str, tmp_path: Path) -> None:
    outcome = run_compiled(compiled(JOB.replace("EXPECTED", f"out: {rows}"), tmp_path)).expectations[-1]
    assert (outcome.what, outcome.met) == ("results of sink out", met)
    assert (outcome.expected, outcome.found) == (wanted, found)


def test_run_stopped_early_is_unchecked(tmp_path: Path) -> None:
    job = compiled(JOB.replace("EXPECTED", "out: []"), tmp_path)
    outcome = run_compiled(job, until_ns=1).expectations[-1]
    assert (outcome.met, outcome.reason) == (None, "the caller stopped the run early")


def test_results_of_sink_that_is_no_collect_sink_are_refused(tmp_path: Path) -> None:
    (error,) = refused(JOB.replace("EXPECTED", "file: []"), tmp_path)
    assert "there is no collect sink 'file'" in error


EVERY = JOB.replace("{results: {EXPECTED}}", "{rows: {out: 4}, every_schedule: {rows: {out: 3}}}")
OTHER = "it describes the seed, policy and batches of the scenario, not those of this run"


@pytest.mark.parametrize(
    ("options", "own", "reason"),
    [
        ({}, False, ""),
        ({"policy": "fifo", "seed": 1, "budget_records": 4096}, False, ""),
        ({"policy": "random"}, None, OTHER),
        ({"seed": 2}, None, OTHER),
        ({"budget_records": 1}, None, OTHER),
    ],
)
def test_only_expectations_of_every_schedule_are_checked_on_another(
    options: dict[str, Any], own: bool | None, reason: str, tmp_path: Path
) -> None:
    job, every, outcome = run_compiled(compiled(EVERY, tmp_path), **options).expectations
    assert (job.what, job.met) == ("job", True)
    assert (every.what, every.expected, every.met) == ("rows of sink out", "3", True)
    assert (outcome.what, outcome.expected, outcome.met, outcome.reason) == ("rows of sink out", "4", own, reason)


@pytest.mark.parametrize(
    ("expect", "message"),
    [
        ("{every_schedule: {rows: {ouch: 3}}}", "expect.every_schedule.rows.ouch: there is no sink 'ouch'"),
        ("{every_schedule: {laws: {idle: holds}}}", "unknown key 'laws'"),
        ("{job: failed, every_schedule: {job: failed}}", "job and every_schedule.job cannot be combined"),
    ],
)
def test_invalid_expectation_of_every_schedule_is_refused(expect: str, message: str, tmp_path: Path) -> None:
    (error,) = refused(JOB.replace("{results: {EXPECTED}}", expect), tmp_path)
    assert message in error

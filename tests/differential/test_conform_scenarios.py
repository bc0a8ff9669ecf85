"""The shipped scenarios on the real Flink: what docs/conform.md says of each. ``--all-scenarios`` compares all of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flowsim.conform.both_sides import Here, conformed, repeated_on_flink
from flowsim.conform.compared_job import jobs_of_scenario
from flowsim.conform.conformer import FlinkRunner
from flowsim.conform.unsupported import Unsupported
from flowsim.errors import InvariantViolation
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_scenario

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"^\| \[(\w+)\]\(\.\./scenarios/\w+\.yaml\) \| ([^|]+) \|$", re.M)
FOUND = dict(ROW.findall((ROOT / "docs/conform.md").read_text()))
"""What the page says, by the stem of the scenario's file."""
SAMPLE = (
    "04_partial_buffers", "05_broadcast_sharing", "09_blocking_or_pipelined", "12_three_lateness_settings",
    "13_sessions_merge", "16_two_watermarks", "22_watermark_alignment", "21_ends_while_idle",
    "24_async_order", "26a_async_timeout_fails", "26b_async_timeout_answers", "27_async_retries",
    "28_async_two_designs", "29_rebalance_loses_order", "30_broadcast_order", "31_gap_between_windows",
    "35_async_elements_restored", "37a_stop_with_savepoint_drain", "38_delivery_of_sinks", "39_at_least_once_mode",
    "41a_unaligned_behind_a_big_record",
)  # fmt: skip
"""What ``make test`` compares: a second each at most, with everything that scenarios can have."""
REPETITIONS = 4
SCHEDULES = 20


def verdict(runner: FlinkRunner, scenario: str, folder: Path) -> tuple[str, object]:
    """Returns what the page should say, and what it is based on. Only a job that differs is repeated."""
    path = ROOT / "scenarios" / f"{scenario}.yaml"
    compiled = compile_scenario(load_scenario(path), out_dir=folder / "out", allow_python=True)
    try:
        jobs = jobs_of_scenario(compiled)
        for job in jobs:
            job.check()
        here = Here(jobs).run()
        flink = repeated_on_flink(runner, jobs, here, folder / "first", 1)
    except Unsupported as refused:
        return f"not run: {refused}", refused
    except InvariantViolation as error:
        return "differs", error
    found = conformed(jobs, here, flink, 1)
    if not found.agrees:
        flink += repeated_on_flink(runner, jobs, here, folder / "more", REPETITIONS)
        found = conformed(jobs, here, flink, SCHEDULES)
    shown = [each for phase in found.phases for each in (*phase.facts, *phase.differing, *phase.open_places)]
    return "differs" if not found.agrees else "order left open" if found.is_open else "agrees", shown


def test_the_page_has_every_shipped_scenario() -> None:
    assert list(FOUND) == sorted(path.stem for path in (ROOT / "scenarios").glob("*.yaml"))
    assert set(SAMPLE) <= FOUND.keys()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "scenario" in metafunc.fixturenames:
        metafunc.parametrize("scenario", FOUND if metafunc.config.getoption("--all-scenarios") else SAMPLE)


def test_scenario_is_on_flink_what_the_page_says(scenario: str, flink_runner: FlinkRunner, tmp_path: Path) -> None:
    found, shown = verdict(flink_runner, scenario, tmp_path)
    said = FOUND[scenario]
    if said.startswith(("differs: ", "not run: ")):
        assert found.startswith(said) or (found == "differs" and said.startswith("differs: ")), shown
    else:
        # An order that is left open may be the same by chance.
        assert said == found or (said, found) == ("order left open", "agrees"), shown

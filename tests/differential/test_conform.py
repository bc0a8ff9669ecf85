"""Random scenarios here and on the real Flink: what every operator subtask sees, snapshots, restarts and commits.

A scenario that differs is repeated on Flink, and with other schedules here; ``drawn_comparison.py`` runs one alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path

import pytest

from flowsim.conform.compared_job import jobs_of_scenario
from flowsim.conform.conformer import FlinkRunner
from flowsim.conform.unsupported import Unsupported
from flowsim.testing.drawing.draft import Family
from flowsim.testing.drawing.drawn_scenario import DrawnScenario
from flowsim.testing.drawing.families import FAMILIES, numbered_scenario
from tests.support.conform.drawn_comparison import conform, differences, smallest
from tests.support.flink.machine import Differential, seeds

FIXED: Mapping[Family, Sequence[int]] = {
    "plain": range(4),
    "event_time": range(4),
    "async": range(4),
    "checkpoints": (0, 2, 3),
    "unaligned": (0, 1, 2, 10),  # of 10 a queue is full while its task is restored
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "number" in metafunc.fixturenames:
        drawn = [(family, number) for family in FAMILIES for number in seeds(metafunc.config, FIXED[family])]
        metafunc.parametrize(("family", "number"), drawn)


def runnable_scenario(family: Family, number: int) -> tuple[int, DrawnScenario]:
    """Returns the first scenario of a number that Flink can run, and its seed."""
    for seed in count():
        scenario = numbered_scenario(number, family=family, seed=seed)
        try:
            for job in jobs_of_scenario(scenario.compiled()):
                job.check()
        except Unsupported:
            continue
        return seed, scenario
    raise AssertionError


def test_scenario_conforms(
    differential: Differential, flink_runner: FlinkRunner, tmp_path: Path, family: Family, number: int
) -> None:
    seed, scenario = runnable_scenario(family, number)
    found = conform(flink_runner, scenario, tmp_path)
    subject = f"scenarios{' left open by Flink' if found.is_open else ''}: {family}"
    elements = sum(place.records + place.watermarks for phase in found.phases for place in phase.places)
    with differential.comparing(subject, commands=elements):
        if not found.agrees:
            pytest.fail(
                f"{family} {number} {seed}:\n{differences(found)}\n\n{smallest(flink_runner, scenario).yaml}",
                pytrace=False,
            )

"""Random scenarios on a Flink of several task managers, whose channels are mostly remote and have few buffers."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.conform.conformer import FlinkRunner
from flowsim.testing.drawing.draft import Family
from flowsim.testing.drawing.families import FAMILIES
from tests.differential.test_conform import runnable_scenario
from tests.support.conform.drawn_comparison import conform, differences
from tests.support.flink.gateway import Flink
from tests.support.flink.machine import Differential, seeds

CLUSTER = {
    "taskmanager.load-balance.mode": "SLOTS",
    "taskmanager.network.memory.buffers-per-channel": "1",
    "taskmanager.network.memory.floating-buffers-per-gate": "1",
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "number" in metafunc.fixturenames:
        drawn = [(family, number) for family in FAMILIES for number in seeds(metafunc.config, (20, 22), one_in=5)]
        metafunc.parametrize(("family", "number"), drawn)


@pytest.fixture(scope="module")
def spread_runner(flink: Flink) -> FlinkRunner:
    return FlinkRunner(flink.machine, task_managers=4, cluster=CLUSTER)


def test_scenario_conforms_over_remote_channels(
    differential: Differential, spread_runner: FlinkRunner, tmp_path: Path, family: Family, number: int
) -> None:
    _, scenario = runnable_scenario(family, number)
    found = conform(spread_runner, scenario, tmp_path)
    elements = sum(place.records + place.watermarks for phase in found.phases for place in phase.places)
    with differential.comparing(f"scenarios over remote channels: {family}", commands=elements):
        if not found.agrees:
            pytest.fail(f"{family} {number}:\n{differences(found)}\n\n{scenario.yaml}", pytrace=False)

"""Results of the real Flink are among those that the explored orders of a job have; further jobs with --flink-examples."""

from __future__ import annotations

from itertools import islice

import pytest

from flowsim.conform.conformer import FlinkRunner
from tests.support.conform.explored_sample import explored_jobs
from tests.support.flink.machine import seeds


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    metafunc.parametrize("number", seeds(metafunc.config, range(3)))


def test_results_of_flink_are_among_the_explored_ones(number: int, flink_runner: FlinkRunner) -> None:
    ((name, found),) = islice(explored_jobs(flink_runner, number), 2, 3)
    assert all(found.among), f"{name}: {found.line}"

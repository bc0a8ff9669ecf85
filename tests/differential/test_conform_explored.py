"""Results of the real Flink are among those that the explored orders of a job have; further jobs with --flink-examples."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import pytest

from flowsim.conform.conformer import FlinkRunner
from tests.support.conform.explored_sample import explored_on_flink, small_jobs
from tests.support.flink.machine import seeds


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    metafunc.parametrize("number", seeds(metafunc.config, range(3)))


def test_results_of_flink_are_among_the_explored_ones(number: int, flink_runner: FlinkRunner, tmp_path: Path) -> None:
    ((name, job),) = islice(small_jobs(number), 2, 3)
    found = explored_on_flink(flink_runner, job, tmp_path)
    assert all(found.among), f"{name}: {found.line}"

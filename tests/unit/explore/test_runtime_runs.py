"""The order space has the results that runs of the runtime space have."""

from __future__ import annotations

import pytest

from tests.support.explore.runtime_runs import outside


@pytest.mark.parametrize("seed", [4, 13, 23, 41, 68])
def test_results_of_random_schedules_are_results_of_the_order_space(seed: int) -> None:
    assert outside(seed, runs=20, most=90) == []

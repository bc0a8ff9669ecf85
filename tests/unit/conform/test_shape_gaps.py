"""``scenarios()`` reaches the shapes of jobs that the old generators reach, but for known gaps."""

from __future__ import annotations

import pytest

from tests.support.conform.shape_gaps import GAPS, NUMBERS, missing


@pytest.mark.slow
def test_scenarios_reach_the_shapes_of_the_old_generators() -> None:
    shapes = missing(NUMBERS)
    assert sorted(shape for shape in shapes if not any(gap.has(shape) for gap in GAPS)) == []
    assert [gap.why for gap in GAPS if not any(gap.has(shape) for shape in shapes)] == [], "closed: remove them"

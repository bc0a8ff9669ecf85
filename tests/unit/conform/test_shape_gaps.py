"""``scenarios()`` reaches the shapes of jobs that the old generators reach, but for known gaps."""

from __future__ import annotations

import pytest

from tests.support.conform.shape_gaps import NUMBERS, by_gap, missing


@pytest.mark.slow
def test_scenarios_reach_the_shapes_of_the_old_generators() -> None:
    parts = by_gap(missing(NUMBERS))
    assert parts.pop(None) == []
    assert [gap.why for gap, shapes in parts.items() if not shapes] == [], "closed: remove them"

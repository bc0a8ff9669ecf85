"""The watermark of a task refuses an input that the task does not have: a number of a damaged recording."""

from __future__ import annotations

import pytest

from flowsim.facts.kinds import ElementKind
from flowsim.history.task_watermark import TaskWatermark


@pytest.mark.parametrize("input_index", [-1, 2, 50])
def test_input_that_the_task_does_not_have_is_refused(input_index: int) -> None:
    watermark = TaskWatermark(2)
    with pytest.raises(IndexError):
        watermark.add(input_index, ElementKind.WATERMARK, 7)
    assert watermark.add(0, ElementKind.WATERMARK, 7) is False
    assert watermark.add(1, ElementKind.WATERMARK, 9) is True
    assert watermark.time_ms == 7

"""The watermark of a task with several inputs (rule 8.16)."""

from __future__ import annotations

from flowsim.facts.kinds import ElementKind
from flowsim.history.task_watermark import TaskWatermark

_IDLE = -1


def test_idle_input_does_not_hold_back_the_watermark() -> None:
    merged = TaskWatermark(2)
    assert not merged.add(0, ElementKind.WATERMARK, 5)
    assert merged.add(1, ElementKind.STATUS, _IDLE)
    assert (merged.time_ms, merged.active) == (5, [0])


def test_watermark_is_the_highest_one_when_all_inputs_are_idle() -> None:
    merged = TaskWatermark(2)
    merged.add(0, ElementKind.WATERMARK, 5)
    merged.add(1, ElementKind.WATERMARK, 9)
    merged.add(0, ElementKind.STATUS, _IDLE)
    merged.add(1, ElementKind.STATUS, _IDLE)
    assert merged.time_ms == 9


def test_input_that_the_task_does_not_have_changes_nothing() -> None:
    merged = TaskWatermark(1)
    assert not merged.add(1, ElementKind.WATERMARK, 5)
    assert merged.inputs == [TaskWatermark(1).time_ms]

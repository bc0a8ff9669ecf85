"""The times of facts that a task and its surroundings record."""

from __future__ import annotations

from flowsim.facts.kinds import AsyncAction, ElementKind, Level
from flowsim.facts.schema import ASYNC_ELEMENTS
from flowsim.facts.tracer import TaskTrace
from flowsim.recording.memory import MemoryRecorder
from flowsim.task_clock import TaskClock


def test_put_has_the_time_of_its_task_and_an_outcome_that_of_the_loop() -> None:
    """The timeout of an element counts from the task's clock (rule 11.17), which is behind the loop's in a batch."""
    recorder = MemoryRecorder(Level.ELEMENTS)
    trace = TaskTrace(0, TaskClock(5), recorder, TaskClock(9))
    for action in (AsyncAction.PUT, AsyncAction.COMPLETE):
        trace.async_element(0, 0, action, ElementKind.RECORD, 1, 2, 0, 0, 1)
    place = ASYNC_ELEMENTS.names.index("time_ns")
    assert [row[place] for row in recorder.rows(ASYNC_ELEMENTS.name)] == [5, 9]

"""The elements of async operators: what happened to each one, and how full the queue was (section 11)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from flowsim.facts.kinds import AsyncAction
from flowsim.history.recorded_facts import RecordedFacts
from flowsim.history.rows import Ints, Row, Rows
from flowsim.laws.job_graph import JobGraph, Operator

_KIND: Final = "async_wait"
_DONE: Final = (AsyncAction.COMPLETE, AsyncAction.FAIL)


@dataclass(slots=True)
class AsyncElement:
    """An element from its entry into the queue on. Rows are of table ``async_elements``."""

    put: Row
    invoked: Row | None = None
    """The last call."""
    retried: Row | None = None
    """The last outcome that was not accepted, after which the function is called again."""
    timed_out: Row | None = None
    done: Row | None = None
    """The first outcome that counted (rule 11.12)."""
    emitted: Row | None = None


def is_async(operator: Operator) -> bool:
    return operator.kind == _KIND


def async_operators(graph: JobGraph) -> Iterator[tuple[Operator, list[int]]]:
    """Yields the async operators of a job with their tasks, in the order of the job."""
    for operator in graph.operators:
        if is_async(operator):
            yield operator, [task.task for task in graph.tasks.values() if task.vertex == operator.vertex]


def async_elements(facts: RecordedFacts, task: int, operator: int) -> dict[int, AsyncElement]:
    """The elements that an attempt of an operator put into its queue, by their numbers."""
    elements: dict[int, AsyncElement] = {}
    for row in facts.rows("async_elements", task).equal(operator=operator):
        if row["action"] == AsyncAction.PUT:
            elements[row["entry"]] = AsyncElement(row)
        element = elements.get(row["entry"])
        if element is None:
            continue
        match AsyncAction(row["action"]):
            case AsyncAction.INVOKE:
                element.invoked = row
            case AsyncAction.RETRY:
                element.retried = row
            case AsyncAction.TIMEOUT:
                element.timed_out = row
            case AsyncAction.COMPLETE | AsyncAction.FAIL:
                element.done = element.done or row
            case AsyncAction.EMIT:
                element.emitted = row
    return elements


class StepTimes(NamedTuple):
    """The times of elements in ns, by the number of the element; -1: this has not happened."""

    put: Ints
    done: Ints
    emitted: Ints


def step_times(rows: Rows) -> StepTimes:
    """The times of the elements of one operator in one task."""
    count = int(rows["entry"].max(initial=-1)) + 1
    return StepTimes(*(_times(rows, actions, count) for actions in ((AsyncAction.PUT,), _DONE, (AsyncAction.EMIT,))))


def _times(rows: Rows, actions: tuple[AsyncAction, ...], count: int) -> Ints:
    happened = rows.where(np.isin(rows["action"], actions))
    time_of: Ints = np.full(count, -1, dtype=np.int64)
    time_of[happened["entry"]] = happened["time_ns"]
    return time_of


class QueueUse(NamedTuple):
    """How full a queue was from its first fact to its end, in ns and elements times ns; watermarks count (rule 11.2)."""

    span_ns: int
    full_ns: int
    used_ns: int
    """While it held an element."""
    element_ns: int
    peak: int

    @classmethod
    def of(cls, rows: Rows, capacity: int, ended_ns: int = 0) -> QueueUse:
        """Of one operator in one task. The end is the last fact; with elements left, ``ended_ns`` if that is later."""
        queued = rows["queued"]
        if not len(queued):
            return cls(0, 0, 0, 0, 0)
        # Outcomes may be recorded with another clock than the task's, slightly behind it; queue sizes are recorded in
        # order.
        times = np.maximum.accumulate(rows["time_ns"])
        last_ns = int(times[-1])
        lasted = np.diff(times, append=max(ended_ns, last_ns) if queued[-1] else last_ns)
        return cls(
            int(lasted.sum()),
            int(lasted[queued >= capacity].sum()),
            int(lasted[queued > 0].sum()),
            int((lasted * queued).sum()),
            int(queued.max()),
        )

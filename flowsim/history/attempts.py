"""The end of an attempt of a task by a failure or a cancellation, and the restart that follows (section 12.J)."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import LifeEvent, RestartAction
from flowsim.history.recorded_facts import RecordedFacts
from flowsim.history.rows import Row
from flowsim.laws.job_history import RestartEvent

_ENDS: Final = (LifeEvent.CANCELED, LifeEvent.FAILED)


def early_end(facts: RecordedFacts, task: int) -> Row | None:
    """The fact that ended the attempt of a task by a failure or a cancellation; None if nothing did by the moment."""
    last = facts.rows("lifecycle", task).equal(operator=-1).last()
    return last if last is not None and last["event"] in _ENDS else None


def is_restarted(facts: RecordedFacts, task: int) -> bool:
    """Whether a restart follows the early end of the attempt of a task; it may be due after the end of the recording."""
    end = early_end(facts, task)
    if end is None:
        return False
    restart = restart_event(facts, RestartAction.RESTART, task_id=task, attempt=facts.attempt_of(task) + 1)
    failure = failure_of(facts, task, end, restart)
    return restart is not None or (failure is not None and failure.action == RestartAction.FAILURE)


def failure_of(facts: RecordedFacts, task: int, end: Row, restart: RestartEvent | None) -> RestartEvent | None:
    """The failure that ended an attempt: the cause of its restart, or one before it whose tasks that took over."""
    history = facts.graph.history
    before = [
        event
        for event in history.restarts
        if event.action in (RestartAction.FAILURE, RestartAction.GIVE_UP) and event.time_ns <= end["time_ns"]
    ]
    if restart is None:
        last = next((event for event in reversed(before) if event.action == RestartAction.GIVE_UP), None)
        return last or next((event for event in reversed(before) if _is_pending(facts, event, task)), None)
    # Rule 12.123: a second failure before the restart takes the tasks of the first one over.
    together = {
        event.task_id
        for event in history.restarts
        if event.action == RestartAction.RESTART and event.failure == restart.failure
    }
    same = [event for event in before if event.failure == restart.failure]
    taken_over = [event for event in before if event.task_id in together or event.task_id < 0]
    return next(reversed(same or taken_over), None)


def _is_pending(facts: RecordedFacts, failure: RestartEvent, task: int) -> bool:
    """Whether a failure is the last one before the end of the run, ended an attempt of a task, and restarted nothing."""
    events = [event for event in facts.graph.history.restarts if event.step > failure.step]
    if any(event.action == RestartAction.RESTART and event.failure == failure.failure for event in events):
        return False
    return failure.task_id < 0 or failure.task_id in region(facts, task)


def region(facts: RecordedFacts, task: int) -> frozenset[int]:
    """The tasks that fail together with a task: those connected to it by pipelined exchanges (rule 12.123)."""
    graph = facts.graph
    pipelined = [one for one in graph.channels.values() if graph.edges[one.edge].exchange != "BLOCKING"]
    found, left = {task}, [task]
    while left:
        of = left.pop()
        for channel in pipelined:
            for other in (channel.source_task, channel.target_task):
                if of in (channel.source_task, channel.target_task) and other not in found:
                    found.add(other)
                    left.append(other)
    return frozenset(found)


def restart_event(facts: RecordedFacts, action: RestartAction, **values: int) -> RestartEvent | None:
    for event in facts.graph.history.restarts:
        if event.action == action and all(getattr(event, name) == value for name, value in values.items()):
            return event
    return None

"""What ended an attempt of a task early: a failure, the cancellation that follows one, and the restart (section 12.J)."""

from __future__ import annotations

from flowsim.facts.kinds import LifeEvent, RestartAction
from flowsim.laws.job_history import NO_CHECKPOINT, RestartEvent
from flowsim.quantities import duration_text
from flowsim.units import NS_PER_MS
from flowsim.why.answer import Cause
from flowsim.why.run_facts import Row, RunFacts, place_of

_ENDS = {LifeEvent.CANCELED: "was canceled", LifeEvent.FAILED: "failed"}


def early_end(facts: RunFacts, task: int) -> Row | None:
    """The fact that ended the attempt of a task by a failure or a cancellation; None if nothing did by the moment."""
    last = facts.rows("lifecycle", task).equal(operator=-1).last()
    return last if last is not None and last["event"] in _ENDS else None


def early_end_causes(facts: RunFacts, task: int) -> list[Cause]:
    """Why the attempt of a task has ended early, and whether the job restarted it; empty if it has not."""
    end = early_end(facts, task)
    if end is None:
        return []
    attempt = facts.attempt_of(task)
    text = f"{facts.task(task)} {_ENDS[LifeEvent(end['event'])]} at {facts.moment(end['time_ns'])}"
    restart = _event(facts, RestartAction.RESTART, task_id=task, attempt=attempt + 1)
    failure = _failure(facts, task, end, restart)
    if failure is not None and failure.task_id not in (-1, task):
        text += f", because {facts.task(failure.task_id)} failed"
    elif failure is not None and failure.task_id < 0:
        text += ", because the job failed as a whole"
    if restart is None:
        text += ", and the recording shows no restart of it: what was open then is lost."
        return [Cause(text, ("4.24", "4.25"), place_of(end))]
    start = "without state" if restart.checkpoint == NO_CHECKPOINT else f"from checkpoint {restart.checkpoint}"
    planned = _event(facts, RestartAction.FAILURE, failure=restart.failure)
    delay = "" if planned is None else f", after a delay of {duration_text(planned.delay_ms * NS_PER_MS)}"
    text += f". Attempt {attempt + 1} starts {start} at {facts.moment(restart.time_ns)}{delay}."
    return [Cause(text, ("12.123",), place_of(end))]


def _failure(facts: RunFacts, task: int, end: Row, restart: RestartEvent | None) -> RestartEvent | None:
    """The failure that ended an attempt: the cause of its restart, or one before it whose tasks that took over."""
    history = facts.graph.history
    before = [
        event
        for event in history.restarts
        if event.action in (RestartAction.FAILURE, RestartAction.GIVE_UP) and event.time_ns <= end["time_ns"]
    ]
    if restart is None:
        return next((event for event in reversed(before) if event.action == RestartAction.GIVE_UP), None)
    # Rule 12.123: a second failure before the restart takes the tasks of the first one over.
    together = {
        event.task_id
        for event in history.restarts
        if event.action == RestartAction.RESTART and event.failure == restart.failure
    }
    same = [event for event in before if event.failure == restart.failure]
    taken_over = [event for event in before if event.task_id in together or event.task_id < 0]
    return next(reversed(same or taken_over), None)


def attempt_text(facts: RunFacts, task: int, attempt: int | None = None) -> str:
    """An attempt of a restarted task, by default that of the facts; '' for a task that was never restarted."""
    last = facts.graph.history.last_attempts.get(task, 0)
    return f" in attempt {facts.attempt_of(task) if attempt is None else attempt} (of 0 to {last})" if last else ""


def _event(facts: RunFacts, action: RestartAction, **values: int) -> RestartEvent | None:
    for event in facts.graph.history.restarts:
        if event.action == action and all(getattr(event, name) == value for name, value in values.items()):
            return event
    return None

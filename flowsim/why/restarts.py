"""What ended an attempt of a task early: a failure, the cancellation that follows one, and the restart (section 12.J)."""

from __future__ import annotations

from flowsim.facts.kinds import LifeEvent, RestartAction
from flowsim.laws.job_history import NO_CHECKPOINT, RestartEvent
from flowsim.quantities import duration_text
from flowsim.recording.manifest import RunStatus
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
    lines: tuple[str, ...] = ()
    if failure is not None:
        text += _because(facts, task, failure)
        reason = facts.names.reason(failure.failure)
        lines = (f"failure {failure.failure}: {reason}",) if reason else ()
    if restart is not None:
        start = "without state" if restart.checkpoint == NO_CHECKPOINT else f"from checkpoint {restart.checkpoint}"
        planned = _event(facts, RestartAction.FAILURE, failure=restart.failure)
        text += f". Attempt {attempt + 1} starts {start} at {facts.moment(restart.time_ns)}{_delay(planned)}."
        return [Cause(text, ("12.123",), place_of(end), lines)]
    if failure is not None and failure.action == RestartAction.FAILURE:
        due = facts.moment(failure.time_ns + failure.delay_ms * NS_PER_MS)
        text += f". Attempt {attempt + 1} is due at {due}{_delay(failure)}; the run ends before it starts."
        return [Cause(text, ("12.123",), place_of(end), lines)]
    if failure is not None:
        text += ", and no restart followed: the job failed. What was open then is lost."
    else:
        text += f"{_end_of_run(facts)}: what was open then is lost."
    return [Cause(text, ("4.24", "4.25"), place_of(end), lines)]


def is_restarted(facts: RunFacts, task: int) -> bool:
    """Whether a restart follows the early end of the attempt of a task; it may be due after the end of the recording."""
    end = early_end(facts, task)
    if end is None:
        return False
    restart = _event(facts, RestartAction.RESTART, task_id=task, attempt=facts.attempt_of(task) + 1)
    failure = _failure(facts, task, end, restart)
    return restart is not None or (failure is not None and failure.action == RestartAction.FAILURE)


def before_end(facts: RunFacts, task: int) -> str:
    """The early end of the attempt of a task after the moment, for a sentence about what the attempt does not reach; or ''."""
    end = early_end(facts.whole, task)
    return "" if end is None else f" before the attempt of {facts.task(task)} ends at {facts.moment(end['time_ns'])}"


def _because(facts: RunFacts, task: int, failure: RestartEvent) -> str:
    if failure.task_id < 0:
        return ", because the job failed as a whole"
    return "" if failure.task_id == task else f", because {facts.task(failure.task_id)} failed"


def _delay(failure: RestartEvent | None) -> str:
    return "" if failure is None else f", after a delay of {duration_text(failure.delay_ms * NS_PER_MS)}"


def _end_of_run(facts: RunFacts) -> str:
    """What ended an attempt that no failure ended, for the end of a sentence."""
    match facts.recording.status:
        case RunStatus.STOPPED:
            return " with the run, whose time was up"
        case RunStatus.CANCELED:
            return " with the job, which was canceled"
        case _:
            return ", and the recording shows no restart of it"


def _failure(facts: RunFacts, task: int, end: Row, restart: RestartEvent | None) -> RestartEvent | None:
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


def _is_pending(facts: RunFacts, failure: RestartEvent, task: int) -> bool:
    """Whether a failure is the last one before the end of the run, ended an attempt of a task, and restarted nothing."""
    events = [event for event in facts.graph.history.restarts if event.step > failure.step]
    if any(event.action == RestartAction.RESTART and event.failure == failure.failure for event in events):
        return False
    return failure.task_id < 0 or failure.task_id in _region(facts, task)


def _region(facts: RunFacts, task: int) -> frozenset[int]:
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


def attempt_text(facts: RunFacts, task: int, attempt: int | None = None) -> str:
    """An attempt of a restarted task, by default that of the facts; '' for a task that was never restarted."""
    last = facts.graph.history.last_attempts.get(task, 0)
    return f" in attempt {facts.attempt_of(task) if attempt is None else attempt} (of 0 to {last})" if last else ""


def _event(facts: RunFacts, action: RestartAction, **values: int) -> RestartEvent | None:
    for event in facts.graph.history.restarts:
        if event.action == action and all(getattr(event, name) == value for name, value in values.items()):
            return event
    return None

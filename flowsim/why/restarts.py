"""What ended an attempt of a task early: a failure, the cancellation that follows one, and the restart (section 12.J)."""

from __future__ import annotations

from flowsim.facts.kinds import LifeEvent, RestartAction
from flowsim.history.attempts import early_end, failure_of, restart_event
from flowsim.laws.job_history import NO_CHECKPOINT, RestartEvent
from flowsim.quantities import duration_text
from flowsim.recording.manifest import RunStatus
from flowsim.units import NS_PER_MS
from flowsim.why.answer import Cause
from flowsim.why.run_facts import RunFacts, place_of

_ENDS = {LifeEvent.CANCELED: "was canceled", LifeEvent.FAILED: "failed"}


def early_end_causes(facts: RunFacts, task: int) -> list[Cause]:
    """Why the attempt of a task has ended early, and whether the job restarted it; empty if it has not."""
    end = early_end(facts, task)
    if end is None:
        return []
    attempt = facts.attempt_of(task)
    text = f"{facts.task(task)} {_ENDS[LifeEvent(end['event'])]} at {facts.moment(end['time_ns'])}"
    restart = restart_event(facts, RestartAction.RESTART, task_id=task, attempt=attempt + 1)
    failure = failure_of(facts, task, end, restart)
    lines: tuple[str, ...] = ()
    if failure is not None:
        text += _because(facts, task, failure)
        reason = facts.names.reason(failure.failure)
        lines = (f"failure {failure.failure}: {reason}",) if reason else ()
    if restart is not None:
        start = "without state" if restart.checkpoint == NO_CHECKPOINT else f"from checkpoint {restart.checkpoint}"
        planned = restart_event(facts, RestartAction.FAILURE, failure=restart.failure)
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


def attempt_text(facts: RunFacts, task: int, attempt: int | None = None) -> str:
    """An attempt of a restarted task, by default that of the facts; '' for a task that was never restarted."""
    last = facts.graph.history.last_attempts.get(task, 0)
    return f" in attempt {facts.attempt_of(task) if attempt is None else attempt} (of 0 to {last})" if last else ""

"""Why a checkpoint failed, has not ended, or was never triggered: by whom, what it had waited for, and what follows."""

from __future__ import annotations

from collections import Counter
from typing import Final

from flowsim.facts.kinds import (
    CheckpointAction,
    CheckpointReason,
    CheckpointStep,
    LifeEvent,
    RestartAction,
    SnapshotKind,
)
from flowsim.history.checkpoint_path import CheckpointSteps, PathPart
from flowsim.history.checkpoints import RecordedCheckpoint
from flowsim.laws.job_history import CheckpointEvent, RestartEvent
from flowsim.quantities import count_text, duration_text
from flowsim.streamrecord.checkpoint_exception import CheckpointFailureReason
from flowsim.trace.phrases import SNAPSHOTS
from flowsim.units import NS_PER_MS
from flowsim.why.answer import Cause, WhyAnswer
from flowsim.why.checkpoints.parts import part_causes, part_text
from flowsim.why.run_facts import RunFacts, place_of
from flowsim.why.sentence import capital

_COUNTED: Final = (
    CheckpointReason.IO_EXCEPTION, CheckpointReason.CHECKPOINT_ASYNC_EXCEPTION, CheckpointReason.CHECKPOINT_DECLINED,
    CheckpointReason.CHECKPOINT_EXPIRED, CheckpointReason.FINALIZE_CHECKPOINT_FAILURE,
)  # fmt: skip
_STOPS: Final = (SnapshotKind.SUSPEND, SnapshotKind.TERMINATE)
_RULES: Final = {
    CheckpointReason.CHECKPOINT_COORDINATOR_SUSPEND: ("12.54", "12.43"),
    CheckpointReason.CHECKPOINT_SUBSUMED: ("12.54", "12.50"),
    CheckpointReason.JOB_FAILOVER_REGION: ("12.54", "12.123"),
    CheckpointReason.CHECKPOINT_DECLINED_TASK_NOT_READY: ("12.53", "12.93"),
    CheckpointReason.CHECKPOINT_DECLINED_TASK_CLOSING: ("12.53", "12.99"),
    CheckpointReason.CHECKPOINT_DECLINED_SUBSUMED: ("12.53", "12.73"),
    CheckpointReason.CHECKPOINT_DECLINED_ON_CANCELLATION_BARRIER: ("12.53", "12.13"),
    CheckpointReason.CHECKPOINT_DECLINED_INPUT_END_OF_STREAM: ("12.53", "12.12"),
    CheckpointReason.CHECKPOINT_ASYNC_EXCEPTION: ("12.53", "12.7"),
    CheckpointReason.NOT_ALL_REQUIRED_TASKS_RUNNING: ("12.2", "12.46"),
}
_MOST_LISTED: Final = 8


def is_counted(one: RecordedCheckpoint) -> bool:
    """Whether its failure counts towards the failures that the job tolerates (rule 12.52)."""
    return one.status == "failed" and one.reason in _COUNTED


def checkpoint_text(one: RecordedCheckpoint) -> str:
    """Names a checkpoint or savepoint: ``savepoint 3 (of a stop with drain)``."""
    name, _, what = SNAPSHOTS[one.kind].partition(" of ")
    return f"{name} {one.checkpoint}" + (f" (of {what})" if what else "")


def reason_text(reason: CheckpointReason) -> str:
    """The message of Flink, without a period."""
    return CheckpointFailureReason[reason.name].value.rstrip(".")


def failed_answer(facts: RunFacts, one: RecordedCheckpoint) -> WhyAnswer:
    """Explains a checkpoint that is not complete."""
    # A busy task's clock is ahead of the job's: what it does after the end of the checkpoint is no part of it.
    steps = CheckpointSteps(facts if one.ended_ns is None else facts.until(one.ended_ns), one)
    name = capital(checkpoint_text(one))
    end_ns = facts.end_ns if one.ended_ns is None else one.ended_ns
    took = duration_text(end_ns - one.triggered_ns)
    declined = _declined(facts, one)
    if one.ended_ns is None:
        text = f"{name} is in progress since {facts.moment(one.triggered_ns)}, for {took}{facts.by_moment}."
        rules: tuple[str, ...] = ("12.3",)
    else:
        verb = "expired" if one.reason is CheckpointReason.CHECKPOINT_EXPIRED else "was aborted"
        because = "" if declined is None else f" because {facts.task(declined.task_id)} declined it"
        text = (
            f"{name} {verb}{because} at {facts.moment(end_ns)}, {took} after its trigger: {one.reason.name}, "
            f"{reason_text(one.reason)!r}."
        )
        rules = _RULES.get(one.reason, ("12.54",))
    row = None if declined is None else steps.of(declined.task_id).get(CheckpointStep.DECLINE)
    by = None if declined is None else declined.task_id
    parts = {task: steps.pending(task, end_ns) for task in steps.missing if task != by}
    acks = _acknowledgements(facts, steps, parts)
    statement = Cause(text, rules, None if row is None else place_of(row))
    causes = [
        *_trigger_of_end(facts, one, declined),
        *acks,
        *_first_missing(facts, steps, parts),
        *_consequence(facts, one),
    ]
    return WhyAnswer(statement, tuple(causes))


def _declined(facts: RunFacts, one: RecordedCheckpoint) -> CheckpointEvent | None:
    events = (event for event in facts.graph.history.checkpoints if event.checkpoint == one.checkpoint)
    return next((event for event in events if event.action == CheckpointAction.DECLINED), None)


def _trigger_of_end(facts: RunFacts, one: RecordedCheckpoint, declined: CheckpointEvent | None) -> list[Cause]:
    """What ended it, beside itself."""
    if one.ended_ns is None:
        return []
    match one.reason:
        case CheckpointReason.CHECKPOINT_EXPIRED:
            timeout_ms = _setting(facts, "timeout", "timeout_ms")
            if timeout_ms is None:
                return []
            text = (
                f"A checkpoint has {duration_text(timeout_ms * NS_PER_MS)} from its trigger on (checkpointing.timeout)."
            )
            return [Cause(text, ("12.54", "12.45"))]
        case CheckpointReason.CHECKPOINT_SUBSUMED:
            newer = next(
                (
                    event
                    for event in facts.graph.history.checkpoints
                    if event.action == CheckpointAction.COMPLETED
                    and event.checkpoint > one.checkpoint
                    and event.time_ns == one.ended_ns
                ),
                None,
            )
            if newer is None:
                return []
            return [Cause(f"Checkpoint {newer.checkpoint}, which is newer, was complete first.", ("12.50",))]
        case CheckpointReason.CHECKPOINT_COORDINATOR_SUSPEND | CheckpointReason.JOB_FAILOVER_REGION:
            return _scheduler_stopped(facts, one.ended_ns)
        case CheckpointReason.CHECKPOINT_DECLINED_TASK_NOT_READY if declined is not None:
            return _state_then(facts, declined.task_id, one.ended_ns)
        case CheckpointReason.CHECKPOINT_COORDINATOR_SHUTDOWN:
            text = "The coordinator was shut down with the job, and aborts every checkpoint that is not complete."
            return [Cause(text, ("12.54",))]
        case _:
            return []


def _state_then(facts: RunFacts, task: int, time_ns: int) -> list[Cause]:
    """The state of a task that could not take a checkpoint."""
    last = facts.until(time_ns).rows("lifecycle", task).equal(operator=-1).last()
    if last is None:
        return []
    event = LifeEvent(last["event"])
    then = f"{event.name}, at {facts.moment(last['time_ns'])}"
    text = f"{facts.task(task)} was not ready: the last event of its life cycle was {then}."
    return [Cause(text, ("12.93", "12.2"), place_of(last))]


def _scheduler_stopped(facts: RunFacts, ended_ns: int) -> list[Cause]:
    """The event because of which the coordinator aborts every checkpoint in progress."""
    failure = failure_at(facts, ended_ns)
    if failure is not None:
        text = f"{capital(failure_text(facts, failure))} at that time: the coordinator aborts every checkpoint in progress."
        return [Cause(text, ("12.43", "12.123"))]
    stop = next(
        (
            event
            for event in facts.graph.history.checkpoints
            if event.action == CheckpointAction.TRIGGERED and event.type in _STOPS and event.time_ns == ended_ns
        ),
        None,
    )
    if stop is not None:
        text = f"The job was stopped with savepoint {stop.checkpoint} at that time: before it, every checkpoint is aborted."
        return [Cause(text, ("12.138",))]
    text = (
        "The coordinator stops its scheduler, and aborts every checkpoint in progress, when a task is no longer RUNNING or "
        "FINISHED."
    )
    return [Cause(text, ("12.43",))]


def failure_at(facts: RunFacts, time_ns: int) -> RestartEvent | None:
    """The last failure up to a time, if nothing was restarted between."""
    before = [event for event in facts.graph.history.restarts if event.time_ns <= time_ns]
    last = next(reversed(before), None)
    return last if last is not None and last.action != RestartAction.RESTART else None


def failure_text(facts: RunFacts, failure: RestartEvent) -> str:
    """A failure as the beginning of a sentence: who failed."""
    if failure.task_id < 0:
        return "the job failed as a whole"
    return f"attempt {failure.attempt} of {facts.task(failure.task_id)} failed"


def _acknowledgements(facts: RunFacts, steps: CheckpointSteps, parts: dict[int, list[PathPart]]) -> list[Cause]:
    """How many tasks acknowledged it, and what the others waited for."""
    one = steps.checkpoint
    lines = [f"{facts.task(task)}: {_last_text(facts, open_parts)}" for task, open_parts in parts.items()]
    if len(lines) > _MOST_LISTED:
        lines = [*lines[:_MOST_LISTED], f"and {len(lines) - _MOST_LISTED:,} more"]
    text = f"{one.acknowledged:,} of {count_text(one.tasks, 'task')} acknowledged it"
    finished = one.acknowledged - len(one.acknowledged_at)
    if finished > 0:
        text += f", with {count_text(finished, 'task')} that had finished before"
    text += f"; {count_text(len(parts), 'acknowledgement')} did not come." if parts else "."
    return [Cause(text, ("12.3",), None, tuple(lines))]


def _last_text(facts: RunFacts, parts: list[PathPart]) -> str:
    """What a task waited for in the end."""
    last = next(reversed(parts), None)
    if last is None:
        return "no barrier was written to it"
    return f"{part_text(facts, last)} since {facts.moment(last.begin_ns)}"


def _first_missing(facts: RunFacts, steps: CheckpointSteps, parts: dict[int, list[PathPart]]) -> list[Cause]:
    """Why the first of the tasks whose acknowledgement is missing had not acknowledged it."""
    first = next((of_task for of_task in parts.values() if of_task), [])
    longest = max(first, key=lambda part: part.length_ns, default=None)
    return [] if longest is None else part_causes(facts, steps, longest)


def _consequence(facts: RunFacts, one: RecordedCheckpoint) -> list[Cause]:
    """Whether the failure counts, and the failure of a task or of the job that follows from it."""
    if one.ended_ns is None or one.kind is SnapshotKind.SAVEPOINT:
        return []
    tolerable = _setting(facts, "tolerable_failed_checkpoints", "tolerable_failed_checkpoints")
    if one.reason not in _COUNTED:
        return [Cause(f"{one.reason.name} does not count as a failed checkpoint: it cannot fail the job.", ("12.52",))]
    if tolerable is None:
        return []
    text = f"The failure counts: the job tolerates {count_text(tolerable, 'failed checkpoint')} in a row"
    failure = next(
        (
            event
            for event in facts.graph.history.restarts
            if event.action != RestartAction.RESTART
            and event.time_ns == one.ended_ns
            and "tolerable failure threshold" in facts.names.reason(event.failure)
        ),
        None,
    )
    text += (
        "." if failure is None else f", so {failure_text(facts, failure)} because of it (failure {failure.failure})."
    )
    return [Cause(text, ("12.52", "12.53"))]


def _setting(facts: RunFacts, *names: str) -> int | None:
    """A setting of checkpoints by its names in scenarios and in the API."""
    given = facts.recording.manifest.run.settings.get("checkpointing")
    found = next((given[name] for name in names if name in given), None) if isinstance(given, dict) else None
    return found if isinstance(found, int) else None


def rejected_lines(facts: RunFacts) -> list[str]:
    """The triggers that failed before there was a checkpoint, by reason."""
    counts = Counter(CheckpointReason(event.reason) for event in _rejected(facts))
    return [
        f"{count_text(number, 'trigger')} failed before there was a checkpoint: {reason.name}, {reason_text(reason)!r}"
        for reason, number in counts.items()
    ]


def _rejected(facts: RunFacts) -> list[CheckpointEvent]:
    until_ns = facts.until_ns
    return [
        event
        for event in facts.graph.history.checkpoints
        if event.action == CheckpointAction.REJECTED and (until_ns is None or event.time_ns <= until_ns)
    ]


def why_none(facts: RunFacts) -> WhyAnswer:
    """Explains why no checkpoint was triggered."""
    statement = Cause(f"No checkpoint was triggered{facts.by_moment}.", ("12.43",))
    rejected = _rejected(facts)
    if rejected:
        return WhyAnswer(statement, tuple(_rejected_causes(facts, rejected)))
    interval_ms = _setting(facts, "interval", "interval_ms")
    if interval_ms is None:
        text = (
            "Checkpointing has no interval (settings.checkpointing), and no action of the run asked for a checkpoint."
        )
        return WhyAnswer(statement, (Cause(text, ("12.43",)),))
    pause_ms = _setting(facts, "min_pause", "min_pause_ms") or 0
    text = (
        f"The interval is {duration_text(interval_ms * NS_PER_MS)}: the first checkpoint is due after a random time between "
        f"{duration_text(pause_ms * NS_PER_MS)} (min_pause) and the interval, once all tasks are RUNNING. "
        f"{'The recording ends at' if facts.until_ns is None else 'The question is about'} {facts.moment(facts.end_ns)}."
    )
    return WhyAnswer(statement, (Cause(text, ("12.43",)),))


def _rejected_causes(facts: RunFacts, rejected: list[CheckpointEvent]) -> list[Cause]:
    first = rejected[0]
    reason = CheckpointReason(first.reason)
    text = (
        f"{count_text(len(rejected), 'trigger')} failed before there was a checkpoint, the first at "
        f"{facts.moment(first.time_ns)}: {reason.name}, {reason_text(reason)!r}."
    )
    return [Cause(text, _RULES.get(reason, ("12.46",)), None, tuple(_not_running(facts, first.time_ns)))]


def _not_running(facts: RunFacts, time_ns: int) -> list[str]:
    """The tasks that were not RUNNING at a time."""
    at = facts.until(time_ns)
    lines = []
    for task in facts.graph.tasks:
        last = at.rows("lifecycle", task).equal(operator=-1).last()
        if last is None or last["event"] != LifeEvent.RUNNING:
            state = "had not started" if last is None else f"was {LifeEvent(last['event']).name}"
            lines.append(f"{facts.task(task)} {state}")
    return lines[:_MOST_LISTED]

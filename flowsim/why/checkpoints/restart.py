"""``why restart`` and ``why failed``: the cause of a failure, the tasks that it restarts, and what they repeat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from flowsim.errors import BadInput, printable_line
from flowsim.facts.kinds import Level, LifeEvent, StoredAction
from flowsim.history.checkpoints import RecordedCheckpoint
from flowsim.history.restarts import Failover, completed, failovers, takes_over
from flowsim.laws.job_history import NO_CHECKPOINT, RestartEvent
from flowsim.quantities import count_text, duration_text
from flowsim.recording.manifest import RunStatus
from flowsim.trace.places import Place
from flowsim.units import NS_PER_MS
from flowsim.why.answer import Cause, WhyAnswer
from flowsim.why.checkpoints.failed import failure_text, is_counted
from flowsim.why.checkpoints.repeats import repeated_causes
from flowsim.why.checkpoints.started import started_answer
from flowsim.why.checkpoints.strategy import strategy_cause
from flowsim.why.run_facts import RunFacts, place_of
from flowsim.why.sentence import capital

_MOST_LISTED: Final = 8
_ENDS: Final = {LifeEvent.CANCELED: "was canceled", LifeEvent.FAILED: "failed", LifeEvent.FINISHED: "had finished"}


def why_restart(facts: RunFacts, words: Sequence[str]) -> WhyAnswer:
    """Explains a failure by its number, by default the last one, and the restart that followed. Raises BadInput."""
    known = _known(facts)
    if not known and not words:
        text = f"No task was restarted: no failure was reported{facts.by_moment}."
        return started_answer(facts) or WhyAnswer(Cause(text, ("12.123",)))
    number = next((one for one in known if str(one) == words[0]), None) if words else next(reversed(known))
    later = None if number is not None else failovers(facts.of_run).get(int(words[0]) if words[0].isdecimal() else -1)
    if later is not None:
        text = f"Failure {words[0]} had not come{facts.by_moment}: it comes at {facts.moment(later.failure.time_ns)}."
        return WhyAnswer(Cause(text, ("12.123",)))
    if number is None:
        has = f"failures {_numbers(known)}" if known else "no failures"
        raise BadInput(f"there is no failure {words[0]!r}; the recording has {has}{facts.by_moment}")
    notes = () if words else _notes(facts, known, number)
    return _answer(facts, known[number], notes)


def why_failed(facts: RunFacts) -> WhyAnswer:
    """Explains why the job failed; of a job that did not, what failed in it."""
    known, status = _known(facts), facts.recording.status
    final = next((one for one in reversed(known.values()) if one.is_final), None)
    if final is not None:
        answered = _answer(facts, final, _notes(facts, known, final.failure.failure))
        return WhyAnswer(answered.statement, answered.causes, (*answered.notes, *_checkpoint_notes(facts)))
    failure = facts.recording.manifest.failure
    if status is RunStatus.FAILED and failure is not None and facts.until_ns is None:
        where = f" in {failure.task}" if failure.task else ""
        text = f"The job failed{where}: {failure.cause.rstrip('.')}."
        row = facts.all_rows("lifecycle").equal(event=LifeEvent.FAILED).first()
        return WhyAnswer(Cause(text, ("4.24",), None if row is None else place_of(row)))
    ends = {
        RunStatus.COMPLETE: "it finished",
        RunStatus.CANCELED: "it was canceled",
        RunStatus.STOPPED: "its time was up",
    }
    then = (
        f" by {facts.moment(facts.until_ns)}"
        if facts.until_ns is not None
        else f": {ends.get(status, 'it did not end')}"
    )
    handled = count_text(len(known), "failure")
    after = (
        f"{handled} {'was' if len(known) == 1 else 'were'} followed by a restart"
        if known
        else "No failure was reported"
    )
    text = f"The job did not fail{then}. {after}."
    lines = [_line(facts, one) for one in list(known.values())[-_MOST_LISTED:]]
    statement = Cause(text, ("12.123",), None, tuple(lines))
    return WhyAnswer(
        statement, tuple(_failed_checkpoints(facts)), ("why ... restart N explains a failure",) if known else ()
    )


def _known(facts: RunFacts) -> dict[int, Failover]:
    if facts.recording.level < Level.ELEMENTS:
        raise BadInput("the recording has no failures: they need --record elements")
    return failovers(facts)


def _numbers(known: dict[int, Failover]) -> str:
    numbers = list(known)
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


def _notes(facts: RunFacts, known: dict[int, Failover], number: int) -> tuple[str, ...]:
    others = [one for of, one in known.items() if of != number]
    lines = [_line(facts, one) for one in others[:_MOST_LISTED]]
    if len(others) > _MOST_LISTED:
        lines.append(f"and {count_text(len(others) - _MOST_LISTED, 'failure')} more: 'flowsim checkpoints' lists them")
    return tuple(lines)


def _line(facts: RunFacts, one: Failover) -> str:
    return f"failure {one.failure.failure}: {_head(facts, one)}{_then(facts, one)}"


def _head(facts: RunFacts, one: Failover) -> str:
    return f"{failure_text(facts, one.failure)} at {facts.moment(one.failure.time_ns)}"


def _then(facts: RunFacts, one: Failover) -> str:
    """What followed a failure, for the end of a sentence."""
    if one.is_final:
        return ", and the job failed"
    if not one.restarts:
        other = takes_over(facts, one.failure)
        if other is not None and (facts.until_ns is None or other.time_ns <= facts.until_ns):
            return f"; its tasks were restarted because of failure {other.failure}"
        due = facts.moment(one.failure.time_ns + one.failure.delay_ms * NS_PER_MS)
        return f", and the restart was due at {due}"
    first_ns = min(event.time_ns for event in one.restarts)
    return (
        f", and {count_text(len(one.restarts), 'task')} of {len(facts.graph.tasks):,} "
        f"{'was' if len(one.restarts) == 1 else 'were'} restarted at {facts.moment(first_ns)}{_from(one)}"
    )


def _from(one: Failover) -> str:
    return " without state" if one.checkpoint == NO_CHECKPOINT else f" from checkpoint {one.checkpoint}"


def _answer(facts: RunFacts, one: Failover, notes: tuple[str, ...]) -> WhyAnswer:
    failure = one.failure
    text = f"{capital(_head(facts, one))} (failure {failure.failure}){_then(facts, one)}."
    row = _end_of(facts, failure.task_id, failure.attempt) if failure.task_id >= 0 else None
    rules = ("12.129", "4.24") if one.is_final else ("12.123", "12.29")
    statement = Cause(text, rules, row)
    causes = [*_cause(facts, failure), *_region(facts, one), strategy_cause(facts, one)]
    if one.restarts:
        causes += [*_restored(facts, one), *repeated_causes(facts, one)]
    return WhyAnswer(statement, tuple(causes), notes)


def _end_of(facts: RunFacts, task: int, attempt: int) -> Place | None:
    life = facts.whole.in_attempt(task, attempt).rows("lifecycle", task)
    last = life.where(np.isin(life["event"], list(_ENDS)) & (life["operator"] == -1)).last()
    return None if last is None else place_of(last)


def _cause(facts: RunFacts, failure: RestartEvent) -> list[Cause]:
    """The error, with the operator and the record that it processed."""
    reason = facts.names.reasons.get(failure.failure)
    if reason is None:
        return [Cause("The recording does not contain the error: causes are written when a run ends.", ("4.24",))]
    where = f" in {reason.operator}" if reason.operator else ""
    record = f", while it processed record {reason.record}" if reason.record else ""
    error, _, message = printable_line(reason.cause).rstrip(".").partition(": ")
    return [Cause(f"The cause is {error}{where}{record}{f': {message}' if message else ''}.", ("4.24",))]


def _region(facts: RunFacts, one: Failover) -> list[Cause]:
    """The tasks that end and start because of a failure, and why those."""
    failure = one.failure
    if not one.restarts:
        return []
    ended = [_ended_line(facts, failure, event) for event in one.restarts[:_MOST_LISTED]]
    if len(one.restarts) > _MOST_LISTED:
        ended.append(f"and {len(one.restarts) - _MOST_LISTED:,} more")
    others = [facts.task(task) for task in facts.graph.tasks if task not in one.tasks]
    rules: tuple[str, ...]
    if failure.task_id < 0:
        text, rules = "A failure of the whole job restarts every task.", ("12.122",)
    elif one.is_region(facts):
        name = facts.task(failure.task_id)
        text = f"Pipelined exchanges connect these tasks with {name}, directly or through each other: they restart together."
        if one.tasks == {failure.task_id}:
            text = f"No pipelined exchange connects {name} with another task: it restarts alone."
        rules = ("12.27", "12.28")
    else:
        text = (
            f"These tasks restart with {facts.task(failure.task_id)}: those that pipelined exchanges connect with it, the "
            "producers of partitions that are not available, and all consumers of these."
        )
        rules = ("12.28",)
    if others:
        text += f" Not restarted: {', '.join(others[:_MOST_LISTED])}{', ...' if len(others) > _MOST_LISTED else ''}."
    return [Cause(text, rules, None, tuple(ended))]


def _ended_line(facts: RunFacts, failure: RestartEvent, event: RestartEvent) -> str:
    """How the attempt before a restart had ended; the clock of a busy task may be ahead of the failure that it reported."""
    task, attempt = event.task_id, event.attempt - 1
    life = facts.whole.in_attempt(task, attempt).rows("lifecycle", task).equal(operator=-1)
    last = life.where(np.isin(life["event"], list(_ENDS))).last()
    if last is None:
        return f"{facts.task(task)}: attempt {attempt} had not started"
    is_failed = (task, attempt) == (failure.task_id, failure.attempt)
    end_ns = failure.time_ns if is_failed else last["time_ns"]
    return f"{facts.task(task)}: attempt {attempt} {_ENDS[LifeEvent(last['event'])]} at {facts.moment(end_ns)}"


def _restored(facts: RunFacts, one: Failover) -> list[Cause]:
    """From what the tasks start, and what that contains."""
    if one.checkpoint == NO_CHECKPOINT:
        text = "No checkpoint was complete, so the tasks start with their initial state, and the sources from their beginning."
        return [Cause(text, ("12.29",))]
    done = completed(facts, one.checkpoint)
    known: RecordedCheckpoint | None = facts.checkpoints().checkpoints.get(one.checkpoint)
    if done is None or known is None:
        text = f"They start from checkpoint {one.checkpoint}, with which this run started: no later one was complete."
        return [Cause(text, ("12.29",), None, tuple(_position_lines(facts, one)))]
    text = (
        f"They start from checkpoint {one.checkpoint}, the latest that was complete: triggered at "
        f"{facts.moment(known.triggered_ns)}, complete at {facts.moment(done.time_ns)}, "
        f"{duration_text(one.failure.time_ns - done.time_ns)} before the failure."
    )
    return [Cause(text, ("12.29",), None, tuple(_position_lines(facts, one)))]


def _position_lines(facts: RunFacts, one: Failover) -> list[str]:
    lines = []
    for event in one.restarts:
        rows = facts.whole.in_attempt(event.task_id, event.attempt).rows("source_positions", event.task_id)
        for row in rows.equal(action=StoredAction.RESTORED):
            operator = facts.operator_in(event.task_id, row["operator"])
            split = facts.names.value(row["split"]) or str(row["split"])
            lines.append(f"{operator} continues at position {row['position']:,} of split {split}")
    return [*lines[:_MOST_LISTED], f"and {len(lines) - _MOST_LISTED:,} more"] if len(lines) > _MOST_LISTED else lines


def _failed_checkpoints(facts: RunFacts) -> list[Cause]:
    """The failed checkpoints, and whether they count."""
    failed = [one for one in facts.checkpoints(facts.until_ns).checkpoints.values() if one.status == "failed"]
    if not failed:
        return []
    counted = [one for one in failed if is_counted(one)]
    lines = [f"checkpoint {one.checkpoint}: {one.reason.name}" for one in failed[:_MOST_LISTED]]
    text = (
        f"{count_text(len(failed), 'checkpoint')} failed, {len(counted):,} of them for a reason that counts towards the failed "
        "checkpoints in a row that the job tolerates (tolerable_failed_checkpoints)."
    )
    return [Cause(text, ("12.52",), None, tuple(lines))]


def _checkpoint_notes(facts: RunFacts) -> list[str]:
    return [f"{cause.text}" for cause in _failed_checkpoints(facts)]

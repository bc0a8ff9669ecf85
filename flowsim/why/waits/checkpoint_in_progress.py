"""The checkpoint that is in progress at a moment, and the tasks that have not acknowledged it (rules 12.3, 12.94)."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import CheckpointAction, CheckpointStep, LifeEvent
from flowsim.laws.job_history import CheckpointEvent
from flowsim.quantities import count_text
from flowsim.why.answer import Cause
from flowsim.why.restarts import before_end
from flowsim.why.run_facts import RunFacts

_ENDS: Final = (CheckpointAction.COMPLETED, CheckpointAction.ABORTED)
_MOST_LISTED: Final = 8
_NEVER: Final = 2**63 - 1


def in_progress_causes(facts: RunFacts) -> tuple[list[Cause], int | None]:
    """The oldest checkpoint in progress, and the first of its tasks that others wait for; empty and None without one."""
    found = _oldest(facts)
    if found is None:
        return [], None
    triggered, later = found
    acknowledged = [event for event in later if event.action == CheckpointAction.ACKNOWLEDGED]
    end = next((event for event in later if event.action in _ENDS), None)
    so_far, count = _acknowledged(facts, triggered)
    left = triggered.tasks - count
    text = (
        f"Checkpoint {triggered.checkpoint} is in progress since {facts.moment(triggered.time_ns)}: "
        f"{left:,} of {count_text(triggered.tasks, 'task')} {'has' if left == 1 else 'have'} not acknowledged it so far. "
    )
    if end is None:
        text += "The recording does not show how it ends."
    else:
        ends = "complete" if end.action == CheckpointAction.COMPLETED else "aborted"
        text += f"It is {ends} at {facts.moment(end.time_ns)}."
    at = {event.task_id: event for event in acknowledged}
    waiting = [task for task in facts.graph.tasks if task not in so_far and (task in at or _runs(facts, task))]
    waiting.sort(key=lambda task: (at[task].step if task in at else _NEVER, task))
    lines = tuple(_line(facts, task, triggered.checkpoint, at.get(task)) for task in waiting[:_MOST_LISTED])
    if len(waiting) > _MOST_LISTED:
        lines = (*lines, f"and {len(waiting) - _MOST_LISTED:,} more")
    # The others wait for the slowest of those whose senders have all acknowledged.
    firsts = [task for task in waiting if not any(one.source_task in waiting for one in facts.graph.received_by(task))]
    return [Cause(text, ("12.3", "12.94"), None, lines)], firsts[-1] if firsts else None


def _oldest(facts: RunFacts) -> tuple[CheckpointEvent, list[CheckpointEvent]] | None:
    """The trigger of the oldest checkpoint in progress, and its events after the moment."""
    now_ns = facts.until_ns or facts.end_ns
    for triggered in facts.graph.history.checkpoints:
        if triggered.action != CheckpointAction.TRIGGERED or triggered.time_ns > now_ns:
            continue
        events = [one for one in facts.graph.history.checkpoints if one.checkpoint == triggered.checkpoint]
        if not any(one.action in _ENDS and one.time_ns <= now_ns for one in events):
            return triggered, [one for one in events if one.time_ns > now_ns]
    return None


def _acknowledged(facts: RunFacts, triggered: CheckpointEvent) -> tuple[set[int], int]:
    """The tasks that have acknowledged a checkpoint, and their number with the tasks that had finished when it started."""
    now_ns = facts.until_ns or facts.end_ns
    found, count = set(), triggered.acknowledged
    for event in facts.graph.history.checkpoints:
        is_of = event.checkpoint == triggered.checkpoint and event.action == CheckpointAction.ACKNOWLEDGED
        if is_of and event.time_ns <= now_ns:
            found.add(event.task_id)
            count = event.acknowledged
    return found, count


def _runs(facts: RunFacts, task: int) -> bool:
    last = facts.rows("lifecycle", task).equal(operator=-1).last()
    return last is not None and last["event"] not in (LifeEvent.FINISHED, LifeEvent.CANCELED, LifeEvent.FAILED)


def _line(facts: RunFacts, task: int, checkpoint: int, acknowledged: CheckpointEvent | None) -> str:
    """What a task has done for a checkpoint so far, and when it acknowledges it."""
    taken = facts.rows("checkpoint_steps", task).equal(checkpoint=checkpoint, step=CheckpointStep.SYNC_START).first()
    text = "no snapshot so far" if taken is None else f"snapshot taken at {facts.moment(taken['time_ns'])}"
    if acknowledged is None:
        return f"{facts.task(task)}: {text}, no acknowledgement in the recording{before_end(facts, task)}"
    return f"{facts.task(task)}: {text}, acknowledges it at {facts.moment(acknowledged.time_ns)}"

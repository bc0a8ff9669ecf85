"""The checkpoint that is in progress at a moment, and the tasks that have not acknowledged it (rules 12.3, 12.94)."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import CheckpointStep, LifeEvent
from flowsim.quantities import count_text
from flowsim.why.answer import Cause
from flowsim.why.restarts import before_end
from flowsim.why.run_facts import RunFacts

_MOST_LISTED: Final = 8


def in_progress_causes(facts: RunFacts) -> tuple[list[Cause], int | None]:
    """The oldest checkpoint in progress, and the first of its tasks that others wait for; empty and None without one."""
    so_far = facts.checkpoints(facts.until_ns or facts.end_ns).oldest_in_progress
    if so_far is None:
        return [], None
    in_the_end = facts.checkpoints().checkpoints[so_far.checkpoint]
    left = so_far.tasks - so_far.acknowledged
    text = (
        f"Checkpoint {so_far.checkpoint} is in progress since {facts.moment(so_far.triggered_ns)}: "
        f"{left:,} of {count_text(so_far.tasks, 'task')} {'has' if left == 1 else 'have'} not acknowledged it so far. "
    )
    if in_the_end.ended_ns is None:
        text += "The recording does not show how it ends."
    else:
        ends = "complete" if in_the_end.status == "completed" else "aborted"
        text += f"It is {ends} at {facts.moment(in_the_end.ended_ns)}."
    at = in_the_end.acknowledged_at
    order = {task: number for number, task in enumerate(at)}
    waiting = [
        task for task in facts.graph.tasks if task not in so_far.acknowledged_at and (task in at or _runs(facts, task))
    ]
    waiting.sort(key=lambda task: (order.get(task, len(order)), task))
    lines = tuple(_line(facts, task, so_far.checkpoint, at.get(task)) for task in waiting[:_MOST_LISTED])
    if len(waiting) > _MOST_LISTED:
        lines = (*lines, f"and {len(waiting) - _MOST_LISTED:,} more")
    # The others wait for the slowest of those whose senders have all acknowledged.
    firsts = [task for task in waiting if not any(one.source_task in waiting for one in facts.graph.received_by(task))]
    return [Cause(text, ("12.3", "12.94"), None, lines)], firsts[-1] if firsts else None


def _runs(facts: RunFacts, task: int) -> bool:
    last = facts.rows("lifecycle", task).equal(operator=-1).last()
    return last is not None and last["event"] not in (LifeEvent.FINISHED, LifeEvent.CANCELED, LifeEvent.FAILED)


def _line(facts: RunFacts, task: int, checkpoint: int, acknowledged_ns: int | None) -> str:
    """What a task has done for a checkpoint so far, and when it acknowledges it."""
    taken = facts.rows("checkpoint_steps", task).equal(checkpoint=checkpoint, step=CheckpointStep.SYNC_START).first()
    text = "no snapshot so far" if taken is None else f"snapshot taken at {facts.moment(taken['time_ns'])}"
    if acknowledged_ns is None:
        return f"{facts.task(task)}: {text}, no acknowledgement in the recording{before_end(facts, task)}"
    return f"{facts.task(task)}: {text}, acknowledges it at {facts.moment(acknowledged_ns)}"

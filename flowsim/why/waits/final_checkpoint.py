"""Why a task that has reached the end of its input does not end: its consumers, and its final checkpoint (rule 4.15)."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import CheckpointStep, ElementKind, LifeEvent, SnapshotKind
from flowsim.history.task_states import TaskState
from flowsim.laws.job_graph import Channel
from flowsim.quantities import count_text
from flowsim.why.answer import Cause
from flowsim.why.restarts import before_end
from flowsim.why.run_facts import Row, RunFacts, place_of
from flowsim.why.waits.checkpoint_in_progress import in_progress_causes

_MOST_LISTED: Final = 8
_STOPS: Final = (SnapshotKind.SUSPEND, SnapshotKind.TERMINATE)


def final_causes(facts: RunFacts, state: TaskState) -> tuple[list[Cause], int | None]:
    """The causes, and a task that has to work before this one can end; None if there is none."""
    task = state.task
    ends = facts.rows("sent", task).equal(kind=ElementKind.END_OF_DATA)
    waiting = [
        channel
        for channel in facts.graph.sent_by(task)
        if len(ends.equal(channel=channel.channel)) and not _has_processed_end(facts, channel)
    ]
    place = None if state.since is None else place_of(state.since)
    if waiting:
        lines = [
            f"channel #{channel.channel} to {facts.task(channel.target_task)}" for channel in waiting[:_MOST_LISTED]
        ]
        text = (
            f"{facts.task(task)} ends only when its consumers have processed EndOfData: "
            f"{count_text(len(waiting), 'channel')} of {len(ends):,} {'has' if len(waiting) == 1 else 'have'} not delivered it."
        )
        return [Cause(text, ("4.15", "7.12"), place, tuple(lines))], waiting[0].target_task
    stop = _stop(facts)
    if stop is not None:
        text = f"{facts.task(task)} ends only when savepoint {stop}, with which the job is stopped, is complete."
        causes, following = in_progress_causes(facts)
        return [Cause(f"{text}{_complete(facts, task, stop)}", ("4.15", "12.94", "12.140"), place), *causes], following
    complete = _notified(facts, task)
    if complete is not None:
        text = (
            f"{facts.task(task)} was notified at {facts.moment(complete['time_ns'])} that checkpoint {complete['checkpoint']} is "
            "complete, and its consumers have read EndOfData: it ends when the acknowledgements of EndOfData have arrived."
        )
        return [Cause(text, ("4.15", "7.12"), place_of(complete))], None
    text = (
        f"{facts.task(task)} ends only when the first checkpoint that it takes after the end of its data, or a later one, is "
        f"complete.{_progress(facts, task)}"
    )
    causes, following = in_progress_causes(facts)
    return [Cause(text, ("4.15", "4.16", "12.94"), place), *causes], following


def _has_processed_end(facts: RunFacts, channel: Channel) -> bool:
    received = facts.rows("received", channel.target_task).equal(channel=channel.channel)
    return len(received.equal(kind=ElementKind.END_OF_DATA)) > 0


def _stop(facts: RunFacts) -> int | None:
    """The savepoint with which the job is stopped, if it was triggered and has not failed by the moment."""
    stops = [one for one in facts.checkpoints(facts.until_ns).checkpoints.values() if one.kind in _STOPS]
    return stops[-1].checkpoint if stops and stops[-1].status != "failed" else None


def _end_of_data(facts: RunFacts, task: int) -> int:
    """The fact with which a task ended its data (rule 4.9)."""
    firsts = [
        facts.rows("sent", task).equal(kind=ElementKind.END_OF_DATA).first(),
        facts.rows("lifecycle", task).equal(event=LifeEvent.FINISH).last(),
        facts.rows("lifecycle", task).equal(event=LifeEvent.RESTORED_AS_FINISHED).first(),
        facts.rows("received", task).equal(kind=ElementKind.END_OF_PARTITION).last(),
    ]
    return min((row["seq"] for row in firsts if row is not None), default=0)


def _notified(facts: RunFacts, task: int) -> Row | None:
    """The notification that a checkpoint is complete that the task took after the end of its data."""
    after = facts.rows("checkpoint_steps", task).after(_end_of_data(facts, task))
    taken = after.equal(step=CheckpointStep.SYNC_START).first()
    if taken is None:
        return None
    of_later = after.where(after["checkpoint"] >= taken["checkpoint"])
    return of_later.equal(step=CheckpointStep.NOTIFY_COMPLETE).first()


def _progress(facts: RunFacts, task: int) -> str:
    """The checkpoint that the task has taken since, or takes later, and when the task knows that it is complete."""
    after = facts.whole.rows("checkpoint_steps", task).after(_end_of_data(facts, task))
    taken = after.equal(step=CheckpointStep.SYNC_START).first()
    if taken is None:
        return f" The recording shows no such checkpoint{before_end(facts, task)}."
    verb = "took" if taken["time_ns"] <= (facts.until_ns or facts.end_ns) else "takes"
    text = f" It {verb} checkpoint {taken['checkpoint']} at {facts.moment(taken['time_ns'])}."
    of_later = after.where(after["checkpoint"] >= taken["checkpoint"])
    done = of_later.equal(step=CheckpointStep.NOTIFY_COMPLETE).first()
    return text + _complete(facts, task, taken["checkpoint"] if done is None else done["checkpoint"])


def _complete(facts: RunFacts, task: int, checkpoint: int) -> str:
    """When a task is notified that a checkpoint is complete, as a sentence."""
    steps = facts.whole.rows("checkpoint_steps", task).equal(checkpoint=checkpoint, step=CheckpointStep.NOTIFY_COMPLETE)
    done = steps.first()
    if done is None:
        return f" The recording does not show that checkpoint {checkpoint} is complete{before_end(facts, task)}."
    return f" It is notified at {facts.moment(done['time_ns'])} that checkpoint {checkpoint} is complete."

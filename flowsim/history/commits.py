"""The committables of a sink: when its writers prepared them, and when its committers committed them (section 12)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flowsim.facts.kinds import CheckpointStep, CommittableAction, LifeEvent
from flowsim.history.recorded_facts import RecordedFacts
from flowsim.history.rows import Row
from flowsim.laws.job_graph import Operator

_NEVER = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Commit:
    """A committer commits a committable."""

    row: Row
    attempt: int
    checkpoint: int | None
    """The checkpoint of whose completion it was notified; None: the committable came back with a restart."""


@dataclass(frozen=True, slots=True)
class Committable:
    """A committable that one attempt of a writer prepared, and its commits up to the moment of the facts."""

    prepared: Row
    attempt: int
    commits: tuple[Commit, ...]
    checkpoint: int | None
    """The first checkpoint that contains it; None: the attempt took none."""
    is_of_end: bool
    """Whether the writer prepared it at the end of its input, with the number behind the last checkpoint (rule 12.32)."""


def committable_at(found: list[Committable], task: int, attempt: int, seq: int) -> Committable | None:
    """The committable that contains what an attempt of a writer got at a fact."""
    of_attempt = (one for one in found if (one.prepared["task"], one.attempt) == (task, attempt))
    return next((one for one in of_attempt if one.prepared["seq"] > seq), None)


def committables_of(facts: RecordedFacts, sink: Operator) -> list[Committable]:
    """The committables of a sink with content, in the order of their writers and attempts."""
    commits = list(_commits(facts, sink))
    found = []
    for task in facts.graph.tasks_of(sink.vertex):
        for attempt, rows in enumerate(facts.rows_of_attempts("committables", task.task)):
            steps = facts.whole.in_attempt(task.task, attempt).rows("checkpoint_steps", task.task)
            snapshots = steps.equal(step=CheckpointStep.SYNC_START)
            life = facts.whole.in_attempt(task.task, attempt).rows("lifecycle", task.task)
            finish = life.equal(operator=sink.operator, event=LifeEvent.FINISH).first()
            for row in rows.equal(operator=sink.operator, action=CommittableAction.PREPARED):
                same = (row["committable"], row["checkpoint"])
                mine = [one for one in commits if (one.row["committable"], one.row["checkpoint"]) == same]
                taken = snapshots.after(row["seq"]).first()
                checkpoint = None if taken is None else taken["checkpoint"]
                mine.sort(key=lambda one: one.row["time_ns"])
                next_seq = _NEVER if taken is None else taken["seq"]
                is_of_end = finish is not None and row["seq"] < finish["seq"] < next_seq
                found.append(Committable(row, attempt, tuple(mine), checkpoint, is_of_end))
    return found


def committer_of(facts: RecordedFacts, sink: Operator) -> Operator | None:
    """The operator that commits what a sink prepares."""
    known = (one for one in facts.graph.operators if one.kind == "committer")
    return next((one for one in known if one.name == f"{sink.name}: Committer"), None)


def _commits(facts: RecordedFacts, sink: Operator) -> Iterator[Commit]:
    committer = committer_of(facts, sink)
    if committer is None:
        return
    for task in facts.graph.tasks_of(committer.vertex):
        for attempt, rows in enumerate(facts.rows_of_attempts("committables", task.task)):
            steps = facts.whole.in_attempt(task.task, attempt).rows("checkpoint_steps", task.task)
            for row in rows.equal(operator=committer.operator, action=CommittableAction.COMMITTED):
                notified = steps.before(row["seq"]).equal(step=CheckpointStep.NOTIFY_COMPLETE).last()
                yield Commit(row, attempt, None if notified is None else notified["checkpoint"])

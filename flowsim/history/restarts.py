"""A failure of a run with the tasks that it restarted, and what each of them repeats (section 12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flowsim.facts.kinds import CheckpointAction, RestartAction
from flowsim.history.attempts import region
from flowsim.history.recorded_facts import RecordedFacts
from flowsim.laws.job_graph import Operator
from flowsim.laws.job_history import NO_CHECKPOINT, CheckpointEvent, RestartEvent


@dataclass(frozen=True, slots=True)
class Failover:
    """A failure, and the restarts that it caused up to the moment of the facts."""

    failure: RestartEvent
    restarts: tuple[RestartEvent, ...]
    number: int
    """The failures before it in this run, and itself."""

    @property
    def is_final(self) -> bool:
        return self.failure.action == RestartAction.GIVE_UP

    @property
    def tasks(self) -> frozenset[int]:
        return frozenset(event.task_id for event in self.restarts)

    @property
    def checkpoint(self) -> int:
        """The checkpoint from which its tasks start, -1: none."""
        return max((event.checkpoint for event in self.restarts), default=NO_CHECKPOINT)

    def is_region(self, facts: RecordedFacts) -> bool:
        """Whether it restarted the tasks that pipelined exchanges connect with the one that failed, and no other."""
        return self.failure.task_id >= 0 and self.tasks == region(facts, self.failure.task_id)


def failovers(facts: RecordedFacts) -> dict[int, Failover]:
    """The failures up to the moment of the facts, by number."""
    events = [one for one in facts.graph.history.restarts if facts.until_ns is None or one.time_ns <= facts.until_ns]
    failures = [event for event in events if event.action != RestartAction.RESTART]
    return {
        failure.failure: Failover(
            failure,
            tuple(one for one in events if one.action == RestartAction.RESTART and one.failure == failure.failure),
            number,
        )
        for number, failure in enumerate(failures, start=1)
    }


def takes_over(facts: RecordedFacts, failure: RestartEvent) -> RestartEvent | None:
    """The first restart after a failure that restarted no task itself: that of a failure which took its tasks over."""
    after = (one for one in facts.graph.history.restarts if one.step > failure.step)
    return next((one for one in after if one.action == RestartAction.RESTART), None)


def completed(facts: RecordedFacts, checkpoint: int) -> CheckpointEvent | None:
    """The completion of a checkpoint in this run."""
    events = (event for event in facts.graph.history.checkpoints if event.checkpoint == checkpoint)
    return next((event for event in events if event.action == CheckpointAction.COMPLETED), None)


@dataclass(frozen=True, slots=True)
class Repeated:
    """The records that an operator had begun to process before a failure, behind the snapshot that is restored."""

    task: int
    operator: Operator
    read: int
    """In the attempt that ended."""
    in_snapshot: int
    """Those of them before its snapshot; 0 if an earlier attempt took it, or without a checkpoint."""

    @property
    def records(self) -> int:
        return self.read - self.in_snapshot


def repeated(facts: RecordedFacts, failover: Failover, kinds: Sequence[str]) -> list[Repeated]:
    """What operators of these kinds had processed that the restored state does not contain."""
    found = []
    for restart in failover.restarts:
        task = restart.task_id
        before = facts.whole.in_attempt(task, restart.attempt - 1)
        for operator in facts.operators_of(task):
            total = before.rows("operator_counts", task).equal(operator=operator.operator).last()
            if operator.kind in kinds and total is not None:
                snapshots = before.rows("snapshots", task).equal(operator=operator.operator)
                taken = snapshots.equal(checkpoint=restart.checkpoint).last()
                found.append(Repeated(task, operator, total["records_in"], 0 if taken is None else taken["records_in"]))
    return found

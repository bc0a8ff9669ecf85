"""What a committer reports of its committables, and which managers can be merged (rules 12.132, 12.133)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from flowsim.connectors.sinks.committables.checkpoint_committable_manager import CheckpointCommittableManager
from flowsim.connectors.sinks.committables.commit_request import CommitRequest
from flowsim.connectors.sinks.committables.committable_collector import CommittableCollector
from flowsim.connectors.sinks.committables.committable_message import CommittableSummary, CommittableWithLineage
from flowsim.connectors.sinks.committables.subtask_committable_manager import SubtaskCommittableManager
from flowsim.errors import InvariantViolation


class Committer:
    """Commits everything but the committables that start with ``drop``."""

    def commit(self, requests: Sequence[CommitRequest[str]]) -> None:
        for request in requests:
            if request.committable.startswith("drop"):
                request.signal_failed_with_known_reason(OSError("gone"))


def collector_of(*committables: str) -> CommittableCollector[str]:
    collector: CommittableCollector[str] = CommittableCollector()
    collector.add_message(CommittableSummary(0, 1, 4, len(committables)))
    for committable in committables:
        collector.add_message(CommittableWithLineage(committable, 4, 0))
    return collector


def test_committed_committables_are_successful_and_no_longer_pending() -> None:
    collector = collector_of("a", "drop b", "c")
    assert collector.pending == 3
    (manager,) = collector.checkpoint_committables_up_to(4)
    manager.commit(Committer(), 0)
    assert manager.successful_committables == ["a", "c"]
    assert (collector.pending, collector.is_finished) == (0, True)
    assert collector.checkpoint_committables_up_to(3) == []


def test_copy_does_not_change_with_the_original() -> None:
    collector = collector_of("a")
    copied = collector.copy()
    for manager in collector.checkpoint_committables:
        manager.commit(Committer(), 0)
        collector.remove(manager)
    assert (collector.pending, copied.pending) == (0, 1)
    assert copied.snapshot() == collector_of("a").snapshot()


def test_managers_of_other_writers_or_checkpoints_are_not_merged() -> None:
    manager: SubtaskCommittableManager[str] = SubtaskCommittableManager(0, 4, 1)
    with pytest.raises(InvariantViolation, match="Different subtasks"):
        manager.merge(SubtaskCommittableManager(1, 4, 1))
    with pytest.raises(InvariantViolation, match="Different checkpoints"):
        manager.merge(SubtaskCommittableManager(0, 5, 1))
    checkpoint: CheckpointCommittableManager[str] = CheckpointCommittableManager(4, 1)
    with pytest.raises(InvariantViolation, match="cannot merge checkpoint 5 into 4"):
        checkpoint.merge(CheckpointCommittableManager(5, 1))

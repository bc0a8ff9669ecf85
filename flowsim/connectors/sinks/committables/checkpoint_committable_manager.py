"""The committables of all writers for one checkpoint. Flink: CheckpointCommittableManagerImpl."""

from __future__ import annotations

from typing import Generic, TypeVar

from flowsim.connectors.sinks.committables.commit_request import CommitFailed, CommitRequest, Committer
from flowsim.connectors.sinks.committables.committable_message import (
    END_OF_INPUT,
    CommittableSummary,
    CommittableWithLineage,
)
from flowsim.connectors.sinks.committables.subtask_committable_manager import SubtaskCommittableManager
from flowsim.errors import InvariantViolation
from flowsim.values.java_hash_map import DEFAULT_CAPACITY, capacity_after, in_order_of_bins

C = TypeVar("C")


class CheckpointCommittableManager(Generic[C]):
    """Collects the committables of a checkpoint, and commits them together. Flink: CheckpointCommittableManagerImpl.

    ``number_of_subtasks``: the parallelism of the writers.
    """

    __slots__ = ("checkpoint_id", "number_of_subtasks", "_managers", "_order", "_capacity")

    def __init__(self, checkpoint_id: int, number_of_subtasks: int, capacity: int = DEFAULT_CAPACITY) -> None:
        """``capacity``: the initial bins of Flink's map of managers, whose order is that of the commits."""
        self.checkpoint_id = checkpoint_id
        self.number_of_subtasks = number_of_subtasks
        self._managers: dict[int, SubtaskCommittableManager[C]] = {}
        self._order: list[int] = []
        """The subtasks in the order of their bins' entries."""
        self._capacity = capacity

    def add_summary(self, summary: CommittableSummary) -> None:
        """Adds the manager of a writer. Raises InvariantViolation for a second one (rule 12.33).

        A second summary of END_OF_INPUT is merged: a writer may send one per attempt.
        """
        new: SubtaskCommittableManager[C] = SubtaskCommittableManager(
            summary.subtask, summary.checkpoint_id, summary.number_of_committables
        )
        old = self._managers.get(summary.subtask)
        if old is not None and summary.checkpoint_id != END_OF_INPUT:
            raise InvariantViolation(
                f"Received duplicate committable summary for checkpoint {summary.checkpoint_id} + "
                f"subtask {summary.subtask} (new={new}, old={old})"
            )
        if summary.checkpoint_id == END_OF_INPUT:
            self.merge_manager(new)
        else:
            self._put(new)

    def add_committable(self, committable: CommittableWithLineage[C]) -> None:
        """Adds a committable. Raises InvariantViolation before the summary of its writer (rule 12.33)."""
        manager = self._managers.get(committable.subtask)
        if manager is None:
            raise InvariantViolation(f"Unknown subtask for {committable.subtask}")
        manager.add(committable.committable)

    def merge_manager(self, manager: SubtaskCommittableManager[C]) -> None:
        """Adds the manager of a writer, merged with an existing one (rule 12.133)."""
        old = self._managers.get(manager.subtask)
        if old is None:
            # HashMap.merge puts a new entry at the head of its bin, and doubles the table before that.
            self._capacity = capacity_after(len(self._order), self._capacity)
            self._order.insert(0, manager.subtask)
        self._managers[manager.subtask] = manager if old is None else old.merge(manager)

    def _put(self, manager: SubtaskCommittableManager[C]) -> None:
        self._managers[manager.subtask] = manager
        self._order.append(manager.subtask)
        self._capacity = capacity_after(len(self._order), self._capacity)

    @property
    def subtask_committable_managers(self) -> list[SubtaskCommittableManager[C]]:
        """The managers in the order in which their committables are committed."""
        subtasks = in_order_of_bins(self._order, lambda subtask: subtask, self._capacity)
        return [self._managers[subtask] for subtask in subtasks]

    @property
    def is_finished(self) -> bool:
        return all(manager.is_finished for manager in self._managers.values())

    @property
    def has_globally_received_all(self) -> bool:
        """Returns True if all writers sent their summaries and committables (rule 12.136)."""
        return len(self._managers) == self.number_of_subtasks and all(
            manager.has_received_all for manager in self._managers.values()
        )

    def commit(self, committer: Committer[C], max_retries: int) -> None:
        """Commits all pending requests, with up to ``max_retries`` further calls (rules 12.31, 12.132).

        Raises CommitFailed if requests are still pending then. Raises InvariantViolation if committables of a summary
        are missing (rule 12.33).
        """
        pending = self._pending_requests()
        calls = 0
        while pending and calls <= max_retries:
            for request in pending:
                request.select()
            committer.commit(tuple(pending))
            for request in pending:
                request.set_committed_if_no_error()
            pending = [request for request in pending if not request.is_finished]
            calls += 1
        if pending:
            # Flink's words, also for one.
            raise CommitFailed(f"Failed to commit {len(pending)} committables after {max_retries} retries: {pending}")

    @property
    def successful_committables(self) -> list[C]:
        """The committed committables, which a committer with a consumer emits."""
        return [each for manager in self.subtask_committable_managers for each in manager.successful_committables]

    def merge(self, other: CheckpointCommittableManager[C]) -> CheckpointCommittableManager[C]:
        """Returns the manager of both, merged by writer (rule 12.133)."""
        if other.checkpoint_id != self.checkpoint_id:
            raise InvariantViolation(f"cannot merge checkpoint {other.checkpoint_id} into {self.checkpoint_id}")
        merged = self.copy()
        for manager in other.subtask_committable_managers:
            merged.merge_manager(manager)
        return merged

    def copy(self) -> CheckpointCommittableManager[C]:
        copied: CheckpointCommittableManager[C] = CheckpointCommittableManager(
            self.checkpoint_id, self.number_of_subtasks
        )
        for manager in self.subtask_committable_managers:
            copied._put(manager.copy())
        return copied

    def _pending_requests(self) -> list[CommitRequest[C]]:
        pending: list[CommitRequest[C]] = []
        for manager in self.subtask_committable_managers:
            if not manager.has_received_all:
                raise InvariantViolation(
                    f"Trying to commit incomplete batch of committables subtask={manager.subtask}, manager={manager}"
                )
            pending += manager.pending_requests
        return pending

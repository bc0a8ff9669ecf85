"""The state of a committer: all committables that are not yet committed. Flink: CommittableCollector."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from flowsim.connectors.sinks.committables.checkpoint_committable_manager import CheckpointCommittableManager
from flowsim.connectors.sinks.committables.commit_request import CommitRequest, CommitRequestState
from flowsim.connectors.sinks.committables.committable_message import (
    CommittableMessage,
    CommittableSummary,
)
from flowsim.connectors.sinks.committables.subtask_committable_manager import SubtaskCommittableManager
from flowsim.errors import BadInput, InvariantViolation
from flowsim.operators.stream_operator import Value
from flowsim.values.java_hash_map import capacity_for

C = TypeVar("C")


@dataclass(frozen=True, slots=True)
class StoredRequest(Generic[C]):
    """A request in a snapshot."""

    committable: C
    number_of_retries: int
    state: CommitRequestState


@dataclass(frozen=True, slots=True)
class StoredCommittables(Generic[C]):
    """The committables of one writer and checkpoint in a snapshot. Flink: CommittableCollectorSerializer."""

    checkpoint_id: int
    number_of_subtasks: int
    subtask: int
    requests: tuple[StoredRequest[C], ...]


def stored_value(stored: tuple[StoredCommittables[object], ...]) -> Value:
    """Returns the state of a committer as a value of the closed set."""
    return [
        (
            each.checkpoint_id,
            each.number_of_subtasks,
            each.subtask,
            [(request.committable, request.number_of_retries, request.state.name) for request in each.requests],
        )
        for each in stored
    ]


def stored_committables(value: Value) -> tuple[StoredCommittables[object], ...]:
    """Returns the state in a value of ``stored_value``. Raises BadInput for the state of another operator."""
    try:
        return tuple(
            StoredCommittables(
                checkpoint_id,
                number_of_subtasks,
                subtask,
                tuple(
                    StoredRequest(committable, retries, CommitRequestState[state])
                    for committable, retries, state in requests
                ),
            )
            for checkpoint_id, number_of_subtasks, subtask, requests in value  # type: ignore[attr-defined]
        )
    except (TypeError, ValueError, KeyError):
        raise BadInput(
            f"the state of a committer: expected its committables, got {value!r:.100}: restore the sink of the checkpoint, "
            "or give this one another uid"
        ) from None


class CommittableCollector(Generic[C]):
    """Collects committables by checkpoint id (rules 12.31, 12.133). Flink: CommittableCollector.

    ``snapshot`` and ``restored`` are what Flink's serializer writes and reads: the number of expected committables is
    not stored, a restored manager expects those that it has.
    """

    __slots__ = ("_managers",)

    def __init__(self) -> None:
        self._managers: dict[int, CheckpointCommittableManager[C]] = {}

    def add_message(self, message: CommittableMessage[C]) -> None:
        """Adds a message of a writer. Raises InvariantViolation for a committable before its summary (rule 12.33)."""
        manager = self._managers.get(message.checkpoint_id)
        if isinstance(message, CommittableSummary):
            if manager is None:
                manager = CheckpointCommittableManager(message.checkpoint_id, message.number_of_subtasks)
                self._managers[message.checkpoint_id] = manager
            manager.add_summary(message)
        elif manager is None:
            raise InvariantViolation(f"Unknown checkpoint for {message}")
        else:
            manager.add_committable(message)

    @property
    def checkpoint_committables(self) -> list[CheckpointCommittableManager[C]]:
        """All checkpoints, in the order of their ids."""
        return [self._managers[checkpoint_id] for checkpoint_id in sorted(self._managers)]

    def checkpoint_committables_up_to(self, checkpoint_id: int) -> list[CheckpointCommittableManager[C]]:
        """Returns the checkpoints up to this id, in the order of their ids."""
        return [manager for manager in self.checkpoint_committables if manager.checkpoint_id <= checkpoint_id]

    def remove(self, manager: CheckpointCommittableManager[C]) -> None:
        """Removes a checkpoint after its commit (rule 12.132)."""
        self._managers.pop(manager.checkpoint_id, None)

    @property
    def is_finished(self) -> bool:
        """Returns True if no request is pending."""
        return all(manager.is_finished for manager in self._managers.values())

    @property
    def pending(self) -> int:
        """The number of pending requests. Flink: the gauge currentPendingCommittables."""
        return sum(
            len(subtask.pending_requests)
            for manager in self._managers.values()
            for subtask in manager.subtask_committable_managers
        )

    def merge(self, other: CommittableCollector[C]) -> None:
        """Adds the committables of another committer after a restore (rule 12.133)."""
        for manager in other.checkpoint_committables:
            mine = self._managers.get(manager.checkpoint_id)
            self._managers[manager.checkpoint_id] = manager if mine is None else mine.merge(manager)

    def copy(self) -> CommittableCollector[C]:
        copied: CommittableCollector[C] = CommittableCollector()
        for manager in self.checkpoint_committables:
            copied._managers[manager.checkpoint_id] = manager.copy()
        return copied

    def snapshot(self) -> tuple[StoredCommittables[C], ...]:
        """Returns the state as data, in the order of checkpoints and writers."""
        return tuple(
            StoredCommittables(
                manager.checkpoint_id,
                manager.number_of_subtasks,
                subtask.subtask,
                tuple(StoredRequest(each.committable, each.number_of_retries, each.state) for each in subtask.requests),
            )
            for manager in self.checkpoint_committables
            for subtask in manager.subtask_committable_managers
        )

    @staticmethod
    def restored(stored: tuple[StoredCommittables[C], ...]) -> CommittableCollector[C]:
        """Returns a collector with the state of a snapshot."""
        collector: CommittableCollector[C] = CommittableCollector()
        for checkpoint in dict.fromkeys(each.checkpoint_id for each in stored):
            writers = [each for each in stored if each.checkpoint_id == checkpoint]
            # Flink's deserializer creates the map for exactly these managers.
            manager: CheckpointCommittableManager[C] = CheckpointCommittableManager(
                checkpoint, writers[0].number_of_subtasks, capacity_for(len(writers))
            )
            for each in writers:
                requests = [
                    CommitRequest(request.committable, request.number_of_retries, request.state)
                    for request in each.requests
                ]
                manager.merge_manager(SubtaskCommittableManager(each.subtask, checkpoint, len(requests), requests))
            collector._managers[checkpoint] = manager
        return collector

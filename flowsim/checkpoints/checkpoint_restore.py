"""From which snapshot tasks and operator coordinators are restored (rules 12.29, 12.48, 12.62, 12.114, 12.130).

Flink: CheckpointCoordinator.restoreSavepoint, restoreLatestCheckpointedStateToAll.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Final, Protocol

from flowsim.checkpoints.checkpoint_coordinator import CheckpointCoordinator
from flowsim.checkpoints.checkpoint_properties import CheckpointProperties
from flowsim.checkpoints.checkpoint_stats_tracker import CheckpointStatsTracker
from flowsim.checkpoints.coordination.operator_coordinator_holder import OperatorCoordinatorHolder
from flowsim.checkpoints.storage.checkpoint_storage import CheckpointMetadata, CheckpointStorage
from flowsim.checkpoints.storage.completed_checkpoint import CompletedCheckpoint
from flowsim.checkpoints.storage.completed_checkpoint_store import CheckpointIdCounter, CompletedCheckpointStore

NO_CHECKPOINT: Final = -1
"""The id from which an operator coordinator is reset if no checkpoint is complete."""


class RecoveryClaimMode(Enum):
    """Whom the files of a restored snapshot belong to afterwards. Flink: RecoveryClaimMode."""

    CLAIM = "CLAIM"
    """The job owns the snapshot, and deletes it when it is subsumed."""
    NO_CLAIM = "NO_CLAIM"
    """The user keeps the snapshot; the first checkpoint is a full one, so that no later one needs its files."""
    LEGACY = "LEGACY"
    """The user keeps the snapshot, but checkpoints may need its files."""


class StateAssignment(Protocol):
    """Gives the states of a snapshot to the tasks that are deployed next.

    A Protocol, because this package does not know the job master. Flink: StateAssignmentOperation.
    """

    def assign_states(self, checkpoint: CompletedCheckpoint, *, allow_non_restored_state: bool) -> None:
        """Raises BadInput if a state belongs to no operator, unless that is allowed (rule 12.26)."""
        ...


class CheckpointRestore:
    """Restores the latest completed checkpoint, or a snapshot that the user names."""

    __slots__ = (
        "_assignment",
        "_coordinator",
        "_id_counter",
        "_operator_coordinators",
        "_stats_tracker",
        "_storage",
        "_store",
    )

    def __init__(
        self,
        coordinator: CheckpointCoordinator,
        store: CompletedCheckpointStore,
        id_counter: CheckpointIdCounter,
        storage: CheckpointStorage,
        assignment: StateAssignment,
        stats_tracker: CheckpointStatsTracker,
        operator_coordinators: Sequence[OperatorCoordinatorHolder] = (),
    ) -> None:
        self._coordinator = coordinator
        self._store = store
        self._id_counter = id_counter
        self._storage = storage
        self._assignment = assignment
        self._operator_coordinators = operator_coordinators
        self._stats_tracker = stats_tracker

    def restore_savepoint(
        self,
        pointer: str,
        claim_mode: RecoveryClaimMode,
        checkpoint_properties: CheckpointProperties,
        *,
        allow_non_restored_state: bool,
        post_cleanup: Callable[[], None] = lambda: None,
        check: Callable[[CheckpointMetadata], None] = lambda metadata: None,
    ) -> CompletedCheckpoint:
        """Restores a snapshot at the start of a job; the next checkpoint gets the id after it (rule 12.2).

        ``checkpoint_properties`` are those of the job's checkpoints. ``check`` raises BadInput if the job cannot use the
        snapshot. Raises BadInput and OSError.
        """
        metadata, location = self._storage.resolve_checkpoint(pointer)
        check(metadata)
        match claim_mode:
            case RecoveryClaimMode.CLAIM:
                properties = checkpoint_properties
            case RecoveryClaimMode.NO_CLAIM:
                properties = CheckpointProperties.for_unclaimed_snapshot()
            case RecoveryClaimMode.LEGACY:
                properties = CheckpointProperties.for_savepoint(forced=False)
        snapshot = CompletedCheckpoint(
            metadata.checkpoint_id, metadata.timestamp_ms, metadata.timestamp_ms, properties, location, metadata.state
        )
        self._store.add_checkpoint_and_subsume_oldest_one(snapshot, post_cleanup)
        self._id_counter.set_count(snapshot.checkpoint_id + 1)
        self._restore(snapshot, allow_non_restored_state=allow_non_restored_state)
        self._reset_operator_coordinators(snapshot)
        return snapshot

    def restore_latest_to_subtasks(self) -> CompletedCheckpoint | None:
        """Restores restarted regions; operator coordinators go on (rule 12.130). None: nothing was complete."""
        latest = self._store.latest_checkpoint
        if latest is not None:
            # A region has not all operators of the snapshot.
            self._restore(latest, allow_non_restored_state=True)
        return latest

    def restore_latest_to_all(self, *, allow_non_restored_state: bool = True) -> CompletedCheckpoint | None:
        """Restores all tasks and operator coordinators after a global failure. None: nothing was complete."""
        latest = self._store.latest_checkpoint
        if latest is not None:
            self._restore(latest, allow_non_restored_state=allow_non_restored_state)
        self._reset_operator_coordinators(latest)
        return latest

    def restore_initial_checkpoint_if_present(self) -> CompletedCheckpoint | None:
        """Restores a job whose job manager was lost; fresh operator coordinators stay if nothing was complete."""
        latest = self._store.latest_checkpoint
        if latest is not None:
            self._restore(latest, allow_non_restored_state=False)
            self._reset_operator_coordinators(latest)
        return latest

    def _restore(self, checkpoint: CompletedCheckpoint, *, allow_non_restored_state: bool) -> None:
        self._stats_tracker.report_restored_checkpoint(checkpoint)
        self._coordinator.force_full_snapshot = checkpoint.properties.is_unclaimed
        self._assignment.assign_states(checkpoint, allow_non_restored_state=allow_non_restored_state)

    def _reset_operator_coordinators(self, checkpoint: CompletedCheckpoint | None) -> None:
        for coordinator in self._operator_coordinators:
            if checkpoint is None:
                coordinator.reset_to_checkpoint(NO_CHECKPOINT, None)
            else:
                state = checkpoint.state.coordinator_states.get(coordinator.operator_id)
                coordinator.reset_to_checkpoint(checkpoint.checkpoint_id, state)

"""Where snapshots are written. Flink: CheckpointStorageCoordinatorView, CheckpointStorageLocation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from flowsim.checkpoints.storage.completed_checkpoint import CompletedCheckpointStorageLocation
from flowsim.checkpoints.storage.snapshot_state import SnapshotState
from flowsim.state.redistribution.operator_state import TaskStateSnapshot
from flowsim.streamrecord.checkpoint_options import SnapshotType


@dataclass(frozen=True, slots=True)
class CheckpointMetadata:
    """The content of a snapshot. Flink: CheckpointMetadata."""

    checkpoint_id: int
    timestamp_ms: int
    snapshot_type: SnapshotType
    state: SnapshotState


class CheckpointStorageLocation(Protocol):
    """Where a pending snapshot is written. Flink: CheckpointStorageLocation.

    An OSError of a method fails the snapshot with the reason IO_EXCEPTION or FINALIZE_CHECKPOINT_FAILURE.
    """

    def write_metadata(self, metadata: CheckpointMetadata) -> CompletedCheckpointStorageLocation:
        """Makes the snapshot complete, and readable for a restore."""
        ...

    def dispose_on_failure(self) -> None:
        """Deletes what was written."""
        ...


class CheckpointStorage(Protocol):
    """Flink: CheckpointStorageCoordinatorView."""

    def initialize_location_for_checkpoint(self, checkpoint_id: int) -> CheckpointStorageLocation: ...

    def initialize_location_for_savepoint(
        self, checkpoint_id: int, target_location: str | None
    ) -> CheckpointStorageLocation:
        """``target_location`` is the place that the user wants; None: the default."""
        ...

    def discard_subtask_state(self, checkpoint_id: int, state: TaskStateSnapshot) -> None:
        """Deletes what a task wrote for a checkpoint that is not pending any more."""
        ...

    def resolve_checkpoint(self, pointer: str) -> tuple[CheckpointMetadata, CompletedCheckpointStorageLocation]:
        """Reads a snapshot for a restore."""
        ...

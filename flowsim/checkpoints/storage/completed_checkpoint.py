"""A snapshot of the whole job. Flink: CompletedCheckpoint."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from flowsim.checkpoints.checkpoint_properties import CheckpointProperties
from flowsim.checkpoints.storage.snapshot_state import SnapshotState


class CompletedCheckpointStorageLocation(Protocol):
    """Where a completed snapshot is. Flink: CompletedCheckpointStorageLocation."""

    @property
    def external_pointer(self) -> str:
        """The path from which a job can be restored."""
        ...

    def dispose_storage_location(self) -> None:
        """Deletes the files of the snapshot."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class CompletedCheckpoint:
    """Flink: CompletedCheckpoint."""

    checkpoint_id: int
    timestamp_ms: int
    """The time of the trigger."""
    completion_timestamp_ms: int
    properties: CheckpointProperties
    location: CompletedCheckpointStorageLocation
    state: SnapshotState = field(default_factory=SnapshotState)

    def discard(self) -> None:
        """Deletes the files."""
        self.location.dispose_storage_location()

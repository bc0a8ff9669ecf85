"""A snapshot of the whole job. Flink: CompletedCheckpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from flowsim.checkpoints.checkpoint_properties import CheckpointProperties
from flowsim.checkpoints.storage.operator_state import OperatorState


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
    operator_states: Mapping[str, OperatorState] = field(default_factory=dict)
    """By operator id."""

    def discard(self) -> None:
        """Deletes the files."""
        self.location.dispose_storage_location()

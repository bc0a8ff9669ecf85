"""Where a snapshot is: in memory or in a directory. Flink: CheckpointStorageLocation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from flowsim.checkpoints.storage.checkpoint_storage import CheckpointMetadata
from flowsim.checkpoints.storage.directory.snapshot_writer import remove_snapshot, write_snapshot
from flowsim.checkpoints.storage.directory.stored_snapshot import StoredSnapshot
from flowsim.checkpoints.storage.stream_store import StreamStore
from flowsim.errors import ValueNotAllowed
from flowsim.limits import DEFAULT_LIMITS, Limits
from flowsim.state.redistribution.operator_id import IdentifiedOperator


@dataclass(frozen=True, slots=True)
class SnapshotOwner:
    """The job whose snapshots are stored."""

    job: str = "job"
    operators: Mapping[str, IdentifiedOperator] = field(default_factory=dict)
    """By id, in the order in which they get their ids."""
    limits: Limits = DEFAULT_LIMITS


@dataclass(frozen=True, slots=True)
class InMemory:
    """A completed snapshot in memory."""

    external_pointer: str
    metadata: CheckpointMetadata
    streams: StreamStore
    snapshots: dict[str, InMemory]
    """The completed snapshots by pointer."""

    def dispose_storage_location(self) -> None:
        """Deletes the streams."""
        self.streams.forget(self.metadata.state.stream_ids())
        self.snapshots.pop(self.external_pointer, None)


@dataclass(frozen=True, slots=True)
class MemoryLocation:
    """The place of a snapshot in memory. Flink: NonPersistentMetadataCheckpointStorageLocation."""

    checkpoint_id: int
    external_pointer: str
    streams: StreamStore
    snapshots: dict[str, InMemory]

    def write_metadata(self, metadata: CheckpointMetadata) -> InMemory:
        """Makes the snapshot complete."""
        self.streams.complete(metadata.checkpoint_id, metadata.state)
        completed = InMemory(self.external_pointer, metadata, self.streams, self.snapshots)
        self.snapshots[self.external_pointer] = completed
        return completed

    def dispose_on_failure(self) -> None:
        """Deletes the streams."""
        self.streams.abort(self.checkpoint_id)


@dataclass(frozen=True, slots=True)
class InDirectory:
    """A completed snapshot on disk. Flink: FsCompletedCheckpointStorageLocation."""

    directory: Path
    metadata: CheckpointMetadata
    streams: StreamStore

    @property
    def external_pointer(self) -> str:
        """The path of the directory."""
        return str(self.directory)

    def dispose_storage_location(self) -> None:
        """Deletes the directory; files that are not part of a checkpoint stay."""
        self.streams.forget(self.metadata.state.stream_ids())
        remove_snapshot(self.directory)


@dataclass(frozen=True, slots=True)
class DirectoryLocation:
    """The place of a snapshot on disk, which is written when the snapshot completes. Flink: FsCheckpointStorageLocation."""

    checkpoint_id: int
    directory: Path
    streams: StreamStore
    owner: SnapshotOwner

    def write_metadata(self, metadata: CheckpointMetadata) -> InDirectory:
        """Writes the directory. Raises OSError."""
        streams = self.streams.complete(metadata.checkpoint_id, metadata.state)
        try:
            manifest = write_snapshot(self.directory, self.owner.job, self.owner.operators, metadata, streams)
        except (OSError, ValueNotAllowed) as error:
            self.streams.forget(streams)
            if isinstance(error, OSError):
                raise
            raise OSError(f"{self.directory}: the state cannot be stored: {error}") from error
        self.streams.keep_in_directory(StoredSnapshot(self.directory, self.owner.limits, manifest), streams)
        return InDirectory(self.directory, metadata, self.streams)

    def dispose_on_failure(self) -> None:
        """Deletes the streams; nothing is on disk before the snapshot completes."""
        self.streams.abort(self.checkpoint_id)

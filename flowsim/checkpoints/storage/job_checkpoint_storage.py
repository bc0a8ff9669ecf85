"""The checkpoints of a job, in memory or in a directory. Flink: JobManagerCheckpointStorage, FileSystemCheckpointStorage."""

from __future__ import annotations

from pathlib import Path

from flowsim.checkpoints.storage.checkpoint_storage import CheckpointMetadata, CheckpointStorageLocation
from flowsim.checkpoints.storage.completed_checkpoint import CompletedCheckpointStorageLocation
from flowsim.checkpoints.storage.directory.stored_snapshot import StoredSnapshot
from flowsim.checkpoints.storage.storage_locations import (
    DirectoryLocation,
    InDirectory,
    InMemory,
    MemoryLocation,
    SnapshotOwner,
)
from flowsim.checkpoints.storage.stream_store import StreamStore
from flowsim.errors import BadInput
from flowsim.state.redistribution.operator_state import TaskStateSnapshot
from flowsim.state.snapshots.stored_streams import StoredStream

_IN_MEMORY = "memory:"


class MemoryCheckpointStorage:
    """Stores checkpoints in memory, and savepoints too unless they have a target. Flink: JobManagerCheckpointStorage.

    Implements CheckpointStorage and CheckpointStreams. A pointer such as ``memory:chk-1`` is valid as long as the object
    exists.
    """

    __slots__ = ("_owner", "_snapshots", "_streams")

    def __init__(self, owner: SnapshotOwner | None = None) -> None:
        self._owner = owner or SnapshotOwner()
        self._streams = StreamStore()
        self._snapshots: dict[str, InMemory] = {}

    def write(self, checkpoint_id: int, operator_id: str, subtask: int, stream: StoredStream) -> str:
        """Stores a stream in the asynchronous part of a checkpoint; returns its identifier."""
        return self._streams.write(checkpoint_id, operator_id, subtask, stream)

    def keeps(self, checkpoint_id: int) -> bool:
        """True until the snapshot is complete or aborted; streams that are written later are dropped."""
        return self._streams.keeps(checkpoint_id)

    def read(self, stream_id: str) -> StoredStream:
        """Returns a stored stream. Raises BadInput if its file is missing or damaged."""
        return self._streams.read(stream_id)

    def initialize_location_for_checkpoint(self, checkpoint_id: int) -> CheckpointStorageLocation:
        return self._in_memory(checkpoint_id, f"chk-{checkpoint_id}")

    def initialize_location_for_savepoint(
        self, checkpoint_id: int, target_location: str | None
    ) -> CheckpointStorageLocation:
        """Returns ``target_location/savepoint-ID``; None: memory."""
        name = f"savepoint-{checkpoint_id}"
        if target_location is None:
            return self._in_memory(checkpoint_id, name)
        return self._in_directory(checkpoint_id, Path(target_location) / name)

    def discard_subtask_state(self, checkpoint_id: int, state: TaskStateSnapshot) -> None:
        """Deletes the streams of one task."""
        for of_subtask in state.subtask_states.values():
            self._streams.forget(handle.stream for handle in of_subtask.handles)

    def resolve_checkpoint(self, pointer: str) -> tuple[CheckpointMetadata, CompletedCheckpointStorageLocation]:
        """Reads the metadata of a snapshot, and verifies its files. Raises BadInput that names the file."""
        if pointer.startswith(_IN_MEMORY):
            in_memory = self._snapshots.get(pointer)
            if in_memory is None:
                raise BadInput(f"{pointer}: there is no such snapshot in memory; give the directory of a snapshot")
            return in_memory.metadata, in_memory
        snapshot = StoredSnapshot(Path(pointer), self._owner.limits)
        snapshot.verify()
        ids = [f"{pointer}#{index}" for index in range(len(snapshot.manifest.streams))]
        metadata = snapshot.metadata(ids.__getitem__)
        self._streams.keep_in_directory(snapshot, ids)
        return metadata, InDirectory(snapshot.directory, metadata, self._streams)

    def _in_memory(self, checkpoint_id: int, name: str) -> MemoryLocation:
        return MemoryLocation(checkpoint_id, _IN_MEMORY + name, self._streams, self._snapshots)

    def _in_directory(self, checkpoint_id: int, directory: Path) -> DirectoryLocation:
        return DirectoryLocation(checkpoint_id, directory, self._streams, self._owner)


class DirectoryCheckpointStorage(MemoryCheckpointStorage):
    """Stores checkpoints as ``DIRECTORY/chk-ID``. Flink: FileSystemCheckpointStorage.

    A savepoint without a target is ``DIRECTORY/savepoint-ID``. The streams of a snapshot stay in memory until it
    completes; then they are read from its files.
    """

    __slots__ = ("_directory",)

    def __init__(self, directory: Path, owner: SnapshotOwner | None = None) -> None:
        super().__init__(owner)
        self._directory = directory

    def initialize_location_for_checkpoint(self, checkpoint_id: int) -> CheckpointStorageLocation:
        return self._in_directory(checkpoint_id, self._directory / f"chk-{checkpoint_id}")

    def initialize_location_for_savepoint(
        self, checkpoint_id: int, target_location: str | None
    ) -> CheckpointStorageLocation:
        """Returns ``target_location/savepoint-ID``; None: the directory of the checkpoints."""
        return super().initialize_location_for_savepoint(checkpoint_id, target_location or str(self._directory))


def storage_for(directory: str | Path | None, owner: SnapshotOwner | None = None) -> MemoryCheckpointStorage:
    """Returns the storage for a checkpoint directory; None: in memory."""
    return MemoryCheckpointStorage(owner) if directory is None else DirectoryCheckpointStorage(Path(directory), owner)

"""Checkpoints in memory: they end with the run. Flink: JobManagerCheckpointStorage."""

from __future__ import annotations

from flowsim.checkpoints.storage.checkpoint_storage import CheckpointMetadata
from flowsim.errors import BadInput
from flowsim.state.redistribution.operator_state import TaskStateSnapshot
from flowsim.state.snapshots.stored_streams import StoredStream


class MemoryCheckpointStorage:
    """Storage of a job without a checkpoint directory. Flink: JobManagerCheckpointStorage."""

    def __init__(self) -> None:
        self._streams: dict[str, StoredStream] = {}
        self._of_checkpoint: dict[int, list[str]] = {}
        self._completed: dict[str, tuple[CheckpointMetadata, MemoryLocation]] = {}

    def write(self, checkpoint_id: int, operator_id: str, subtask: int, stream: StoredStream) -> str:
        """Stores a stream; returns its identifier."""
        written = self._of_checkpoint.setdefault(checkpoint_id, [])
        stream_id = f"{checkpoint_id}/{operator_id}/{subtask}/{len(written)}"
        written.append(stream_id)
        self._streams[stream_id] = stream
        return stream_id

    def read(self, stream_id: str) -> StoredStream:
        """Returns a stored stream. Raises BadInput for an unknown one."""
        if stream_id not in self._streams:
            raise BadInput(f"there is no stored state {stream_id!r}: its checkpoint was deleted")
        return self._streams[stream_id]

    def initialize_location_for_checkpoint(self, checkpoint_id: int) -> MemoryLocation:
        return MemoryLocation(self, checkpoint_id, f"memory:chk-{checkpoint_id}")

    def initialize_location_for_savepoint(self, checkpoint_id: int, target_location: str | None) -> MemoryLocation:
        """``target_location`` is the place that the user wants; None: the default."""
        return MemoryLocation(self, checkpoint_id, f"memory:{target_location or f'savepoint-{checkpoint_id}'}")

    def discard_subtask_state(self, checkpoint_id: int, state: TaskStateSnapshot) -> None:
        """Deletes what a task wrote for a checkpoint that is not pending any more."""
        for operator in state.subtask_states.values():
            for written in (*operator.managed_operator, *operator.raw_operator):
                self._streams.pop(written.stream, None)
            for keyed in (*operator.managed_keyed, *operator.raw_keyed):
                self._streams.pop(keyed.stream, None)

    def resolve_checkpoint(self, pointer: str) -> tuple[CheckpointMetadata, MemoryLocation]:
        """Returns a snapshot of this run. Raises BadInput for an unknown one."""
        if pointer not in self._completed:
            raise BadInput(f"there is no snapshot {pointer!r} in memory")
        return self._completed[pointer]

    def complete(self, metadata: CheckpointMetadata, location: MemoryLocation) -> None:
        """Makes a snapshot readable for a restore."""
        self._completed[location.external_pointer] = (metadata, location)

    def discard(self, checkpoint_id: int, pointer: str) -> None:
        """Deletes a snapshot."""
        self._completed.pop(pointer, None)
        for stream_id in self._of_checkpoint.pop(checkpoint_id, ()):
            self._streams.pop(stream_id, None)


class MemoryLocation:
    """The place of one snapshot. Flink: NonPersistentMetadataCheckpointStorageLocation."""

    __slots__ = ("external_pointer", "_storage", "_checkpoint_id")

    def __init__(self, storage: MemoryCheckpointStorage, checkpoint_id: int, pointer: str) -> None:
        self.external_pointer = pointer
        self._storage = storage
        self._checkpoint_id = checkpoint_id

    def write_metadata(self, metadata: CheckpointMetadata) -> MemoryLocation:
        """Makes the snapshot complete."""
        self._storage.complete(metadata, self)
        return self

    def dispose_on_failure(self) -> None:
        """Deletes what was written."""
        self._storage.discard(self._checkpoint_id, self.external_pointer)

    def dispose_storage_location(self) -> None:
        """Deletes the snapshot."""
        self._storage.discard(self._checkpoint_id, self.external_pointer)

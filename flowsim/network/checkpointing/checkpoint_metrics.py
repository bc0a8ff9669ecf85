"""What a task measures of one checkpoint. Flink: CheckpointMetricsBuilder, CheckpointMetaData."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class CheckpointMetaData:
    """The id and the times of a checkpoint. Flink: CheckpointMetaData."""

    checkpoint_id: int
    timestamp_ms: int
    """When the coordinator triggered the checkpoint."""
    receive_timestamp_ms: int
    """When the task handled its barrier or the call of the coordinator."""


@dataclass(slots=True)
class Alignment:
    """The alignment of one checkpoint; the values are None until it ends (rule 12.142)."""

    duration_ns: int | None = None
    """The time between the first and the last barrier."""
    processed_bytes: int | None = None
    """The sizes of all data buffers that the task read between them."""

    def end(self, duration_ns: int, processed_bytes: int) -> None:
        """Sets the values, unless the alignment has ended."""
        if self.duration_ns is None:
            self.duration_ns = duration_ns
            self.processed_bytes = processed_bytes


@dataclass(slots=True)
class CheckpointMetrics:
    """The measurements of a task that go into its acknowledgement. Flink: CheckpointMetricsBuilder."""

    alignment: Alignment = field(default_factory=Alignment)
    start_delay_ns: int = 0
    """The age of the checkpoint at its first barrier."""
    sync_duration_ms: int = -1
    async_duration_ms: int = -1
    """The time from the end of the synchronous part, with the wait for earlier snapshots."""
    input_bytes_persisted: int = 0
    output_bytes_persisted: int = 0

    @property
    def persisted_bytes(self) -> int:
        """The bytes of stored buffers; the checkpoint was unaligned if there are any."""
        return self.input_bytes_persisted + self.output_bytes_persisted

"""What tasks report about a checkpoint. Flink: AcknowledgeCheckpoint, DeclineCheckpoint, CheckpointMetrics."""

from __future__ import annotations

from dataclasses import dataclass, field

from flowsim.checkpoints.checkpoint_exception import CheckpointException
from flowsim.checkpoints.execution import ExecutionAttemptId
from flowsim.checkpoints.storage.operator_state import TaskStateSnapshot


@dataclass(frozen=True, slots=True)
class CheckpointMetrics:
    """The statistics of one subtask (rule 12.142). Flink: CheckpointMetrics."""

    start_delay_ns: int = 0
    """From the trigger to the first barrier."""
    alignment_duration_ns: int = 0
    """From the first to the last barrier."""
    bytes_processed_during_alignment: int = 0
    bytes_persisted_during_alignment: int = 0
    sync_duration_ms: int = 0
    async_duration_ms: int = 0
    is_unaligned: bool = False
    bytes_persisted_of_this_checkpoint: int = 0
    total_bytes_persisted: int = 0


@dataclass(frozen=True, slots=True)
class AcknowledgeCheckpoint:
    """A task has written its snapshot. Flink: AcknowledgeCheckpoint."""

    attempt_id: ExecutionAttemptId
    checkpoint_id: int
    subtask_state: TaskStateSnapshot | None = None
    """None: the task has no state."""
    metrics: CheckpointMetrics = field(default_factory=CheckpointMetrics)


@dataclass(frozen=True, slots=True)
class DeclineCheckpoint:
    """A task takes no snapshot. Flink: DeclineCheckpoint."""

    attempt_id: ExecutionAttemptId
    checkpoint_id: int
    exception: CheckpointException

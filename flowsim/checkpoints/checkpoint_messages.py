"""What tasks report about a checkpoint. Flink: AcknowledgeCheckpoint, DeclineCheckpoint."""

from __future__ import annotations

from dataclasses import dataclass, field

from flowsim.checkpoints.execution import ExecutionAttemptId
from flowsim.network.checkpointing.checkpoint_metrics import CheckpointMetrics
from flowsim.state.redistribution.operator_state import TaskStateSnapshot
from flowsim.streamrecord.checkpoint_exception import CheckpointException


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

"""The states of a task, for those that watch tasks without running them. Flink: ExecutionState."""

from __future__ import annotations

from enum import Enum


class TaskState(Enum):
    """Flink: ExecutionState, as far as a task here goes through it."""

    DEPLOYED = "DEPLOYED"
    INITIALIZING = "INITIALIZING"
    """Its operators are opened (rule 4.2)."""
    RUNNING = "RUNNING"
    CANCELING = "CANCELING"
    FINISHED = "FINISHED"
    CANCELED = "CANCELED"
    FAILED = "FAILED"

    @property
    def is_terminal(self) -> bool:
        return self in (TaskState.FINISHED, TaskState.CANCELED, TaskState.FAILED)

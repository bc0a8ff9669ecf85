"""The states of a task, for code that observes tasks. Flink: ExecutionState."""

from __future__ import annotations

from enum import Enum


class TaskState(Enum):
    """The supported states. Flink: ExecutionState."""

    DEPLOYED = "DEPLOYED"
    INITIALIZING = "INITIALIZING"
    """The operators of the task are being opened (rule 4.2)."""
    RUNNING = "RUNNING"
    CANCELING = "CANCELING"
    FINISHED = "FINISHED"
    CANCELED = "CANCELED"
    FAILED = "FAILED"

    @property
    def is_terminal(self) -> bool:
        return self in (TaskState.FINISHED, TaskState.CANCELED, TaskState.FAILED)

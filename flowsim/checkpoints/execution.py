"""What the coordinator needs of the tasks of a job. Flink: Execution, ExecutionVertex, ExecutionJobVertex.

Protocols, because this package knows neither tasks nor the job master, whose classes implement them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from flowsim.streamrecord.checkpoint_options import CheckpointOptions


@dataclass(frozen=True, slots=True)
class ExecutionAttemptId:
    """An attempt to run a subtask. Flink: ExecutionAttemptID."""

    vertex_id: int
    subtask: int
    attempt: int

    def __str__(self) -> str:
        return f"{self.vertex_id}/{self.subtask}#{self.attempt}"


class Execution(Protocol):
    """One attempt, with the calls to its task.

    A Protocol, because this package does not know tasks. Flink: Execution.
    """

    @property
    def attempt_id(self) -> ExecutionAttemptId: ...

    @property
    def vertex(self) -> ExecutionVertex: ...

    @property
    def is_running(self) -> bool:
        """True in the state RUNNING."""
        ...

    @property
    def is_terminal(self) -> bool:
        """True in the states FINISHED, CANCELED and FAILED."""
        ...

    def trigger_checkpoint(self, checkpoint_id: int, timestamp_ms: int, options: CheckpointOptions) -> None:
        """Sends the task the request for a checkpoint or savepoint."""
        ...

    def notify_checkpoint_on_complete(self, checkpoint_id: int, timestamp_ms: int, last_subsumed_id: int) -> None:
        """Notifies the task; ``last_subsumed_id`` is -1 if no checkpoint was subsumed."""
        ...

    def notify_checkpoint_aborted(self, checkpoint_id: int, latest_completed_id: int, timestamp_ms: int) -> None:
        """Notifies the task; ``latest_completed_id`` is 0 if no checkpoint is complete (rule 12.4)."""
        ...


class ExecutionVertex(Protocol):
    """A subtask over all its attempts.

    A Protocol, because this package does not know the job master. Flink: ExecutionVertex.
    """

    @property
    def job_vertex(self) -> ExecutionJobVertex: ...

    @property
    def subtask(self) -> int: ...

    @property
    def current_execution_attempt(self) -> Execution | None: ...


class InputEdge(Protocol):
    """An input of a vertex.

    A Protocol, because this package does not know the job master. Flink: JobEdge.
    """

    @property
    def source(self) -> ExecutionJobVertex: ...

    @property
    def is_all_to_all(self) -> bool:
        """True if each subtask reads from all subtasks of the source (rule 1.14)."""
        ...

    def sources_of(self, subtask: int) -> Sequence[int]:
        """Returns the subtasks of the source that a subtask reads from."""
        ...


class ExecutionJobVertex(Protocol):
    """A vertex of the job graph with its subtasks.

    A Protocol, because this package does not know the job master. Flink: ExecutionJobVertex.
    """

    @property
    def id(self) -> int: ...

    @property
    def name(self) -> str: ...

    @property
    def operator_ids(self) -> Sequence[str]: ...

    @property
    def max_parallelism(self) -> int: ...

    @property
    def task_vertices(self) -> Sequence[ExecutionVertex]: ...

    @property
    def inputs(self) -> Sequence[InputEdge]: ...

"""What a task with checkpoints gets of its job, and what it reports. Flink: JobMasterGateway, JobManagerTaskRestore."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from flowsim.graph.checkpoint_settings import CheckpointSettings
from flowsim.state.redistribution.operator_state import OperatorSubtaskState, StoredContent
from flowsim.state.snapshots.stored_streams import CheckpointStreams
from flowsim.tasks.checkpointing.async_checkpoint_runnable import TaskStateManager
from flowsim.tasks.checkpointing.barrier_handlers import CreateBarrierHandler, create_barrier_handler
from flowsim.tasks.inputs.demultiplexing_record_deserializer import RecordFilter
from flowsim.tasks.task_state import TaskState


class JobMasterGateway(TaskStateManager, Protocol):
    """The job's side of one attempt of a task; each call is handled in a turn of its own.

    Flink: CheckpointResponder, TaskManagerActions.
    """

    def notify_end_of_data(self) -> None:
        """The task has processed the end of its data (rule 12.44)."""

    def update_task_execution_state(self, state: TaskState) -> None:
        """The attempt has another state."""

    def send_acknowledge_checkpoint_event(self, checkpoint_id: int) -> None:
        """Reports the end of the synchronous part to the coordinators of the task's operators (rule 12.109)."""


@dataclass(frozen=True, slots=True)
class TaskRestore:
    """The state from which an attempt starts. Flink: JobManagerTaskRestore."""

    checkpoint_id: int
    states: Mapping[str, OperatorSubtaskState] = field(default_factory=dict)
    """By operator id; an operator without an entry starts empty, but is restored (rule 12.26)."""
    is_finished: bool = False
    """True if the task had finished: it does not run its operators (rule 12.100)."""
    contents: Mapping[str, tuple[StoredContent, ...]] = field(default_factory=dict)
    """By operator id, what the subtask of this index stored in the run that took the snapshot; only to be recorded."""
    rescaled_contents: Mapping[str, tuple[StoredContent, ...]] = field(default_factory=dict)
    """Likewise of all subtasks of operators that had another parallelism, given to subtask 0."""


class CheckpointFailures(Protocol):
    """Raises the errors that a run asks for."""

    def on_snapshot(self, checkpoint_id: int) -> None:
        """Called in the synchronous part of a checkpoint."""

    def on_notification(self, checkpoint_id: int) -> None:
        """Called when a checkpoint is complete."""


@dataclass(frozen=True, slots=True)
class TaskCheckpointing:
    """The checkpoints of one attempt of a task."""

    settings: CheckpointSettings
    gateway: JobMasterGateway
    streams: CheckpointStreams
    restore: TaskRestore | None = None
    """None: nothing is restored."""
    failures: CheckpointFailures | None = None
    """None: the run asks for no failure in checkpoints of this attempt."""
    create_barrier_handler: CreateBarrierHandler = create_barrier_handler
    recovers_channel_state: bool = False
    """True if tasks replay stored in-flight data before they are RUNNING; the same for all tasks of a job."""

    record_filters: Sequence[Callable[[], RecordFilter]] = ()
    """By gate: creates the filter for records of ambiguous old subtasks (rule 12.104)."""

    @property
    def is_restored_as_finished(self) -> bool:
        """True if the operators of the task do not run any more (rule 12.100)."""
        return self.restore is not None and self.restore.is_finished

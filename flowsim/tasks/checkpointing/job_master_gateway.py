"""What a task with checkpoints gets of its job, and what it reports. Flink: JobMasterGateway, JobManagerTaskRestore."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from flowsim.graph.checkpoint_settings import CheckpointSettings
from flowsim.network.checkpointing.checkpoint_barrier_handler import CheckpointBarrierHandler
from flowsim.network.checkpointing.checkpoint_barrier_tracker import CheckpointBarrierTracker
from flowsim.network.checkpointing.checkpoint_metrics import CheckpointMetaData, CheckpointMetrics
from flowsim.network.checkpointing.checkpointable import CheckpointableTask, DelayableTimer, InputsCheckpointInitializer
from flowsim.network.checkpointing.single_checkpoint_barrier_handler import SingleCheckpointBarrierHandler
from flowsim.network.gates.single_input_gate import SingleInputGate
from flowsim.state.redistribution.operator_state import OperatorSubtaskState, StoredContent, TaskStateSnapshot
from flowsim.state.snapshots.stored_streams import CheckpointStreams
from flowsim.streamrecord.checkpoint_exception import CheckpointException
from flowsim.task_clock import Clock
from flowsim.tasks.inputs.demultiplexing_record_deserializer import RecordFilter
from flowsim.tasks.task_state import TaskState


class JobMasterGateway(Protocol):
    """The job's side of one attempt of a task; each call is handled in a turn of its own.

    A Protocol, because tasks do not import the cluster. Flink: CheckpointResponder, TaskManagerActions.
    """

    def report_task_state_snapshots(
        self, meta_data: CheckpointMetaData, metrics: CheckpointMetrics, snapshot: TaskStateSnapshot
    ) -> None:
        """Acknowledges a checkpoint."""

    def report_incomplete_task_state_snapshots(self, meta_data: CheckpointMetaData, metrics: CheckpointMetrics) -> None:
        """Reports the measurements of a checkpoint that the task aborted."""

    def decline_checkpoint(self, checkpoint_id: int, cause: CheckpointException) -> None: ...

    def notify_end_of_data(self) -> None:
        """The task has processed the end of its data (rule 12.44)."""

    def update_task_execution_state(self, state: TaskState) -> None:
        """The attempt has another state."""

    def send_acknowledge_checkpoint_event(self, checkpoint_id: int) -> None:
        """Reports the end of the synchronous part to the coordinators of the task's operators (rule 12.109)."""


class TaskStateManager(JobMasterGateway, Protocol):
    """The gateway, and the local state of the task. Flink: TaskStateManager, Environment.

    A Protocol, because no task has local state, and Flink's order of the calls is still compared.
    """

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Called after the operators were notified; local state of older checkpoints is not needed any more."""

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """Called after the operators were notified; local state of the checkpoint is not needed."""


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


CreateBarrierHandler = Callable[
    [
        CheckpointSettings,
        Sequence[SingleInputGate],
        CheckpointableTask,
        InputsCheckpointInitializer,
        Clock,
        DelayableTimer,
    ],
    CheckpointBarrierHandler,
]


def create_barrier_handler(
    settings: CheckpointSettings,
    gates: Sequence[SingleInputGate],
    task: CheckpointableTask,
    coordinator: InputsCheckpointInitializer,
    clock: Clock,
    timers: DelayableTimer,
) -> CheckpointBarrierHandler:
    """Returns the handler of all gates of a task: a tracker in mode at-least-once (rules 12.16, 12.17)."""
    channels = sum(gate.count for gate in gates)
    if not settings.exactly_once:
        return CheckpointBarrierTracker(channels, task, clock, settings.after_tasks_finish)
    finish = settings.after_tasks_finish
    if not settings.unaligned:
        return SingleCheckpointBarrierHandler.aligned(
            task, clock, channels, timers, gates, checkpoints_after_tasks_finish=finish
        )
    return SingleCheckpointBarrierHandler.alternating(
        task, coordinator, clock, channels, timers, gates, checkpoints_after_tasks_finish=finish
    )


@dataclass(frozen=True, slots=True)
class TaskCheckpointing:
    """The checkpoints of one attempt of a task."""

    settings: CheckpointSettings
    gateway: JobMasterGateway
    streams: CheckpointStreams
    restore: TaskRestore | None = None
    """None: nothing is restored."""
    create_barrier_handler: CreateBarrierHandler = create_barrier_handler
    recovers_channel_state: bool = False
    """True if tasks replay stored in-flight data before they are RUNNING; the same for all tasks of a job."""

    record_filters: Sequence[Callable[[], RecordFilter]] = ()
    """By gate: creates the filter for records of ambiguous old subtasks (rule 12.104)."""

    @property
    def is_restored_as_finished(self) -> bool:
        """True if the operators of the task do not run any more (rule 12.100)."""
        return self.restore is not None and self.restore.is_finished

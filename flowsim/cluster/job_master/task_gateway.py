"""The job's side of one attempt of a task. Flink: JobMaster as JobMasterGateway, CheckpointCoordinatorGateway."""

from __future__ import annotations

from typing import Protocol

from flowsim.checkpoints.checkpoint_messages import AcknowledgeCheckpoint, DeclineCheckpoint
from flowsim.cluster.job_master.executions import TaskExecution
from flowsim.cluster.job_master.job_manager_actor import JobManagerActor
from flowsim.network.checkpointing.checkpoint_metrics import CheckpointMetaData, CheckpointMetrics
from flowsim.state.redistribution.operator_state import TaskStateSnapshot
from flowsim.streamrecord.checkpoint_exception import CheckpointException
from flowsim.tasks.task_state import TaskState


class TaskReports(Protocol):
    """What the job does with the reports of its tasks."""

    def acknowledge_checkpoint(self, message: AcknowledgeCheckpoint) -> None: ...

    def decline_checkpoint(self, message: DeclineCheckpoint) -> None: ...

    def on_end_of_data(self, execution: TaskExecution) -> None: ...

    def on_synchronous_part(self, execution: TaskExecution, checkpoint_id: int) -> None:
        """A task has taken the synchronous part (rule 12.109)."""

    def on_state_update(self, execution: TaskExecution) -> None:
        """An attempt has another state."""


class TaskGateway:
    """Passes the reports of one attempt to the job, each in a turn of its own. Flink: JobMasterGateway."""

    __slots__ = ("_execution", "_reports", "_actor")

    def __init__(self, execution: TaskExecution, reports: TaskReports, actor: JobManagerActor) -> None:
        self._execution = execution
        self._reports = reports
        self._actor = actor

    def report_task_state_snapshots(
        self, meta_data: CheckpointMetaData, metrics: CheckpointMetrics, snapshot: TaskStateSnapshot
    ) -> None:
        """Acknowledges a checkpoint."""
        message = AcknowledgeCheckpoint(self._execution.attempt_id, meta_data.checkpoint_id, snapshot, metrics)
        self._actor.execute(lambda: self._reports.acknowledge_checkpoint(message))

    def report_incomplete_task_state_snapshots(self, meta_data: CheckpointMetaData, metrics: CheckpointMetrics) -> None:
        """Takes a turn of the job master, as in Flink, and no more: measurements of aborted snapshots are not kept."""
        self._actor.execute(lambda: None)

    def decline_checkpoint(self, checkpoint_id: int, cause: CheckpointException) -> None:
        message = DeclineCheckpoint(self._execution.attempt_id, checkpoint_id, cause)
        self._actor.execute(lambda: self._reports.decline_checkpoint(message))

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Does nothing: there is no local state."""

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """Does nothing: there is no local state."""

    def notify_end_of_data(self) -> None:
        self._actor.execute(lambda: self._reports.on_end_of_data(self._execution))

    def send_acknowledge_checkpoint_event(self, checkpoint_id: int) -> None:
        self._actor.execute(lambda: self._reports.on_synchronous_part(self._execution, checkpoint_id))

    def update_task_execution_state(self, state: TaskState) -> None:
        """Reports a new state of the attempt. Flink: JobMasterGateway.updateTaskExecutionState."""

        def update() -> None:
            self._execution.state = state
            self._reports.on_state_update(self._execution)

        self._actor.execute(update)

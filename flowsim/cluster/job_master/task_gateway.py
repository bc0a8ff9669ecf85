"""The job's side of one attempt of a task. Flink: JobMaster as JobMasterGateway, CheckpointCoordinatorGateway."""

from __future__ import annotations

from flowsim.checkpoints.checkpoint_messages import AcknowledgeCheckpoint, DeclineCheckpoint
from flowsim.cluster.job_master.executions import TaskExecution
from flowsim.cluster.job_master.job_checkpoints import JobCheckpoints
from flowsim.cluster.job_master.job_manager_actor import JobManagerActor
from flowsim.cluster.job_master.operator_coordinators import OperatorCoordinators
from flowsim.network.checkpointing.checkpoint_metrics import CheckpointMetaData, CheckpointMetrics
from flowsim.state.redistribution.operator_state import TaskStateSnapshot
from flowsim.streamrecord.checkpoint_exception import CheckpointException
from flowsim.tasks.task_state import TaskState


class TaskGateway:
    """Passes the reports of one attempt to the job, each in a turn of its own. Flink: JobMasterGateway."""

    __slots__ = ("_execution", "_checkpoints", "_coordinators", "_actor")

    def __init__(
        self,
        execution: TaskExecution,
        checkpoints: JobCheckpoints,
        coordinators: OperatorCoordinators,
        actor: JobManagerActor,
    ) -> None:
        self._execution = execution
        self._checkpoints = checkpoints
        self._coordinators = coordinators
        self._actor = actor

    def report_task_state_snapshots(
        self, meta_data: CheckpointMetaData, metrics: CheckpointMetrics, snapshot: TaskStateSnapshot
    ) -> None:
        """Acknowledges a checkpoint."""
        message = AcknowledgeCheckpoint(self._execution.attempt_id, meta_data.checkpoint_id, snapshot, metrics)
        self._actor.receive(self._execution.vertex.id, lambda: self._checkpoints.acknowledge(message))

    def report_incomplete_task_state_snapshots(self, meta_data: CheckpointMetaData, metrics: CheckpointMetrics) -> None:
        """Takes a turn of the job master, as in Flink, and no more: measurements of aborted snapshots are not kept."""
        self._actor.receive(self._execution.vertex.id, lambda: None)

    def decline_checkpoint(self, checkpoint_id: int, cause: CheckpointException) -> None:
        message = DeclineCheckpoint(self._execution.attempt_id, checkpoint_id, cause)
        self._actor.receive(self._execution.vertex.id, lambda: self._checkpoints.decline(message))

    def notify_end_of_data(self) -> None:
        self._actor.receive(self._execution.vertex.id, lambda: self._checkpoints.on_end_of_data(self._execution))

    def send_acknowledge_checkpoint_event(self, checkpoint_id: int) -> None:
        """Reports the end of the synchronous part (rule 12.109)."""
        subtask, attempt = self._execution.vertex.id, self._execution.attempt_id.attempt
        self._actor.receive(subtask, lambda: self._coordinators.on_synchronous_part(subtask, attempt, checkpoint_id))

    def update_task_execution_state(self, state: TaskState) -> None:
        """Reports a new state of the attempt. Flink: JobMasterGateway.updateTaskExecutionState.

        The cluster reports a failure, with its cause (``JobMaster.on_task_failed``).
        """
        if state is TaskState.FAILED:
            return

        def update() -> None:
            self._execution.state = state
            self._checkpoints.on_state_update(self._execution)

        self._actor.receive(self._execution.vertex.id, update)

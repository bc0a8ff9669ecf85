"""The checkpoints of one job: the coordinator with its stores, and the state for restored tasks.

Flink: the parts of SchedulerBase and DefaultExecutionGraph for checkpoints.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random

from flowsim.checkpoints.checkpoint_coordinator import CheckpointCoordinator
from flowsim.checkpoints.checkpoint_coordinator_configuration import (
    DISABLED_CHECKPOINT_INTERVAL,
    CheckpointCoordinatorConfiguration,
)
from flowsim.checkpoints.checkpoint_coordinator_de_activator import CheckpointCoordinatorDeActivator, EndOfDataTracker
from flowsim.checkpoints.checkpoint_failure_manager import CheckpointFailureManager, FailJobCallback
from flowsim.checkpoints.checkpoint_messages import AcknowledgeCheckpoint, DeclineCheckpoint
from flowsim.checkpoints.checkpoint_plan_calculator import CheckpointPlanCalculator
from flowsim.checkpoints.checkpoint_properties import CheckpointProperties, CheckpointRetentionPolicy
from flowsim.checkpoints.checkpoint_properties import JobStatus as EndOfJob
from flowsim.checkpoints.checkpoint_restore import CheckpointRestore, RecoveryClaimMode
from flowsim.checkpoints.checkpoint_stats_tracker import CheckpointStatsTracker
from flowsim.checkpoints.coordination.operator_coordinator_holder import OperatorCoordinatorHolder
from flowsim.checkpoints.storage.checkpoint_storage import CheckpointMetadata
from flowsim.checkpoints.storage.checkpoints_cleaner import CheckpointsCleaner
from flowsim.checkpoints.storage.completed_checkpoint import CompletedCheckpoint
from flowsim.checkpoints.storage.completed_checkpoint_store import CheckpointIdCounter, CompletedCheckpointStore
from flowsim.checkpoints.storage.job_checkpoint_storage import MemoryCheckpointStorage
from flowsim.checkpoints.storage.snapshot_state import SnapshotState
from flowsim.cluster.job_master.channel_checks import check_channel_states
from flowsim.cluster.job_master.channel_states import channel_state_assignment
from flowsim.cluster.job_master.executions import JobExecutions, SubtaskExecutions, TaskExecution, VertexExecutions
from flowsim.cluster.job_master.job_manager_actor import JobManagerActor
from flowsim.cluster.job_master.recorded_statistics import RecordedStatistics
from flowsim.facts.job_trace import JobTrace
from flowsim.graph.checkpoint_settings import CheckpointSettings, SavepointRestoreSettings
from flowsim.state.redistribution.operator_state import OperatorState, OperatorSubtaskState
from flowsim.state.redistribution.state_assignment_operation import (
    assign_state,
    check_state_mapping_completeness,
)
from flowsim.state.redistribution.task_state_assignment import AssignedChannelState
from flowsim.streamrecord.checkpoint_exception import CheckpointException, CheckpointFailureReason
from flowsim.tasks.checkpointing.job_master_gateway import JobMasterGateway, TaskCheckpointing, TaskRestore
from flowsim.tasks.task_state import TaskState

_RETENTION = {
    "NO_EXTERNALIZED_CHECKPOINTS": CheckpointRetentionPolicy.NEVER_RETAIN_AFTER_TERMINATION,
    "DELETE_ON_CANCELLATION": CheckpointRetentionPolicy.RETAIN_ON_FAILURE,
    "RETAIN_ON_CANCELLATION": CheckpointRetentionPolicy.RETAIN_ON_CANCELLATION,
}


class JobCheckpoints:
    """The checkpoints of one job. Its methods run in turns of the job manager's actor, or before the job starts."""

    def __init__(
        self,
        settings: CheckpointSettings,
        executions: JobExecutions,
        actor: JobManagerActor,
        random: Random,
        storage: MemoryCheckpointStorage,
        fail_job: FailJobCallback,
        operator_coordinators: Sequence[OperatorCoordinatorHolder],
        trace: JobTrace | None,
        coordinator: type[CheckpointCoordinator] = CheckpointCoordinator,
    ) -> None:
        self.settings = settings
        self._executions = executions
        self._actor = actor
        self._storage = storage
        self._restores: dict[int, TaskRestore] = {}
        self._restores_channel_state = False
        configuration = _configuration(settings)
        cleaner = self._cleaner = CheckpointsCleaner(actor)
        self.store = CompletedCheckpointStore(settings.retained, cleaner)
        id_counter = CheckpointIdCounter()
        self.statistics = (
            CheckpointStatsTracker() if trace is None else RecordedStatistics(trace, executions, storage, settings)
        )
        self.coordinator = coordinator(
            configuration,
            actor,
            random,
            plan_calculator=CheckpointPlanCalculator(executions, executions.vertices, settings.after_tasks_finish),
            id_counter=id_counter,
            store=self.store,
            storage=storage,
            cleaner=cleaner,
            failure_manager=CheckpointFailureManager(settings.tolerable_failures, fail_job),
            stats_tracker=self.statistics,
            operator_coordinators=operator_coordinators,
        )
        self.restore = CheckpointRestore(
            self.coordinator,
            self.store,
            id_counter,
            storage,
            self,
            stats_tracker=self.statistics,
            operator_coordinators=operator_coordinators,
        )
        subtasks = [(each.job_vertex.id, each.subtask) for each in executions.subtasks]
        operators = {vertex.id: vertex.operator_ids for vertex in executions.vertices}
        self.end_of_data = EndOfDataTracker(self.coordinator, subtasks, operators)
        self.de_activator = (
            CheckpointCoordinatorDeActivator(self.coordinator, subtasks) if configuration.is_periodic else None
        )

    def restore_savepoint(self, savepoint: SavepointRestoreSettings) -> None:
        """Restores all tasks from a snapshot, before they are deployed. Raises BadInput.

        ``prepare_restore`` has compared its operators with those of the job: what no operator has is skipped.
        """
        self.restore.restore_savepoint(
            savepoint.path,
            RecoveryClaimMode[savepoint.claim_mode],
            CheckpointProperties.for_checkpoint(_RETENTION[self.settings.retention]),
            allow_non_restored_state=True,
            check=self._check_channel_states,
        )

    def _check_channel_states(self, metadata: CheckpointMetadata) -> None:
        """Raises BadInput if in-flight data of the snapshot is damaged, unless it is dropped."""
        if metadata.checkpoint_id != self.settings.without_channel_state_id:
            check_channel_states(self._executions.vertices, metadata.state.operator_states, self._storage)

    def task_checkpointing(self, execution: TaskExecution, gateway: JobMasterGateway) -> TaskCheckpointing:
        """Returns what a new attempt needs, with the state that was assigned to it last."""
        execution.gateway = gateway
        restore = self._restores.get(execution.vertex.id)
        recovers = self.settings.unaligned or self._restores_channel_state
        return TaskCheckpointing(self.settings, gateway, self._storage, restore, recovers_channel_state=recovers)

    def assign_states(self, checkpoint: CompletedCheckpoint, *, allow_non_restored_state: bool) -> None:
        """Assigns the state of a snapshot to all tasks (rules 12.23 to 12.26, 12.100). Raises BadInput."""
        state = checkpoint.state
        known = [operator for vertex in self._executions.vertices for operator in vertex.operator_ids]
        check_state_mapping_completeness(
            state.operator_states.values(), known, allow_non_restored_state=allow_non_restored_state
        )
        drops = checkpoint.checkpoint_id == self.settings.without_channel_state_id
        assignment = channel_state_assignment(self._executions.vertices, {} if drops else state.operator_states)
        channel_states = {vertex.id: assignment.assign(vertex.id) for vertex in self._executions.vertices}
        self._restores_channel_state = any(
            each.inputs or each.outputs for subtasks in channel_states.values() for each in subtasks
        )
        for vertex in self._executions.vertices:
            states = [state.operator_states[each] for each in vertex.operator_ids if each in state.operator_states]
            is_finished = all(each in state.fully_finished_operators for each in vertex.operator_ids)
            has_state = any(each.has_state for each in states) or assignment.has_channel_state(vertex.id)
            if is_finished or has_state:
                of_vertex = channel_states[vertex.id]
                self._assign(vertex, states, of_vertex, checkpoint.checkpoint_id, is_finished=is_finished)
            else:
                # The vertex starts as new: it knows of no restored checkpoint.
                for subtask in vertex.task_vertices:
                    self._restores.pop(subtask.id, None)
        if isinstance(self.statistics, RecordedStatistics) and self.statistics.is_of_another_run(checkpoint):
            self._add_contents(state)

    def _assign(
        self,
        vertex: VertexExecutions,
        states: Sequence[OperatorState],
        channel_states: Sequence[AssignedChannelState],
        checkpoint_id: int,
        *,
        is_finished: bool,
    ) -> None:
        parallelism = len(vertex.task_vertices)
        assigned: list[dict[str, OperatorSubtaskState]] = [{} for _ in range(parallelism)]
        for state in states:
            for index, each in enumerate(assign_state(state, parallelism)):
                assigned[index][state.operator_id] = each
        for subtask, channels in zip(vertex.task_vertices, channel_states, strict=True):
            channels.add_to(assigned[subtask.subtask], vertex.operator_ids)
            self._restores[subtask.id] = TaskRestore(checkpoint_id, assigned[subtask.subtask], is_finished)

    def _add_contents(self, state: SnapshotState) -> None:
        """Lets each subtask record what the run that took the snapshot recorded of its state."""
        for vertex in self._executions.vertices:
            subtasks = [each for each in vertex.task_vertices if each.id in self._restores]
            stored = [state.operator_states[each] for each in vertex.operator_ids if each in state.operator_states]
            for subtask in subtasks:
                same = {each.operator_id: each.state(subtask.subtask).contents for each in stored
                        if each.parallelism == len(vertex.task_vertices)}  # fmt: skip
                others = {} if subtask.subtask else {
                    each.operator_id: tuple(content for _, old in sorted(each.subtask_states.items())
                                            for content in old.contents)
                    for each in stored if each.operator_id not in same
                }  # fmt: skip
                self._restores[subtask.id] = replace(
                    self._restores[subtask.id], contents=same, rescaled_contents=others
                )

    def acknowledge(self, message: AcknowledgeCheckpoint) -> None:
        """Handles an acknowledgement; a checkpoint that cannot be completed was aborted."""
        try:
            self.coordinator.receive_acknowledge_message(message)
        except CheckpointException:
            return  # The coordinator has aborted the checkpoint with this reason.

    def decline(self, message: DeclineCheckpoint) -> None:
        pending = self.coordinator.pending_checkpoints.get(message.checkpoint_id)
        if pending is not None and isinstance(self.statistics, RecordedStatistics):
            self.statistics.report_declined(pending, message.attempt_id, message.exception.reason.name)
        self.coordinator.receive_decline_message(message)

    def on_end_of_data(self, execution: TaskExecution) -> None:
        """Takes a final checkpoint if all sources have ended (rule 12.44)."""
        if self.settings.waits_for_final_checkpoint and execution.state is not TaskState.CANCELING:
            self.end_of_data.on_end_of_data(execution.attempt_id)

    def on_state_update(self, execution: TaskExecution) -> None:
        """Starts or stops periodic checkpoints."""
        if self.de_activator is not None and execution is execution.vertex.current_execution_attempt:
            is_active = execution.state in (TaskState.RUNNING, TaskState.FINISHED)
            self.de_activator.on_state_update(execution.attempt_id, is_running_or_finished=is_active)

    def on_job_status_change(self, *, is_running: bool) -> None:
        if self.de_activator is not None:
            self.de_activator.on_job_status_change(is_running=is_running)

    def before_restart(self, subtasks: Sequence[SubtaskExecutions]) -> None:
        """Aborts what is pending, because tasks restart (rule 12.123)."""
        self.coordinator.abort_pending_checkpoints(CheckpointFailureReason.JOB_FAILOVER_REGION)
        for subtask in subtasks:
            if subtask.current_execution_attempt is not None:
                self.end_of_data.on_restart(subtask.current_execution_attempt.attempt_id)

    def close(self, end: EndOfJob) -> None:
        """Aborts everything, and deletes the checkpoints that are not retained after this end (rule 12.63)."""
        self.coordinator.shutdown()
        self.store.shutdown(end)
        self._cleaner.close()


def _configuration(settings: CheckpointSettings) -> CheckpointCoordinatorConfiguration:
    return CheckpointCoordinatorConfiguration(
        DISABLED_CHECKPOINT_INTERVAL if settings.interval_ms is None else settings.interval_ms,
        settings.interval_during_backlog_ms,
        settings.timeout_ms,
        settings.min_pause_ms,
        settings.max_concurrent,
        _RETENTION[settings.retention],
        settings.exactly_once,
        settings.unaligned,
        settings.aligned_timeout_ms,
    )

"""Triggers, completes and aborts checkpoints. Flink: CheckpointCoordinator (rules 12.38-12.57)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Final

from flowsim.checkpoints.checkpoint_coordinator_configuration import CheckpointCoordinatorConfiguration
from flowsim.checkpoints.checkpoint_failure_manager import CheckpointFailureManager
from flowsim.checkpoints.checkpoint_messages import AcknowledgeCheckpoint, DeclineCheckpoint
from flowsim.checkpoints.checkpoint_notifications import INVALID_CHECKPOINT_ID, CheckpointNotifications
from flowsim.checkpoints.checkpoint_plan import CheckpointPlan, PartialFinishingNotSupportedByState
from flowsim.checkpoints.checkpoint_plan_calculator import CheckpointPlanCalculator
from flowsim.checkpoints.checkpoint_properties import CheckpointProperties
from flowsim.checkpoints.checkpoint_request_decider import CheckpointRequestDecider, CheckpointTriggerRequest
from flowsim.checkpoints.checkpoint_stats_tracker import CheckpointStatsTracker
from flowsim.checkpoints.checkpoint_trigger import CheckpointTrigger, trigger_failure_of
from flowsim.checkpoints.coordination.operator_coordinator_holder import OperatorCoordinatorHolder
from flowsim.checkpoints.execution import ExecutionAttemptId
from flowsim.checkpoints.main_thread_executor import MainThreadExecutor
from flowsim.checkpoints.pending_checkpoint import PendingCheckpoint, TaskAcknowledgeResult
from flowsim.checkpoints.periodic_trigger import PeriodicTrigger
from flowsim.checkpoints.storage.checkpoint_storage import CheckpointStorage
from flowsim.checkpoints.storage.checkpoints_cleaner import CheckpointsCleaner
from flowsim.checkpoints.storage.completed_checkpoint import CompletedCheckpoint
from flowsim.checkpoints.storage.completed_checkpoint_store import CheckpointIdCounter, CompletedCheckpointStore
from flowsim.errors import InvariantViolation
from flowsim.network.completion import Completion
from flowsim.streamrecord.checkpoint_exception import CheckpointException, CheckpointFailureReason
from flowsim.streamrecord.checkpoint_options import CheckpointOptions, SnapshotType

_REMEMBERED_EXPIRED_CHECKPOINTS: Final = 16


class CheckpointCoordinator:
    """The checkpoints of one job. Flink: CheckpointCoordinator.

    Every public method runs in a turn of the main thread, or while no other turn runs. Invariants: one request is
    triggered at a time; a pending checkpoint is not disposed; ids increase.
    """

    def __init__(
        self,
        configuration: CheckpointCoordinatorConfiguration,
        main_thread: MainThreadExecutor,
        random: Random,
        *,
        plan_calculator: CheckpointPlanCalculator,
        id_counter: CheckpointIdCounter,
        store: CompletedCheckpointStore,
        storage: CheckpointStorage,
        cleaner: CheckpointsCleaner,
        failure_manager: CheckpointFailureManager,
        stats_tracker: CheckpointStatsTracker,
        operator_coordinators: Sequence[OperatorCoordinatorHolder] = (),
    ) -> None:
        self._configuration = configuration
        self._main_thread = main_thread
        self._plan_calculator = plan_calculator
        self._id_counter = id_counter
        self._store = store
        self._storage = storage
        self._cleaner = cleaner
        self._failure_manager = failure_manager
        self._operator_coordinators = operator_coordinators
        self._stats_tracker = stats_tracker
        self._checkpoint_properties = CheckpointProperties.for_checkpoint(configuration.retention_policy)
        self._periodic_trigger = PeriodicTrigger(configuration, main_thread, random, self._trigger_periodic_checkpoint)
        self._decider = CheckpointRequestDecider(
            self, main_thread, configuration.max_concurrent_checkpoints, configuration.min_pause_ms
        )
        self._notifications = CheckpointNotifications(main_thread, operator_coordinators)
        self._pending: dict[int, PendingCheckpoint] = {}
        self._recent_expired: deque[int] = deque(maxlen=_REMEMBERED_EXPIRED_CHECKPOINTS)
        self._is_triggering = False
        self._is_shutdown = False
        self._last_completion_ms = 0
        self.force_full_snapshot: bool = False
        """True while the restored snapshot belongs to someone else (rule 12.48)."""

    @property
    def pending_checkpoints(self) -> Mapping[int, PendingCheckpoint]:
        """By id, in the order of their triggers."""
        return self._pending

    @property
    def queued_request_count(self) -> int:
        return self._decider.queued_request_count

    @property
    def pending_checkpoint_count(self) -> int:
        return len(self._pending)

    @property
    def cleaning_checkpoint_count(self) -> int:
        return self._cleaner.checkpoint_count_to_clean

    @property
    def is_periodic_checkpointing_started(self) -> bool:
        return self._periodic_trigger.is_started

    def reschedule_trigger(self, now_ms: int, delay_ms: int) -> None:
        self._periodic_trigger.reschedule(now_ms, delay_ms)

    def set_is_processing_backlog(self, operator_id: str, is_processing_backlog: bool) -> None:
        """Reports that a source starts or ends its backlog, during which another interval applies."""
        self._periodic_trigger.set_is_processing_backlog(operator_id, is_processing_backlog)

    def start_checkpoint_scheduler(self) -> None:
        """Starts periodic checkpoints: all tasks run. Aborts all checkpoints if they had been started."""
        if self._is_shutdown or not self._configuration.is_periodic:
            raise InvariantViolation("periodic checkpoints start after the shutdown, or without an interval")
        if self._periodic_trigger.is_started:
            self.stop_checkpoint_scheduler()
        self._periodic_trigger.start()

    def start_checkpoint_scheduler_if_configured(self) -> None:
        """Starts periodic checkpoints again, if the job has any and goes on."""
        if self._configuration.is_periodic and not self._is_shutdown:
            self.start_checkpoint_scheduler()

    def stop_checkpoint_scheduler(self) -> None:
        """Stops periodic checkpoints and aborts all pending and queued ones: a task does not run (rule 12.43)."""
        self._periodic_trigger.stop()
        self._abort_pending_and_queued_checkpoints(CheckpointFailureReason.CHECKPOINT_COORDINATOR_SUSPEND)

    def shutdown(self) -> None:
        """Aborts everything; later messages are ignored. The owner of the store ends the store."""
        if not self._is_shutdown:
            self._is_shutdown = True
            self._periodic_trigger.stop()
            self._abort_pending_and_queued_checkpoints(CheckpointFailureReason.CHECKPOINT_COORDINATOR_SHUTDOWN)

    def trigger_checkpoint(self) -> Completion[CompletedCheckpoint]:
        """Requests a checkpoint outside the periodic ones."""
        return self._request(self._checkpoint_properties, None)

    def trigger_savepoint(self, target_location: str | None = None) -> Completion[CompletedCheckpoint]:
        """Requests a savepoint; None: at the default place."""
        return self._request(CheckpointProperties.for_savepoint(self._forces_savepoints), target_location)

    def trigger_synchronous_savepoint(
        self, terminate: bool, target_location: str | None = None
    ) -> Completion[CompletedCheckpoint]:
        """Requests a savepoint after which the tasks end; ``terminate`` drains the job."""
        return self._request(
            CheckpointProperties.for_sync_savepoint(self._forces_savepoints, terminate), target_location
        )

    @property
    def _forces_savepoints(self) -> bool:
        """Rule 12.41: savepoints ignore the maximum of concurrent checkpoints unless checkpoints may be unaligned."""
        return not self._configuration.is_unaligned_enabled

    def _request(
        self, properties: CheckpointProperties, target_location: str | None
    ) -> Completion[CompletedCheckpoint]:
        completion: Completion[CompletedCheckpoint] = Completion()
        self._main_thread.execute(
            lambda: self._trigger(properties, target_location, is_periodic=False).forward_to(completion)
        )
        return completion

    def _trigger_periodic_checkpoint(self) -> None:
        self._trigger(self._checkpoint_properties, None, is_periodic=True)

    def _trigger(
        self, properties: CheckpointProperties, target_location: str | None, *, is_periodic: bool
    ) -> Completion[CompletedCheckpoint]:
        request = CheckpointTriggerRequest(self._main_thread.now_ms, properties, target_location, is_periodic)
        chosen = self._decider.choose_request_to_execute(request, self._is_triggering, self._last_completion_ms)
        if chosen is not None:
            self._start_triggering(chosen)
        return request.on_completion

    def _start_triggering(self, request: CheckpointTriggerRequest) -> None:
        try:
            self._check_global_state(request)
        except CheckpointException as error:
            self.on_trigger_failure(request, None, error)
            return
        self._is_triggering = True
        trigger = CheckpointTrigger(
            self, self._main_thread, self._plan_calculator, self._id_counter, self._storage, self._operator_coordinators
        )
        trigger.start(request, self._main_thread.now_ms)

    def _check_global_state(self, request: CheckpointTriggerRequest) -> None:
        if self._is_shutdown:
            raise CheckpointException(CheckpointFailureReason.CHECKPOINT_COORDINATOR_SHUTDOWN)
        if request.is_periodic and not self._periodic_trigger.is_started:
            raise CheckpointException(CheckpointFailureReason.PERIODIC_SCHEDULER_SHUTDOWN)

    def create_pending_checkpoint(
        self,
        request: CheckpointTriggerRequest,
        timestamp_ms: int,
        plan: CheckpointPlan,
        checkpoint_id: int,
        trigger_completion: Completion[None],
    ) -> PendingCheckpoint:
        self._check_global_state(request)
        checkpoint = PendingCheckpoint(
            checkpoint_id,
            timestamp_ms,
            plan,
            [coordinator.operator_id for coordinator in self._operator_coordinators],
            request.properties,
            request.on_completion,
            trigger_completion,
        )
        self._stats_tracker.report_pending_checkpoint(checkpoint)
        self._pending[checkpoint_id] = checkpoint
        checkpoint.set_canceller(
            self._main_thread.schedule(
                lambda: self._abort_pending_checkpoint(
                    checkpoint, CheckpointException(CheckpointFailureReason.CHECKPOINT_EXPIRED)
                ),
                self._configuration.checkpoint_timeout_ms,
            )
        )
        return checkpoint

    def trigger_tasks(self, request: CheckpointTriggerRequest, checkpoint: PendingCheckpoint) -> None:
        if checkpoint.is_disposed:
            failure = CheckpointException(CheckpointFailureReason.TRIGGER_CHECKPOINT_FAILURE)
            self.on_trigger_failure(request, checkpoint, failure)
            return
        properties = request.properties
        is_full = self.force_full_snapshot and not properties.is_savepoint
        options = CheckpointOptions.for_config(
            SnapshotType.FULL_CHECKPOINT if is_full else properties.snapshot_type,
            exactly_once=self._configuration.is_exactly_once,
            unaligned_enabled=self._configuration.is_unaligned_enabled,
            aligned_timeout_ms=self._configuration.aligned_checkpoint_timeout_ms,
        )
        for task in checkpoint.plan.tasks_to_trigger:
            task.trigger_checkpoint(checkpoint.checkpoint_id, checkpoint.timestamp_ms, options)
        if checkpoint.is_fully_acknowledged:  # All tasks had finished before.
            try:
                self._complete_pending_checkpoint(checkpoint)
            except CheckpointException as error:
                self.on_trigger_failure(request, checkpoint, error)
                return
        self._is_triggering = False
        self._execute_queued_request()

    def on_trigger_failure(
        self, request: CheckpointTriggerRequest, checkpoint: PendingCheckpoint | None, error: BaseException
    ) -> None:
        exception = trigger_failure_of(error)
        if checkpoint is None:
            request.on_completion.complete_exceptionally(exception)
        for coordinator in self._operator_coordinators:
            coordinator.abort_current_triggering()
        if checkpoint is not None and not checkpoint.is_disposed:
            self._abort_pending_checkpoint(checkpoint, exception)
        else:
            # An aborted checkpoint counts as failed once more, as in Flink.
            self._stats_tracker.report_failed_checkpoint(None, exception)
            checkpoint_id = None if checkpoint is None else checkpoint.checkpoint_id
            self._failure_manager.handle_checkpoint_exception(checkpoint_id, request.properties, exception, None)
        self._is_triggering = False
        self._execute_queued_request()

    def _schedule_trigger_request(self) -> None:
        if not self._is_shutdown:
            self._main_thread.execute(self._execute_queued_request)

    def _execute_queued_request(self) -> None:
        """Looks at the queue once (rule 12.42)."""
        request = self._decider.choose_queued_request_to_execute(self._is_triggering, self._last_completion_ms)
        if request is not None:
            self._start_triggering(request)

    def receive_acknowledge_message(self, message: AcknowledgeCheckpoint) -> bool:
        """Handles the acknowledgement of a task; True if the checkpoint is pending, or expired lately.

        Raises CheckpointException if it was the last one and the checkpoint cannot be completed.
        """
        if self._is_shutdown:
            return False
        checkpoint = self._pending.get(message.checkpoint_id)
        if checkpoint is None:
            self._discard_subtask_state(message)
            return message.checkpoint_id in self._recent_expired
        result = checkpoint.acknowledge_task(message.attempt_id, message.subtask_state)
        if result is TaskAcknowledgeResult.SUCCESS:
            self._stats_tracker.report_subtask(checkpoint, message)
            if checkpoint.is_fully_acknowledged:
                self._complete_pending_checkpoint(checkpoint)
        elif result is not TaskAcknowledgeResult.DUPLICATE:
            self._discard_subtask_state(message)
        return True

    def _discard_subtask_state(self, message: AcknowledgeCheckpoint) -> None:
        state = message.subtask_state
        if state is not None:
            self._main_thread.execute(lambda: self._storage.discard_subtask_state(message.checkpoint_id, state))

    def receive_decline_message(self, message: DeclineCheckpoint) -> None:
        """Aborts the checkpoint that a task declines."""
        checkpoint = self._pending.get(message.checkpoint_id)
        if checkpoint is not None and not self._is_shutdown:
            self._abort_pending_checkpoint(checkpoint, message.exception, message.attempt_id)

    def _complete_pending_checkpoint(self, checkpoint: PendingCheckpoint) -> None:
        """Writes the metadata, retains the checkpoint and notifies the tasks (rule 12.50)."""
        try:
            completed = self._finalize(checkpoint)
            subsumed: CompletedCheckpoint | None = None
            if not checkpoint.properties.is_savepoint:
                subsumed = self._store.add_checkpoint_and_subsume_oldest_one(completed, self._schedule_trigger_request)
                self.force_full_snapshot = False
            self._failure_manager.handle_checkpoint_success(checkpoint.checkpoint_id)
            self._stats_tracker.report_completed_checkpoint(completed)
            checkpoint.on_completion.complete(completed)
        except CheckpointException as error:
            checkpoint.on_completion.complete_exceptionally(error)
            raise
        finally:
            self._pending.pop(checkpoint.checkpoint_id, None)
            self._schedule_trigger_request()
        self._last_completion_ms = self._main_thread.now_ms
        if not checkpoint.properties.is_savepoint or checkpoint.properties.is_synchronous:
            self._abort_pending_checkpoints(
                lambda older: older.checkpoint_id < checkpoint.checkpoint_id and older.can_be_subsumed,
                CheckpointFailureReason.CHECKPOINT_SUBSUMED,
            )
            is_discarded = subsumed is not None and subsumed.properties.discard_on_subsumed
            subsumed_id = subsumed.checkpoint_id if subsumed is not None and is_discarded else INVALID_CHECKPOINT_ID
            self._notifications.send_completed(checkpoint, subsumed_id)

    def _finalize(self, checkpoint: PendingCheckpoint) -> CompletedCheckpoint:
        try:
            return checkpoint.finalize(self._main_thread.now_ms, self._cleaner, self._schedule_trigger_request)
        except (OSError, PartialFinishingNotSupportedByState) as error:
            if isinstance(error, PartialFinishingNotSupportedByState):
                reason = CheckpointFailureReason.CHECKPOINT_DECLINED_TASK_CLOSING
            else:
                reason = CheckpointFailureReason.FINALIZE_CHECKPOINT_FAILURE
            exception = CheckpointException(reason, str(error))
            self._abort_pending_checkpoint(checkpoint, exception)
            raise exception from error

    def abort_pending_checkpoints(self, reason: CheckpointFailureReason) -> None:
        """Aborts all pending checkpoints, for example because tasks restart."""
        self._abort_pending_checkpoints(lambda _: True, reason)

    def _abort_pending_and_queued_checkpoints(self, reason: CheckpointFailureReason) -> None:
        self._decider.abort_all(reason)
        self.abort_pending_checkpoints(reason)

    def _abort_pending_checkpoints(
        self, is_aborted: Callable[[PendingCheckpoint], bool], reason: CheckpointFailureReason
    ) -> None:
        for checkpoint in [pending for pending in self._pending.values() if is_aborted(pending)]:
            self._abort_pending_checkpoint(checkpoint, CheckpointException(reason))

    def _abort_pending_checkpoint(
        self, checkpoint: PendingCheckpoint, exception: CheckpointException, task: ExecutionAttemptId | None = None
    ) -> None:
        """Aborts a checkpoint, unless it is complete or aborted (rule 12.54)."""
        if checkpoint.is_disposed:
            return
        checkpoint.abort(exception, self._cleaner, self._schedule_trigger_request)
        self._stats_tracker.report_failed_checkpoint(checkpoint, exception)
        self._failure_manager.handle_checkpoint_exception(
            checkpoint.checkpoint_id, checkpoint.properties, exception, task
        )
        self._notifications.send_aborted(checkpoint, self._store.latest_checkpoint_id)
        self._pending.pop(checkpoint.checkpoint_id, None)
        if exception.reason is CheckpointFailureReason.CHECKPOINT_EXPIRED:
            self._recent_expired.append(checkpoint.checkpoint_id)
        self._schedule_trigger_request()

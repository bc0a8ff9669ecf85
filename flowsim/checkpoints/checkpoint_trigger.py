"""The steps from a request to the calls of the tasks. Flink: CheckpointCoordinator.startTriggeringCheckpoint (rule 12.45)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Protocol

from flowsim.checkpoints.checkpoint_plan import CheckpointPlan
from flowsim.checkpoints.checkpoint_plan_calculator import CheckpointPlanCalculator
from flowsim.checkpoints.checkpoint_request_decider import CheckpointTriggerRequest
from flowsim.checkpoints.coordination.operator_coordinator_holder import OperatorCoordinatorHolder
from flowsim.checkpoints.main_thread_executor import MainThreadExecutor
from flowsim.checkpoints.pending_checkpoint import PendingCheckpoint, TaskAcknowledgeResult
from flowsim.checkpoints.storage.checkpoint_storage import CheckpointStorage, CheckpointStorageLocation
from flowsim.checkpoints.storage.completed_checkpoint_store import CheckpointIdCounter
from flowsim.network.completion import Completion
from flowsim.streamrecord.checkpoint_exception import CheckpointException, CheckpointFailureReason


class TriggeringCoordinator(Protocol):
    """What a trigger needs.

    A Protocol, because the coordinator, which implements it, owns its triggers.
    """

    def create_pending_checkpoint(
        self,
        request: CheckpointTriggerRequest,
        timestamp_ms: int,
        plan: CheckpointPlan,
        checkpoint_id: int,
        trigger_completion: Completion[None],
    ) -> PendingCheckpoint:
        """Registers a checkpoint and starts its timeout. Raises CheckpointException if it may not start any more."""
        ...

    def trigger_tasks(self, request: CheckpointTriggerRequest, checkpoint: PendingCheckpoint) -> None:
        """Calls the tasks, and ends the trigger."""
        ...

    def on_trigger_failure(
        self, request: CheckpointTriggerRequest, checkpoint: PendingCheckpoint | None, error: BaseException
    ) -> None:
        """Ends the trigger; ``checkpoint`` is None if there is none yet."""
        ...


class CheckpointTrigger:
    """Triggers one checkpoint; every step is a turn of its own.

    The steps: plan, id, pending checkpoint, storage location, snapshots of the operator coordinators, tasks. So the
    sources are triggered after all operator coordinators have delivered their states. Flink: CheckpointCoordinator.
    """

    __slots__ = (
        "_completion",
        "_coordinator",
        "_id_counter",
        "_main_thread",
        "_operator_coordinators",
        "_pending",
        "_plan_calculator",
        "_storage",
    )

    def __init__(
        self,
        coordinator: TriggeringCoordinator,
        main_thread: MainThreadExecutor,
        plan_calculator: CheckpointPlanCalculator,
        id_counter: CheckpointIdCounter,
        storage: CheckpointStorage,
        operator_coordinators: Sequence[OperatorCoordinatorHolder],
    ) -> None:
        self._coordinator = coordinator
        self._main_thread = main_thread
        self._plan_calculator = plan_calculator
        self._id_counter = id_counter
        self._storage = storage
        self._operator_coordinators = operator_coordinators
        self._completion: Completion[None] = Completion()
        self._pending: PendingCheckpoint | None = None

    def start(self, request: CheckpointTriggerRequest, timestamp_ms: int) -> None:
        """Starts the first step; ``timestamp_ms`` is the one of the barriers."""
        self._completion.when_complete(
            lambda _, error: self._main_thread.execute(partial(self._finish, request, error))
        )
        self._main_thread.execute(partial(self._calculate_plan, request, timestamp_ms))

    def _calculate_plan(self, request: CheckpointTriggerRequest, timestamp_ms: int) -> None:
        try:
            plan = self._plan_calculator.calculate_checkpoint_plan()
        except CheckpointException as error:
            self._completion.complete_exceptionally(error)
        else:
            self._main_thread.execute(partial(self._assign_id, request, timestamp_ms, plan))

    def _assign_id(self, request: CheckpointTriggerRequest, timestamp_ms: int, plan: CheckpointPlan) -> None:
        checkpoint_id = self._id_counter.get_and_increment()
        self._main_thread.execute(partial(self._create_pending, request, timestamp_ms, plan, checkpoint_id))

    def _create_pending(
        self, request: CheckpointTriggerRequest, timestamp_ms: int, plan: CheckpointPlan, checkpoint_id: int
    ) -> None:
        try:
            self._pending = self._coordinator.create_pending_checkpoint(
                request, timestamp_ms, plan, checkpoint_id, self._completion
            )
        except CheckpointException as error:
            self._completion.complete_exceptionally(error)
        else:
            self._main_thread.execute(partial(self._initialize_location, request, self._pending))

    def _initialize_location(self, request: CheckpointTriggerRequest, pending: PendingCheckpoint) -> None:
        try:
            if request.properties.is_savepoint:
                location = self._storage.initialize_location_for_savepoint(
                    pending.checkpoint_id, request.target_location
                )
            else:
                location = self._storage.initialize_location_for_checkpoint(pending.checkpoint_id)
        except OSError as error:
            self._completion.complete_exceptionally(error)
        else:
            self._main_thread.execute(partial(self._snapshot_coordinators, pending, location))

    def _snapshot_coordinators(self, pending: PendingCheckpoint, location: CheckpointStorageLocation) -> None:
        if pending.is_disposed:
            location.dispose_on_failure()
            return
        pending.location = location
        states: dict[str, bytes | None] = {}
        acknowledge = partial(self._acknowledge_coordinators, pending, states)
        if not self._operator_coordinators:
            self._main_thread.execute(acknowledge)
        for coordinator in self._operator_coordinators:
            result: Completion[bytes | None] = Completion()
            result.when_complete(partial(self._on_coordinator_state, coordinator.operator_id, states, acknowledge))
            coordinator.checkpoint_coordinator(pending.checkpoint_id, result)

    def _on_coordinator_state(
        self,
        operator_id: str,
        states: dict[str, bytes | None],
        acknowledge: partial[None],
        state: bytes | None,
        error: Exception | None,
    ) -> None:
        if error is not None:
            self._completion.complete_exceptionally(error)
            return
        states[operator_id] = state
        if len(states) == len(self._operator_coordinators):
            self._main_thread.execute(acknowledge)

    def _acknowledge_coordinators(self, pending: PendingCheckpoint, states: dict[str, bytes | None]) -> None:
        for coordinator in self._operator_coordinators:
            result = pending.acknowledge_coordinator_state(coordinator, states[coordinator.operator_id])
            if result is not TaskAcknowledgeResult.SUCCESS:
                failure = CheckpointException(CheckpointFailureReason.TRIGGER_CHECKPOINT_FAILURE)
                self._completion.complete_exceptionally(pending.failure_cause or failure)
                return
        # Flink calls its master hooks here, which flowsim does not have; the turn of the timer remains.
        self._main_thread.execute(lambda: self._on_coordinators_acknowledged(pending))

    def _on_coordinators_acknowledged(self, pending: PendingCheckpoint) -> None:
        if not pending.is_disposed:
            self._completion.complete(None)

    def _finish(self, request: CheckpointTriggerRequest, error: BaseException | None) -> None:
        if error is not None:
            self._coordinator.on_trigger_failure(request, self._pending, error)
        elif self._pending is not None:
            self._coordinator.trigger_tasks(request, self._pending)


def trigger_failure_of(error: BaseException) -> CheckpointException:
    """Returns the failure that an error of a trigger means: an input or output error, whatever wraps it, is one."""
    causes: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None:
        causes.append(cause)
        cause = cause.__cause__
    if any(isinstance(each, OSError) for each in causes):
        reason = CheckpointFailureReason.IO_EXCEPTION
    else:
        known = next((each for each in causes if isinstance(each, CheckpointException)), None)
        if known is not None:
            return known
        reason = CheckpointFailureReason.TRIGGER_CHECKPOINT_FAILURE
    failure = CheckpointException(reason, str(error))
    failure.__cause__ = error
    return failure

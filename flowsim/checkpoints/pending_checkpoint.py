"""A checkpoint that not all tasks have acknowledged. Flink: PendingCheckpoint (rules 12.3, 12.49, 12.54)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum, auto

from flowsim.checkpoints.checkpoint_plan import CheckpointPlan, PartialFinishingNotSupportedByState
from flowsim.checkpoints.checkpoint_properties import CheckpointProperties
from flowsim.checkpoints.coordination.operator_coordinator_holder import OperatorCoordinatorHolder
from flowsim.checkpoints.execution import ExecutionAttemptId, ExecutionVertex
from flowsim.checkpoints.storage.checkpoint_storage import CheckpointMetadata, CheckpointStorageLocation
from flowsim.checkpoints.storage.checkpoints_cleaner import CheckpointsCleaner
from flowsim.checkpoints.storage.completed_checkpoint import CompletedCheckpoint
from flowsim.checkpoints.storage.snapshot_state import SnapshotState
from flowsim.errors import InvariantViolation
from flowsim.network.completion import Completion
from flowsim.sim.scheduler import Timer
from flowsim.state.redistribution.operator_state import TaskStateSnapshot
from flowsim.streamrecord.checkpoint_exception import CheckpointException


class TaskAcknowledgeResult(Enum):
    """Flink: PendingCheckpoint.TaskAcknowledgeResult."""

    SUCCESS = auto()
    DUPLICATE = auto()
    """The attempt, or the coordinator, acknowledged before."""
    UNKNOWN = auto()
    """The attempt, or the coordinator, takes no part in the checkpoint."""
    DISCARDED = auto()
    """The checkpoint is complete or aborted."""


class PendingCheckpoint:
    """Collects the states of a checkpoint. Flink: PendingCheckpoint.

    Invariants: a task that acknowledged is not waited for; a disposed checkpoint waits for no task.
    """

    __slots__ = (
        "acknowledged_tasks",
        "checkpoint_id",
        "failure_cause",
        "is_disposed",
        "location",
        "on_completion",
        "plan",
        "properties",
        "state",
        "timestamp_ms",
        "trigger_completion",
        "_canceller",
        "_not_yet_acknowledged_coordinators",
        "_not_yet_acknowledged_tasks",
    )

    def __init__(
        self,
        checkpoint_id: int,
        timestamp_ms: int,
        plan: CheckpointPlan,
        operator_coordinators: Iterable[str],
        properties: CheckpointProperties,
        on_completion: Completion[CompletedCheckpoint],
        trigger_completion: Completion[None],
    ) -> None:
        self.checkpoint_id: int = checkpoint_id
        self.timestamp_ms: int = timestamp_ms
        self.plan: CheckpointPlan = plan
        self.properties: CheckpointProperties = properties
        self.on_completion: Completion[CompletedCheckpoint] = on_completion
        self.trigger_completion: Completion[None] = trigger_completion
        """Done when the trigger can go on to the tasks, or fails."""
        self.state: SnapshotState = SnapshotState()
        self.acknowledged_tasks: set[ExecutionAttemptId] = set()
        self.location: CheckpointStorageLocation | None = None
        self.failure_cause: CheckpointException | None = None
        self.is_disposed: bool = False
        self._not_yet_acknowledged_tasks: dict[ExecutionAttemptId, ExecutionVertex] = {
            task.attempt_id: task.vertex for task in plan.tasks_to_wait_for
        }
        self._not_yet_acknowledged_coordinators = set(operator_coordinators)
        self._canceller: Timer | None = None

    @property
    def is_fully_acknowledged(self) -> bool:
        """True if all tasks and all operator coordinators have acknowledged."""
        return not (self.is_disposed or self._not_yet_acknowledged_tasks or self._not_yet_acknowledged_coordinators)

    @property
    def can_be_subsumed(self) -> bool:
        """True if a newer checkpoint makes this one useless; a user waits for a savepoint."""
        return not self.properties.is_savepoint

    def set_canceller(self, canceller: Timer) -> None:
        """Sets the timer that aborts the checkpoint after its timeout."""
        self._canceller = canceller

    def acknowledge_task(
        self, attempt: ExecutionAttemptId, snapshot: TaskStateSnapshot | None
    ) -> TaskAcknowledgeResult:
        """Adds the states of a task; None: it has none."""
        if self.is_disposed:
            return TaskAcknowledgeResult.DISCARDED
        vertex = self._not_yet_acknowledged_tasks.pop(attempt, None)
        if vertex is None:
            # The state of a duplicate is kept already; the coordinator deletes that of an unknown attempt.
            was_acknowledged = attempt in self.acknowledged_tasks
            return TaskAcknowledgeResult.DUPLICATE if was_acknowledged else TaskAcknowledgeResult.UNKNOWN
        self.acknowledged_tasks.add(attempt)
        if snapshot is not None and snapshot.is_task_deployed_as_finished:
            self.plan.report_task_finished_on_restore(vertex)
            return TaskAcknowledgeResult.SUCCESS
        for operator in vertex.job_vertex.operator_ids:
            states = {}
            if snapshot is not None and operator in snapshot.subtask_states:
                states[vertex.subtask] = snapshot.subtask_states[operator]
            parallelism = len(vertex.job_vertex.task_vertices)
            self.state.put_subtask_states(operator, parallelism, vertex.job_vertex.max_parallelism, states)
        if snapshot is not None and snapshot.is_task_finished:
            self.plan.report_task_has_finished_operators(vertex)
        return TaskAcknowledgeResult.SUCCESS

    def acknowledge_coordinator_state(
        self, coordinator: OperatorCoordinatorHolder, state: bytes | None
    ) -> TaskAcknowledgeResult:
        """Adds the state of an operator coordinator; None: it has none."""
        if self.is_disposed:
            return TaskAcknowledgeResult.DISCARDED
        operator = coordinator.operator_id
        if operator not in self._not_yet_acknowledged_coordinators:
            had_state = operator in self.state.coordinator_states
            return TaskAcknowledgeResult.DUPLICATE if had_state else TaskAcknowledgeResult.UNKNOWN
        self._not_yet_acknowledged_coordinators.remove(operator)
        if state is not None:
            self.state.coordinator_states[operator] = state
        return TaskAcknowledgeResult.SUCCESS

    def finalize(
        self, now_ms: int, cleaner: CheckpointsCleaner, post_cleanup: Callable[[], None]
    ) -> CompletedCheckpoint:
        """Writes the metadata; this object is disposed then, the files stay.

        Raises PartialFinishingNotSupportedByState (rule 12.99) and OSError.
        """
        if not self.is_fully_acknowledged or self.location is None:
            raise InvariantViolation(f"checkpoint {self.checkpoint_id} completes before all have acknowledged it")
        try:
            self.plan.fulfill_finished_task_status(self.state)
            location = self.location.write_metadata(
                CheckpointMetadata(self.checkpoint_id, self.timestamp_ms, self.properties.snapshot_type, self.state)
            )
        except (OSError, PartialFinishingNotSupportedByState) as error:
            self.on_completion.complete_exceptionally(error)
            raise
        completed = CompletedCheckpoint(
            self.checkpoint_id, self.timestamp_ms, now_ms, self.properties, location, self.state
        )
        self._dispose(cleaner, post_cleanup, should_discard=False)
        return completed

    def abort(
        self, exception: CheckpointException, cleaner: CheckpointsCleaner, post_cleanup: Callable[[], None]
    ) -> None:
        """Fails the request and deletes the states."""
        self.failure_cause = exception
        self.on_completion.complete_exceptionally(exception)
        self.trigger_completion.complete_exceptionally(exception)
        self._dispose(cleaner, post_cleanup, should_discard=True)

    def discard(self) -> None:
        """Deletes the files."""
        if self.location is not None:
            self.location.dispose_on_failure()

    def validate(self) -> None:
        """Raises InvariantViolation if an invariant of the class does not hold."""
        if self.acknowledged_tasks & self._not_yet_acknowledged_tasks.keys():
            raise InvariantViolation(f"checkpoint {self.checkpoint_id} waits for a task that acknowledged it")
        if self.is_disposed and (self.acknowledged_tasks or self._not_yet_acknowledged_tasks):
            raise InvariantViolation(f"checkpoint {self.checkpoint_id} is disposed and still counts tasks")

    def _dispose(self, cleaner: CheckpointsCleaner, post_cleanup: Callable[[], None], *, should_discard: bool) -> None:
        cleaner.clean_checkpoint(self, should_discard, post_cleanup)
        self.is_disposed = True
        self._not_yet_acknowledged_tasks.clear()
        self.acknowledged_tasks.clear()
        if self._canceller is not None:
            self._canceller.cancel()

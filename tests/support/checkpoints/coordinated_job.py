"""A coordinator in virtual time with scripted tasks; what it does is recorded as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random

from flowsim.checkpoints.checkpoint_coordinator import CheckpointCoordinator
from flowsim.checkpoints.checkpoint_coordinator_configuration import CheckpointCoordinatorConfiguration
from flowsim.checkpoints.checkpoint_failure_manager import CheckpointFailureManager
from flowsim.checkpoints.checkpoint_messages import AcknowledgeCheckpoint, DeclineCheckpoint
from flowsim.checkpoints.checkpoint_plan_calculator import CheckpointPlanCalculator
from flowsim.checkpoints.checkpoint_stats_tracker import CheckpointStatsTracker
from flowsim.checkpoints.coordination.operator_coordinator_holder import OperatorCoordinatorHolder
from flowsim.checkpoints.execution import ExecutionAttemptId
from flowsim.checkpoints.storage.checkpoint_storage import CheckpointMetadata
from flowsim.checkpoints.storage.checkpoints_cleaner import CheckpointsCleaner
from flowsim.checkpoints.storage.completed_checkpoint import CompletedCheckpoint
from flowsim.checkpoints.storage.completed_checkpoint_store import CheckpointIdCounter, CompletedCheckpointStore
from flowsim.errors import FlowsimError
from flowsim.state.redistribution.operator_state import TaskStateSnapshot
from flowsim.streamrecord.checkpoint_exception import CheckpointException, CheckpointFailureReason
from tests.support.checkpoints.execution_graph import ScriptedExecutionGraph
from tests.support.checkpoints.virtual_time import VirtualTimeExecutor

START_MS = 1_000_000


class LeastRandom(Random):
    """Draws the least number: the first periodic checkpoint comes when the minimum pause is over."""

    def randint(self, a: int, b: int) -> int:
        return a


@dataclass
class MemoryStorage:
    """Keeps metadata; knows which locations were deleted."""

    written: dict[str, CheckpointMetadata] = field(default_factory=dict)
    deleted: list[str] = field(default_factory=list)
    fails: bool = False
    """True: every call fails like a full disk."""

    def initialize_location_for_checkpoint(self, checkpoint_id: int) -> MemoryLocation:
        return self._location(f"chk-{checkpoint_id}")

    def initialize_location_for_savepoint(self, checkpoint_id: int, target_location: str | None) -> MemoryLocation:
        return self._location(f"{target_location or ''}savepoint-{checkpoint_id}")

    def discard_subtask_state(self, checkpoint_id: int, state: TaskStateSnapshot) -> None:
        self.deleted.append(f"state of a task in {checkpoint_id}")

    def resolve_checkpoint(self, pointer: str) -> tuple[CheckpointMetadata, MemoryLocation]:
        return self.written[pointer], MemoryLocation(self, pointer)

    def _location(self, pointer: str) -> MemoryLocation:
        if self.fails:
            raise OSError("the disk is full")
        return MemoryLocation(self, pointer)


@dataclass
class MemoryLocation:
    storage: MemoryStorage
    external_pointer: str

    def write_metadata(self, metadata: CheckpointMetadata) -> MemoryLocation:
        if self.storage.fails:
            raise OSError("the disk is full")
        self.storage.written[self.external_pointer] = metadata
        return self

    def dispose_on_failure(self) -> None:
        self.storage.deleted.append(self.external_pointer)

    def dispose_storage_location(self) -> None:
        self.storage.deleted.append(self.external_pointer)


class CoordinatedJob:
    """Vertex 0 feeds vertex 1, if there is one, ALL_TO_ALL; every task runs at first."""

    def __init__(
        self,
        parallelism: Sequence[int],
        configuration: CheckpointCoordinatorConfiguration,
        *,
        tolerable_failures: int = 0,
        max_retained: int = 1,
        operator_coordinators: Sequence[OperatorCoordinatorHolder] = (),
    ) -> None:
        self.events: list[str] = []
        self.executor = VirtualTimeExecutor(START_MS)
        self.storage = MemoryStorage()
        self.has_finished_tasks = False
        self._requests = 0
        edges = [(0, 1, "ALL_TO_ALL", "PIPELINED_BOUNDED")] if len(parallelism) > 1 else []
        self.graph = ScriptedExecutionGraph(parallelism, edges, self.events.append)
        cleaner = CheckpointsCleaner(self.executor)
        self.statistics = CheckpointStatsTracker()
        self.store = CompletedCheckpointStore(max_retained, cleaner)
        self.id_counter = CheckpointIdCounter()
        self.coordinator = CheckpointCoordinator(
            configuration,
            self.executor,
            LeastRandom(),
            plan_calculator=CheckpointPlanCalculator(self, self.graph.vertices_topologically, True),
            id_counter=self.id_counter,
            store=self.store,
            storage=self.storage,
            cleaner=cleaner,
            failure_manager=CheckpointFailureManager(tolerable_failures, self),
            operator_coordinators=operator_coordinators,
            stats_tracker=self.statistics,
        )

    def fail_job(self, cause: FlowsimError) -> None:
        self.events.append("fail_job")

    def fail_job_due_to_task_failure(self, cause: FlowsimError, failing_task: ExecutionAttemptId) -> None:
        self.events.append(f"fail_job_due_to_task {failing_task.vertex_id}/{failing_task.subtask}")

    def drain(self) -> None:
        """Runs what is to run now."""
        self.executor.run_until(self.executor.now_ms)

    def advance(self, duration_ms: int) -> None:
        self.executor.run_until(self.executor.now_ms + duration_ms)

    def trigger(self, kind: str) -> None:
        """Requests a checkpoint, savepoint, stop or drain."""
        coordinator = self.coordinator
        if kind == "checkpoint":
            completion = coordinator.trigger_checkpoint()
        elif kind == "savepoint":
            completion = coordinator.trigger_savepoint()
        else:
            completion = coordinator.trigger_synchronous_savepoint(terminate=kind == "drain")
        completion.when_complete(partial(self._on_completion, self._requests))
        self._requests += 1
        self.drain()

    def _on_completion(self, number: int, completed: CompletedCheckpoint | None, error: BaseException | None) -> None:
        if completed is not None:
            self.events.append(f"request {number} completed {completed.checkpoint_id}")
        else:
            reason = error.reason.name if isinstance(error, CheckpointException) else type(error).__name__
            self.events.append(f"request {number} failed {reason}")

    def finish(self, task: str) -> None:
        self.graph.execution(task).state = "FINISHED"
        self.has_finished_tasks = True

    def acknowledge(self, task: str, checkpoint_id: int, state: TaskStateSnapshot | None = None) -> None:
        attempt = self.graph.execution(task).attempt_id
        known = self.coordinator.receive_acknowledge_message(AcknowledgeCheckpoint(attempt, checkpoint_id, state))
        self.events.append(f"ack_known {str(known).lower()}")
        self.drain()

    def decline(self, task: str, checkpoint_id: int, reason: str) -> None:
        attempt = self.graph.execution(task).attempt_id
        exception = CheckpointException(CheckpointFailureReason[reason])
        self.coordinator.receive_decline_message(DeclineCheckpoint(attempt, checkpoint_id, exception))
        self.drain()

    def failover(self) -> None:
        self.coordinator.abort_pending_checkpoints(CheckpointFailureReason.JOB_FAILOVER_REGION)
        self.drain()

    def start(self) -> None:
        self.coordinator.start_checkpoint_scheduler()
        self.drain()

    def stop_scheduler(self) -> None:
        self.coordinator.stop_checkpoint_scheduler()
        self.drain()

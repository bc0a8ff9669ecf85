"""What restarts after a failure, and when checkpoints run again (rules 12.43, 12.44, 12.122-12.124, 12.129)."""

from __future__ import annotations

from flowsim.checkpoints.checkpoint_coordinator_configuration import CheckpointCoordinatorConfiguration
from flowsim.checkpoints.checkpoint_coordinator_de_activator import CheckpointCoordinatorDeActivator, EndOfDataTracker
from flowsim.checkpoints.checkpoint_messages import AcknowledgeCheckpoint
from flowsim.checkpoints.execution import ExecutionAttemptId
from flowsim.checkpoints.failover.execution_failure_handler import ExecutionFailureHandler
from flowsim.checkpoints.failover.restart_backoff_time_strategy import (
    FailureRateRestartBackoffTimeStrategy,
    FixedDelayRestartBackoffTimeStrategy,
    NoRestartBackoffTimeStrategy,
    RestartBackoffTimeStrategy,
)
from flowsim.checkpoints.failover.restart_pipelined_region_failover_strategy import (
    RestartPipelinedRegionFailoverStrategy,
)
from flowsim.checkpoints.failover.scheduling_topology import ResultPartition
from flowsim.errors import SuppressRestarts
from flowsim.state.redistribution.operator_state import TaskStateSnapshot
from tests.support.checkpoints.coordinated_job import CoordinatedJob
from tests.support.checkpoints.execution_graph import ScriptedExecutionGraph
from tests.support.checkpoints.virtual_time import VirtualTimeExecutor

ERROR = ValueError("scripted")


class Deployed:
    """All tasks are deployed, and all partitions exist."""

    def is_available(self, partition: ResultPartition) -> bool:
        return True

    def is_created(self, subtask: int) -> bool:
        return False


def handler(strategy: RestartBackoffTimeStrategy) -> ExecutionFailureHandler:
    """Two slices of two subtasks each."""
    topology, _ = ScriptedExecutionGraph([2, 2], [(0, 1, "POINTWISE", "PIPELINED_BOUNDED")]).topology()
    return ExecutionFailureHandler(
        topology, RestartPipelinedRegionFailoverStrategy(topology, Deployed(), Deployed()), strategy
    )


def test_failure_restarts_the_slice_after_the_delay() -> None:
    failures = handler(FixedDelayRestartBackoffTimeStrategy(1, 250))
    result = failures.get_failure_handling_result(3, ERROR)
    assert (result.can_restart, result.tasks_to_restart, result.restart_delay_ms) == (True, (1, 3), 250)
    assert failures.number_of_restarts == 1


def test_global_failure_restarts_every_task() -> None:
    result = handler(FixedDelayRestartBackoffTimeStrategy(1, 0)).get_global_failure_handling_result(ERROR)
    assert (result.failed_subtask, result.tasks_to_restart) == (None, (0, 1, 2, 3))


def test_failure_beyond_the_attempts_is_final() -> None:
    failures = handler(FixedDelayRestartBackoffTimeStrategy(1, 0))
    failures.get_failure_handling_result(0, ERROR)
    result = failures.get_failure_handling_result(0, ERROR)
    assert not result.can_restart
    assert str(result.error) == "Recovery is suppressed by FixedDelayRestartBackoffTimeStrategy: scripted"
    assert failures.number_of_restarts == 1


def test_job_without_restarts_fails_at_the_first_failure() -> None:
    assert not handler(NoRestartBackoffTimeStrategy()).get_global_failure_handling_result(ERROR).can_restart


def test_failure_that_suppresses_restarts_does_not_count() -> None:
    failures = handler(FixedDelayRestartBackoffTimeStrategy(1, 0))
    error = ValueError("wrapped")
    error.__cause__ = SuppressRestarts("never again")
    for result in (failures.get_failure_handling_result(0, error), failures.get_global_failure_handling_result(error)):
        assert str(result.error) == "The failure is not recoverable: wrapped"
    assert failures.get_failure_handling_result(0, ERROR).can_restart


def test_failures_exactly_the_interval_apart_exceed_the_rate() -> None:
    """Rule 12.126."""
    executor = VirtualTimeExecutor(0)
    strategy = FailureRateRestartBackoffTimeStrategy(executor, 1, 100, 5)
    strategy.notify_failure()
    executor.now_ms = 100
    strategy.notify_failure()
    assert not strategy.can_restart()
    executor.now_ms = 101
    assert strategy.can_restart()
    assert strategy.backoff_time_ms() == 5


SUBTASKS = [(0, 0), (1, 0)]


def attempt(vertex: int, number: int = 0) -> ExecutionAttemptId:
    return ExecutionAttemptId(vertex, 0, number)


def test_periodic_checkpoints_run_while_all_tasks_run() -> None:
    job = CoordinatedJob([1, 1], CheckpointCoordinatorConfiguration(checkpoint_interval_ms=100))
    activator = CheckpointCoordinatorDeActivator(job.coordinator, SUBTASKS)
    activator.on_job_status_change(is_running=True)
    activator.on_state_update(attempt(0), is_running_or_finished=True)
    assert not job.coordinator.is_periodic_checkpointing_started
    activator.on_state_update(attempt(1), is_running_or_finished=True)
    job.advance(0)
    assert list(job.coordinator.pending_checkpoints) == [1]
    activator.on_state_update(attempt(1), is_running_or_finished=False)
    job.drain()
    assert not job.coordinator.pending_checkpoints
    assert not job.coordinator.is_periodic_checkpointing_started
    activator.on_state_update(attempt(1, 1), is_running_or_finished=True)
    assert job.coordinator.is_periodic_checkpointing_started
    activator.on_job_status_change(is_running=False)
    assert not job.coordinator.is_periodic_checkpointing_started


def test_end_of_all_data_triggers_one_checkpoint() -> None:
    job = CoordinatedJob([1, 1], CheckpointCoordinatorConfiguration())
    tracker = EndOfDataTracker(job.coordinator, SUBTASKS, {0: ["source"], 1: []})
    tracker.on_end_of_data(attempt(0))
    tracker.on_restart(attempt(0, 1))
    tracker.on_end_of_data(attempt(1))
    job.drain()
    assert job.events == []
    tracker.on_end_of_data(attempt(0, 1))
    job.drain()
    assert job.events == ["rpc_trigger 0/0 1 ALIGNED Checkpoint"]


def test_vertex_whose_data_has_ended_has_no_backlog() -> None:
    """Rule 12.44: its enumerator cannot end the backlog any more, so the job would take no periodic checkpoint."""
    configuration = CheckpointCoordinatorConfiguration(100, checkpoint_interval_during_backlog_ms=0)
    job = CoordinatedJob([1, 1], configuration)
    tracker = EndOfDataTracker(job.coordinator, SUBTASKS, {0: ["source"], 1: ["map"]})
    job.coordinator.set_is_processing_backlog("source", True)
    job.coordinator.start_checkpoint_scheduler()
    job.advance(0)
    assert list(job.coordinator.pending_checkpoints) == [1]
    for vertex in (0, 1):
        job.coordinator.receive_acknowledge_message(AcknowledgeCheckpoint(attempt(vertex), 1, TaskStateSnapshot()))
    job.advance(500)
    tracker.on_end_of_data(attempt(0))
    job.advance(99)
    assert not job.coordinator.pending_checkpoints
    job.advance(1)
    assert list(job.coordinator.pending_checkpoints) == [2]

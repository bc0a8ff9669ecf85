"""A stop with a savepoint, and what can go wrong (rule 12.138)."""

from __future__ import annotations

import pytest

from flowsim.checkpoints.checkpoint_coordinator_configuration import CheckpointCoordinatorConfiguration
from flowsim.checkpoints.stop_with_savepoint import StopWithSavepoint, StopWithSavepointStopping
from flowsim.checkpoints.storage.completed_checkpoint import CompletedCheckpoint
from flowsim.errors import FlowsimError
from flowsim.network.completion import Completion
from flowsim.streamrecord.checkpoint_exception import CheckpointException, CheckpointFailureReason
from tests.support.checkpoints.coordinated_job import CoordinatedJob


class StoppableJob(CoordinatedJob):
    def __init__(self, *, has_blocking_output: bool = False) -> None:
        super().__init__([1, 1], CheckpointCoordinatorConfiguration(checkpoint_interval_ms=100, min_pause_ms=30))
        self.has_blocking_output = has_blocking_output
        self.tasks_end: Completion[bool] = Completion()
        self.start()
        self.stopping = StopWithSavepoint(self.coordinator, self, self.executor)

    def when_all_tasks_end(self) -> Completion[bool]:
        return self.tasks_end

    def handle_global_failure(self, cause: FlowsimError) -> None:
        self.events.append(f"global failure {type(cause).__name__}")

    def stop(self, *, drain: bool) -> Completion[CompletedCheckpoint]:
        result = self.stopping.stop(drain=drain)
        self.drain()
        return result

    def acknowledge_all(self) -> None:
        self.acknowledge("0/0", 1)
        self.acknowledge("1/0", 1)


@pytest.mark.parametrize(("drain", "kind"), [(True, "Terminate Savepoint"), (False, "Suspend Savepoint")])
def test_stop_ends_with_the_tasks_after_the_savepoint(drain: bool, kind: str) -> None:
    job = StoppableJob()
    result = job.stop(drain=drain)
    assert job.events == [f"rpc_trigger 0/0 1 ALIGNED {kind}"]
    job.acknowledge_all()
    assert not result.is_done
    assert "notify_complete 1/0 1 -1" in job.events
    job.tasks_end.complete(True)
    job.drain()
    assert result.result is not None
    assert result.result.location.external_pointer == "savepoint-1"
    assert not job.store.all_checkpoints


def test_no_periodic_checkpoint_follows_the_stop() -> None:
    job = StoppableJob()
    job.stop(drain=False)
    job.acknowledge_all()
    job.events.clear()
    job.advance(1_000)
    assert job.events == []


def test_job_goes_on_when_the_savepoint_fails() -> None:
    job = StoppableJob()
    result = job.stop(drain=True)
    job.decline("1/0", 1, "CHECKPOINT_DECLINED_TASK_NOT_READY")
    assert isinstance(result.error, CheckpointException)
    job.events.clear()
    job.advance(30)
    assert job.events[-1:] == ["rpc_trigger 0/0 2 ALIGNED Checkpoint"]


def test_task_that_fails_after_the_savepoint_fails_the_job() -> None:
    job = StoppableJob()
    result = job.stop(drain=True)
    job.acknowledge_all()
    job.tasks_end.complete(False)
    job.drain()
    assert job.events[-1] == "global failure StopWithSavepointStopping"
    assert isinstance(result.error, StopWithSavepointStopping)
    assert "savepoint-1" in str(result.error)


def test_job_with_blocking_output_is_not_stopped() -> None:
    job = StoppableJob(has_blocking_output=True)
    result = job.stop(drain=False)
    assert isinstance(result.error, CheckpointException)
    assert result.error.reason is CheckpointFailureReason.BLOCKING_OUTPUT_EXIST
    assert job.coordinator.is_periodic_checkpointing_started

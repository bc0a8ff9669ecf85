"""The coordinator beyond the recorded cases: states, failing storage, restores, shutdown."""

from __future__ import annotations

from random import Random

import pytest

from flowsim.checkpoints.checkpoint_coordinator_configuration import CheckpointCoordinatorConfiguration
from flowsim.checkpoints.checkpoint_messages import AcknowledgeCheckpoint
from flowsim.checkpoints.execution import ExecutionAttemptId
from flowsim.checkpoints.periodic_trigger import PeriodicTrigger
from flowsim.checkpoints.storage.checkpoints_cleaner import CheckpointsCleaner
from flowsim.errors import BadInput, InvariantViolation
from flowsim.state.redistribution.operator_state import FINISHED_ON_RESTORE, OperatorSubtaskState, TaskStateSnapshot
from flowsim.state.redistribution.operator_state_handle import DistributionMode, OperatorStateHandle, StateMetaInfo
from flowsim.streamrecord.checkpoint_exception import CheckpointException, CheckpointFailureReason
from tests.support.checkpoints.coordinated_job import CoordinatedJob, LeastRandom
from tests.support.checkpoints.scripted_coordinator import ScriptedCoordinator
from tests.support.checkpoints.virtual_time import VirtualTimeExecutor

CONFIGURATION = CheckpointCoordinatorConfiguration(checkpoint_interval_ms=100, checkpoint_timeout_ms=1_000)
UNION = OperatorSubtaskState(
    managed_operator=(OperatorStateHandle("file", {"offsets": StateMetaInfo((0, 1), DistributionMode.UNION)}),)
)


def acknowledge(job: CoordinatedJob, task: str, checkpoint_id: int, state: TaskStateSnapshot | None) -> None:
    attempt = job.graph.execution(task).attempt_id
    job.coordinator.receive_acknowledge_message(AcknowledgeCheckpoint(attempt, checkpoint_id, state))
    job.drain()


def test_states_of_tasks_and_coordinators_are_in_the_completed_checkpoint() -> None:
    source = ScriptedCoordinator(0)
    job = CoordinatedJob([2], CONFIGURATION, operator_coordinators=[source])
    job.trigger("checkpoint")
    source.deliver("state")
    job.drain()
    state = OperatorSubtaskState()
    acknowledge(job, "0/0", 1, TaskStateSnapshot({"v0": state}))
    acknowledge(job, "0/1", 1, None)
    completed = job.store.latest_checkpoint
    assert completed is not None
    assert completed.state.operator_states["v0"].subtask_states == {0: state}
    assert completed.state.operator_states["v0"].parallelism == 2
    assert completed.state.coordinator_states == {"coordinator 0": b"\1"}
    assert job.storage.written["chk-1"].state is completed.state


def test_finished_tasks_are_marked_in_the_completed_checkpoint() -> None:
    job = CoordinatedJob([2, 1], CONFIGURATION)
    job.finish("0/0")
    job.trigger("checkpoint")
    acknowledge(job, "0/1", 1, TaskStateSnapshot())
    acknowledge(job, "1/0", 1, FINISHED_ON_RESTORE)
    completed = job.store.latest_checkpoint
    assert completed is not None
    assert completed.state.finished_subtasks == {"v0": {0}}
    assert completed.state.fully_finished_operators == {"v1"}


@pytest.mark.parametrize("case", ["finished", "operators finished"])
def test_union_state_of_a_partly_finished_vertex_fails_the_checkpoint(case: str) -> None:
    """Rule 12.99: the union would lack the elements of the finished subtask."""
    job = CoordinatedJob([2], CONFIGURATION)
    if case == "finished":
        job.finish("0/0")
    job.trigger("checkpoint")
    if case != "finished":
        acknowledge(job, "0/0", 1, TaskStateSnapshot({"v0": UNION}, is_task_finished=True))
    with pytest.raises(CheckpointException) as caught:
        acknowledge(job, "0/1", 1, TaskStateSnapshot({"v0": UNION}))
    assert caught.value.reason is CheckpointFailureReason.CHECKPOINT_DECLINED_TASK_CLOSING
    job.drain()
    assert "request 0 failed PartialFinishingNotSupportedByState" in job.events
    assert "fail_job" not in job.events
    assert not job.coordinator.pending_checkpoints


def test_union_state_is_allowed_when_all_operators_finished() -> None:
    job = CoordinatedJob([2], CONFIGURATION)
    job.trigger("checkpoint")
    for task in ("0/0", "0/1"):
        acknowledge(job, task, 1, TaskStateSnapshot({"v0": UNION}, is_task_finished=True))
    assert "request 0 completed 1" in job.events


def test_full_disk_at_the_trigger_fails_the_job_without_tolerance() -> None:
    job = CoordinatedJob([1], CONFIGURATION)
    job.storage.fails = True
    job.trigger("checkpoint")
    assert job.events == ["request 0 failed IO_EXCEPTION", "fail_job", "notify_aborted 0/0 1 0"]


def test_full_disk_at_the_end_fails_the_checkpoint() -> None:
    job = CoordinatedJob([1], CONFIGURATION, tolerable_failures=1)
    job.trigger("savepoint")
    job.storage.fails = True
    with pytest.raises(CheckpointException, match="the disk is full"):
        job.acknowledge("0/0", 1)
    job.drain()
    assert "request 0 failed OSError" in job.events
    assert job.storage.deleted == ["savepoint-1"]
    assert not job.store.all_checkpoints


def test_state_of_a_late_acknowledgement_is_deleted() -> None:
    job = CoordinatedJob([1], CONFIGURATION, tolerable_failures=9)
    job.trigger("checkpoint")
    job.advance(1_000)
    acknowledge(job, "0/0", 1, TaskStateSnapshot())
    assert job.storage.deleted == ["chk-1", "state of a task in 1"]


def test_shutdown_aborts_everything_and_ignores_messages() -> None:
    job = CoordinatedJob([1], CONFIGURATION)
    job.start()
    job.advance(0)
    job.coordinator.shutdown()
    job.drain()
    job.acknowledge("0/0", 1)
    assert job.events == ["rpc_trigger 0/0 1 ALIGNED Checkpoint", "notify_aborted 0/0 1 0", "ack_known false"]
    with pytest.raises(InvariantViolation):
        job.coordinator.start_checkpoint_scheduler()


def test_barriers_of_a_job_without_exactly_once_do_not_align() -> None:
    job = CoordinatedJob([1], CheckpointCoordinatorConfiguration(is_exactly_once=False))
    job.trigger("checkpoint")
    assert job.events == ["rpc_trigger 0/0 1 AT_LEAST_ONCE Checkpoint"]


class Draws(LeastRandom):
    """Remembers the bounds."""

    def __init__(self) -> None:
        super().__init__()
        self.bounds: list[tuple[int, int]] = []

    def randint(self, a: int, b: int) -> int:
        self.bounds.append((a, b))
        return super().randint(a, b)


@pytest.mark.parametrize(("pauses", "bounds"), [(False, (20, 100)), (True, (20, 40))])
def test_first_checkpoint_comes_after_a_random_delay(pauses: bool, bounds: tuple[int, int]) -> None:
    """Rule 12.43."""
    configuration = CheckpointCoordinatorConfiguration(
        checkpoint_interval_ms=100, min_pause_ms=20, pauses_sources_until_first_checkpoint=pauses
    )
    draws = Draws()
    PeriodicTrigger(configuration, VirtualTimeExecutor(), draws, lambda: None)
    assert draws.bounds == [bounds]


def test_first_delay_is_drawn_only_for_periodic_checkpoints() -> None:
    random = Random(1)
    before = random.getstate()
    PeriodicTrigger(CheckpointCoordinatorConfiguration(), VirtualTimeExecutor(), random, lambda: None)
    assert random.getstate() == before


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"checkpoint_interval_ms": 9}, "interval is 9 ms: expected at least 10 ms"),
        ({"checkpoint_timeout_ms": 1}, "timeout is 1 ms"),
        ({"min_pause_ms": -1}, "expected 0 ms to one year"),
        ({"max_concurrent_checkpoints": 0}, "expected 1 or more"),
        ({"is_unaligned_enabled": True, "max_concurrent_checkpoints": 2}, "set the maximum of concurrent"),
    ],
)
def test_settings_that_flink_refuses_are_refused(settings: dict[str, int], message: str) -> None:
    """Rule 12.56."""
    with pytest.raises(BadInput, match=message):
        CheckpointCoordinatorConfiguration(**settings)  # type: ignore[arg-type]


def test_state_of_a_duplicate_acknowledgement_stays_that_of_an_unknown_attempt_is_deleted() -> None:
    """Rule 12.49."""
    job = CoordinatedJob([2], CONFIGURATION)
    job.trigger("checkpoint")
    for _ in range(2):
        acknowledge(job, "0/0", 1, TaskStateSnapshot())
    assert job.storage.deleted == []
    job.coordinator.receive_acknowledge_message(
        AcknowledgeCheckpoint(ExecutionAttemptId(0, 1, 7), 1, TaskStateSnapshot())
    )
    job.drain()
    assert job.storage.deleted == ["state of a task in 1"]


def test_late_timer_does_not_move_the_following_checkpoints() -> None:
    """Rule 12.43: a fixed rate."""
    executor = VirtualTimeExecutor()
    times: list[int] = []
    trigger = PeriodicTrigger(CONFIGURATION, executor, LeastRandom(), lambda: times.append(executor.now_ms))
    trigger.start()
    executor.now_ms = 30
    executor.run_until(350)
    assert times == [30, 100, 200, 300]


def test_checkpoint_counts_as_being_deleted_until_its_files_are_gone() -> None:
    """Rule 12.39: more deletions than concurrent checkpoints hold back the next trigger."""
    executor = VirtualTimeExecutor()
    cleaner = CheckpointsCleaner(executor)
    counts: list[int] = []

    class Files:
        def discard(self) -> None:
            counts.append(cleaner.checkpoint_count_to_clean)

    for _ in range(2):
        cleaner.clean_checkpoint(Files(), True, lambda: counts.append(cleaner.checkpoint_count_to_clean))
    cleaner.clean_checkpoint(Files(), False, lambda: None)
    assert cleaner.checkpoint_count_to_clean == 2
    executor.run_until(0)
    assert counts == [2, 1, 1, 0]

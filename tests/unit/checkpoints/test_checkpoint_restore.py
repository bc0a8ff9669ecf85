"""From which snapshot a job is restored, and with which consequences (rules 12.48, 12.61, 12.62, 12.130)."""

from __future__ import annotations

import pytest

from flowsim.checkpoints.checkpoint_coordinator_configuration import CheckpointCoordinatorConfiguration
from flowsim.checkpoints.checkpoint_properties import CheckpointProperties, CheckpointRetentionPolicy
from flowsim.checkpoints.checkpoint_restore import CheckpointRestore, RecoveryClaimMode
from flowsim.checkpoints.storage.checkpoint_storage import CheckpointMetadata
from flowsim.checkpoints.storage.completed_checkpoint import CompletedCheckpoint
from flowsim.checkpoints.storage.snapshot_state import SnapshotState
from flowsim.streamrecord.checkpoint_options import SnapshotType
from tests.support.checkpoints.coordinated_job import CoordinatedJob
from tests.support.checkpoints.scripted_coordinator import ScriptedCoordinator

PROPERTIES = CheckpointProperties.for_checkpoint(CheckpointRetentionPolicy.NEVER_RETAIN_AFTER_TERMINATION)


class RestoredJob(CoordinatedJob):
    """A job of one task and one operator coordinator, and a savepoint 7 of an earlier job."""

    def __init__(self) -> None:
        self.source = ScriptedCoordinator(0)
        super().__init__([1], CheckpointCoordinatorConfiguration(), operator_coordinators=[self.source])
        self.source.on_call = self.events.append
        state = SnapshotState(coordinator_states={"coordinator 0": b"splits"})
        self.storage.written["savepoint-7"] = CheckpointMetadata(7, 500, SnapshotType.SAVEPOINT, state)
        self.restore = CheckpointRestore(
            self.coordinator, self.store, self.id_counter, self.storage, self, self.statistics, [self.source]
        )

    def assign_states(self, checkpoint: CompletedCheckpoint, *, allow_non_restored_state: bool) -> None:
        self.events.append(f"assign {checkpoint.checkpoint_id} {allow_non_restored_state}")

    def complete_checkpoint(self, checkpoint_id: int) -> None:
        self.trigger("checkpoint")
        self.source.deliver("state")
        self.drain()
        self.acknowledge("0/0", checkpoint_id)

    def restore_savepoint(self, mode: RecoveryClaimMode) -> None:
        self.restore.restore_savepoint("savepoint-7", mode, PROPERTIES, allow_non_restored_state=False)
        self.drain()


@pytest.mark.parametrize(
    ("mode", "snapshot_type", "deleted"),
    [
        (RecoveryClaimMode.CLAIM, "Checkpoint", ["savepoint-7"]),
        (RecoveryClaimMode.NO_CLAIM, "Full Checkpoint", []),
        (RecoveryClaimMode.LEGACY, "Checkpoint", []),
    ],
)
def test_claim_mode_decides_about_next_checkpoint_and_the_savepoint(
    mode: RecoveryClaimMode, snapshot_type: str, deleted: list[str]
) -> None:
    job = RestoredJob()
    job.restore_savepoint(mode)
    assert job.events == ["assign 7 False", "coordinator 0 reset 7 b'splits'"]
    job.events.clear()
    job.complete_checkpoint(8)
    assert f"rpc_trigger 0/0 8 ALIGNED {snapshot_type}" in job.events
    assert [checkpoint.checkpoint_id for checkpoint in job.store.all_checkpoints] == [8]
    assert job.storage.deleted == deleted
    job.complete_checkpoint(9)
    assert "rpc_trigger 0/0 9 ALIGNED Checkpoint" in job.events


def test_regions_are_restored_without_resetting_the_coordinators() -> None:
    job = RestoredJob()
    job.complete_checkpoint(1)
    job.events.clear()
    assert job.restore.restore_latest_to_subtasks() is job.store.latest_checkpoint
    assert job.events == ["assign 1 True"]


def test_all_tasks_are_restored_with_the_coordinators() -> None:
    job = RestoredJob()
    job.complete_checkpoint(1)
    job.events.clear()
    assert job.restore.restore_latest_to_all() is job.store.latest_checkpoint
    assert job.events == ["assign 1 True", "coordinator 0 reset 1 b'\\x01'"]


def test_global_failure_before_a_checkpoint_resets_the_coordinators_to_their_start() -> None:
    job = RestoredJob()
    assert job.restore.restore_latest_to_all() is None
    assert job.events == ["coordinator 0 reset -1 None"]


def test_job_manager_that_finds_no_checkpoint_leaves_the_coordinators() -> None:
    job = RestoredJob()
    assert job.restore.restore_initial_checkpoint_if_present() is None
    assert job.restore.restore_latest_to_subtasks() is None
    assert job.events == []


def test_job_manager_restores_the_latest_checkpoint_at_its_start() -> None:
    job = RestoredJob()
    job.complete_checkpoint(1)
    job.events.clear()
    assert job.restore.restore_initial_checkpoint_if_present() is job.store.latest_checkpoint
    assert job.events == ["assign 1 False", "coordinator 0 reset 1 b'\\x01'"]

"""What happens to a snapshot later. Flink: CheckpointProperties, CheckpointRetentionPolicy (rules 12.41, 12.63)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from flowsim.streamrecord.checkpoint_options import SnapshotType


class JobStatus(Enum):
    """The states in which a job ends. Flink: JobStatus."""

    FINISHED = "FINISHED"
    CANCELED = "CANCELED"
    FAILED = "FAILED"
    SUSPENDED = "SUSPENDED"
    """The job may continue elsewhere, so the state is not final."""

    @property
    def is_globally_terminal(self) -> bool:
        return self is not JobStatus.SUSPENDED


class CheckpointRetentionPolicy(Enum):
    """After which ends of the job its checkpoints are deleted. Flink: CheckpointRetentionPolicy."""

    NEVER_RETAIN_AFTER_TERMINATION = frozenset(JobStatus)
    RETAIN_ON_FAILURE = frozenset({JobStatus.FINISHED, JobStatus.CANCELED, JobStatus.SUSPENDED})
    RETAIN_ON_CANCELLATION = frozenset({JobStatus.FINISHED})


@dataclass(frozen=True, slots=True)
class CheckpointProperties:
    """Flink: CheckpointProperties."""

    snapshot_type: SnapshotType
    is_forced: bool
    """True if the snapshot ignores the maximum of concurrent checkpoints (rule 12.41)."""
    discard_on_subsumed: bool
    discard_on: frozenset[JobStatus]
    """The ends of the job after which the snapshot is deleted."""
    is_unclaimed: bool = False
    """True if the snapshot belongs to someone else: the next checkpoint must not share its files (rule 12.48)."""

    @property
    def is_savepoint(self) -> bool:
        return self.snapshot_type.is_savepoint

    @property
    def is_synchronous(self) -> bool:
        return self.snapshot_type.is_synchronous

    @staticmethod
    def for_checkpoint(policy: CheckpointRetentionPolicy) -> CheckpointProperties:
        return CheckpointProperties(SnapshotType.CHECKPOINT, False, True, policy.value)

    @staticmethod
    def for_savepoint(forced: bool) -> CheckpointProperties:
        return CheckpointProperties(SnapshotType.SAVEPOINT, forced, False, frozenset())

    @staticmethod
    def for_sync_savepoint(forced: bool, terminate: bool) -> CheckpointProperties:
        snapshot_type = SnapshotType.TERMINATE if terminate else SnapshotType.SUSPEND
        return CheckpointProperties(snapshot_type, forced, False, frozenset())

    @staticmethod
    def for_unclaimed_snapshot() -> CheckpointProperties:
        """Of a restored snapshot that the job must not delete (rule 12.62)."""
        return CheckpointProperties(SnapshotType.SAVEPOINT, False, False, frozenset(), is_unclaimed=True)

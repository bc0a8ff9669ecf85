"""The kind of a checkpoint, and how its barriers travel. Flink: CheckpointOptions, SnapshotType."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from flowsim.errors import InvariantViolation

NO_ALIGNED_TIMEOUT: Final = 2**63 - 1
"""The timeout of a barrier that never becomes unaligned. Flink: CheckpointOptions.NO_ALIGNED_CHECKPOINT_TIME_OUT."""


class SnapshotType(Enum):
    """The kind of a snapshot. Flink: SnapshotType, CheckpointType, SavepointType."""

    CHECKPOINT = "CHECKPOINT"
    FULL_CHECKPOINT = "FULL_CHECKPOINT"
    """A checkpoint that shares no files with earlier ones."""
    SAVEPOINT = "SAVEPOINT"
    SUSPEND = "SUSPEND"
    """The savepoint of a stop without drain."""
    TERMINATE = "TERMINATE"
    """The savepoint of a stop with drain."""

    @property
    def is_savepoint(self) -> bool:
        return self not in (SnapshotType.CHECKPOINT, SnapshotType.FULL_CHECKPOINT)

    @property
    def is_synchronous(self) -> bool:
        """Returns True if the task ends after the savepoint (rule 4.20)."""
        return self in (SnapshotType.SUSPEND, SnapshotType.TERMINATE)

    @property
    def should_drain(self) -> bool:
        return self is SnapshotType.TERMINATE


class AlignmentType(Enum):
    """How barriers travel and whether a task aligns them. Flink: CheckpointOptions.AlignmentType."""

    AT_LEAST_ONCE = "AT_LEAST_ONCE"
    """Barriers stay in order and block no channel."""
    ALIGNED = "ALIGNED"
    """Barriers stay in order and block their channels (rule 5.27)."""
    UNALIGNED = "UNALIGNED"
    """Barriers overtake data, which is stored (rule 5.28)."""
    FORCED_ALIGNED = "FORCED_ALIGNED"
    """Barriers on an exchange that does not support unaligned ones (rule 12.19)."""


@dataclass(frozen=True, slots=True)
class CheckpointOptions:
    """The options in a barrier (rules 12.19, 12.47). Flink: CheckpointOptions.

    ``aligned_timeout_ms``: the age after which an aligned barrier becomes unaligned.
    """

    snapshot_type: SnapshotType
    alignment: AlignmentType
    aligned_timeout_ms: int = NO_ALIGNED_TIMEOUT

    def __post_init__(self) -> None:
        if self.alignment is AlignmentType.UNALIGNED:
            if self.snapshot_type.is_savepoint:
                raise InvariantViolation("Savepoint can't be unaligned")
            if self.aligned_timeout_ms != NO_ALIGNED_TIMEOUT:
                raise InvariantViolation(f"Unaligned checkpoint can't have timeout ({self.aligned_timeout_ms})")

    @staticmethod
    def for_config(
        snapshot_type: SnapshotType, *, exactly_once: bool, unaligned_enabled: bool, aligned_timeout_ms: int
    ) -> CheckpointOptions:
        """Returns the options of a checkpoint by the settings of the job (rule 12.47)."""
        if not exactly_once:
            return CheckpointOptions(snapshot_type, AlignmentType.AT_LEAST_ONCE)
        if snapshot_type.is_savepoint or not unaligned_enabled:
            return CheckpointOptions(snapshot_type, AlignmentType.ALIGNED)
        if aligned_timeout_ms in (0, NO_ALIGNED_TIMEOUT):
            return CheckpointOptions(snapshot_type, AlignmentType.UNALIGNED)
        return CheckpointOptions(snapshot_type, AlignmentType.ALIGNED, aligned_timeout_ms)

    @property
    def is_exactly_once_mode(self) -> bool:
        return self.alignment is not AlignmentType.AT_LEAST_ONCE

    @property
    def is_unaligned_checkpoint(self) -> bool:
        return self.alignment is AlignmentType.UNALIGNED

    @property
    def is_timeoutable(self) -> bool:
        """Returns True if the barrier becomes unaligned after its timeout (rule 12.20)."""
        return self.alignment is AlignmentType.ALIGNED and 0 < self.aligned_timeout_ms < NO_ALIGNED_TIMEOUT

    @property
    def needs_alignment(self) -> bool:
        """Returns True if the barrier blocks its channel."""
        return self.is_exactly_once_mode and not self.is_unaligned_checkpoint

    @property
    def needs_channel_state(self) -> bool:
        """Returns True if buffers in channels may be stored."""
        return self.is_unaligned_checkpoint or self.is_timeoutable

    def with_unaligned_unsupported(self) -> CheckpointOptions:
        """Returns the options for an exchange that does not support unaligned barriers (rule 12.19)."""
        if not self.needs_channel_state:
            return self
        return CheckpointOptions(self.snapshot_type, AlignmentType.FORCED_ALIGNED, self.aligned_timeout_ms)

    def with_unaligned_supported(self) -> CheckpointOptions:
        """Returns the original options of a barrier that such an exchange changed (rule 12.19)."""
        if self.alignment is not AlignmentType.FORCED_ALIGNED:
            return self
        if self.aligned_timeout_ms == NO_ALIGNED_TIMEOUT:
            return CheckpointOptions(self.snapshot_type, AlignmentType.UNALIGNED)
        return CheckpointOptions(self.snapshot_type, AlignmentType.ALIGNED, self.aligned_timeout_ms)

    def to_unaligned(self) -> CheckpointOptions:
        """Returns the options of an aligned barrier after its timeout."""
        if self.alignment is not AlignmentType.ALIGNED:
            raise InvariantViolation(f"only an aligned barrier becomes unaligned, not {self.alignment.value}")
        return CheckpointOptions(self.snapshot_type, AlignmentType.UNALIGNED)

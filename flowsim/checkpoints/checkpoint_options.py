"""How the tasks take a snapshot. Flink: CheckpointOptions (rule 12.47)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from flowsim.checkpoints.checkpoint_properties import SnapshotType

NO_ALIGNED_CHECKPOINT_TIMEOUT: Final = 2**63 - 1
"""An aligned barrier never becomes unaligned."""


class AlignmentType(Enum):
    """Flink: CheckpointOptions.AlignmentType."""

    AT_LEAST_ONCE = "AT_LEAST_ONCE"
    ALIGNED = "ALIGNED"
    UNALIGNED = "UNALIGNED"
    FORCED_ALIGNED = "FORCED_ALIGNED"


@dataclass(frozen=True, slots=True)
class CheckpointOptions:
    """Flink: CheckpointOptions."""

    snapshot_type: SnapshotType
    alignment: AlignmentType
    aligned_checkpoint_timeout_ms: int = NO_ALIGNED_CHECKPOINT_TIMEOUT

    @staticmethod
    def for_config(
        snapshot_type: SnapshotType,
        *,
        is_exactly_once: bool,
        is_unaligned_enabled: bool,
        aligned_checkpoint_timeout_ms: int,
    ) -> CheckpointOptions:
        """Returns the options of a snapshot of a job with these settings."""
        if not is_exactly_once:
            return CheckpointOptions(snapshot_type, AlignmentType.AT_LEAST_ONCE)
        if snapshot_type.is_savepoint or not is_unaligned_enabled:
            return CheckpointOptions(snapshot_type, AlignmentType.ALIGNED)
        if aligned_checkpoint_timeout_ms in (0, NO_ALIGNED_CHECKPOINT_TIMEOUT):
            return CheckpointOptions(snapshot_type, AlignmentType.UNALIGNED)
        return CheckpointOptions(snapshot_type, AlignmentType.ALIGNED, aligned_checkpoint_timeout_ms)

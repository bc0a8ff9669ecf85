"""Options of barriers by their way through the network."""

from __future__ import annotations

from typing import Final

from flowsim.streamrecord.checkpoint_options import AlignmentType, CheckpointOptions, SnapshotType

ALIGNED: Final = CheckpointOptions(SnapshotType.CHECKPOINT, AlignmentType.ALIGNED)
UNALIGNED: Final = CheckpointOptions(SnapshotType.CHECKPOINT, AlignmentType.UNALIGNED)
TIMEOUTABLE: Final = CheckpointOptions(SnapshotType.CHECKPOINT, AlignmentType.ALIGNED, 10)
BY_NAME: Final = {"aligned": ALIGNED, "unaligned": UNALIGNED, "timeoutable": TIMEOUTABLE}

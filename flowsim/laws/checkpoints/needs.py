"""When laws about checkpoints apply."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import AlignmentType, CheckpointAction, CheckpointStep, SnapshotKind
from flowsim.laws.job_graph import JobGraph

SYNC_START: Final = int(CheckpointStep.SYNC_START)
NOTIFYING: Final = frozenset(
    int(kind)
    for kind in (SnapshotKind.CHECKPOINT, SnapshotKind.FULL_CHECKPOINT, SnapshotKind.SUSPEND, SnapshotKind.TERMINATE)
)
"""The types of snapshots whose completion is notified (rule 12.51)."""


def needs_checkpoints(graph: JobGraph) -> str:
    """For laws about checkpoints that were triggered."""
    return "" if graph.history.checkpoints else "no checkpoint was triggered"


def needs_restore(graph: JobGraph) -> str:
    """For laws about what is restored."""
    return "" if restored_checkpoints(graph) else "no task was restored from a checkpoint"


def restored_checkpoints(graph: JobGraph) -> frozenset[int]:
    """The checkpoints from which an attempt started."""
    return graph.once(_restored_checkpoints)


def _restored_checkpoints(graph: JobGraph) -> frozenset[int]:
    history = graph.history
    found = {event.checkpoint for event in history.restarts} | {history.first_restored}
    return frozenset(found - {-1})


def alignments(graph: JobGraph) -> dict[int, int]:
    """The alignment of each triggered checkpoint."""
    return graph.once(_alignments)


def _alignments(graph: JobGraph) -> dict[int, int]:
    triggered = int(CheckpointAction.TRIGGERED)
    return {event.checkpoint: event.alignment for event in graph.history.checkpoints if event.action == triggered}


def blocks_channels(graph: JobGraph, checkpoint: int) -> bool:
    """Whether nothing that follows a barrier of a checkpoint is received before the snapshot."""
    return alignments(graph).get(checkpoint, AlignmentType.AT_LEAST_ONCE) != AlignmentType.AT_LEAST_ONCE

"""The duration of a checkpoint (rule 12.144)."""

from __future__ import annotations

from flowsim.facts.kinds import AlignmentType, CheckpointAction, CheckpointReason, SnapshotKind
from flowsim.history.checkpoints import CheckpointHistory, RecordedCheckpoint
from flowsim.laws.job_history import CheckpointEvent
from flowsim.units import NS_PER_MS


def event(
    time_ms: int, action: CheckpointAction, acknowledged: int, reason: CheckpointReason = CheckpointReason.NONE
) -> CheckpointEvent:
    return CheckpointEvent(
        0,
        time_ms * NS_PER_MS,
        1,
        action,
        SnapshotKind.CHECKPOINT,
        AlignmentType.ALIGNED,
        reason,
        -1,
        3,
        acknowledged,
        0,
    )


def checkpoint_after(*events: CheckpointEvent) -> RecordedCheckpoint:
    history = CheckpointHistory()
    for each in events:
        history.add(each)
    return history.checkpoints[1]


TRIGGERED = event(100, CheckpointAction.TRIGGERED, 1)


def test_completed_checkpoint_lasts_until_its_last_acknowledgement() -> None:
    checkpoint = checkpoint_after(
        TRIGGERED,
        event(120, CheckpointAction.ACKNOWLEDGED, 2),
        event(135, CheckpointAction.ACKNOWLEDGED, 3),
        event(150, CheckpointAction.COMPLETED, 3),
    )
    assert (checkpoint.status, checkpoint.tasks, checkpoint.acknowledged) == ("completed", 3, 3)
    assert checkpoint.end_to_end_ms == 35


def test_failed_checkpoint_lasts_until_its_failure() -> None:
    assert checkpoint_after(TRIGGERED).end_to_end_ms is None
    expired = event(600, CheckpointAction.ABORTED, 1, CheckpointReason.CHECKPOINT_EXPIRED)
    checkpoint = checkpoint_after(TRIGGERED, event(120, CheckpointAction.ACKNOWLEDGED, 2), expired)
    assert (checkpoint.status, checkpoint.reason) == ("failed", CheckpointReason.CHECKPOINT_EXPIRED)
    assert checkpoint.end_to_end_ms == 500


def test_history_knows_its_last_completed_checkpoint_and_the_oldest_in_progress() -> None:
    history = CheckpointHistory()
    history.add(TRIGGERED)
    assert history.oldest_in_progress is history.checkpoints[1]
    assert (history.in_progress, history.last_completed) == (1, None)
    for each in (event(120, CheckpointAction.ACKNOWLEDGED, 3), event(150, CheckpointAction.COMPLETED, 3)):
        history.add(each)
    assert history.last_completed is history.checkpoints[1]
    assert (history.in_progress, history.oldest_in_progress) == (0, None)

"""The options of barriers: by the settings of a job, on exchanges without support, after a timeout (rules 12.19, 12.47)."""

from __future__ import annotations

import pytest

from flowsim.errors import InvariantViolation
from flowsim.streamrecord.checkpoint_exception import CheckpointFailureReason
from flowsim.streamrecord.checkpoint_options import AlignmentType, CheckpointOptions, SnapshotType
from tests.support.barriers import ALIGNED, TIMEOUTABLE, UNALIGNED

AT_LEAST_ONCE = CheckpointOptions(SnapshotType.CHECKPOINT, AlignmentType.AT_LEAST_ONCE)


@pytest.mark.parametrize(
    ("snapshot_type", "exactly_once", "unaligned_enabled", "timeout_ms", "alignment", "is_timeoutable"),
    [
        (SnapshotType.CHECKPOINT, False, False, 0, AlignmentType.AT_LEAST_ONCE, False),
        (SnapshotType.CHECKPOINT, True, False, 10, AlignmentType.ALIGNED, False),
        (SnapshotType.SAVEPOINT, True, True, 10, AlignmentType.ALIGNED, False),
        (SnapshotType.FULL_CHECKPOINT, True, True, 0, AlignmentType.UNALIGNED, False),
        (SnapshotType.CHECKPOINT, True, True, 10, AlignmentType.ALIGNED, True),
    ],
)
def test_options_by_the_settings_of_a_job(
    snapshot_type: SnapshotType,
    exactly_once: bool,
    unaligned_enabled: bool,
    timeout_ms: int,
    alignment: AlignmentType,
    is_timeoutable: bool,
) -> None:
    options = CheckpointOptions.for_config(
        snapshot_type,
        exactly_once=exactly_once,
        unaligned_enabled=unaligned_enabled,
        aligned_timeout_ms=timeout_ms,
    )
    assert (options.alignment, options.is_timeoutable) == (alignment, is_timeoutable)


def test_exchange_without_support_forces_alignment_and_the_receiver_restores_the_options() -> None:
    for options in (UNALIGNED, TIMEOUTABLE):
        forced = options.with_unaligned_unsupported()
        assert forced.alignment is AlignmentType.FORCED_ALIGNED
        assert (forced.needs_alignment, forced.needs_channel_state) == (True, False)
        assert forced.with_unaligned_supported() == options
    for options in (ALIGNED, AT_LEAST_ONCE):
        assert options.with_unaligned_unsupported() is options
        assert options.with_unaligned_supported() is options


def test_only_aligned_options_become_unaligned() -> None:
    assert TIMEOUTABLE.to_unaligned() == UNALIGNED
    for options in (UNALIGNED, AT_LEAST_ONCE, UNALIGNED.with_unaligned_unsupported()):
        with pytest.raises(InvariantViolation, match="only an aligned barrier"):
            options.to_unaligned()


def test_savepoints_and_unaligned_checkpoints_have_no_timeout_to_unaligned() -> None:
    with pytest.raises(InvariantViolation, match="Savepoint can't be unaligned"):
        CheckpointOptions(SnapshotType.SAVEPOINT, AlignmentType.UNALIGNED)
    with pytest.raises(InvariantViolation, match="can't have timeout"):
        CheckpointOptions(SnapshotType.CHECKPOINT, AlignmentType.UNALIGNED, 10)


def test_snapshot_types() -> None:
    savepoints = [each for each in SnapshotType if each.is_savepoint]
    assert savepoints == [SnapshotType.SAVEPOINT, SnapshotType.SUSPEND, SnapshotType.TERMINATE]
    assert [each for each in SnapshotType if each.is_synchronous] == [SnapshotType.SUSPEND, SnapshotType.TERMINATE]
    assert [each for each in SnapshotType if each.should_drain] == [SnapshotType.TERMINATE]


def test_failures_before_a_pending_checkpoint_exists() -> None:
    assert [reason.name for reason in CheckpointFailureReason if reason.is_preflight] == [
        "PERIODIC_SCHEDULER_SHUTDOWN",
        "TOO_MANY_CHECKPOINT_REQUESTS",
        "MINIMUM_TIME_BETWEEN_CHECKPOINTS",
        "NOT_ALL_REQUIRED_TASKS_RUNNING",
        "IO_EXCEPTION",
        "BLOCKING_OUTPUT_EXIST",
    ]

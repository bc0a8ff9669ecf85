"""The kinds of faults of checkpoints."""

from __future__ import annotations

from typing import Final

from flowsim.faults.fault_kind import Component, FaultKind

CHECKPOINT_FAULTS: Final = (
    FaultKind("barrier_repeated", Component.WRITER, "a barrier is sent twice on every channel", "checkpoint-barriers"),
    FaultKind(
        "resume_not_woken",
        Component.READER,
        "a sender whose channel is resumed after a barrier does not send what is queued",
        "progress",
    ),
    FaultKind(
        "notified_before_completion",
        Component.CHECKPOINTS,
        "the task is notified that a checkpoint is complete as soon as it acknowledges it",
        "checkpoint-notifications",
    ),
    FaultKind(
        "state_lost_at_restore", Component.CHECKPOINTS, "a restored task starts without its state", "restored-state"
    ),
    FaultKind(
        "key_groups_lost_at_restore",
        Component.CHECKPOINTS,
        "a restored task starts without the keyed state of the first half of its key groups",
        "restored-state",
    ),
    FaultKind(
        "operator_state_lost_at_restore",
        Component.CHECKPOINTS,
        "a restored task starts without list, union list and broadcast state",
        "restored-state",
    ),
    FaultKind(
        "timer_lost_at_restore",
        Component.CHECKPOINTS,
        "a restored operator loses its first timer",
        "restored-timers",
    ),
    FaultKind(
        "timers_not_armed_at_restore",
        Component.OPERATOR,
        "a restored operator registers no system timer for its processing-time timers",
        "restored-timers",
    ),
    FaultKind(
        "source_skips_at_restore",
        Component.CHECKPOINTS,
        "a restored source begins one record after its position",
        "exactly-once",
    ),
    FaultKind(
        "acknowledged_twice", Component.CHECKPOINTS, "each checkpoint is acknowledged twice", "checkpoint-answers"
    ),
    FaultKind(
        "completed_too_early",
        Component.CHECKPOINTS,
        "a checkpoint is completed with the first acknowledgement of a task",
        "checkpoint-progress",
    ),
    FaultKind(
        "channels_not_blocked",
        Component.CHECKPOINTS,
        "the task receives elements after the barrier before its snapshot",
        "checkpoint-cut",
    ),
    FaultKind(
        "snapshot_at_first_barrier",
        Component.CHECKPOINTS,
        "in mode at-least-once, the task takes its snapshot at the first barrier",
        "at-least-once",
    ),
    FaultKind(
        "committed_too_early",
        Component.OPERATOR,
        "the committer commits the output of a checkpoint in its snapshot, before the checkpoint is completed",
        "committed-once",
    ),
    FaultKind(
        "committables_lost_at_restore",
        Component.OPERATOR,
        "a restored committer drops its committables",
        "committed-once",
    ),
    FaultKind(
        "transaction_committed_twice",
        Component.OPERATOR,
        "a sink function with transactions commits each of them twice when it is notified",
        "committed-once",
    ),
    FaultKind(
        "transaction_not_committed",
        Component.OPERATOR,
        "a sink function with transactions commits nothing when it is notified",
        "committed-once",
    ),
    FaultKind(
        "transaction_aborted_at_close",
        Component.OPERATOR,
        "a sink function aborts the transactions that wait for their checkpoint when it is closed",
        "committed-once",
    ),
    FaultKind(
        "transaction_not_recovered",
        Component.OPERATOR,
        "a sink function does not commit its restored transactions",
        "committed-once",
    ),
    FaultKind(
        "channel_not_stored",
        Component.CHECKPOINTS,
        "an unaligned checkpoint of the task does not contain the data of its first channel that has some",
        "in-flight-cut",
    ),
    FaultKind(
        "channel_stored_twice",
        Component.CHECKPOINTS,
        "an unaligned checkpoint of the task contains the data of its first channel that has some twice",
        "in-flight-cut",
    ),
    FaultKind(
        "obsolete_barrier_accepted",
        Component.READER,
        "a barrier of an older checkpoint ends the storing of its channel",
        "in-flight-cut",
    ),
    FaultKind(
        "new_data_before_restored",
        Component.READER,
        "a restored channel delivers new data before the data that its sender restored",
        "in-flight-restored",
    ),
    FaultKind(
        "restored_into_another_channel",
        Component.CHECKPOINTS,
        "the input channels of a restored task exchange their restored data",
        "in-flight-restored",
    ),
)

_OF_RESTORES: Final = frozenset(
    {
        "state_lost_at_restore",
        "key_groups_lost_at_restore",
        "operator_state_lost_at_restore",
        "timer_lost_at_restore",
        "timers_not_armed_at_restore",
        "source_skips_at_restore",
        "committables_lost_at_restore",
        "transaction_not_recovered",
        "new_data_before_restored",
        "restored_into_another_channel",
    }
)
FAULTS_OF_SNAPSHOTS: Final = frozenset(kind.name for kind in CHECKPOINT_FAULTS) - _OF_RESTORES
"""The faults without effect in a job that takes no checkpoint; the others may break a job that starts from one."""

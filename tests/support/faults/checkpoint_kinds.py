"""The kinds of faults of checkpoints."""

from __future__ import annotations

from typing import Final

from flowsim.faults.fault_kind import Component, FaultKind

CHECKPOINT_FAULTS: Final = (
    FaultKind(
        "barrier_repeated",
        Component.WRITER,
        "a barrier is sent twice on every channel",
        "checkpoint-barriers",
        needs_checkpoints=True,
    ),
    FaultKind(
        "resume_not_woken",
        Component.READER,
        "a sender whose channel is resumed after a barrier does not send what is queued",
        "progress",
        needs_checkpoints=True,
    ),
    FaultKind(
        "notified_before_completion",
        Component.CHECKPOINTS,
        "the task is notified that a checkpoint is complete as soon as it acknowledges it",
        "checkpoint-notifications",
        needs_checkpoints=True,
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
        "acknowledged_twice",
        Component.CHECKPOINTS,
        "each checkpoint is acknowledged twice",
        "checkpoint-answers",
        needs_checkpoints=True,
    ),
    FaultKind(
        "completed_too_early",
        Component.CHECKPOINTS,
        "a checkpoint is completed with the first acknowledgement of a task",
        "checkpoint-progress",
        needs_checkpoints=True,
    ),
    FaultKind(
        "channels_not_blocked",
        Component.CHECKPOINTS,
        "the task receives elements after the barrier before its snapshot",
        "checkpoint-cut",
        needs_checkpoints=True,
    ),
    FaultKind(
        "snapshot_at_first_barrier",
        Component.CHECKPOINTS,
        "in mode at-least-once, the task takes its snapshot at the first barrier",
        "at-least-once",
        needs_checkpoints=True,
    ),
    FaultKind(
        "committed_too_early",
        Component.OPERATOR,
        "the committer commits the output of a checkpoint in its snapshot, before the checkpoint is completed",
        "committed-once",
        needs_checkpoints=True,
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
        needs_checkpoints=True,
    ),
    FaultKind(
        "transaction_not_committed",
        Component.OPERATOR,
        "a sink function with transactions commits nothing when it is notified",
        "committed-once",
        needs_checkpoints=True,
    ),
    FaultKind(
        "transaction_aborted_at_close",
        Component.OPERATOR,
        "a sink function aborts the transactions that wait for their checkpoint when it is closed",
        "committed-once",
        needs_checkpoints=True,
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
        needs_checkpoints=True,
    ),
    FaultKind(
        "channel_stored_twice",
        Component.CHECKPOINTS,
        "an unaligned checkpoint of the task contains the data of its first channel that has some twice",
        "in-flight-cut",
        needs_checkpoints=True,
    ),
    FaultKind(
        "obsolete_barrier_accepted",
        Component.READER,
        "a barrier of an older checkpoint ends the storing of its channel",
        "in-flight-cut",
        needs_checkpoints=True,
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

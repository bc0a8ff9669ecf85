"""The kinds of faults that only tests put into a run."""

from __future__ import annotations

from typing import Final

from flowsim.faults.fault_kind import Component, FaultKind
from tests.support.faults.checkpoint_kinds import CHECKPOINT_FAULTS

KINDS: Final = (
    FaultKind(
        "duplicate_element",
        Component.CHANNEL,
        "the receiver reads the record at position `at` twice",
        "channel-fifo",
    ),
    FaultKind(
        "swap_elements",
        Component.CHANNEL,
        "the receiver swaps the record at position `at` and the next element",
        "channel-fifo",
    ),
    FaultKind(
        "corrupt_element",
        Component.CHANNEL,
        "the receiver adds 1 ms to the timestamp of the record at position `at`",
        "channel-fifo",
    ),
    FaultKind(
        "window_loses_row",
        Component.OPERATOR,
        "a window assigns a record to itself but does not add it to its contents",
        "window-fire",
    ),
    FaultKind(
        "window_fires_early",
        Component.OPERATOR,
        "a window fires before the watermark passes its end",
        "window-fire",
    ),
    FaultKind("late_row_lost_early", Component.OPERATOR, "a record that is not late is treated as late", "late-rows"),
    FaultKind(
        "late_row_vanishes",
        Component.OPERATOR,
        "a late record is neither counted nor emitted to the side output",
        "lateness",
    ),
    FaultKind(
        "session_loses_rows",
        Component.OPERATOR,
        "a merge discards the contents of the absorbed window",
        "window-fire",
    ),
    FaultKind("window_fires_twice", Component.OPERATOR, "a window is not cleaned up and fires again", "window-fire"),
    FaultKind("join_forgets_bound", Component.OPERATOR, "an interval join treats its bounds as exclusive", "joins"),
    FaultKind("join_repeats_pair", Component.OPERATOR, "an interval join emits one pair twice", "joins"),
    FaultKind(
        "cleanup_not_registered",
        Component.OPERATOR,
        "the operator registers no cleanup timer for its first window or join state",
        "cleanup",
    ),
    FaultKind(
        "cleanup_left_at_merge",
        Component.OPERATOR,
        "a merge does not delete the cleanup timers of the absorbed windows",
        "cleanup",
    ),
    FaultKind("window_join_forgets_pair", Component.OPERATOR, "a window join omits its first pair", "window-joins"),
    FaultKind("window_join_repeats_pair", Component.OPERATOR, "a window join emits one pair twice", "window-joins"),
    FaultKind(
        "purge_forgotten", Component.OPERATOR, "a purge does not clear the contents of the window", "window-fire"
    ),
    FaultKind(
        "timer_fires_twice",
        Component.OPERATOR,
        "the first timer that fires stays in its queue and fires again",
        "timers",
    ),
    FaultKind("timer_fires_early", Component.OPERATOR, "a timer fires before the watermark reaches its time", "timers"),
    FaultKind("timer_lost", Component.OPERATOR, "the queue loses the first timer", "timers"),
    FaultKind(
        "processing_time_timer_lost",
        Component.OPERATOR,
        "the first system timer for processing-time timers never fires",
        "timers",
    ),
    FaultKind(
        "timer_under_wrong_key",
        Component.OPERATOR,
        "a timer fires under the key of the previous record or timer",
        "timers",
    ),
    FaultKind("state_removal_ignored", Component.OPERATOR, "map states ignore every removal of a key", "state"),
    FaultKind("state_value_not_read", Component.OPERATOR, "value states return no value", "state"),
    FaultKind("state_never_expires", Component.OPERATOR, "states ignore their time to live", "state"),
    FaultKind(
        "async_watermark_overtakes",
        Component.OPERATOR,
        "a watermark leaves an async queue before incomplete records ahead of it",
        "async-order",
    ),
    FaultKind(
        "async_out_of_order",
        Component.OPERATOR,
        "a completed record overtakes the head of an ordered queue",
        "async-order",
    ),
    FaultKind(
        "async_segment_dropped",
        Component.OPERATOR,
        "an unordered queue drops a segment that still has incomplete records",
        "async-order",
    ),
    FaultKind(
        "async_outcome_forgotten",
        Component.OPERATOR,
        "the queue never receives the result of the first completed call",
        "async-order",
    ),
    FaultKind(
        "async_element_not_put",
        Component.OPERATOR,
        "the first record is not queued, and its function call does not happen",
        "async-order",
    ),
    FaultKind(
        "async_head_lost",
        Component.OPERATOR,
        "a completed record leaves the queue, but its results are not emitted",
        "async-once",
    ),
    FaultKind("async_emits_twice", Component.OPERATOR, "the results of one call are emitted twice", "async-once"),
    FaultKind("async_results_swapped", Component.OPERATOR, "the results of two records are swapped", "async-once"),
    FaultKind(
        "async_emits_unfinished", Component.OPERATOR, "a record is emitted before its call completes", "async-once"
    ),
    FaultKind(
        "async_times_out_the_done",
        Component.OPERATOR,
        "a timeout happens for a record whose call has completed",
        "async-once",
    ),
    FaultKind(
        "async_over_capacity",
        Component.OPERATOR,
        "an async queue accepts one element above its capacity",
        "async-capacity",
    ),
    FaultKind(
        "async_calls_again",
        Component.OPERATOR,
        "the function is called twice for the first record",
        "async-retries",
    ),
    FaultKind(
        "async_record_reused",
        Component.OPERATOR,
        "records in the queue are overwritten by the newest record",
        "async-payload",
    ),
    FaultKind(
        "async_timer_kept", Component.OPERATOR, "the timers of async elements are never cancelled", "async-timers"
    ),
    FaultKind(
        "async_emits_after_end",
        Component.OPERATOR,
        "an async operator ends its input before its queue is empty",
        "async-end",
    ),
    FaultKind(
        "async_watermark_withheld",
        Component.OPERATOR,
        "the first watermark leaves an async queue, but the operator does not emit it",
        "task-watermark",
    ),
    FaultKind(
        "watermark_too_high",
        Component.OPERATOR,
        "the strategy emits watermarks that are too high for its records",
        "task-watermark",
    ),
    FaultKind(
        "periodic_emit_skipped",
        Component.OPERATOR,
        "the strategy skips the first periodic call after each record",
        "task-watermark",
    ),
    FaultKind(
        "idle_splits_not_flushed",
        Component.OPERATOR,
        "a source whose splits are all idle does not emit the highest of their watermarks",
        "task-watermark",
    ),
    FaultKind(
        "idle_split_holds_back",
        Component.OPERATOR,
        "an idle split still holds back the watermark of its source",
        "task-watermark",
    ),
    FaultKind(
        "idle_but_speaking",
        Component.OPERATOR,
        "an idle strategy emits a watermark without becoming active",
        "idle",
    ),
    FaultKind(
        "idleness_never_declared",
        Component.OPERATOR,
        "the strategy never declares itself, or a split, idle",
        "idle",
    ),
    FaultKind(
        "idle_under_back_pressure",
        Component.TASK,
        "idle timeouts also run while the task waits for output",
        "idle",
    ),
    FaultKind(
        "idle_clock_stuck",
        Component.TASK,
        "idle timeouts do not go on after the task has waited for output",
        "idle",
    ),
    FaultKind("never_active_again", Component.WRITER, "an output that became idle never becomes active again", "idle"),
    FaultKind(
        "misroute_keys",
        Component.WRITER,
        "every record goes to the subtask after the owner of its key",
        "key-routing",
    ),
    FaultKind(
        "rebalance_skips_channel",
        Component.WRITER,
        "the round robin skips one channel after record `at`; an adaptive writer skips the idlest channel",
        "distribution",
    ),
    FaultKind(
        "forward_over_several_channels",
        Component.WRITER,
        "a round robin to another parallelism becomes a forward edge, and each record takes its first channel",
        "distribution",
    ),
    FaultKind(
        "watermark_goes_back",
        Component.WRITER,
        "the writer sends a lower watermark after `at` watermarks",
        "watermark-monotone",
    ),
    FaultKind("watermark_after_end_of_data", Component.WRITER, "a watermark follows EndOfData", "channel-end"),
    FaultKind(
        "lose_record_in_chain",
        Component.WRITER,
        "record `at` is lost between the last operator and the record writer",
        "conservation",
    ),
    FaultKind(
        "send_without_credit", Component.READER, "the sender sends a data buffer without using a credit", "credits"
    ),
    FaultKind("leak_segment", Component.WRITER, "a segment of an output pool is never recycled", "segments"),
    FaultKind(
        "backlog_counts_events", Component.READER, "the backlog counts a queued event as a data buffer", "backlog"
    ),
    FaultKind("backlog_before_flush", Component.READER, "the backlog counts a buffer before its flush", "backlog"),
    FaultKind(
        "empty_buffer_sent",
        Component.WRITER,
        "an empty buffer is sent to a receiver that has exclusive buffers",
        "backlog",
    ),
    FaultKind(
        "notification_late",
        Component.READER,
        "the sender is not notified of the first data of a channel and sends it later",
        "progress",
    ),
    FaultKind("notifications_lost", Component.READER, "senders are never notified that a channel has data", "progress"),
    FaultKind(
        "received_buffer_leaks",
        Component.READER,
        "the receiver never recycles the first data buffer of a channel",
        "in-flight",
    ),
    FaultKind(
        "credit_from_nowhere",
        Component.READER,
        "the receiver announces a credit without a free buffer",
        "in-flight",
    ),
    FaultKind("mail_overtakes", Component.TASK, "two mails of equal priority run in the wrong order", "mails"),
    FaultKind(
        "mail_joins_batch",
        Component.TASK,
        "a mail that is put while a batch of mails runs is added to that batch",
        "fairness",
    ),
    FaultKind(
        "batch_interrupted",
        Component.TASK,
        "the default action runs in the middle of the first batch of mails",
        "fairness",
    ),
    FaultKind("yield_runs_any_mail", Component.TASK, "a yield runs a mail of a lower priority", "mails"),
    FaultKind(
        "finish_before_end_input",
        Component.TASK,
        "the operators finish before the end of their input",
        "life-cycle",
    ),
    FaultKind("close_twice", Component.TASK, "the tail of the chain is closed twice", "life-cycle"),
    FaultKind("drain_without_max_watermark", Component.TASK, "a source drains without emitting MAX_WATERMARK", "end"),
    FaultKind("reenter_action", Component.TASK, "a mail runs in the middle of another action of the task", "actions"),
    *CHECKPOINT_FAULTS,
    FaultKind(
        "input_never_empty",
        Component.TASK,
        "an empty input claims to have more, so that the task polls it without end",
        "progress",
    ),
    FaultKind("stop_task", Component.TASK, "the task stops reading its input", None),
)

"""The kinds of deliberate faults, and which of them a run has (architecture decision D6).

Each fault replaces a component of the running simulator by one that breaks a rule, so that the laws can be seen to fire:
what is recorded afterwards is what the faulty component really did.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from flowsim.errors import BadInput


class Component(Enum):
    """What a fault breaks."""

    CHANNEL = "channel"
    VALVE = "valve"
    OPERATOR = "operator"
    WRITER = "writer"
    READER = "reader"
    TASK = "task"


@dataclass(frozen=True, slots=True)
class FaultKind:
    """A kind of fault: its name, what it breaks, and the law that must notice it."""

    name: str
    component: Component
    sentence: str
    law: str | None


FAULT_KINDS: Final[dict[str, FaultKind]] = {
    kind.name: kind
    for kind in (
        FaultKind(
            "drop_element",
            Component.CHANNEL,
            "the receiver loses the record at position `at` of a channel",
            "channel-fifo",
        ),
        FaultKind("duplicate_element", Component.CHANNEL, "the receiver gets the record at `at` twice", "channel-fifo"),
        FaultKind(
            "swap_elements",
            Component.CHANNEL,
            "the record at `at` and the element after it change places",
            "channel-fifo",
        ),
        FaultKind(
            "corrupt_element",
            Component.CHANNEL,
            "the timestamp of the record at `at` arrives one higher",
            "channel-fifo",
        ),
        FaultKind(
            "valve_takes_maximum",
            Component.VALVE,
            "the fastest channel decides the watermark, not the slowest",
            "valve",
        ),
        FaultKind("window_loses_row", Component.OPERATOR, "a window takes a row in and does not add it", "window-fire"),
        FaultKind(
            "window_fires_early", Component.OPERATOR, "a window fires before the watermark has passed it", "window-fire"
        ),
        FaultKind("late_row_kept", Component.OPERATOR, "a late row is added to its window", "late-rows"),
        FaultKind("late_row_lost_early", Component.OPERATOR, "a row in time is treated as late", "late-rows"),
        FaultKind("late_row_vanishes", Component.OPERATOR, "a late row is gone without a trace", "lateness"),
        FaultKind(
            "session_loses_rows", Component.OPERATOR, "a merge forgets what the absorbed window had", "window-fire"
        ),
        FaultKind(
            "window_fires_twice", Component.OPERATOR, "a window is not cleaned up and fires again", "window-fire"
        ),
        FaultKind("join_forgets_bound", Component.OPERATOR, "an interval join takes its bounds for exclusive", "joins"),
        FaultKind("join_repeats_pair", Component.OPERATOR, "an interval join finds one record twice", "joins"),
        FaultKind(
            "window_join_forgets_pair", Component.OPERATOR, "a window join leaves out its first pair", "window-joins"
        ),
        FaultKind("window_join_repeats_pair", Component.OPERATOR, "a window join joins a pair twice", "window-joins"),
        FaultKind(
            "cleanup_not_registered", Component.OPERATOR, "nothing removes what the first window keeps", "cleanup"
        ),
        FaultKind(
            "cleanup_left_at_merge", Component.OPERATOR, "the cleanup timers of windows that merge stay", "cleanup"
        ),
        FaultKind("purge_forgotten", Component.OPERATOR, "a purge leaves the contents of the window", "window-fire"),
        FaultKind("timer_fires_twice", Component.OPERATOR, "the first timer that fires stays in its queue", "timers"),
        FaultKind(
            "timer_fires_early", Component.OPERATOR, "a timer fires before the watermark has reached it", "timers"
        ),
        FaultKind("timer_lost", Component.OPERATOR, "the queue forgets the first timer it is given", "timers"),
        FaultKind(
            "timer_under_wrong_key", Component.OPERATOR, "a timer fires under the key of what came before", "timers"
        ),
        FaultKind(
            "async_watermark_overtakes",
            Component.OPERATOR,
            "a watermark leaves an async queue before records that wait",
            "async-order",
        ),
        FaultKind(
            "async_out_of_order",
            Component.OPERATOR,
            "a record that is done passes the head of an ordered queue",
            "async-order",
        ),
        FaultKind(
            "async_segment_dropped",
            Component.OPERATOR,
            "an unordered queue goes on although records are not done",
            "async-order",
        ),
        FaultKind(
            "async_outcome_forgotten",
            Component.OPERATOR,
            "the first outcome of a call never reaches the queue",
            "async-order",
        ),
        FaultKind(
            "async_element_not_put",
            Component.OPERATOR,
            "the first record is neither queued nor asked for",
            "async-order",
        ),
        FaultKind(
            "async_head_lost",
            Component.OPERATOR,
            "a record that is done leaves the queue without a trace",
            "async-once",
        ),
        FaultKind("async_emits_twice", Component.OPERATOR, "the results of one call are handed on twice", "async-once"),
        FaultKind("async_results_swapped", Component.OPERATOR, "two records get each other's results", "async-once"),
        FaultKind(
            "async_emits_unfinished", Component.OPERATOR, "a record leaves before its call is answered", "async-once"
        ),
        FaultKind(
            "async_times_out_the_done",
            Component.OPERATOR,
            "time runs out for a record whose call is answered",
            "async-once",
        ),
        FaultKind(
            "async_over_capacity", Component.OPERATOR, "an async queue takes one element too many", "async-capacity"
        ),
        FaultKind("async_calls_again", Component.OPERATOR, "the first record is asked for twice", "async-retries"),
        FaultKind(
            "async_record_reused",
            Component.OPERATOR,
            "records that wait for an answer turn into the one that came last",
            "async-payload",
        ),
        FaultKind(
            "async_timer_kept", Component.OPERATOR, "no timer of an async element is ever cancelled", "async-timers"
        ),
        FaultKind(
            "async_emits_after_end",
            Component.OPERATOR,
            "the input of an async operator ends before its queue is empty",
            "async-end",
        ),
        FaultKind(
            "async_watermark_withheld",
            Component.OPERATOR,
            "the first watermark leaves an async queue, but not the operator",
            "task-watermark",
        ),
        FaultKind(
            "watermark_too_high",
            Component.OPERATOR,
            "watermarks are ahead of what the strategy makes of the records",
            "task-watermark",
        ),
        FaultKind("idle_but_speaking", Component.OPERATOR, "an idle strategy speaks without becoming active", "idle"),
        FaultKind("never_active_again", Component.WRITER, "an output that became idle stays so", "idle"),
        FaultKind("misroute_keys", Component.WRITER, "every key goes to the subtask after its own", "key-routing"),
        FaultKind(
            "rebalance_skips_channel",
            Component.WRITER,
            "after record `at` a round robin leaves one channel out",
            "distribution",
        ),
        FaultKind(
            "watermark_goes_back",
            Component.WRITER,
            "after `at` watermarks one is sent that is lower",
            "watermark-monotone",
        ),
        FaultKind("watermark_after_end_of_data", Component.WRITER, "a watermark follows EndOfData", "channel-end"),
        FaultKind(
            "lose_record_in_chain",
            Component.WRITER,
            "record `at` disappears between operator and writer",
            "conservation",
        ),
        FaultKind("send_without_credit", Component.READER, "the sender spends no credit for a data buffer", "credits"),
        FaultKind("lose_credit", Component.READER, "a credit announcement never reaches the sender", "credits"),
        FaultKind(
            "leak_segment", Component.WRITER, "a segment of an output pool is handed out and never recycled", "segments"
        ),
        FaultKind("backlog_counts_events", Component.READER, "an event that waits counts as a data buffer", "backlog"),
        FaultKind("backlog_before_flush", Component.READER, "a buffer counts in the backlog before a flush", "backlog"),
        FaultKind(
            "empty_buffer_sent",
            Component.WRITER,
            "a buffer without bytes is sent to a receiver that has exclusive buffers",
            "backlog",
        ),
        FaultKind(
            "notification_late",
            Component.READER,
            "the first data of a channel wait until something else has them sent",
            "progress",
        ),
        FaultKind("notifications_lost", Component.READER, "no sender learns that a channel has data", "progress"),
        FaultKind(
            "received_buffer_leaks",
            Component.READER,
            "the receiver never frees the memory of the first data buffer of a channel",
            "in-flight",
        ),
        FaultKind(
            "credit_from_nowhere", Component.READER, "the receiver announces a credit without a buffer", "in-flight"
        ),
        FaultKind("mail_overtakes", Component.TASK, "of two equal mails the later one runs first", "mails"),
        FaultKind(
            "mail_joins_batch", Component.TASK, "a mail that is put during a batch of mails runs in it", "fairness"
        ),
        FaultKind(
            "batch_interrupted",
            Component.TASK,
            "the default action runs in the middle of the first batch of mails",
            "fairness",
        ),
        FaultKind("yield_runs_any_mail", Component.TASK, "a yield runs a mail of a lower priority", "mails"),
        FaultKind(
            "finish_before_end_input", Component.TASK, "the operators finish before their input has ended", "life-cycle"
        ),
        FaultKind("close_twice", Component.TASK, "the tail of the chain is closed twice", "life-cycle"),
        FaultKind("drain_without_max_watermark", Component.TASK, "a source drains without the last watermark", "end"),
        FaultKind("reenter_action", Component.TASK, "a mail runs while the task waits for its time to pass", "actions"),
        FaultKind("stop_task", Component.TASK, "the task takes nothing from its input any more", None),
    )
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One deliberate fault of a run.

    ``operator``: name of an operator of the task that is broken, None: every task. ``subtask``: its index, None: every
    subtask. ``channel``: channel id, None: every channel of the task. ``at``: see the sentence of the kind, counted from 0.
    """

    fault: str
    operator: str | None = None
    subtask: int | None = None
    channel: int | None = None
    at: int = 0


def check_faults(faults: Iterable[Fault], operator_names: Collection[str]) -> None:
    """Raises BadInput for a kind that does not exist, and for an operator that the job does not have."""
    for fault in faults:
        if fault.fault not in FAULT_KINDS:
            raise BadInput(f"unknown fault '{fault.fault}'; there are: {', '.join(FAULT_KINDS)}")
        if fault.operator is not None and fault.operator not in operator_names:
            there_are = ", ".join(operator_names)
            raise BadInput(f"fault {fault.fault}: no operator '{fault.operator}'; there are: {there_are}")

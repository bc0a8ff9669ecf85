"""Mutated recordings of level full: credits, actions, segments, queues, mails, and the life cycle of tasks."""

from __future__ import annotations

from itertools import pairwise

from flowsim.facts.kinds import (
    ActionKind,
    ActionPhase,
    BufferKind,
    BufferSide,
    CreditKind,
    LifeEvent,
    MailAction,
    SegmentAction,
    WaitKind,
)  # fmt: skip
from flowsim.units import MAX_WATERMARK
from tests.support.facts.fact_builder import FactBuilder, Row
from tests.support.facts.mutating import END, MARKER, WATERMARK, both_sides, breaks, inner
from tests.support.facts.valid_graph import SINK


@breaks(credits=1)
def a_credit_is_lost_within_the_allowance(f: FactBuilder) -> None:
    lost = f.rows("credits", lambda r: r["channel"] == 4 and r["kind"] == CreditKind.GOT)[-1]
    f.remove("credits", lost)
    for row in f.rows(
        "buffers", lambda r: r["channel"] == 4 and r["side"] == BufferSide.SENT and r["seq"] > lost["seq"]
    ):
        row["credits"] -= 1


@breaks(credits=1)
def a_sender_misreads_its_balance(f: FactBuilder) -> None:
    inner(f, "buffers", lambda r: r["side"] == BufferSide.SENT and r["kind"] == BufferKind.DATA)["credits"] += 1


@breaks(credits=1, in_flight=-1)
def a_receiver_starts_with_more_credit_than_it_granted(f: FactBuilder) -> None:
    f.rows("credits", lambda r: r["kind"] == CreditKind.INITIAL_GRANTED)[0]["credits"] += 1


@breaks(credits=1, backlog=-1, in_flight=-1)
def a_data_buffer_is_lost(f: FactBuilder) -> None:
    f.remove(
        "buffers", inner(f, "buffers", lambda r: r["side"] == BufferSide.RECEIVED and r["kind"] == BufferKind.DATA)
    )


@breaks(credits=-1)
def a_sender_has_no_credit_to_start_with(f: FactBuilder) -> None:
    f.rows("credits", lambda r: r["kind"] == CreditKind.INITIAL_GOT)[0]["credits"] = -1


def first_begin(f: FactBuilder) -> Row:
    return f.rows("actions", lambda r: r["phase"] == ActionPhase.BEGIN and r["kind"] == ActionKind.DEFAULT_ACTION)[0]


@breaks(actions=1)
def an_action_begins_inside_another(f: FactBuilder) -> None:
    row = f.insert_after(first_begin(f), "actions", phase=ActionPhase.BEGIN, kind=ActionKind.LIFE_CYCLE, action=9_000)
    f.insert_after(row, "actions", phase=ActionPhase.END, kind=ActionKind.LIFE_CYCLE, action=9_000)


@breaks(actions=1)
def an_action_begins_while_its_task_waits_for_a_buffer(f: FactBuilder) -> None:
    row = f.insert_after(first_begin(f), "actions", phase=ActionPhase.WAIT, kind=WaitKind.BUFFER, action=9_000)
    row = f.insert_after(row, "actions", phase=ActionPhase.BEGIN, kind=ActionKind.LIFE_CYCLE, action=9_001)
    row = f.insert_after(row, "actions", phase=ActionPhase.END, kind=ActionKind.LIFE_CYCLE, action=9_001)
    f.insert_after(row, "actions", phase=ActionPhase.RESUME, kind=WaitKind.BUFFER, action=9_000)


@breaks(actions=1)
def an_action_never_ends(f: FactBuilder) -> None:
    f.remove("actions", f.rows("actions", lambda r: r["phase"] == ActionPhase.END)[-1])


@breaks(actions=1)
def two_nested_actions_end_in_the_wrong_order(f: FactBuilder) -> None:
    resume = f.rows("actions", lambda r: r["phase"] == ActionPhase.RESUME and r["kind"] == WaitKind.YIELD)[0]
    end = next(r for r in f.rows("actions") if r["task"] == resume["task"] and r["seq"] == resume["seq"] - 1)
    assert end["phase"] == ActionPhase.END
    resume["seq"], end["seq"] = end["seq"], resume["seq"]


@breaks(segments=-1)
def a_segment_is_never_recycled(f: FactBuilder) -> None:
    f.remove("segments", inner(f, "segments", lambda r: r["action"] == SegmentAction.RECYCLED))


@breaks(segments=1)
def a_segment_stays_with_its_pool_at_the_end(f: FactBuilder) -> None:
    last = max(f.rows("segments", lambda r: r["task"] % 2 == 0 and r["step"] >= 0), key=lambda r: r["step"])  # type: ignore[operator]
    f.remove("segments", last)


@breaks(segments=1)
def a_pool_misreads_how_many_segments_are_free(f: FactBuilder) -> None:
    inner(f, "segments")["free"] += 1


@breaks(segments=-1)
def a_pool_grows_without_being_resized(f: FactBuilder) -> None:
    inner(f, "segments", lambda r: r["action"] == SegmentAction.RECYCLED)["size"] += 1


@breaks(segments=-1)
def a_task_manager_has_fewer_segments_than_its_pools_took(f: FactBuilder) -> None:
    f.rows("task_managers")[0]["segments"] = 1


def queued_data(f: FactBuilder, side: BufferSide) -> Row:
    return inner(f, "buffers", lambda r: r["side"] == side and r["kind"] == BufferKind.DATA)


@breaks(backlog=1)
def a_sender_counts_an_event_in_its_queue(f: FactBuilder) -> None:
    inner(f, "buffers", lambda r: r["side"] == BufferSide.QUEUED and r["kind"] == BufferKind.EVENT)["backlog"] += 1


@breaks(backlog=2)
def a_sender_tells_a_backlog_that_is_too_high(f: FactBuilder) -> None:
    queued_data(f, BufferSide.SENT)["backlog"] += 5


@breaks(backlog=-1)
def a_buffer_never_leaves_its_queue(f: FactBuilder) -> None:
    f.remove("buffers", f.rows("buffers", lambda r: r["side"] == BufferSide.SENT and r["kind"] == BufferKind.EVENT)[-1])


@breaks(backlog=1)
def a_buffer_arrives_with_another_size(f: FactBuilder) -> None:
    queued_data(f, BufferSide.RECEIVED)["bytes"] += 1


@breaks(in_flight=1)
def a_receiver_has_reserved_too_little(f: FactBuilder) -> None:
    row = inner(f, "buffers", lambda r: r["side"] == BufferSide.RECEIVED and r["credits"] >= 1)
    row["credits"] = -2


@breaks(mails=1)
def a_mail_runs_that_was_never_put(f: FactBuilder) -> None:
    f.remove("mails", f.rows("mails", lambda r: r["action"] == MailAction.PUT)[-1])


@breaks(mails=2)
def two_mails_of_one_class_are_put_in_the_other_order(f: FactBuilder) -> None:
    puts = f.rows("mails", lambda r: r["action"] == MailAction.PUT and not r["urgent"])
    first, second = next(
        (a, b)
        for a, b in pairwise(sorted(puts, key=lambda r: (r["task"], r["priority"], r["seq"])))
        if (a["task"], a["priority"], a["seq"] + 1) == (b["task"], b["priority"], b["seq"])
    )
    first["mail"], second["mail"] = second["mail"], first["mail"]
    f.insert_after(second, "mails", action=MailAction.PUT, mail=first["mail"])


@breaks(mails=1)
def a_yield_runs_a_mail_that_must_wait(f: FactBuilder) -> None:
    nested = inner(f, "actions", lambda r: r["phase"] == ActionPhase.WAIT and r["kind"] == WaitKind.YIELD)
    nested["priority"] = 3


@breaks(mails=1)
def a_mail_never_runs(f: FactBuilder) -> None:
    f.insert_after(f.rows("actions")[-1], "mails", action=MailAction.PUT, mail=9_000, priority=7)


def life(f: FactBuilder, task: int, event: LifeEvent) -> list[Row]:
    return f.rows("lifecycle", lambda r: r["task"] == task and r["event"] == event)


@breaks(life_cycle=2)
def operators_are_opened_from_head_to_tail(f: FactBuilder) -> None:
    tail, _, head = life(f, 0, LifeEvent.OPEN)
    tail["operator"], head["operator"] = head["operator"], tail["operator"]


@breaks(life_cycle=1)
def an_operator_is_closed_twice(f: FactBuilder) -> None:
    f.insert_after(life(f, SINK, LifeEvent.CLOSE)[0], "lifecycle", operator=0, event=LifeEvent.CLOSE)


@breaks(life_cycle=1, end=2)
def an_operator_never_finishes(f: FactBuilder) -> None:
    f.remove("lifecycle", life(f, 0, LifeEvent.FINISH)[2])


@breaks(life_cycle=1)
def an_operator_finishes_before_its_input_has_ended(f: FactBuilder) -> None:
    f.remove("lifecycle", life(f, SINK, LifeEvent.END_INPUT)[0])


@breaks(life_cycle=-1)
def a_sink_takes_elements_before_it_is_open(f: FactBuilder) -> None:
    opened = life(f, SINK, LifeEvent.OPEN)[0]
    f.remove("lifecycle", opened)
    last = f.rows("lifecycle", lambda r: r["task"] == SINK and r["event"] == LifeEvent.END_INPUT)[0]
    f.insert_after(last, "lifecycle", operator=0, event=LifeEvent.OPEN)


@breaks(end=1, valve=1, task_watermark=1)
def a_channel_gets_end_of_data_without_the_last_watermark(f: FactBuilder) -> None:
    for row in both_sides(f, 6, lambda r: r["kind"] == WATERMARK and r["timestamp"] == MAX_WATERMARK):
        row["kind"], row["timestamp"] = MARKER, 0


@breaks(end=2)
def a_window_is_closed_before_its_channels_end(f: FactBuilder) -> None:
    row = life(f, 2, LifeEvent.CLOSE)[0]
    f.remove("lifecycle", row)
    sent = f.rows("sent", lambda r: r["task"] == 2 and r["kind"] == END)
    f.insert_after(sent[-1], "lifecycle", operator=0, event=LifeEvent.CLOSE)


@breaks(fairness=1)
def the_default_action_runs_while_it_is_suspended(f: FactBuilder) -> None:
    first_begin(f)["suspended"] = 1


@breaks(progress=1)
def a_task_rests_beside_a_mail(f: FactBuilder) -> None:
    """It waits for mail although one is there, and time passes."""
    put = f.rows("mails", lambda r: r["action"] == MailAction.PUT)[0]
    wait = {"kind": WaitKind.MAIL, "action": 9_000, "priority": -1}
    begun = f.insert_after(put, "actions", phase=ActionPhase.WAIT, **wait)
    ended = f.insert_after(begun, "actions", phase=ActionPhase.RESUME, **wait)
    begun["time_ns"], ended["time_ns"] = put["time_ns"], int(put["time_ns"]) + 1


@breaks(progress=1)
def a_job_is_deadlocked(f: FactBuilder) -> None:
    running = f.rows("lifecycle", lambda r: r["event"] == LifeEvent.RUNNING)[0]
    f.insert_after(running, "lifecycle", operator=-1, event=LifeEvent.DEADLOCKED)

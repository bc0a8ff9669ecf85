"""Ways to break an honest recording, each with the laws that it breaks and how often."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Final

from flowsim.facts.kinds import (
    ActionKind,
    ActionPhase,
    BufferKind,
    BufferSide,
    CreditKind,
    ElementKind,
    LifeEvent,
    MailAction,
    SegmentAction,
    WaitKind,
)  # fmt: skip
from flowsim.units import MAX_WATERMARK
from tests.spark.fact_builder import FactBuilder, Row
from tests.spark.honest_job import SINK

RECORD, WATERMARK, STATUS = ElementKind.RECORD, ElementKind.WATERMARK, ElementKind.STATUS
MARKER, END_OF_DATA, END = ElementKind.LATENCY_MARKER, ElementKind.END_OF_DATA, ElementKind.END_OF_PARTITION

Mutation = Callable[[FactBuilder], None]
MUTATIONS: Final[dict[str, tuple[Mutation, dict[str, int]]]] = {}


def breaks(**laws: int) -> Callable[[Mutation], Mutation]:
    """Registers a mutation that breaks the named laws (``_`` for ``-``), so many violations each."""

    def register(mutation: Mutation) -> Mutation:
        MUTATIONS[mutation.__name__] = (mutation, {law.replace("_", "-"): n for law, n in laws.items()})
        return mutation

    return register


def both_sides(f: FactBuilder, channel: int, where: Callable[[Row], bool]) -> list[Row]:
    return [f.rows(side, lambda r: r["channel"] == channel and where(r))[0] for side in ("sent", "received")]


def last_effect(f: FactBuilder, received: Row) -> Row:
    """The last fact of a task before it receives the next element."""
    of_task = sorted((r for _, r in f.facts if "seq" in r and r["task"] == received["task"]), key=lambda r: r["seq"])
    following = of_task[next(i for i, r in enumerate(of_task) if r is received) :]
    ends = [r for r in following[1:] if "epoch" in r]
    return following[-1] if not ends else following[next(i for i, r in enumerate(following) if r is ends[0]) - 1]


def insert_element(f: FactBuilder, channel: int, after: ElementKind, *elements: tuple[ElementKind, int]) -> None:
    """Puts elements on a channel, honestly sent and received, behind its first element of kind ``after``."""
    for side in ("sent", "received"):
        row = f.rows(side, lambda r: r["channel"] == channel and r["kind"] == after)[-1]
        position = row["position"]
        for other in f.rows(side, lambda r: r["channel"] == channel):
            if other["position"] > position:
                other["position"] += len(elements)
        row = last_effect(f, row) if side == "received" else row
        for kind, timestamp in elements:
            position += 1
            row = f.insert_after(row, side, channel=channel, position=position, kind=kind, timestamp=timestamp)


def inner(f: FactBuilder, table: str, where: Callable[[Row], bool] = lambda r: True) -> Row:
    """A row from the middle of those for which ``where`` holds."""
    rows = f.rows(table, where)
    return rows[len(rows) // 2]


@breaks(channel_fifo=1)
def a_received_record_has_another_payload(f: FactBuilder) -> None:
    inner(f, "received", lambda r: r["kind"] == RECORD)["fingerprint"] += 1


@breaks(channel_fifo=1)
def a_received_record_has_another_timestamp(f: FactBuilder) -> None:
    inner(f, "received", lambda r: r["kind"] == RECORD)["timestamp"] += 1


@breaks(channel_fifo=2)
def two_neighbours_arrive_in_the_wrong_order(f: FactBuilder) -> None:
    rows = f.rows("received", lambda r: r["channel"] == 1)
    first, second = next((a, b) for a, b in pairwise(rows) if a["kind"] == b["kind"] == RECORD)
    first["position"], second["position"] = second["position"], first["position"]


@breaks(channel_fifo=1, conservation=1)
def a_record_is_lost_on_the_way(f: FactBuilder) -> None:
    f.remove("received", inner(f, "received", lambda r: r["kind"] == RECORD and r["channel"] < 4))


@breaks(channel_fifo=1, conservation=1)
def a_record_arrives_twice(f: FactBuilder) -> None:
    f.facts.append(("received", dict(inner(f, "received", lambda r: r["kind"] == RECORD and r["channel"] < 4))))


@breaks(channel_fifo=1)
def both_sides_repeat_a_position_alike(f: FactBuilder) -> None:
    for side in ("sent", "received"):
        rows = f.rows(side, lambda r: r["channel"] == 0 and r["kind"] == RECORD)
        rows[1]["position"] = rows[0]["position"]


@breaks(channel_end=2)
def a_channel_is_never_closed(f: FactBuilder) -> None:
    for side, row in zip(("sent", "received"), both_sides(f, 4, lambda r: r["kind"] == END), strict=True):
        f.remove(side, row)


@breaks(channel_end=2)
def an_element_follows_the_end_of_the_channel(f: FactBuilder) -> None:
    insert_element(f, 4, END, (MARKER, 1))


@breaks(channel_end=2)
def an_element_follows_the_end_of_data(f: FactBuilder) -> None:
    insert_element(f, 4, END_OF_DATA, (MARKER, 1))


@breaks(channel_end=2)
def a_channel_is_closed_twice(f: FactBuilder) -> None:
    insert_element(f, 5, END, (END, 0))


@breaks(watermark_monotone=1)
def a_channel_repeats_a_watermark(f: FactBuilder) -> None:
    insert_element(f, 6, WATERMARK, (WATERMARK, MAX_WATERMARK))


@breaks(watermark_monotone=1)
def an_idle_channel_sends_a_watermark(f: FactBuilder) -> None:
    insert_element(f, 6, WATERMARK, (STATUS, -1), (WATERMARK, MAX_WATERMARK))


@breaks()
def a_channel_repeats_a_watermark_after_a_time_of_idleness(f: FactBuilder) -> None:
    insert_element(f, 6, WATERMARK, (STATUS, -1), (STATUS, 0), (WATERMARK, MAX_WATERMARK))


@breaks(watermark_monotone=1, valve=1)
def a_task_emits_a_watermark_twice(f: FactBuilder) -> None:
    row = inner(f, "task_watermark", lambda r: r["task"] == SINK and r["kind"] == WATERMARK)
    f.insert_after(row, "task_watermark", input=0, kind=WATERMARK, timestamp=row["timestamp"])


@breaks(valve=1)
def a_task_emits_a_watermark_that_is_too_low(f: FactBuilder) -> None:
    rows = f.rows("task_watermark", lambda r: r["task"] == SINK and r["kind"] == WATERMARK)
    next(b for a, b in pairwise(rows) if a["timestamp"] < b["timestamp"] - 1)["timestamp"] -= 1


@breaks(valve=1)
def a_task_swallows_a_watermark(f: FactBuilder) -> None:
    f.remove("task_watermark", inner(f, "task_watermark", lambda r: r["task"] == SINK and r["kind"] == WATERMARK))


@breaks(valve=2)
def a_watermark_is_emitted_behind_the_record_that_follows_it(f: FactBuilder) -> None:
    rows = sorted(
        (r for t, r in f.facts if t in ("received", "task_watermark") and r["task"] == SINK), key=lambda r: r["seq"]
    )
    emitted, record = next((a, b) for a, b in pairwise(rows) if "input" in a and b.get("fingerprint", 0) != 0)
    emitted["seq"], record["seq"] = record["seq"], emitted["seq"]


@breaks(valve=1)
def a_status_is_emitted_before_anything_arrived(f: FactBuilder) -> None:
    f.add("task_watermark", task=SINK, seq=-1, input=0, kind=STATUS, timestamp=-1)


@breaks(key_routing=1)
def a_record_goes_to_the_subtask_of_another_key(f: FactBuilder) -> None:
    row = inner(f, "sent", lambda r: r["channel"] == 0 and r["kind"] == RECORD)
    row["key_hash"], row["key"] = 73359, 74359


@breaks(key_routing=1)
def a_record_carries_a_wrong_hash(f: FactBuilder) -> None:
    inner(f, "sent", lambda r: r["channel"] == 1 and r["kind"] == RECORD)["key_hash"] += 1


@breaks(key_routing=1)
def a_key_is_not_described(f: FactBuilder) -> None:
    row = inner(f, "sent", lambda r: r["channel"] == 1 and r["kind"] == RECORD)
    row["key"] += 1


@breaks(key_routing=-1)
def a_key_hashes_to_something_else_than_it_says(f: FactBuilder) -> None:
    inner(f, "keys", lambda r: r["task"] == 0)["key_json"] = '"XYZ"'


@breaks(window_fire=1)
def a_window_never_fires(f: FactBuilder) -> None:
    f.remove("window_fire", inner(f, "window_fire"))


@breaks(window_fire=1)
def the_last_window_never_fires(f: FactBuilder) -> None:
    f.remove("window_fire", f.rows("window_fire")[-1])


@breaks(window_fire=1)
def a_window_fires_twice(f: FactBuilder) -> None:
    row = inner(f, "window_fire")
    f.insert_after(row, "window_fire", **{k: v for k, v in row.items() if k not in ("seq", "task", "time_ns")})


@breaks(window_fire=2)
def a_window_fires_with_a_row_too_many(f: FactBuilder) -> None:
    inner(f, "window_fire")["rows"] += 1


@breaks(window_fire=2)
def a_window_fires_with_other_rows(f: FactBuilder) -> None:
    inner(f, "window_fire")["fingerprint_xor"] ^= 1


@breaks(window_fire=3)
def a_window_fires_before_its_watermark(f: FactBuilder) -> None:
    marks = {(r["task"], r["seq"]): r for r in f.rows("task_watermark", lambda r: r["kind"] == WATERMARK)}
    fire = next(r for r in f.rows("window_fire") if (r["task"], r["seq"] - 1) in marks)
    mark = marks[fire["task"], fire["seq"] - 1]
    fire["seq"], mark["seq"] = mark["seq"], fire["seq"]


@breaks(window_fire=1)
def an_operator_misreads_the_watermark(f: FactBuilder) -> None:
    inner(f, "window_intake")["watermark"] += 1


@breaks(late_rows=1)
def a_late_row_is_not_dropped(f: FactBuilder) -> None:
    f.remove("late_drop", inner(f, "late_drop"))


@breaks(late_rows=1)
def a_row_in_time_is_dropped(f: FactBuilder) -> None:
    row = f.rows("window_intake")[0]
    columns = ("operator", "key_hash", "key", "timestamp", "fingerprint", "watermark")
    f.insert_after(row, "late_drop", side_output=1, **{c: row[c] for c in columns})


@breaks(late_rows=2, conservation=1)
def a_late_row_is_counted_instead_of_kept(f: FactBuilder) -> None:
    inner(f, "late_drop")["side_output"] = 0


@breaks(conservation=2)
def an_operator_gains_a_record(f: FactBuilder) -> None:
    inner(f, "operator_counts", lambda r: r["task"] == 0 and r["operator"] == 1)["records_out"] += 1


@breaks(conservation=2)
def a_filter_gives_out_more_than_it_says(f: FactBuilder) -> None:
    inner(f, "operator_counts", lambda r: r["task"] == 0 and r["operator"] == 2)["records_out"] += 1


@breaks(conservation=1)
def a_side_output_loses_a_record(f: FactBuilder) -> None:
    inner(f, "operator_counts", lambda r: r["task"] == 2)["records_side"] += 1


@breaks(conservation=1)
def an_operator_never_tells_its_counts(f: FactBuilder) -> None:
    f.remove("operator_counts", inner(f, "operator_counts", lambda r: r["task"] == SINK))


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
    row["credits"] = -1


@breaks(mails=1)
def a_mail_runs_that_nobody_put(f: FactBuilder) -> None:
    f.remove("mails", f.rows("mails", lambda r: r["action"] == MailAction.PUT)[-1])


@breaks(mails=2)
def two_mails_of_one_class_are_put_in_the_other_order(f: FactBuilder) -> None:
    puts = f.rows("mails", lambda r: r["action"] == MailAction.PUT and not r["urgent"])
    runs = {(r["task"], r["mail"]): r["seq"] for r in f.rows("mails", lambda r: r["action"] == MailAction.RUN)}
    first, second = next(
        (a, b)
        for a, b in pairwise(sorted(puts, key=lambda r: (r["task"], r["priority"], r["seq"])))
        if (a["task"], a["priority"]) == (b["task"], b["priority"]) and runs[a["task"], a["mail"]] > b["seq"]
    )
    first["mail"], second["mail"] = second["mail"], first["mail"]
    f.insert_after(second, "mails", action=MailAction.PUT, mail=first["mail"])


@breaks(mails=1)
def a_yield_runs_a_mail_that_must_wait(f: FactBuilder) -> None:
    nested = inner(f, "actions", lambda r: r["phase"] == ActionPhase.WAIT and r["kind"] == WaitKind.YIELD)
    nested["priority"] = 3


@breaks(mails=1)
def a_mail_never_runs(f: FactBuilder) -> None:
    f.insert_after(f.rows("mails")[-1], "mails", action=MailAction.PUT, mail=9_000, priority=7)


def life(f: FactBuilder, task: int, event: LifeEvent) -> list[Row]:
    return f.rows("lifecycle", lambda r: r["task"] == task and r["event"] == event)


@breaks(life_cycle=2)
def operators_are_opened_from_head_to_tail(f: FactBuilder) -> None:
    tail, _, head = life(f, 0, LifeEvent.OPEN)
    tail["operator"], head["operator"] = head["operator"], tail["operator"]


@breaks(life_cycle=2)
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


@breaks(end=1, valve=1)
def a_channel_gets_end_of_data_without_the_last_watermark(f: FactBuilder) -> None:
    for row in both_sides(f, 6, lambda r: r["kind"] == WATERMARK and r["timestamp"] == MAX_WATERMARK):
        row["kind"], row["timestamp"] = MARKER, 0


@breaks(end=2)
def a_window_is_closed_before_its_channels_end(f: FactBuilder) -> None:
    row = life(f, 2, LifeEvent.CLOSE)[0]
    f.remove("lifecycle", row)
    sent = f.rows("sent", lambda r: r["task"] == 2 and r["kind"] == END)
    f.insert_after(sent[-1], "lifecycle", operator=0, event=LifeEvent.CLOSE)

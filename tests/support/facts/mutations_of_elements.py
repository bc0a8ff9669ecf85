"""Mutated recordings of level elements: channels, valves, keys, windows and counters."""

from __future__ import annotations

from itertools import pairwise

from flowsim.units import MAX_WATERMARK
from tests.support.facts.fact_builder import FactBuilder
from tests.support.facts.mutating import (
    END,
    END_OF_DATA,
    MARKER,
    RECORD,
    STATUS,
    WATERMARK,
    both_sides,
    breaks,
    inner,
    insert_element,
)
from tests.support.facts.valid_graph import SINK


@breaks(channel_fifo=1)
def a_received_record_has_another_payload(f: FactBuilder) -> None:
    inner(f, "received", lambda r: r["kind"] == RECORD)["fingerprint"] += 1


@breaks(channel_fifo=1)
def a_received_record_has_another_timestamp(f: FactBuilder) -> None:
    inner(f, "received", lambda r: r["kind"] == RECORD)["timestamp"] += 1


@breaks(channel_fifo=1)
def two_neighbours_exchange_the_moments_of_their_arrival(f: FactBuilder) -> None:
    rows = f.rows("received", lambda r: r["channel"] == 1)
    first, second = next(
        (a, b) for a, b in pairwise(rows) if a["kind"] == b["kind"] == RECORD and a["epoch"] == b["epoch"]
    )
    first["seq"], second["seq"] = second["seq"], first["seq"]


@breaks(channel_fifo=1)
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


@breaks(watermark_monotone=1, task_watermark=1)
def a_channel_repeats_a_watermark(f: FactBuilder) -> None:
    insert_element(f, 6, WATERMARK, (WATERMARK, MAX_WATERMARK))


@breaks(watermark_monotone=1, task_watermark=2, idle=2)
def an_idle_channel_sends_a_watermark(f: FactBuilder) -> None:
    insert_element(f, 6, WATERMARK, (STATUS, -1), (WATERMARK, MAX_WATERMARK))


@breaks(task_watermark=3, idle=2)
def a_channel_repeats_a_watermark_after_a_time_of_idleness(f: FactBuilder) -> None:
    insert_element(f, 6, WATERMARK, (STATUS, -1), (STATUS, 0), (WATERMARK, MAX_WATERMARK))


@breaks(watermark_monotone=1, valve=1, task_watermark=1, async_order=1)
def a_task_emits_a_watermark_twice(f: FactBuilder) -> None:
    row = inner(f, "task_watermark", lambda r: r["task"] == SINK and r["kind"] == WATERMARK)
    f.insert_after(row, "task_watermark", input=0, kind=WATERMARK, timestamp=row["timestamp"])


@breaks(valve=1, task_watermark=2, async_order=1)
def a_task_emits_a_watermark_that_is_too_low(f: FactBuilder) -> None:
    rows = f.rows("task_watermark", lambda r: r["task"] == SINK and r["kind"] == WATERMARK)
    next(b for a, b in pairwise(rows) if a["timestamp"] < b["timestamp"] - 1)["timestamp"] -= 1


@breaks(valve=1, task_watermark=1, async_order=1)
def a_task_swallows_a_watermark(f: FactBuilder) -> None:
    f.remove("task_watermark", inner(f, "task_watermark", lambda r: r["task"] == SINK and r["kind"] == WATERMARK))


@breaks(valve=2, task_watermark=2, async_order=2)
def a_watermark_is_emitted_behind_the_record_that_follows_it(f: FactBuilder) -> None:
    rows = sorted(
        (r for t, r in f.facts if t in ("received", "task_watermark") and r["task"] == SINK), key=lambda r: r["seq"]
    )
    emitted, record = next((a, b) for a, b in pairwise(rows) if "input" in a and b.get("fingerprint", 0) != 0)
    emitted["seq"], record["seq"] = record["seq"], emitted["seq"]


@breaks(valve=1, task_watermark=-1)
def a_status_is_emitted_before_anything_arrived(f: FactBuilder) -> None:
    first = min((r for _, r in f.facts if r.get("task") == SINK and "seq" in r), key=lambda r: int(r["seq"]))
    f.insert_after(first, "task_watermark", input=0, kind=STATUS, timestamp=-1)


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


@breaks(window_fire=1)
def a_window_fires_with_a_row_too_many(f: FactBuilder) -> None:
    inner(f, "window_fire")["rows"] += 1


@breaks(window_fire=1)
def a_window_fires_with_other_rows(f: FactBuilder) -> None:
    inner(f, "window_fire")["fingerprint_xor"] ^= 1


@breaks(window_fire=2, timers=1)
def a_window_fires_before_its_watermark(f: FactBuilder) -> None:
    marks = {(r["task"], r["seq"]): r for r in f.rows("task_watermark", lambda r: r["kind"] == WATERMARK)}
    # The timer that fires the window is recorded between the two.
    fire = next(r for r in f.rows("window_fire") if (r["task"], r["seq"] - 2) in marks)
    mark = marks[fire["task"], fire["seq"] - 2]
    fire["seq"], mark["seq"] = mark["seq"], fire["seq"]


@breaks(window_fire=1)
def an_operator_misreads_the_watermark(f: FactBuilder) -> None:
    inner(f, "window_intake")["watermark"] += 1


@breaks(late_rows=1, lateness=1)
def a_late_row_is_not_dropped(f: FactBuilder) -> None:
    f.remove("late_drop", inner(f, "late_drop"))


@breaks(late_rows=1, lateness=2)
def a_row_in_time_is_dropped(f: FactBuilder) -> None:
    row = f.rows("window_intake")[0]
    columns = ("operator", "key_hash", "key", "timestamp", "fingerprint", "watermark")
    f.insert_after(row, "late_drop", side_output=1, **{c: row[c] for c in columns})


@breaks(late_rows=1, conservation=1, lateness=1)
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

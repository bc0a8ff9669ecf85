"""Mutated recordings of async operators: elements put, called and emitted."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

from flowsim.facts.kinds import AsyncAction, LifeEvent, SystemTimer, TimerAction
from tests.support.facts.fact_builder import FactBuilder, Row
from tests.support.facts.mutating import RECORD, WATERMARK, breaks, inner
from tests.support.facts.valid_graph import SINK

ORDERED, UNORDERED = 0, 1
PUT, RETRY = AsyncAction.PUT, AsyncAction.RETRY


def of(operator: int, action: AsyncAction, *kinds: int) -> Callable[[Row], bool]:
    """Rows of one of the two operators."""
    return lambda r: r["operator"] == operator and r["action"] == action and (not kinds or r["kind"] in kinds)


def step(f: FactBuilder, operator: int, action: AsyncAction, *kinds: int) -> Row:
    return inner(f, "async_elements", of(operator, action, *kinds))


def again(f: FactBuilder, row: Row, **changed: int) -> Row:
    """The same once more, directly after."""
    columns = {name: value for name, value in row.items() if name not in ("seq", "task", "time_ns")}
    return f.insert_after(row, "async_elements", **{**columns, **changed})


def exchanged(f: FactBuilder, operator: int, first: int, second: int) -> None:
    """The first two neighbours of such kinds that leave an operator and that could have left otherwise, in the other order."""
    steps = f.rows("async_elements", lambda r: r["operator"] == operator)
    rows = pairwise(row for row in steps if row["action"] == AsyncAction.EMIT)
    one, other = next(
        (a, b)
        for a, b in rows
        if (a["kind"], b["kind"], a["queued"]) == (first, second, b["queued"])
        and all(int(r["seq"]) < int(a["seq"]) for r in steps if r["entry"] == b["entry"] and r is not b)
    )
    one["seq"], other["seq"] = other["seq"], one["seq"]


@breaks(async_order=1, async_once=2)
def an_element_leaves_before_the_one_in_front(f: FactBuilder) -> None:
    exchanged(f, ORDERED, RECORD, RECORD)


@breaks(async_order=1)
def a_watermark_overtakes_a_record(f: FactBuilder) -> None:
    exchanged(f, UNORDERED, RECORD, WATERMARK)


@breaks(async_order=1, async_once=1, async_capacity=-1, conservation=1)
def an_element_never_leaves(f: FactBuilder) -> None:
    f.remove("async_elements", step(f, UNORDERED, AsyncAction.EMIT, RECORD))


@breaks(async_once=1)
def an_element_has_two_outcomes(f: FactBuilder) -> None:
    again(f, step(f, ORDERED, AsyncAction.COMPLETE))


@breaks(async_once=1)
def an_element_leaves_with_other_results(f: FactBuilder) -> None:
    step(f, UNORDERED, AsyncAction.EMIT, RECORD)["fingerprint"] ^= 1


@breaks(async_once=2)
def another_operator_gets_other_results(f: FactBuilder) -> None:
    step(f, ORDERED, AsyncAction.EMIT, RECORD)["fingerprint"] ^= 1


@breaks(async_once=1, async_capacity=-1)
def an_element_leaves_twice(f: FactBuilder) -> None:
    again(f, f.rows("async_elements", of(UNORDERED, AsyncAction.EMIT, WATERMARK))[-2])


@breaks(async_once=1)
def time_runs_out_too_early(f: FactBuilder) -> None:
    step(f, ORDERED, AsyncAction.TIMEOUT)["time_ns"] = 1_000_000


@breaks(async_capacity=1)
def the_queue_is_larger_than_its_capacity(f: FactBuilder) -> None:
    step(f, ORDERED, AsyncAction.PUT)["queued"] = 4


@breaks(async_retries=1)
def an_element_is_asked_for_again_without_a_strategy(f: FactBuilder) -> None:
    again(f, step(f, UNORDERED, AsyncAction.INVOKE), attempt=2)


@breaks(async_retries=1)
def an_element_is_asked_for_too_often_at_the_end(f: FactBuilder) -> None:
    """One call more than the two retries, the first call, and the one that comes on top when the input ends."""
    element = f.rows("async_elements", of(ORDERED, AsyncAction.INVOKE))[0]
    calls = f.rows("async_elements", lambda r: of(ORDERED, AsyncAction.INVOKE)(r) and r["entry"] == element["entry"])
    row = f.rows("async_elements", lambda r: r["operator"] == ORDERED and r["action"] in (PUT, RETRY))[-1]
    called = {name: value for name, value in element.items() if name not in ("seq", "task", "time_ns")}
    for attempt in range(len(calls) + 1, 6):
        row = f.insert_after(row, "async_elements", **{**called, "attempt": attempt, "queued": row["queued"]})


@breaks(async_retries=1)
def a_retry_is_not_recorded(f: FactBuilder) -> None:
    f.remove("async_elements", step(f, ORDERED, AsyncAction.RETRY))


@breaks(async_retries=1)
def an_element_is_never_asked_for(f: FactBuilder) -> None:
    f.remove("async_elements", step(f, UNORDERED, AsyncAction.INVOKE))


@breaks(async_end=1, async_capacity=1)
def an_element_is_asked_for_after_the_end_of_the_input(f: FactBuilder) -> None:
    end = f.rows(
        "lifecycle", lambda r: r["task"] == SINK and r["event"] == LifeEvent.END_INPUT and r["operator"] == ORDERED
    )[0]
    row = f.rows("async_elements", of(ORDERED, AsyncAction.INVOKE))[-1]
    copied = {name: value for name, value in row.items() if name not in ("seq", "task", "time_ns")}
    f.insert_after(end, "async_elements", **{**copied, "attempt": int(row["attempt"]) + 1})


@breaks(async_end=2)
def the_input_ends_before_the_queue_is_empty(f: FactBuilder) -> None:
    end = f.rows(
        "lifecycle", lambda r: r["task"] == SINK and r["event"] == LifeEvent.END_INPUT and r["operator"] == UNORDERED
    )[0]
    last = f.rows("async_elements", of(UNORDERED, AsyncAction.EMIT))[-1]
    end["seq"], last["seq"] = last["seq"], end["seq"]


@breaks(task_watermark=4, async_order=1)
def a_queue_takes_another_watermark_than_it_received(f: FactBuilder) -> None:
    row = step(f, ORDERED, AsyncAction.PUT, WATERMARK)
    for other in f.rows("async_elements", lambda r: r["operator"] == ORDERED and r["entry"] == row["entry"]):
        other["timestamp"] -= 1


@breaks(conservation=-1)
def an_operator_counts_a_result_too_many(f: FactBuilder) -> None:
    inner(f, "operator_counts", lambda r: r["task"] == SINK and r["operator"] == UNORDERED)["records_out"] += 1


@breaks(async_payload=1)
def a_retry_gets_another_record(f: FactBuilder) -> None:
    step(f, ORDERED, AsyncAction.RETRY)["fingerprint"] ^= 1


@breaks(async_payload=1)
def a_timeout_gets_a_record_of_another_time(f: FactBuilder) -> None:
    step(f, ORDERED, AsyncAction.TIMEOUT)["timestamp"] += 1


def timer(f: FactBuilder, action: TimerAction, kind: SystemTimer) -> Row:
    return inner(f, "system_timers", lambda r: (r["action"], r["kind"]) == (action, kind))


@breaks(async_timers=1)
def a_timeout_is_not_cancelled(f: FactBuilder) -> None:
    f.remove("system_timers", timer(f, TimerAction.DELETE, SystemTimer.TIMEOUT))


@breaks(async_timers=1)
def a_timer_of_a_retry_fires_too_early(f: FactBuilder) -> None:
    timer(f, TimerAction.FIRE, SystemTimer.RETRY)["time_ns"] = 1_000_000


@breaks(async_timers=1)
def a_timeout_has_another_time(f: FactBuilder) -> None:
    row = timer(f, TimerAction.REGISTER, SystemTimer.TIMEOUT)
    same = f.rows("system_timers", lambda r: (r["entry"], r["kind"]) == (row["entry"], row["kind"]))
    for one in same:
        one["timestamp"] = 99


@breaks(async_timers=1)
def a_record_has_two_timeouts(f: FactBuilder) -> None:
    row = timer(f, TimerAction.REGISTER, SystemTimer.TIMEOUT)
    columns = {name: value for name, value in row.items() if name not in ("seq", "task", "time_ns")}
    f.insert_after(row, "system_timers", **columns)


@breaks(async_timers=1)
def a_timer_is_registered_after_its_element_left(f: FactBuilder) -> None:
    row = step(f, ORDERED, AsyncAction.EMIT, RECORD)
    f.insert_after(row, "system_timers", operator=ORDERED, action=TimerAction.REGISTER, kind=SystemTimer.RETRY,
                   entry=row["entry"], timestamp=5)  # fmt: skip

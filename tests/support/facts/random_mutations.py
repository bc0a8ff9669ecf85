"""Kinds of damage to a recording, each at a random place, each with the laws that it must violate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Final

from flowsim.facts.kinds import (
    ActionKind,
    ActionPhase,
    AsyncAction,
    BufferKind,
    BufferSide,
    CreditKind,
    ElementKind,
    LifeEvent,
    MailAction,
    SegmentAction,
    TimeDomain,
    TimerAction,
    WaitKind,
)  # fmt: skip
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from tests.support.facts.fact_builder import FactBuilder, Row
from tests.support.facts.mutating import both_sides, insert_element
from tests.support.facts.valid_graph import LATENESS_MS

Where = Callable[[Row], bool]
Damage = Callable[[FactBuilder, Random], None]
RECORD, WATERMARK, MARKER = ElementKind.RECORD, ElementKind.WATERMARK, ElementKind.LATENCY_MARKER
END_OF_DATA, END = ElementKind.END_OF_DATA, ElementKind.END_OF_PARTITION
SINKS, WINDOWS, CHANNELS = (4, 5), (2, 3), range(8)


@dataclass(frozen=True)
class Kind:
    """A kind of damage, and the laws that it breaks wherever it strikes (others may fall with them)."""

    name: str
    damage: Damage
    laws: frozenset[str]


def anything(row: Row) -> bool:
    return True


def one_of(f: FactBuilder, random: Random, table: str, where: Where) -> Row:
    return random.choice(f.rows(table, where))


def delete(table: str, where: Where = anything) -> Damage:
    return lambda f, random: f.remove(table, one_of(f, random, table, where))


def duplicate(table: str, where: Where = anything) -> Damage:
    """The same row once more, at the same moment."""
    return lambda f, random: f.facts.append((table, dict(one_of(f, random, table, where))))


def repeat(table: str, where: Where = anything) -> Damage:
    """The same once more, directly after."""

    def damage(f: FactBuilder, random: Random) -> None:
        row = one_of(f, random, table, where)
        f.insert_after(row, table, **{name: v for name, v in row.items() if name not in ("seq", "task", "time_ns")})

    return damage


def change(table: str, column: str, where: Where = anything, by: int | None = None) -> Damage:
    """Adds ``by``, or something random, to one column of one row."""

    def damage(f: FactBuilder, random: Random) -> None:
        row = one_of(f, random, table, where)
        row[column] = int(row[column]) + (random.randrange(1, 1000) if by is None else by)

    return damage


def swap(table: str, column: str, where: Where, alike: Callable[[Row], object]) -> Damage:
    """Exchanges a column of two neighbours among the rows that are ``alike``."""

    def damage(f: FactBuilder, random: Random) -> None:
        rows = sorted(f.rows(table, where), key=lambda row: int(row["seq"]))
        pairs = [(a, b) for group in {str(alike(r)): None for r in rows} for a, b in pairwise(
            [r for r in rows if str(alike(r)) == group]) if a[column] != b[column]]  # fmt: skip
        first, second = random.choice(pairs)
        first[column], second[column] = second[column], first[column]

    return damage


def of_kind(*kinds: int) -> Where:
    return lambda row: row["kind"] in kinds


def of_side(side: BufferSide, *kinds: BufferKind) -> Where:
    return lambda row: row["side"] == side and (not kinds or row["kind"] in kinds)


def cleans_up(row: Row) -> bool:
    """Registers the timer that cleans a window up."""
    end = int(row["window_end"])
    return row["action"] == TimerAction.REGISTER and end != 0 and row["timestamp"] == end - 1 + LATENESS_MS


def doing(*actions: int) -> Where:
    return lambda row: row["action"] in actions


def living(*events: LifeEvent) -> Where:
    return lambda row: row["event"] in events


def on_both_sides(f: FactBuilder, random: Random) -> None:
    channel = random.choice(CHANNELS)
    for side, row in zip(("sent", "received"), both_sides(f, channel, of_kind(END)), strict=True):
        f.remove(side, row)


def element_after(after: ElementKind, *elements: tuple[ElementKind, int]) -> Damage:
    return lambda f, random: insert_element(f, random.choice(CHANNELS), after, *elements)


def lower_the_last_watermark(f: FactBuilder, random: Random) -> None:
    channel = random.choice(CHANNELS)
    for row in both_sides(f, channel, lambda r: r["kind"] == WATERMARK and r["timestamp"] == MAX_WATERMARK):
        row["timestamp"] = MAX_WATERMARK - random.randrange(1, 1000)


def end_data_before_the_last_finish(f: FactBuilder, random: Random) -> None:
    task = random.randrange(4)
    finish = f.rows("lifecycle", lambda r: r["task"] == task and r["event"] == LifeEvent.FINISH)[-1]
    end = f.rows("sent", lambda r: r["task"] == task and r["kind"] == END_OF_DATA)[0]
    finish["seq"], end["seq"] = end["seq"], finish["seq"]


def close_after_the_channels(f: FactBuilder, random: Random) -> None:
    task = random.randrange(4)
    row = f.rows("lifecycle", lambda r: r["task"] == task and r["event"] == LifeEvent.CLOSE)[-1]
    f.remove("lifecycle", row)
    end = f.rows("sent", lambda r: r["task"] == task and r["kind"] == END)[-1]
    f.insert_after(end, "lifecycle", operator=row["operator"], event=LifeEvent.CLOSE)


def wait_for_a_buffer_instead_of_yielding(f: FactBuilder, random: Random) -> None:
    one_of(f, random, "actions", lambda r: r["phase"] == ActionPhase.WAIT and r["kind"] == WaitKind.YIELD)["kind"] = (
        WaitKind.BUFFER
    )


def yield_for_higher_mails_only(f: FactBuilder, random: Random) -> None:
    one_of(f, random, "actions", lambda r: r["phase"] == ActionPhase.WAIT and r["kind"] == WaitKind.YIELD)[
        "priority"
    ] = 3


def begins_default_action(row: Row) -> bool:
    return row["phase"] == ActionPhase.BEGIN and row["kind"] == ActionKind.DEFAULT_ACTION


def mail_joins_a_batch(f: FactBuilder, random: Random) -> None:
    """Of a batch of at least two mails the second is put while the first runs."""
    batches: list[tuple[Row, Row]] = []
    puts = {(r["task"], r["mail"]): r for r in f.rows("mails", doing(MailAction.PUT))}
    taken = {task: [r["mail"] for r in f.rows("mails", at(task, "action", MailAction.RUN))] for task in range(6)}
    for task, mails in taken.items():
        batch: list[Row] = []
        is_between = True
        for row in f.rows("actions", lambda r: r["phase"] in (ActionPhase.BEGIN, ActionPhase.END)):
            if row["task"] != task:
                continue
            if row["kind"] == ActionKind.DEFAULT_ACTION:
                batch, is_between = [], row["phase"] == ActionPhase.END
            elif row["kind"] == ActionKind.MAIL and row["phase"] == ActionPhase.BEGIN:
                put = puts[task, mails.pop(0)]
                if not is_between:
                    continue
                batch.append(row)
                was_waiting = not put["urgent"] and int(put["seq"]) < int(batch[0]["seq"])
                if len(batch) == 2 and was_waiting and not row["suspended"]:
                    batches.append((batch[0], put))
    begin, put = random.choice(batches)
    f.remove("mails", put)
    f.insert_after(begin, "mails", **{name: put[name] for name in ("action", "mail", "priority", "urgent")})


def at(task: int, column: str, value: int) -> Where:
    return lambda row: row["task"] == task and row[column] == value


def another_key_in_words(f: FactBuilder, random: Random) -> None:
    used = {(r["task"], r["key"]) for r in f.rows("sent", lambda r: r["channel"] < 4 and r["kind"] == RECORD)}  # type: ignore[operator]
    one_of(f, random, "keys", lambda r: (r["task"], r["key"]) in used)["key_json"] = f'"{random.random()}"'


def windows_merge(f: FactBuilder, random: Random) -> None:
    row = one_of(f, random, "window_intake", anything)
    columns = {name: row[name] for name in ("operator", "key_hash", "key", "watermark")}
    f.insert_after(row, "window_merge", window_start=0, window_end=10, into_start=0, into_end=20, **columns)


def swap_of_queue(f: FactBuilder, random: Random) -> None:
    """Two neighbours leave the ordered operator in the other order."""
    rows = f.rows("async_elements", lambda r: r["operator"] == 0 and r["action"] == AsyncAction.EMIT)
    one, other = random.choice(list(pairwise(rows)))
    one["seq"], other["seq"] = other["seq"], one["seq"]


def take_after_the_end(f: FactBuilder, random: Random) -> None:
    end = one_of(
        f, random, "lifecycle", lambda r: r["task"] == 4 and r["event"] == LifeEvent.CLOSE and r["operator"] < 2
    )  # type: ignore[operator]
    f.insert_after(end, "async_elements", operator=end["operator"], entry=9_000, action=AsyncAction.PUT, queued=1)


def record_out(row: Row) -> bool:
    return row["action"] == AsyncAction.EMIT and row["kind"] == RECORD


def first_call(row: Row) -> bool:
    return row["action"] == AsyncAction.INVOKE and row["attempt"] == 1


def keyed(row: Row) -> bool:
    return int(row["channel"]) < 4 and row["kind"] == RECORD


def honest_mark(row: Row) -> bool:
    """A watermark that a task sent before the end of event time."""
    return row["kind"] == WATERMARK and int(row["timestamp"]) < MAX_WATERMARK


def rest_beside_a_mail(f: FactBuilder, random: Random) -> None:
    """A task waits for mail although one is there."""
    put = one_of(f, random, "mails", doing(MailAction.PUT))
    wait = {"kind": WaitKind.MAIL, "action": 9_000, "priority": -1}
    begun = f.insert_after(put, "actions", phase=ActionPhase.WAIT, **wait)
    ended = f.insert_after(begun, "actions", phase=ActionPhase.RESUME, **wait)
    begun["time_ns"], ended["time_ns"] = put["time_ns"], int(put["time_ns"]) + 1


def deadlock(f: FactBuilder, random: Random) -> None:
    opened = one_of(f, random, "lifecycle", living(LifeEvent.RUNNING))
    f.insert_after(opened, "lifecycle", operator=-1, event=LifeEvent.DEADLOCKED)


_COUNTED: Final = (
    ("channel-fifo", "another payload arrives", change("received", "fingerprint", of_kind(RECORD))),
    ("channel-fifo", "another timestamp arrives", change("received", "timestamp", of_kind(RECORD))),
    ("channel-fifo", "another payload is sent", change("sent", "fingerprint", of_kind(RECORD))),
    ("channel-fifo conservation", "a record does not arrive", delete("received", of_kind(RECORD))),
    ("channel-fifo conservation", "a record arrives twice", duplicate("received", of_kind(RECORD))),
    ("channel-fifo conservation", "a record is not sent", delete("sent", of_kind(RECORD))),
    ("channel-fifo", "two records arrive in the other order",
     swap("received", "position", of_kind(RECORD), lambda r: r["channel"])),
    ("channel-fifo", "two elements exchange the moments of their arrival",
     swap("received", "seq", of_kind(RECORD), lambda r: r["channel"])),
    ("channel-end", "a channel is never closed", on_both_sides),
    ("channel-end", "an element follows the end", element_after(END, (MARKER, 1))),
    ("channel-end", "an element follows the end of data", element_after(END_OF_DATA, (MARKER, 1))),
    ("watermark-monotone", "a watermark is sent again", element_after(WATERMARK, (WATERMARK, MAX_WATERMARK))),
    ("watermark-monotone valve", "a task emits a watermark again",
     repeat("task_watermark", lambda r: r["kind"] == WATERMARK and r["task"] in SINKS)),
    ("valve", "a task swallows a watermark",
     delete("task_watermark", lambda r: r["kind"] == WATERMARK and r["task"] in SINKS)),
    ("valve", "a task emits a lower watermark",
     change("task_watermark", "timestamp", lambda r: r["kind"] == WATERMARK and r["task"] in SINKS, by=-1)),
    ("key-routing", "a record has another hash", change("sent", "key_hash", keyed)),
    ("key-routing", "a record has a key that nobody described", change("sent", "key", keyed, by=50_000)),
    ("key-routing", "a key says something else than it hashes to", another_key_in_words),
    ("distribution channel-fifo", "a record is on a channel of another task",
     change("sent", "channel", lambda r: int(r["channel"]) >= 4 and r["kind"] == RECORD, by=-4)),
    ("window-fire", "a window does not fire", delete("window_fire")),
    ("window-fire", "a window fires twice", repeat("window_fire")),
    ("window-fire", "a window fires with another number of rows", change("window_fire", "rows")),
    ("window-fire", "a window fires with other rows", change("window_fire", "fingerprint_sum")),
    ("window-fire", "a window fires for other times", change("window_fire", "window_end")),
    ("window-fire", "an operator misreads its watermark", change("window_fire", "watermark", by=-1)),
    ("conservation", "an operator does not take a row in", delete("window_intake")),
    ("late-rows lateness", "a late row is not dropped", delete("late_drop")),
    ("late-rows", "another row is dropped", change("late_drop", "fingerprint")),
    ("late-rows conservation lateness", "a late row goes nowhere", change("late_drop", "side_output", by=-1)),
    ("late-rows", "a drop misreads the watermark", change("late_drop", "watermark", by=-1)),
    ("window-fire", "a window fires for another reason", change("window_fire", "cause", by=1)),
    ("window-fire", "a window fires and purges", change("window_fire", "result", by=2)),
    ("window-fire", "a window fires for another timer or record", change("window_fire", "at", by=-1)),
    ("window-fire", "windows merge where none can", windows_merge),
    ("lateness conservation", "a window counts more late rows",
     change("operator_counts", "records_dropped", lambda r: int(r["task"]) in WINDOWS)),
    ("lateness conservation channel-fifo", "a late row is read by nobody",
     delete("sent", lambda r: int(r["channel"]) >= 6 and r["kind"] == RECORD)),
    ("conservation", "an operator counts more rows in", change("operator_counts", "records_in")),
    ("conservation", "an operator counts more rows out", change("operator_counts", "records_out")),
    ("conservation", "an operator does not count", delete("operator_counts")),
    ("conservation", "an operator counts twice", repeat("operator_counts")),
)  # fmt: skip
_FLOWING: Final = (
    ("credits", "a credit is lost", delete("credits", of_kind(CreditKind.GOT))),
    ("credits", "a grant is not announced", delete("credits", of_kind(CreditKind.ANNOUNCED))),
    ("credits", "a sender misreads its credits", change("buffers", "credits", of_side(BufferSide.SENT))),
    ("credits", "a receiver grants more", change("credits", "credits", of_kind(CreditKind.INITIAL_GRANTED))),
    ("credits backlog", "a buffer is not sent", delete("buffers", of_side(BufferSide.SENT, BufferKind.DATA))),
    ("credits backlog", "a buffer does not arrive", delete("buffers", of_side(BufferSide.RECEIVED, BufferKind.DATA))),
    ("backlog", "a sender tells too much", change("buffers", "backlog", of_side(BufferSide.SENT), by=1000)),
    ("backlog", "a sender queues too much", change("buffers", "backlog", of_side(BufferSide.QUEUED), by=1000)),
    ("backlog", "a buffer leaves that was not queued", delete("buffers", of_side(BufferSide.QUEUED))),
    ("backlog", "a buffer arrives with another size", change("buffers", "bytes", of_side(BufferSide.RECEIVED))),
    ("backlog", "buffers are numbered in the other order",
     swap("buffers", "number", of_side(BufferSide.RECEIVED), lambda r: r["channel"])),
    ("backlog", "a sender reads its queue wrongly at a flush", change("buffers", "backlog", of_side(BufferSide.FLUSHED))),
    ("backlog", "a flush is requested twice", repeat("buffers", of_side(BufferSide.FLUSHED))),
    ("backlog", "an empty buffer is sent",
     change("buffers", "bytes", of_side(BufferSide.SENT, BufferKind.DATA), by=-40)),
    ("in-flight", "a buffer is not recycled", delete("buffers", of_side(BufferSide.RECYCLED))),
    ("in-flight", "a buffer is recycled twice", repeat("buffers", of_side(BufferSide.RECYCLED))),
    ("in-flight", "too few buffers are reserved", change("buffers", "credits", of_side(BufferSide.RECEIVED), by=-1000)),
    ("segments", "a movement is not told",
     delete("segments", lambda r: r["action"] != SegmentAction.RESIZED)),
    ("segments", "a movement is told twice",
     duplicate("segments", lambda r: r["action"] != SegmentAction.RESIZED)),
    ("segments", "a pool misreads what it requested", change("segments", "requested")),
    ("segments", "a pool misreads what is free", change("segments", "free")),
    ("segments", "a pool has another size",
     change("segments", "size", lambda r: r["action"] != SegmentAction.RESIZED, by=-1000)),
    ("segments", "a step is skipped", change("segments", "step", lambda r: int(r["step"]) >= 0)),
)  # fmt: skip
_LIVING: Final = (
    ("actions", "an action does not end", delete("actions", lambda r: r["phase"] == ActionPhase.END)),
    ("actions", "an action does not begin", delete("actions", lambda r: r["phase"] == ActionPhase.BEGIN)),
    ("actions", "a wait is not over", delete("actions", lambda r: r["phase"] == ActionPhase.RESUME)),
    ("actions", "another action ends", change("actions", "action", lambda r: r["phase"] == ActionPhase.END)),
    ("actions", "a mail runs while its task waits for a buffer", wait_for_a_buffer_instead_of_yielding),
    ("mails", "a mail was not put", delete("mails", doing(MailAction.PUT))),
    ("mails", "a mail does not run", delete("mails", doing(MailAction.RUN))),
    ("mails", "a mail runs twice", repeat("mails", doing(MailAction.RUN))),
    ("mails", "a mail is put twice", repeat("mails", doing(MailAction.PUT))),
    ("mails", "a mail runs with another priority", change("mails", "priority", doing(MailAction.RUN), by=1)),
    ("mails", "a yield runs what must wait", yield_for_higher_mails_only),
    ("fairness", "a mail joins a batch", mail_joins_a_batch),
    ("fairness", "the default action runs while it is suspended", change("actions", "suspended", begins_default_action, by=1)),
    ("progress", "a task rests beside a mail", rest_beside_a_mail),
    ("progress", "a job is deadlocked", deadlock),
    ("life-cycle", "an operator is not opened", delete("lifecycle", living(LifeEvent.OPEN))),
    ("life-cycle", "an operator is not closed", delete("lifecycle", living(LifeEvent.CLOSE))),
    ("life-cycle", "an operator does not finish", delete("lifecycle", living(LifeEvent.FINISH))),
    ("life-cycle", "an input does not end", delete("lifecycle", living(LifeEvent.END_INPUT))),
    ("life-cycle", "a task does not end", delete("lifecycle", living(LifeEvent.FINISHED))),
    ("life-cycle", "a step is taken twice", repeat("lifecycle")),
    ("life-cycle", "operators are opened in the other order",
     swap("lifecycle", "operator", lambda r: r["event"] == LifeEvent.OPEN and int(r["task"]) < 2, lambda r: r["task"])),
    ("end", "the last watermark is lower", lower_the_last_watermark),
    ("end", "data end before an operator has finished", end_data_before_the_last_finish),
    ("end", "a channel is closed before its operator", close_after_the_channels),
)  # fmt: skip

_TIMED: Final = (
    ("timers", "a timer does not fire",
     delete("timers", lambda r: (r["action"], r["domain"]) == (TimerAction.FIRE, TimeDomain.EVENT_TIME))),
    ("timers", "a timer fires twice", repeat("timers", doing(TimerAction.FIRE))),
    ("timers", "a timer fires that nobody registered", delete("timers", doing(TimerAction.REGISTER))),
    ("timers", "a timer is deleted twice", repeat("timers", doing(TimerAction.DELETE))),
    ("timers", "a timer fires at another time", change("timers", "timestamp", doing(TimerAction.FIRE))),
    ("timers", "a timer fires under another key", change("timers", "key", doing(TimerAction.FIRE), by=1)),
    ("timers", "a timer misreads the watermark",
     change("timers", "watermark", lambda r: int(r["watermark"]) > NO_TIMESTAMP, by=-1)),
    ("timers", "a timer has another hash", change("timers", "key_hash")),
    ("cleanup timers", "a window has no timer of its cleanup", delete("timers", cleans_up)),
    ("timers", "a timer fires for another window", change("timers", "window_start", doing(TimerAction.FIRE), by=-1)),
    ("task-watermark", "a strategy is ahead of its records", change("generated_watermark", "timestamp", of_kind(WATERMARK))),
    ("task-watermark", "a strategy saw other records", change("generated_watermark", "max_timestamp", of_kind(WATERMARK))),
    ("task-watermark", "a watermark is made and not sent", repeat("generated_watermark", of_kind(WATERMARK))),
    ("task-watermark", "a watermark is sent and not made", delete("generated_watermark", of_kind(WATERMARK))),
    ("task-watermark", "a channel misses a watermark", delete("sent", honest_mark)),
    ("task-watermark", "a channel gets another watermark", change("sent", "timestamp", honest_mark, by=-1)),
    ("task-watermark idle", "a channel misses a status", delete("sent", of_kind(ElementKind.STATUS))),
    ("idle", "a strategy is idle twice", repeat("generated_watermark", of_kind(ElementKind.STATUS))),
    ("idle", "a channel is told twice", repeat("sent", of_kind(ElementKind.STATUS))),
)  # fmt: skip

_ASKED: Final = (
    ("async-order", "an element leaves out of turn", swap_of_queue),
    ("async-order", "an element has another number", change("async_elements", "entry", doing(AsyncAction.PUT), by=1)),
    ("async-once", "an element stays in its queue", delete("async_elements", doing(AsyncAction.EMIT))),
    ("async-once", "an element has a second outcome", repeat("async_elements", doing(AsyncAction.COMPLETE))),
    ("async-once", "an element has other results", change("async_elements", "rows", doing(AsyncAction.COMPLETE))),
    ("async-once", "results are not what was emitted", change("async_elements", "fingerprint", record_out)),
    ("async-capacity", "an operator misreads its queue", change("async_elements", "queued")),
    ("async-capacity async-once", "an element leaves again", repeat("async_elements", doing(AsyncAction.EMIT))),
    ("async-retries", "a call is counted wrongly", change("async_elements", "attempt", doing(AsyncAction.INVOKE))),
    ("async-retries", "an element is not asked for", delete("async_elements", first_call)),
    ("async-end", "an element comes after the end", take_after_the_end),
    ("async-payload", "a function is given another record",
     change("async_elements", "fingerprint", lambda r: r["action"] in (AsyncAction.INVOKE, AsyncAction.RETRY))),
    ("async-timers", "a timer is not cancelled", delete("system_timers", doing(TimerAction.DELETE))),
    ("async-timers", "a timer of another time fires", change("system_timers", "timestamp", doing(TimerAction.FIRE))),
    ("async-timers", "an element has no timer", delete("system_timers", doing(TimerAction.REGISTER))),
    ("task-watermark", "a queue takes another watermark",
     change("async_elements", "timestamp", lambda r: (r["action"], r["kind"]) == (AsyncAction.PUT, WATERMARK), by=-1)),
)  # fmt: skip

_JOINED: Final = (
    ("joins", "two records are not joined", delete("join_pairs")),
    ("joins", "two records are joined twice", repeat("join_pairs")),
    ("joins", "another record is joined", change("join_pairs", "right_fingerprint")),
    ("joins", "a pair has another timestamp", change("join_pairs", "timestamp")),
    (
        "joins",
        "a join misreads its watermark",
        change("window_intake", "watermark", lambda r: int(r["watermark"]) > NO_TIMESTAMP, by=-1),
    ),
    ("window-joins", "a window that fires joins nothing", delete("window_joins")),
    ("window-joins", "the pairs of a window are joined twice", repeat("window_joins")),
    ("window-joins", "one pair of a window is missing", change("window_joins", "calls", by=-1)),
    ("window-joins", "one pair of a window is another", change("window_joins", "product_sum")),
    ("window-joins", "a window joins another left record", change("window_joins", "left_sum")),
    ("window-joins", "a right record was a left one", change("window_intake", "side", by=-1)),
)


def _kinds(*damages: tuple[str, str, Damage]) -> tuple[Kind, ...]:
    return tuple(Kind(name, damage, frozenset(laws.split())) for laws, name, damage in damages)


KINDS: Final = _kinds(*_COUNTED, *_FLOWING, *_LIVING, *_TIMED, *_ASKED)
KINDS_OF_JOINS: Final = _kinds(*_JOINED)
"""Of jobs with joins, which the model job does not have: each breaks one law."""

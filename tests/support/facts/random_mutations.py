"""Kinds of damage to a recording, each at a random place, each with the laws that it must violate.

They damage what laws with a second definition read: one in Python (``tests/support/oracle``) or, law in-flight, in SQL. The
job of law joins is another one, which no mutation damages, so one kind does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Final

from flowsim.facts.kinds import (
    AsyncAction,
    BufferKind,
    BufferSide,
    ElementKind,
    TimeDomain,
    TimerAction,
)  # fmt: skip
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from tests.support.facts.fact_builder import FactBuilder, Row
from tests.support.facts.mutating import insert_element
from tests.support.facts.valid_graph import LATENESS_MS

Where = Callable[[Row], bool]
Damage = Callable[[FactBuilder, Random], None]
RECORD, WATERMARK = ElementKind.RECORD, ElementKind.WATERMARK
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


def element_after(after: ElementKind, *elements: tuple[ElementKind, int]) -> Damage:
    return lambda f, random: insert_element(f, random.choice(CHANNELS), after, *elements)


def another_key_in_words(f: FactBuilder, random: Random) -> None:
    used = {(r["task"], r["key"]) for r in f.rows("sent", lambda r: r["channel"] < 4 and r["kind"] == RECORD)}  # type: ignore[operator]
    one_of(f, random, "keys", lambda r: (r["task"], r["key"]) in used)["key_json"] = f'"{random.random()}"'


def windows_merge(f: FactBuilder, random: Random) -> None:
    row = one_of(f, random, "window_intake", anything)
    columns = {name: row[name] for name in ("operator", "key_hash", "key", "watermark")}
    f.insert_after(row, "window_merge", window_start=0, window_end=10, into_start=0, into_end=20, **columns)


def keyed(row: Row) -> bool:
    return int(row["channel"]) < 4 and row["kind"] == RECORD


def honest_mark(row: Row) -> bool:
    """A watermark that a task sent before the end of event time."""
    return row["kind"] == WATERMARK and int(row["timestamp"]) < MAX_WATERMARK


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
)  # fmt: skip
_IN_FLIGHT: Final = (
    ("in-flight", "a buffer is not recycled", delete("buffers", of_side(BufferSide.RECYCLED))),
    ("in-flight", "a buffer is recycled twice", repeat("buffers", of_side(BufferSide.RECYCLED))),
    ("in-flight", "too few buffers are reserved", change("buffers", "credits", of_side(BufferSide.RECEIVED), by=-1000)),
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
    ("task-watermark", "a queue takes another watermark",
     change("async_elements", "timestamp", lambda r: (r["action"], r["kind"]) == (AsyncAction.PUT, WATERMARK), by=-1)),
)  # fmt: skip

_JOINED: Final = (
    ("joins", "two records are not joined", delete("join_pairs")),
    ("window-joins", "a window that fires joins nothing", delete("window_joins")),
    ("window-joins", "the pairs of a window are joined twice", repeat("window_joins")),
    ("window-joins", "one pair of a window is missing", change("window_joins", "calls", by=-1)),
    ("window-joins", "one pair of a window is another", change("window_joins", "product_sum")),
    ("window-joins", "a window joins another left record", change("window_joins", "left_sum")),
    ("window-joins", "a right record was a left one", change("window_intake", "side", by=-1)),
)


def _kinds(*damages: tuple[str, str, Damage]) -> tuple[Kind, ...]:
    return tuple(Kind(name, damage, frozenset(laws.split())) for laws, name, damage in damages)


KINDS: Final = _kinds(*_COUNTED, *_IN_FLIGHT, *_TIMED)
KINDS_OF_JOINS: Final = _kinds(*_JOINED)
"""Of jobs with joins, which the model job does not have: each breaks one law."""

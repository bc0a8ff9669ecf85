"""``why order``: in which order two records were sent, read and emitted, and what decided it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from flowsim.errors import BadInput
from flowsim.facts.kinds import ElementKind
from flowsim.laws.job_graph import Channel
from flowsim.quantities import count_text
from flowsim.trace.time import event_time
from flowsim.why.answer import Cause, WhyAnswer
from flowsim.why.async_order import async_orders
from flowsim.why.records import Record, Records
from flowsim.why.run_facts import Row, Rows, RunFacts, place_of
from flowsim.why.sentence import capital


@dataclass(frozen=True, slots=True)
class Order:
    """The order of the two records at one place. ``is_kept``: A is first."""

    name: str
    is_kept: bool
    cause: Cause
    time_ns: int


def why_order(facts: RunFacts, first: str, second: str, tasks: frozenset[int] | None = None) -> WhyAnswer:
    """Compares two records at each place where both appear. Raises BadInput."""
    records = Records(facts)
    a, b = records.one(first), records.one(second)
    if a.fingerprint == b.fingerprint:
        raise BadInput(f"{first!r} and {second!r} are the same record: {a.argument}")
    orders = _orders(facts, a, b)
    orders = [one for one in orders if tasks is None or one.cause.place is None or one.cause.place.task in tasks]
    orders.sort(key=lambda one: one.time_ns)
    apart = _apart(facts, a, b) if tasks is None else []
    if not orders:
        if not apart:
            text = f"No task has read or sent both {a} and {b}{facts.by_moment}; records that a task changes are other records."
            return WhyAnswer(Cause(text, ("I2.d",)))
        return WhyAnswer(apart[0], tuple(apart[1:]))
    changed = next((one for one in orders if one.is_kept is not orders[0].is_kept), None)
    if changed is None:
        before, after = (a, b) if orders[0].is_kept else (b, a)
        places = "everywhere" if len(orders) > 1 else f"at {orders[0].name}"
        text = f"{capital(str(before))} comes before {after} {places}."
    else:
        before, after = (a, b) if orders[0].is_kept else (b, a)
        text = f"{capital(str(before))} comes before {after} at {orders[0].name}, and after it at {changed.name}."
    notes = tuple(note for record in (a, b) if (note := _repeated(facts, record)))
    causes = [*(one.cause for one in orders), *apart]
    shown = orders[0].cause if changed is None else changed.cause
    return WhyAnswer(Cause(text, shown.rules, shown.place), tuple(sorted(causes, key=_time)), notes)


def comes_first(facts: RunFacts, first: str, second: str) -> bool:
    """Whether the record ``first`` comes before ``second`` somewhere, or nothing orders the two. Raises BadInput."""
    records = Records(facts)
    a, b = records.one(first), records.one(second)
    orders = _orders(facts, a, b)
    return any(one.is_kept for one in orders) if orders else bool(_apart(facts, a, b))


def _orders(facts: RunFacts, a: Record, b: Record) -> list[Order]:
    return [*_sent(facts, a, b), *_received(facts, a, b), *async_orders(facts, a, b, Order)]


def _repeated(facts: RunFacts, record: Record) -> str:
    """A note about a record that came several times over one channel."""
    for task in facts.graph.tasks:
        rows = facts.rows("received", task).equal(kind=ElementKind.RECORD, fingerprint=record.fingerprint)
        most = int(np.unique(rows["channel"], return_counts=True)[1].max(initial=0))
        if most > 1:
            count = count_text(most, "record")
            return (
                f"{facts.task(task)} read {count} with the value and timestamp of {record.argument} over one channel: the order "
                "is that of the first"
            )
    return ""


def _time(cause: Cause) -> int:
    return 0 if cause.place is None or cause.place.time_ns is None else cause.place.time_ns


def _firsts(rows: Rows, record: Record) -> dict[int, Row]:
    """The first row of a record by channel."""
    found: dict[int, Row] = {}
    for row in rows.equal(kind=ElementKind.RECORD, fingerprint=record.fingerprint):
        found.setdefault(row["channel"], row)
    return found


def _sent(facts: RunFacts, a: Record, b: Record) -> list[Order]:
    """The order in which one task sent both, once per task."""
    orders = []
    for task in facts.graph.tasks:
        rows = facts.rows("sent", task)
        one, other = (min(_firsts(rows, record).values(), key=_seq, default=None) for record in (a, b))
        if one is None or other is None or facts.graph.tasks[task].inputs:
            continue
        is_kept = one["seq"] < other["seq"]
        early, late = (one, other) if is_kept else (other, one)
        at = facts.moment(early["time_ns"])
        text = f"{facts.task(task)} sent {_named(facts, early)} at {at}, and {_named(facts, late)} after it."
        cause = Cause(text, ("I2.d",), place_of(early))
        orders.append(Order(facts.task(task), is_kept, cause, early["time_ns"]))
    return orders


def _seq(row: Row) -> int:
    return row["seq"]


def _named(facts: RunFacts, row: Row) -> str:
    return facts.names.value(row["fingerprint"]) or f"the record of {event_time(row['timestamp'])}"


def _received(facts: RunFacts, a: Record, b: Record) -> list[Order]:
    """The order in which one task read both."""
    orders = []
    for task in facts.graph.tasks:
        rows = facts.rows("received", task)
        one, other = (min(_firsts(rows, record).values(), key=_seq, default=None) for record in (a, b))
        if one is None or other is None:
            continue
        is_kept = one["seq"] < other["seq"]
        early, late = (one, other) if is_kept else (other, one)
        cause = _read_cause(facts, task, early, late)
        orders.append(Order(facts.task(task), is_kept, cause, early["time_ns"]))
    return orders


def _read_cause(facts: RunFacts, task: int, early: Row, late: Row) -> Cause:
    """Why a task read one record before another."""
    name = facts.task(task)
    channels = [facts.graph.channels[row["channel"]] for row in (early, late)]
    head = f"{name} read {_named(facts, early)} at {facts.moment(early['time_ns'])}, and {_named(facts, late)} after it"
    if channels[0] == channels[1]:
        text = (
            f"{head}: both came over {facts.from_(channels[0])}, and a channel keeps the order in which they were sent."
        )
        return Cause(text, ("I7.b",), place_of(early), channel=channels[0].channel)
    sent = [_sent_row(facts, channel, row) for channel, row in zip(channels, (early, late), strict=True)]
    lines = tuple(
        f"{_named(facts, row)} over {facts.from_(channel)}{_sent_text(facts, channel, origin)}"
        for row, channel, origin in zip((early, late), channels, sent, strict=True)
    )
    selection = _selection(facts, task, channels)
    keys = {row["key"] for row in sent if row is not None}
    if selection:
        return Cause(f"{head}. {selection}", ("7.22", "7.24"), place_of(early), lines, channels[0].channel)
    was_earlier = sent[0] is not None and sent[1] is not None and sent[1]["time_ns"] < sent[0]["time_ns"]
    head += f", although {_named(facts, late)} was sent earlier" if was_earlier else ""
    text = f"{head}: they came over two channels, which the task reads in turn, and nothing orders two channels"
    if len(keys) == 1 and keys != {0}:
        key = facts.names.key(next(iter(keys)))
        text += f". Both have key {key}, but the order of a key is kept only between one sender and one receiver"
    return Cause(f"{text}.", ("7.3", "7.16", "I2.d"), place_of(early), lines, channels[0].channel)


def _selection(facts: RunFacts, task: int, channels: Sequence[Channel]) -> str:
    """Why the operator read one input before the other, if the two records came from two inputs."""
    if channels[0].input == channels[1].input:
        return ""
    operator = facts.operators_of(task)[0]
    reading = operator.params.get("reading")
    if reading in (None, "any"):
        return f"They came from two inputs of {operator.name}, which are read in turn."
    how = "reads one record of each input in turn"
    if reading != "alternate":
        how = f"reads its {reading} input to its end before the other one"
    return f"{operator.name} selects its inputs (reading: {reading}): it {how}."


def _sent_row(facts: RunFacts, channel: Channel, row: Row) -> Row | None:
    sent = facts.rows("sent", channel.source_task)
    # An unaligned barrier has the position of the next element.
    return sent.equal(channel=channel.channel, position=row["position"], kind=ElementKind.RECORD).first()


def _sent_text(facts: RunFacts, channel: Channel, row: Row | None) -> str:
    return "" if row is None else f", sent at {facts.moment(row['time_ns'])}"


def _apart(facts: RunFacts, a: Record, b: Record) -> list[Cause]:
    """The records went to different subtasks of a vertex, where nothing orders them."""
    found: dict[int, tuple[set[int], set[int]]] = {}
    for task in facts.graph.tasks.values():
        received = facts.rows("received", task.task).equal(kind=ElementKind.RECORD)
        for number, record in enumerate((a, b)):
            if np.any(received["fingerprint"] == record.fingerprint):
                found.setdefault(task.vertex, (set(), set()))[number].add(task.task)
    causes = []
    for of_a, of_b in found.values():
        if not of_a or not of_b or of_a & of_b:
            continue
        one, other = (", ".join(facts.task(task) for task in sorted(tasks)) for tasks in (of_a, of_b))
        row = facts.rows("received", min(of_a)).equal(kind=ElementKind.RECORD, fingerprint=a.fingerprint).row(0)
        edge = facts.graph.edges[facts.graph.channels[row["channel"]].edge]
        text = (
            f"{capital(str(a))} went to {one} and {b} to {other} (partitioner: {edge.partitioner}). Nothing orders records of "
            "two subtasks: they run beside each other."
        )
        selected_by = "1.18" if edge.partitioner == "HASH" else "2.1" if edge.max_traverse_size is None else "2.4"
        rules = (selected_by, "I2.d")
        causes.append(Cause(text, rules, place_of(row)))
    return causes

"""The equations of conservation, evaluated over the graph and counters of one run (rules 7.20, 13.4).

What is looked at grows with the graph, never with the facts. Runs in Python workers: needs nothing but pandas.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

SCHEMA = "run int, task int, operator int, what string, left bigint, right bigint"

_EMITTED = "kind: out = results emitted"

Broken = tuple[int, int, str, int, int]
"""(task, operator, equation, left side, right side)."""


@dataclass(slots=True)
class Operator:
    """A row of ``operators``."""

    index: int
    kind: str
    input_operator: int
    input_tag: str


@dataclass(slots=True)
class Counters:
    """A row of ``operator_counts``."""

    records_in: int
    records_out: int
    records_side: int
    records_dropped: int


@dataclass(slots=True)
class Books:
    """Everything of one run that an equation may name."""

    whole: bool
    emitters: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    """By vertex, its async operators of the legacy design: with them timers, too, have a thread (rule 11.30)."""
    vertex_of: dict[int, int] = field(default_factory=dict)
    operators: dict[int, list[Operator]] = field(default_factory=lambda: defaultdict(list))
    """By vertex."""
    edges: dict[int, tuple[int, int, bool, str]] = field(default_factory=dict)
    """Edge to (source vertex, source operator, broadcast, side output)."""
    channels: list[tuple[int, int, int]] = field(default_factory=list)
    """(channel, edge, source task)."""
    counters: dict[tuple[int, int], list[tuple[int, Counters]]] = field(default_factory=lambda: defaultdict(list))
    """By (task, operator), with their seq."""
    finished: set[int] = field(default_factory=set)
    sent: dict[int, int] = field(default_factory=dict)
    """Records by channel."""
    received: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    """Records by task."""
    intake: dict[tuple[int, int], int] = field(default_factory=dict)
    late: dict[tuple[int, int], int] = field(default_factory=dict)
    asked: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    """Of async operators the records put, but not from a snapshot, and the results emitted."""

    def threads(self, task: int) -> int:
        """How many work for a task."""
        emitters = self.emitters[self.vertex_of[task]]
        return 2 + emitters if emitters else 1

    def first(self, task: int, operator: int) -> Counters | None:
        """The operator's counters, None when there are none."""
        rows = self.counters.get((task, operator))
        return min(rows, key=lambda row: row[0])[1] if rows else None


def keep_books(whole: bool, items: Iterator[tuple[str, int, int, int, int, int, int, int, str, str]]) -> Books:
    """Sorts the items of one run: (item, task, operator, a, b, c, d, seq, text, tag), see ``conservation._items``."""
    books = Books(whole)
    for item, task, operator, a, b, c, d, seq, text, tag in items:
        match item:
            case "task":
                books.vertex_of[task] = a
            case "operator":
                books.operators[a].append(Operator(operator, text, b, tag))
                books.emitters[a] += c
            case "edge":
                books.edges[a] = (b, operator, text == "BROADCAST", tag)
            case "channel":
                books.channels.append((a, b, task))
            case "counters":
                books.counters[task, operator].append((seq, Counters(a, b, c, d)))
            case "finished":
                books.finished.add(task)
            case "sent":
                books.sent[a] = b
            case "received":
                books.received[task] += b
            case "intake":
                books.intake[task, operator] = a
            case "late":
                books.late[task, operator] = a
            case "asked":
                books.asked[task, operator] = (a, b)
    return books


def broken(books: Books) -> list[Broken]:
    """Every broken equation; in a task that did not finish, each thread may have an element under way."""
    found = list(_presence(books))
    for equation in (*_by_operator(books), *_by_edge(books)):
        task, _, what, left, right = equation
        slack = 0 if task in books.finished else books.threads(task)
        # Of elements under way some results are out, and none of those told of can be missing.
        if abs(left - right) > slack or (what == _EMITTED and left < right):
            found.append(equation)
    return found


def _presence(books: Books) -> Iterator[Broken]:
    for task, vertex in books.vertex_of.items():
        for operator in books.operators[vertex]:
            rows = len(books.counters.get((task, operator.index), ()))
            if rows > 1 or (rows == 0 and books.whole):
                yield task, operator.index, "presence: one row of counters", rows, 1


def _by_operator(books: Books) -> Iterator[Broken]:
    for task, vertex in books.vertex_of.items():
        for operator in books.operators[vertex]:
            counters = books.first(task, operator.index)
            if counters is None:
                continue
            yield from _by_kind(books, task, operator, counters)
            if operator.input_operator < 0:
                if operator.kind != "source":
                    yield task, operator.index, "head: in = records received", counters.records_in, books.received[task]
            elif not operator.input_tag:
                before = books.first(task, operator.input_operator)
                if before is not None:
                    name = "chained: in = out of the operator before"
                    yield task, operator.index, name, counters.records_in, before.records_out


def _by_kind(books: Books, task: int, operator: Operator, counters: Counters) -> Iterator[Broken]:
    place, index = (task, operator.index), operator.index
    match operator.kind:
        case "source" | "map":
            yield task, index, "kind: out = in", counters.records_out, counters.records_in
        case "filter":
            kept = counters.records_out + counters.records_dropped
            yield task, index, "kind: in = out + dropped", counters.records_in, kept
        case "sink":
            yield task, index, "kind: a sink gives out nothing", counters.records_out, 0
        case "window":
            yield task, index, "kind: in = window intake", counters.records_in, books.intake.get(place, 0)
            yield task, index, "kind: dropped = late drops", counters.records_dropped, books.late.get(place, 0)
        case "async_wait":
            put, emitted = books.asked.get(place, (0, 0))
            yield task, index, "kind: in = records put", counters.records_in, put
            if task in books.finished or counters.records_out < emitted:
                yield task, index, _EMITTED, counters.records_out, emitted


def _by_edge(books: Books) -> Iterator[Broken]:
    sent: dict[tuple[int, int, int], int] = defaultdict(int)
    for channel, edge, task in books.channels:
        broadcast = books.edges[edge][2]
        sent[edge, task, channel if broadcast else -1] += books.sent.get(channel, 0)
    readers: dict[tuple[int, int], dict[str, list[int | None]]] = defaultdict(lambda: defaultdict(list))
    for (edge, task, _), records in sent.items():
        _, operator, _, tag = books.edges[edge]
        counters = books.first(task, operator)
        if tag:
            readers[task, operator][tag].append(records)
        elif counters is not None:
            yield task, operator, "edge: out = records sent", counters.records_out, records
    yield from _side_outputs(books, readers)


def _side_outputs(books: Books, readers: dict[tuple[int, int], dict[str, list[int | None]]]) -> Iterator[Broken]:
    for task, vertex in books.vertex_of.items():
        for reader in books.operators[vertex]:
            if reader.input_tag and reader.input_operator >= 0:
                counters = books.first(task, reader.index)
                readers[task, reader.input_operator][reader.input_tag].append(
                    None if counters is None else counters.records_in
                )
    for (task, operator), tags in readers.items():
        total: int | None = 0
        for tag, counts in tags.items():
            known = [count for count in counts if count is not None]
            if len(known) < len(counts):
                total = None
                continue
            yield task, operator, f"side output {tag}: its readers agree", min(known), max(known)
            total = None if total is None else total + max(known)
        own = books.first(task, operator)
        if total is not None and own is not None:
            yield task, operator, "side output: its tags add up", own.records_side, total


def evaluate(frame: pd.DataFrame) -> pd.DataFrame:
    """The broken equations of the run whose items are given."""
    import pandas as pd

    run, whole = int(frame["run"].iloc[0]), bool(frame["whole"].iloc[0])
    names = ("item", "task", "operator", "a", "b", "c", "d", "seq", "text", "tag")
    found = broken(keep_books(whole, zip(*(frame[n].tolist() for n in names), strict=True)))
    columns = ("task", "operator", "what", "left", "right")
    result = pd.DataFrame(found, columns=list(columns))
    result.insert(0, "run", run)
    return result

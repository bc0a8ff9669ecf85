"""Part of law task-watermark: generated watermarks follow from the records, and those of splits are merged (rules
8.1-8.7).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from flowsim.facts.kinds import ElementKind
from flowsim.laws.elements import SentBefore, sent_records
from flowsim.laws.event_time.due_watermarks import DueWatermarks
from flowsim.laws.event_time.idle_clock import TaskActivity
from flowsim.laws.event_time.merged_splits import NEVER, RECORD, WHOLE, Generated, MergedSplits
from flowsim.laws.event_time.paths import ACTIVE, STATUS, WATERMARK, EventTimePaths, strategy_of
from flowsim.laws.findings import Findings, named
from flowsim.laws.job_graph import JobGraph, Operator, Task
from flowsim.laws.machine import reads
from flowsim.laws.slices import Ints, Slice
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP

_BOUNDED: Final = ("bounded", "monotonous")
_COLUMNS: Final = ("seq", "split", "kind", "timestamp", "records", "max_timestamp", "time_ns")


class Generator:
    """The generated watermarks of one operator subtask."""

    def __init__(self, operator: Operator, seen: SentBefore | None) -> None:
        """``seen``: the records that it saw, if all of them are sent."""
        strategy = strategy_of(operator) or {}
        bound = strategy.get("bound_ms", 0)
        self.delay = bound + 1 if strategy.get("kind") in _BOUNDED and isinstance(bound, int) else None
        self._seen = seen
        self._highest: dict[int, int] = {}
        """The highest watermark of the whole operator, and of each split."""
        self.splits = MergedSplits()
        self._last: Generated | None = None
        self.end: Generated | None = None
        """The first row with the end of event time."""
        self.last_end = -1
        """The last one."""

    @property
    def has_splits(self) -> bool:
        """Whether a row of a split has come."""
        return len(self._highest) > (WHOLE in self._highest)

    def wrong_rows(self, facts: Slice, rows: Sequence[Generated]) -> list[tuple[str, Generated]]:
        """The violations among the rows of one epoch."""
        seen: Sequence[tuple[int, int] | None] = [None] * len(rows)
        if self._seen is not None:
            seen = self._seen.before(facts, [row.seq for row in rows])
        sent = _seqs_of_records(facts) if self.has_splits or any(row.split != WHOLE for row in rows) else None
        wrong = []
        for row, records in zip(rows, seen, strict=True):
            merged = [] if sent is None else self.splits.add(row, self._is_later(row, sent))
            if what := self._wrong(row, records):
                merged = [(what, row), *(each for each in merged if each[1] is not row)]
            wrong += merged
            self._last = row
        if sent is not None and len(sent) and int(sent[-1]) > self.splits.changed_at:
            wrong += self.splits.settle()
        return wrong

    def _is_later(self, row: Generated, sent: Ints) -> bool:
        """Whether time has passed since the row before this one, or a record was sent.

        While a source sends that it is active again, it can wait for buffers; its watermark follows in the same call.
        """
        last = self._last
        if last is None:
            return False
        is_sending = (last.split, last.kind, last.timestamp) == (WHOLE, STATUS, ACTIVE)
        if row.time_ns > last.time_ns and not is_sending:
            return True
        return bool(np.searchsorted(sent, row.seq) > np.searchsorted(sent, last.seq))

    def _wrong(self, row: Generated, seen: tuple[int, int] | None) -> str:
        before = self._highest.get(row.split, NO_TIMESTAMP)
        self._highest[row.split] = max(before, row.timestamp) if row.kind == WATERMARK else before
        is_whole = row.split == WHOLE
        if is_whole and row.kind == WATERMARK and row.timestamp == MAX_WATERMARK:
            self.last_end = row.seq
        is_counted = is_whole and row.kind != RECORD
        if seen is not None and is_counted and seen != (row.records, row.max_timestamp):
            return "the strategy did not count the sent records"
        if row.kind != WATERMARK:
            return ""
        if row.timestamp <= before:
            return "does not grow"
        if row.timestamp == MAX_WATERMARK:
            self.end = row if is_whole else self.end
            return ""
        return "" if is_whole and self.has_splits else self._wrong_bound(row)

    def _wrong_bound(self, row: Generated) -> str:
        """Rule 8.1."""
        if self.delay is None or row.timestamp == row.max_timestamp - self.delay:
            return ""
        return "not the highest timestamp less the bound"


def _seqs_of_records(facts: Slice) -> Ints:
    """The rows of the records that the task sent."""
    rows = facts.of("sent")
    return rows.column("seq")[facts.once(sent_records)] if len(rows) else np.empty(0, dtype=np.int64)


class Generators:
    """Examines the generated watermarks of the operators of one task."""

    def __init__(self, graph: JobGraph, task: Task, found: Findings) -> None:
        self._found = found
        self._task = task
        self._paths = graph.once(EventTimePaths)
        self._described = [
            operator
            for operator in graph.operators_of(task.vertex)
            if operator.kind == "watermarks" or strategy_of(operator) is not None
        ]
        self._generators: dict[int, Generator] = {}
        self._due: dict[int, DueWatermarks] = {}
        self._activity = TaskActivity()
        sent = graph.sent_by(task.task)
        for operator in self._described:
            edge = self._edge_of(operator)
            channels = [channel.channel for channel in sent if channel.edge == edge]
            seen = SentBefore(sent, {edge}, "timestamp") if channels else None
            generator = self._generators[operator.operator] = Generator(operator, seen)
            due = DueWatermarks(operator, generator.delay, channels or None, generator.splits)
            if due.is_judged:
                self._due[operator.operator] = due

    def _edge_of(self, operator: Operator) -> int:
        """The first edge that carries every record that a strategy saw, once and in order; -1: there is none."""
        if strategy_of(operator) is None:
            return -1
        edges = self._paths.edges_of(operator, lambda behind: behind.kind == "map" and not behind.input_tag)
        return next(
            (edge.edge for edge in edges if not edge.side_output and edge.partitioner != "BROADCAST"),
            -1,
        )

    @reads(
        TaskActivity.feed, DueWatermarks.feed, SentBefore.before, generated_watermark=("operator", *_COLUMNS),
        sent=("timestamp",),
    )  # fmt: skip
    def feed(self, facts: Slice) -> None:
        """Examines one epoch."""
        by_operator: dict[int, list[Generated]] = {operator: [] for operator in self._generators}
        for operator, *values in facts.of("generated_watermark").tuples(("operator", *_COLUMNS)):
            by_operator.setdefault(operator, []).append(Generated(*values))
        for operator, rows in by_operator.items():
            generator = self._generator(operator)
            if generator is None:
                for row in rows:
                    self._broken("generated by an operator that is not described", operator, row.seq)
                continue
            for wrong, generated in generator.wrong_rows(facts, rows):
                self._broken_row(wrong, operator, generated)
        if self._due:
            self._activity.feed(facts)
            for operator, due in self._due.items():
                for what, seq, shown in due.feed(facts, by_operator[operator], self._activity):
                    self._broken(what, operator, seq, **shown)
            self._activity.forget()

    def _generator(self, operator: int) -> Generator | None:
        if operator not in self._generators:
            described = self._paths.operator(self._task.vertex, operator)
            if described is None:
                return None
            self._generators[operator] = Generator(described, None)
        return self._generators[operator]

    def _broken(self, what: str, operator: int, seq: int, **shown: object) -> None:
        place = {"task": self._task.task, "operator": operator, "seq": seq}
        self._found.broken(what, (self._task.task, seq), **place, **shown)

    def _broken_row(self, what: str, operator: int, row: Generated) -> None:
        self._broken(
            what, operator, row.seq, split=row.split, kind=named(ElementKind, row.kind), timestamp=row.timestamp,
            records=row.records, max_timestamp=row.max_timestamp,
        )  # fmt: skip

    def end(self, whole: bool, end_of: Callable[[int], int]) -> None:
        """Checks that need the end. ``end_of``: the row with which an origin emits the end of event time."""
        for number, generator in self._generators.items() if whole else ():
            for wrong, row in generator.splits.settle():
                self._broken_row(wrong, number, row)
        for operator in self._described:
            if operator.kind != "watermarks":
                continue
            number, generator = operator.operator, self._generators[operator.operator]
            end_at = end_of(self._paths.origin_of_input(operator.vertex, number))
            if generator.end is not None and generator.end.seq < end_at:
                self._broken_row("the end of event time before the inputs reached it", number, generator.end)
            if whole and 0 <= end_at < NEVER and generator.last_end <= end_at and strategy_of(operator) is not None:
                # Rule 8.7: an operator that assigns timestamps passes the end of event time.
                self._broken("the end of event time does not pass", number, end_at)

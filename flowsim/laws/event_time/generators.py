"""Part of law task-watermark: generated watermarks follow from the records, and those of splits are merged (rules
8.1-8.7).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from flowsim.facts.kinds import ElementKind
from flowsim.laws.elements import SentBefore
from flowsim.laws.event_time.paths import IDLE, WATERMARK, EventTimePaths, strategy_of
from flowsim.laws.job_graph import JobGraph, Operator, Task
from flowsim.laws.law import Findings, named
from flowsim.laws.slices import Slice
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP

_BOUNDED: Final = ("bounded", "monotonous")
_COLUMNS: Final = ("seq", "split", "kind", "timestamp", "records", "max_timestamp")
Generated = tuple[int, int, int, int, int, int]
"""Sequence number, split (-1: the whole operator), kind, timestamp, records seen and the highest timestamp among them."""
NEVER: Final = 2**63
"""The end of event time did not reach the operator."""


class Generator:
    """The generated watermarks of one operator subtask."""

    def __init__(self, operator: Operator, seen: SentBefore | None) -> None:
        """``seen``: the records that it saw, if all of them are sent."""
        strategy = strategy_of(operator) or {}
        bound = strategy.get("bound_ms", 0)
        self._delay = bound + 1 if strategy.get("kind") in _BOUNDED and isinstance(bound, int) else None
        self._seen = seen
        self._last = NO_TIMESTAMP
        """The highest watermark of the whole operator."""
        self._splits: dict[int, tuple[int, bool]] = {}
        """Per split its highest watermark and whether it is idle."""
        self._overtaken: set[int] = set()
        """Splits that did not hold back the watermark."""
        self.end: Generated | None = None
        """The first row with the end of event time."""
        self.last_end = -1
        """The last one."""

    def wrong_rows(self, facts: Slice, rows: Sequence[Generated]) -> list[tuple[str, Generated]]:
        """The violations among the rows of one epoch."""
        if self._seen is None or self._splits:
            return [(wrong, row) for row in rows if (wrong := self._wrong(row, None))]
        before = self._seen.before(facts, [row[0] for row in rows])
        return [(wrong, row) for row, seen in zip(rows, before, strict=True) if (wrong := self._wrong(row, seen))]

    def _wrong(self, row: Generated, seen: tuple[int, int] | None) -> str:
        seq, split, kind, timestamp, records, highest = row
        if split >= 0:
            return self._wrong_of_split(split, kind, timestamp, highest)
        before = self._last
        if kind == WATERMARK:
            self._last = max(before, timestamp)
            self.last_end = seq if timestamp == MAX_WATERMARK else self.last_end
        if seen is not None and not self._splits and seen != (records, highest):
            return "the strategy did not count the sent records"
        if kind != WATERMARK:
            return ""
        if timestamp <= before:
            return "does not grow"
        if timestamp == MAX_WATERMARK:
            self.end = row
            return ""
        if not self._splits:
            return self._wrong_bound(timestamp, highest)
        if all(watermark != timestamp for watermark, _ in self._splits.values()):
            return "no split has reached it"
        self._overtaken |= {split for split, (at, is_idle) in self._splits.items() if not is_idle and at < timestamp}
        return ""

    def _wrong_of_split(self, split: int, kind: int, timestamp: int, highest: int) -> str:
        last, _ = self._splits.get(split, (NO_TIMESTAMP, False))
        is_watermark = kind == WATERMARK
        self._splits[split] = (max(last, timestamp), False) if is_watermark else (last, timestamp == IDLE)
        if split in self._overtaken:
            self._overtaken.remove(split)
            return "was there, but did not hold back the others"
        if is_watermark and timestamp <= last:
            return "does not grow"
        return self._wrong_bound(timestamp, highest) if is_watermark and timestamp != MAX_WATERMARK else ""

    def _wrong_bound(self, timestamp: int, highest: int) -> str:
        """Rule 8.1."""
        if self._delay is None or timestamp == highest - self._delay:
            return ""
        return "not the highest timestamp less the bound"


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
        self._generators = {op.operator: Generator(op, self._seen(graph, op)) for op in self._described}

    def _seen(self, graph: JobGraph, operator: Operator) -> SentBefore | None:
        """The records of the first edge that carries every record that a strategy saw, once and in order."""
        if strategy_of(operator) is None:
            return None
        for edge in self._paths.edges_of(operator, lambda behind: behind.kind == "map" and not behind.input_tag):
            if not edge.side_output and edge.partitioner != "BROADCAST":
                sent = graph.sent_by(self._task.task)
                is_used = any(channel.edge == edge.edge for channel in sent)
                return SentBefore(sent, {edge.edge}, "timestamp") if is_used else None
        return None

    def feed(self, facts: Slice) -> None:
        """Examines one epoch."""
        by_operator: dict[int, list[Generated]] = {operator: [] for operator in self._generators}
        for operator, *row in facts.of("generated_watermark").tuples(("operator", *_COLUMNS)):
            by_operator.setdefault(operator, []).append(tuple(row))
        for operator, rows in by_operator.items():
            generator = self._generator(operator)
            if generator is None:
                for seq, *_ in rows:
                    self._broken("generated by an operator that is not described", operator, seq)
                continue
            for wrong, generated in generator.wrong_rows(facts, rows):
                self._broken_row(wrong, operator, generated)

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
        seq, split, kind, timestamp, records, highest = row
        self._broken(
            what, operator, seq, split=split, kind=named(ElementKind, kind), timestamp=timestamp, records=records,
            max_timestamp=highest,
        )  # fmt: skip

    def end(self, whole: bool, end_of: Callable[[int], int]) -> None:
        """Checks that need the end. ``end_of``: the row with which an origin emits the end of event time."""
        for operator in self._described:
            if operator.kind != "watermarks":
                continue
            number, generator = operator.operator, self._generators[operator.operator]
            end_at = end_of(self._paths.origin_of_input(operator.vertex, number))
            if generator.end is not None and generator.end[0] < end_at:
                self._broken_row("the end of event time before the inputs reached it", number, generator.end)
            if whole and 0 <= end_at < NEVER and generator.last_end <= end_at and strategy_of(operator) is not None:
                # Rule 8.7: an operator that assigns timestamps passes the end of event time.
                self._broken("the end of event time does not pass", number, end_at)

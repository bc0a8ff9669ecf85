"""Law lateness: the counts of one task, and the equations between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from flowsim.laws.elements import sent_by_channel
from flowsim.laws.findings import Findings, compared
from flowsim.laws.job_graph import JobGraph, Operator, Task
from flowsim.laws.law import KeyPart
from flowsim.laws.machine import reads
from flowsim.laws.slices import Slice
from flowsim.laws.windows.plan import LATE_KINDS, rows_of


@dataclass(slots=True)
class LateCounts:
    """The counts of one task, or of some of its keys; counts of parts are added."""

    late: Counter[int] = field(default_factory=Counter)
    """Number of late records per operator."""
    known: set[int] = field(default_factory=set)
    """The operators with a known ``late``."""
    dropped: Counter[int] = field(default_factory=Counter)
    """Per operator the late records that were only counted."""
    aside: Counter[int] = field(default_factory=Counter)
    """Per operator the late records that went to a side output."""
    counters: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Final counters of an operator: records in, records dropped."""
    sent: Counter[int] = field(default_factory=Counter)
    """Records by channel."""

    def add(self, other: LateCounts) -> None:
        """Adds the counts of another part of the keys."""
        self.late += other.late
        self.known |= other.known
        self.dropped += other.dropped
        self.aside += other.aside
        self.counters |= other.counters
        self.sent += other.sent

    @reads(operator_counts=("operator", "records_in", "records_dropped"))
    def add_counters(self, facts: Slice) -> None:
        """Stores the first counters of each operator, of any kind."""
        for operator, records_in, dropped in facts.of("operator_counts").tuples(
            ("operator", "records_in", "records_dropped")
        ):
            self.counters.setdefault(operator, (records_in, dropped))

    @reads(sent_by_channel)
    def add_sent(self, facts: Slice) -> None:
        """The records on the channels of the task."""
        for channel, records in facts.once(sent_by_channel):
            self.sent[channel] += records


class LateOperator:
    """Counts the rows of an operator without a model: an interval join, or a window that is not judged."""

    def __init__(self, operator: Operator, part: KeyPart | None) -> None:
        self.operator = operator.operator
        self.is_join = operator.kind == "interval_join"
        self.intakes = 0
        self.late = 0
        """Number of records below the watermark, for a join (rule 10.35)."""
        self.dropped = [0, 0]
        """Late records that were only counted, and those for the side output."""
        self._part = part

    @reads(window_intake=("operator", "key", "timestamp", "watermark"), late_drop=("operator", "key", "side_output"))
    def feed(self, facts: Slice) -> None:
        rows = facts.of("window_intake")
        if len(rows):
            mask = rows_of(rows, self.operator, self._part)
            self.intakes += int(np.count_nonzero(mask))
            if self.is_join:
                late = mask & (rows.column("timestamp") < rows.column("watermark"))
                self.late += int(np.count_nonzero(late))
        rows = facts.of("late_drop")
        if len(rows):
            mask = rows_of(rows, self.operator, self._part)
            aside = int(np.count_nonzero(mask & (rows.column("side_output") != 0)))
            self.dropped[0] += int(np.count_nonzero(mask)) - aside
            self.dropped[1] += aside


def compare_late_counts(graph: JobGraph, answers: Mapping[int, object], whole: bool, found: Findings) -> None:
    """The number of dropped records equals that of late records; each is counted or reaches the readers of the side
    output.
    """
    for operator in graph.operators:
        for task in graph.tasks_of(operator.vertex) if operator.kind in LATE_KINDS else ():
            counts = answers.get(task.task)
            if isinstance(counts, LateCounts):
                _compare(graph, task, operator, counts, whole, found)


def _compare(graph: JobGraph, task: Task, operator: Operator, counts: LateCounts, whole: bool, found: Findings) -> None:
    number, at = operator.operator, (task.task, operator.operator)
    late, dropped, aside = counts.late[number], counts.dropped[number], counts.aside[number]
    where = {"task": task.task, "operator": number, "name": operator.name}
    if number in counts.known and abs(late - dropped - aside) > (0 if whole else 1):
        what = compared(dropped + aside, late, "records were dropped than were late")
        found.broken(what, at, late=late, drops=dropped + aside, **where)
    counters = counts.counters.get(number)
    if counters is not None and counters[1] != dropped:
        what = compared(counters[1], dropped, "records were counted as dropped than were dropped")
        found.broken(what, at, counter=counters[1], drops=dropped, **where)
    read = _read_aside(graph, task, operator, counts)
    if read is not None and read < aside - (counters is None):
        found.broken(
            "fewer records were read from the side output than were dropped into it",
            at,
            read=read,
            drops=aside,
            **where,
        )


def _read_aside(graph: JobGraph, task: Task, operator: Operator, counts: LateCounts) -> int | None:
    """The counts of the readers of late side outputs; None if one has no reader, or a reader has no counters."""
    tags = operator.params.get("late_tags")
    total = 0
    for tag in tags if isinstance(tags, list) else ():
        readers: list[int] = []
        for after in graph.operators:
            if (after.vertex, after.input_operator, after.input_tag) == (task.vertex, operator.operator, tag):
                if after.operator not in counts.counters:
                    return None
                readers.append(counts.counters[after.operator][0])
        for edge in graph.edges.values():
            if (edge.source_vertex, edge.source_operator, edge.side_output) == (task.vertex, operator.operator, tag):
                sent = [
                    counts.sent[channel.channel] for channel in graph.sent_by(task.task) if channel.edge == edge.edge
                ]
                readers += sent if edge.partitioner == "BROADCAST" else [sum(sent)]
        if not readers:
            return None
        total += min(readers)
    return total if tags else None

"""The equations of law conservation, evaluated for one task."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from flowsim.laws.job_graph import Edge, JobGraph, Operator, Task
from flowsim.laws.law import Findings
from flowsim.laws.tasks.chains import outputs

_AT_THE_END = 2**63 - 1


class Counts(NamedTuple):
    """The counters that an operator wrote at its end."""

    records_in: int
    records_out: int
    records_side: int
    records_dropped: int


@dataclass(slots=True)
class Tally:
    """The facts of one task that the equations name, counted; by operator where nothing else is said."""

    counts: dict[int, Counts] = field(default_factory=dict)
    """The first counters."""
    rows: dict[int, int] = field(default_factory=dict)
    """How often the counters were written."""
    finished: bool = False
    sent: dict[int, int] = field(default_factory=dict)
    """Records by channel."""
    received: int = 0
    """Records that the task received."""
    intakes: dict[int, int] = field(default_factory=dict)
    dropped: dict[int, int] = field(default_factory=dict)
    """Late records that went to no side output."""
    asynchronous: dict[int, tuple[int, int]] = field(default_factory=dict)
    """The records put that do not come from a snapshot, and the results emitted."""


class Equations:
    """Compares the counters of a task with what was counted.

    The equations of an unfinished task may be off by the record that each of its threads has under way.
    """

    def __init__(self, graph: JobGraph, task: Task, chain: list[Operator], tally: Tally, found: Findings) -> None:
        self._task = task
        self._chain = chain
        self._tally = tally
        self._found = found
        self._edges = graph.once(_edges_by_operator)
        self._channels: dict[int, list[int]] = {}
        for channel in graph.once(outputs)[task.task]:
            self._channels.setdefault(channel.edge, []).append(channel.channel)
        # The loop, or that, timers and the emitters of legacy operators (rule 11.30).
        emitters = sum(operator.params.get("design") == "legacy" for operator in chain)
        self._slack = 0 if tally.finished else 2 + emitters if emitters else 1

    def evaluate(self, operator: Operator, whole: bool) -> None:
        """Every equation of one operator."""
        rows = self._tally.rows.get(operator.operator, 0)
        if rows > 1 or (whole and rows == 0):
            self._broken(operator, "counters written other than once", rows, 1)
        counts = self._tally.counts.get(operator.operator)
        if counts is not None:
            self._kind(operator, counts)
            self._inputs(operator, counts)
            self._outputs(operator, counts)

    def _equal(self, operator: Operator, what: str, found: int, expected: int) -> None:
        if abs(found - expected) > self._slack:
            self._broken(operator, what, found, expected)

    def _broken(self, operator: Operator, what: str, found: int, expected: int) -> None:
        task = self._task.task
        self._found.broken(what, (task, _AT_THE_END, operator.operator), task=task, operator=operator.operator,
                           name=operator.name, counted=found, expected=expected)  # fmt: skip

    def _kind(self, operator: Operator, counts: Counts) -> None:
        records_in, records_out, _, dropped = counts
        match operator.kind:
            case "source" | "map":
                self._equal(operator, f"{operator.kind}: out = in", records_out, records_in)
            case "filter":
                self._equal(operator, "filter: in = out + dropped", records_in, records_out + dropped)
            case "sink":
                self._equal(operator, "sink: out = 0", records_out, 0)
            case "window":
                intakes, late = (of.get(operator.operator, 0) for of in (self._tally.intakes, self._tally.dropped))
                self._equal(operator, "window: in = intake", records_in, intakes)
                self._equal(operator, "window: dropped = late", dropped, late)
            case "async_wait":
                put, emitted = self._tally.asynchronous.get(operator.operator, (0, 0))
                self._equal(operator, "async_wait: in = put", records_in, put)
                if records_out < emitted or (self._tally.finished and records_out != emitted):
                    self._broken(operator, "async_wait: out = results emitted", records_out, emitted)

    def _inputs(self, operator: Operator, counts: Counts) -> None:
        if operator.input_operator < 0:
            if operator.kind != "source":
                self._equal(operator, "in = received by the task", counts.records_in, self._tally.received)
        elif not operator.input_tag:
            before = self._tally.counts.get(operator.input_operator)
            if before is not None:
                self._equal(operator, "in = out of the operator before", counts.records_in, before.records_out)

    def _outputs(self, operator: Operator, counts: Counts) -> None:
        by_tag: dict[str, list[int | None]] = {}
        for after in self._chain:
            if after.input_operator == operator.operator and after.input_tag:
                read = self._tally.counts.get(after.operator)
                by_tag.setdefault(after.input_tag, []).append(None if read is None else read.records_in)
        for edge in self._edges.get((operator.vertex, operator.operator), ()):
            if edge.side_output:
                by_tag.setdefault(edge.side_output, []).extend(self._sent(edge))
                continue
            for records in self._sent(edge):
                self._equal(operator, f"sent over edge {edge.edge} = out", records, counts.records_out)
        if by_tag:
            self._side_outputs(operator, by_tag, counts.records_side)

    def _side_outputs(self, operator: Operator, by_tag: dict[str, list[int | None]], records_side: int) -> None:
        read_in_all, all_known = 0, True
        for tag, readers in by_tag.items():
            known = [records for records in readers if records is not None]
            if len(known) < len(readers):
                all_known = False
                continue
            self._equal(operator, f"readers of side output {tag} agree", min(known), max(known))
            read_in_all += max(known)
        if all_known:
            self._equal(operator, "read from side outputs = side", read_in_all, records_side)

    def _sent(self, edge: Edge) -> list[int]:
        sent = [self._tally.sent.get(channel, 0) for channel in self._channels.get(edge.edge, ())]
        return sent if edge.partitioner == "BROADCAST" else [sum(sent)]


def _edges_by_operator(graph: JobGraph) -> dict[tuple[int, int], list[Edge]]:
    """By job vertex and operator the edges that it feeds."""
    found: dict[tuple[int, int], list[Edge]] = {}
    for edge in graph.edges.values():
        found.setdefault((edge.source_vertex, edge.source_operator), []).append(edge)
    return found

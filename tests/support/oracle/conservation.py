"""Law conservation: the counters of operators, channels and windows agree."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from flowsim.facts.kinds import AsyncAction, ElementKind, LifeEvent
from flowsim.laws.job_graph import Edge, JobGraph, Operator, Task
from tests.support.oracle.async_wait.places import async_facts
from tests.support.oracle.catalogue import Outcome
from tests.support.oracle.event_time_paths import EventTimePaths
from tests.support.oracle.facts import Facts, Findings

Place = tuple[int, int]
"""Task and operator."""


class Counts(NamedTuple):
    """Final counters of one operator of one subtask."""

    records_in: int
    records_out: int
    records_side: int
    records_dropped: int


@dataclass(slots=True)
class _Tally:
    """The facts that the equations speak of, counted once."""

    counts: dict[Place, Counts] = field(default_factory=dict)
    count_rows: dict[Place, int] = field(default_factory=dict)
    finished: set[int] = field(default_factory=set)
    sent: dict[Place, int] = field(default_factory=dict)
    """RECORD rows by task and channel."""
    received: dict[int, int] = field(default_factory=dict)
    """RECORD rows by receiving task."""
    intakes: dict[Place, int] = field(default_factory=dict)
    dropped: dict[Place, int] = field(default_factory=dict)
    """Late rows without a side output."""
    asked: dict[Place, tuple[int, int]] = field(default_factory=dict)
    """Of async operators the records put, but not from a snapshot, and the results emitted."""
    examined: int = 0


def conservation(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Evaluates every equation of the law; those of unfinished tasks may be off by the record under way in each thread."""
    tally = _tally(facts, graph)
    judge = _Judge(Findings(tally.examined), tally, graph)
    by_vertex: dict[int, list[Operator]] = {}
    for operator in graph.operators:
        by_vertex.setdefault(operator.vertex, []).append(operator)
    for task in graph.tasks.values():
        for operator in by_vertex.get(task.vertex, ()):
            judge.presence(task, operator, whole)
            judge.kind(task, operator)
            judge.inputs(task, operator)
            judge.outputs(task, operator, by_vertex[task.vertex])
    reason = "" if tally.examined or whole else "the run did not reach its end: no operator had written its counters"
    return judge.findings.outcome("conservation", reason)


class _Judge:
    """Holds each equation against the tally."""

    def __init__(self, findings: Findings, tally: _Tally, graph: JobGraph) -> None:
        self.findings = findings
        self.tally = tally
        self.graph = graph
        self.threads = {task.vertex: 1 for task in graph.tasks.values()}
        """By vertex, who works for a task: its loop, or that, timers and emitters; each may have a record under way (11.30)."""
        for vertex, emitters in Counter(
            one.vertex for one in graph.operators if one.params.get("design") == "legacy"
        ).items():
            self.threads[vertex] = 2 + emitters
        self.channels: dict[Place, list[int]] = {}
        for channel in graph.channels.values():
            self.channels.setdefault((channel.edge, channel.source_task), []).append(channel.channel)

    def equal(self, task: Task, operator: Operator, what: str, left: int, right: int) -> None:
        slack = 0 if task.task in self.tally.finished else self.threads[task.vertex]
        if abs(left - right) > slack:
            self.broken(task, operator, what, left, right)

    def broken(self, task: Task, operator: Operator, what: str, left: int, right: int) -> None:
        self.findings.broken(
            what, task=task.task, operator=operator.operator, name=operator.name, counted=left, expected=right
        )

    def presence(self, task: Task, operator: Operator, whole: bool) -> None:
        rows = self.tally.count_rows.get((task.task, operator.operator), 0)
        if rows > 1 or (whole and rows == 0):
            self.findings.broken(
                "the counters of an operator were not written exactly once",
                task=task.task,
                operator=operator.operator,
                name=operator.name,
                rows=rows,
            )

    def kind(self, task: Task, operator: Operator) -> None:
        place = (task.task, operator.operator)
        counts = self.tally.counts.get(place)
        if counts is None:
            return
        records_in, records_out, _, dropped = counts
        match operator.kind:
            case "source" | "watermarks" if _allows_missing(operator):
                what = f"{operator.kind}: in = out + without timestamp"
                self.equal(task, operator, what, records_in, records_out + dropped)
            case "source" | "watermarks" | "map":
                self.equal(task, operator, f"{operator.kind}: out = in", records_out, records_in)
            case "filter":
                self.equal(task, operator, "filter: in = out + dropped", records_in, records_out + dropped)
            case "sink" if not operator.params.get("commits"):
                self.equal(task, operator, "sink: out = 0", records_out, 0)
            case "window":
                self.equal(task, operator, "window: in = intake", records_in, self.tally.intakes.get(place, 0))
                self.equal(task, operator, "window: dropped = late", dropped, self.tally.dropped.get(place, 0))
            case "async_wait":
                put, emitted = self.tally.asked.get(place, (0, 0))
                self.equal(task, operator, "async_wait: in = put", records_in, put)
                finished = task.task in self.tally.finished
                if records_out < emitted or (finished and records_out != emitted):
                    self.broken(task, operator, "async_wait: out = results emitted", records_out, emitted)

    def inputs(self, task: Task, operator: Operator) -> None:
        counts = self.tally.counts.get((task.task, operator.operator))
        if counts is None:
            return
        if operator.input_operator < 0:
            if operator.kind != "source":
                received = self.tally.received.get(task.task, 0)
                self.equal(task, operator, "in = received by the task", counts.records_in, received)
        elif not operator.input_tag:
            before = self.tally.counts.get((task.task, operator.input_operator))
            if before is not None:
                self.equal(task, operator, "in = out of the operator before", counts.records_in, before.records_out)

    def outputs(self, task: Task, operator: Operator, chain: list[Operator]) -> None:
        counts = self.tally.counts.get((task.task, operator.operator))
        if counts is None:
            return
        by_tag: dict[str, list[int | None]] = {}
        for after in chain:
            if after.input_operator == operator.operator and after.input_tag:
                read = self.tally.counts.get((task.task, after.operator))
                by_tag.setdefault(after.input_tag, []).append(None if read is None else read.records_in)
        for edge in self.graph.edges.values():
            if (edge.source_vertex, edge.source_operator) != (task.vertex, operator.operator):
                continue
            sent = self._sent(edge, task)
            if edge.side_output:
                by_tag.setdefault(edge.side_output, []).extend(sent)
                continue
            for records in sent:
                self.equal(task, operator, f"sent over edge {edge.edge} = out", records, counts.records_out)
        self._side_outputs(task, operator, by_tag, counts.records_side)
        if by_tag and _allows_missing(operator) == "output":
            self.equal(task, operator, "without timestamp = side", counts.records_dropped, counts.records_side)

    def _side_outputs(
        self, task: Task, operator: Operator, by_tag: dict[str, list[int | None]], records_side: int
    ) -> None:
        read_in_all, all_known = 0, bool(by_tag)
        for tag, readers in by_tag.items():
            known = [records for records in readers if records is not None]
            if len(known) < len(readers):
                all_known = False
                continue
            self.equal(task, operator, f"readers of side output {tag} agree", min(known), max(known))
            read_in_all += max(known)
        if all_known:
            self.equal(task, operator, "read from side outputs = side", read_in_all, records_side)

    def _sent(self, edge: Edge, task: Task) -> list[int]:
        sent = [
            self.tally.sent.get((task.task, channel), 0) for channel in self.channels.get((edge.edge, task.task), ())
        ]
        return sent if edge.partitioner == "BROADCAST" else [sum(sent)]


def _allows_missing(operator: Operator) -> str:
    """What the strategy does with records without a timestamp; '' if the job fails."""
    strategy = operator.params.get("watermarks")
    found = strategy.get("missing_timestamp", "") if isinstance(strategy, dict) else ""
    return str(found)


def _open_channels(graph: JobGraph) -> dict[Place, set[int]]:
    """By task and input its channels, of tasks behind timers that can be interrupted: FLINK-39481 loses records there."""
    paths = EventTimePaths(graph)
    behind = {
        channel.target_task
        for channel in graph.channels.values()
        if paths.holds_back(graph.edges[channel.edge].source_vertex)
    }
    inputs: dict[Place, set[int]] = {}
    for channel in graph.channels.values():
        if channel.target_task in behind:
            inputs.setdefault((channel.target_task, channel.input), set()).add(channel.channel)
    return inputs


def _tally(facts: Facts, graph: JobGraph) -> _Tally:
    tally = _Tally()
    for asked in async_facts(facts, graph).places:
        put = emitted = 0
        for step in asked.steps:
            if step.kind == ElementKind.RECORD:
                put += step.action == AsyncAction.PUT and step.seq > asked.opening
                emitted += step.rows if step.action == AsyncAction.EMIT else 0
        tally.asked[asked.task.task, asked.operator.operator] = (put, emitted)
    for _, task, operator, _, *counters in sorted(facts.rows("operator_counts")):
        tally.examined += 1
        place = (task, operator)
        tally.count_rows[place] = tally.count_rows.get(place, 0) + 1
        tally.counts.setdefault(place, Counts(*counters))
    for _, task, operator, _, event in facts.rows("lifecycle"):
        if operator == -1 and event == LifeEvent.FINISHED:
            tally.finished.add(task)
    for _, task, _, channel, _, kind, _, _, _, _ in facts.rows("sent"):
        if kind == ElementKind.RECORD:
            tally.sent[task, channel] = tally.sent.get((task, channel), 0) + 1
    open_channels = _open_channels(graph)
    for _, task, _, channel, _, kind, timestamp, _, _ in sorted(facts.rows("received")):
        about = graph.channels.get(channel)
        still_open = open_channels.get((task, -1 if about is None else about.input))
        if kind == ElementKind.END_OF_DATA and timestamp == 1 and still_open is not None:
            still_open.discard(channel)
        elif kind == ElementKind.RECORD and still_open != set():
            tally.received[task] = tally.received.get(task, 0) + 1
    for _, task, operator, *_ in facts.rows("window_intake"):
        tally.intakes[task, operator] = tally.intakes.get((task, operator), 0) + 1
    for _, task, operator, _, _, _, _, _, _, side in facts.rows("late_drop"):
        if not side:
            tally.dropped[task, operator] = tally.dropped.get((task, operator), 0) + 1
    return tally

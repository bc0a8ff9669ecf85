"""Law timers: a timer fires once, not before its time, in order and under its key, and no due timer is left (section 9)."""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Final

from flowsim.facts.kinds import ActionKind, ActionPhase, ElementKind, LifeEvent, TimeDomain, TimerAction, WaitKind
from flowsim.laws.java_key import owner_subtask
from flowsim.laws.job_graph import JobGraph
from flowsim.laws.law import Outcome
from flowsim.units import NO_TIMESTAMP, NS_PER_MS
from tests.support.oracle.event_time_paths import FREE, INPUTS, EventTimePaths, combined
from tests.support.oracle.facts import Facts, Findings, Row, not_applicable
from tests.support.oracle.routing import described_keys

LAW = "timers"
Identity = tuple[int, int, int, int]
"""Timestamp, key and window of a timer."""
_MARK, _TIMER, _FORWARDED, _ACTION, _END = range(5)
Step = tuple[int, int, Row]
"""Sequence number, what it is, and the row: (operator, watermark) of a mark, all of a timer, (watermark,) forwarded,
(time, phase, kind) of an action, (operator,) of an end: no timer of processing time fires any more."""
_BUSY: Final = 8
_REAL_TIME_NS: Final = 10**18


def timers(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Keeps the timers of every service beside the watermarks that its operator hears."""
    keyed = {edge.target_vertex for edge in graph.edges.values() if edge.partitioner == "HASH"}
    if not keyed:
        return not_applicable(LAW, "the job has no keyed edge")
    tasks = {task.task for task in graph.tasks.values() if task.vertex in keyed}
    rows = facts.rows("timers")
    marks = sum(row[1] in tasks and row[4] == ElementKind.WATERMARK for row in facts.rows("task_watermark"))
    ends = sum(row[1] in tasks and row[4] == LifeEvent.FINISHED for row in facts.rows("lifecycle"))
    findings = Findings(len(rows) + marks + ends)
    _judge_keys(findings, facts, graph, tasks)
    for task, steps in sorted(_steps(facts, graph).items()):
        if task not in tasks:
            continue
        _Task(findings, graph, task).replay(sorted(steps), whole)
    return findings.outcome(LAW)


def _judge_keys(findings: Findings, facts: Facts, graph: JobGraph, tasks: set[int]) -> None:
    """A timer lives where its key group does (rules 1.18, 1.19, 9.1); without keyed inputs there is none (rule 9.17)."""
    keys = described_keys(facts)
    right: dict[tuple[int, int, int], bool] = {}
    for row in facts.rows("timers"):
        seq, task, operator, key_hash, key = row[0], row[1], row[2], row[7], row[8]
        fits = right.get((task, key, key_hash))
        if fits is None:
            known, place = keys.get((task, key)), graph.tasks.get(task)
            fits = task in tasks and known is not None and known[0] == key_hash and known[0] == known[1]
            if fits and place is not None:
                fits = owner_subtask(key_hash, place.parallelism, place.max_parallelism) == place.subtask
            right[task, key, key_hash] = fits
        if not fits:
            findings.broken(
                "the key of a timer belongs to another subtask", task=task, operator=operator, seq=seq, key=key
            )


def _steps(facts: Facts, graph: JobGraph) -> dict[int, list[Step]]:
    """Of every task with timers: what reaches its operators, what its timers do, what it sends on."""
    steps: dict[int, list[Step]] = {}
    for row in facts.rows("timers"):
        steps.setdefault(row[1], []).append((row[0], _TIMER, row))
    arrived: dict[int, list[Row]] = {}
    for seq, task, _, index, kind, value in facts.rows("task_watermark"):
        if task in steps:
            arrived.setdefault(task, []).append((seq, index, kind, value))
    for task, rows in arrived.items():
        inputs = graph.tasks[task].inputs if task in graph.tasks else 1
        for seq, reported in combined(sorted(rows), inputs):
            steps[task] += [(seq, _MARK, (INPUTS, at)) for what, at in reported if what == ElementKind.WATERMARK]
    for seq, task, operator, _, split, kind, value, _, _ in facts.rows("generated_watermark"):
        if task in steps and split == -1 and kind == ElementKind.WATERMARK:
            steps[task].append((seq, _MARK, (operator, value)))
    for seq, task, _, _, _, kind, drain, *_ in facts.rows("received"):
        if task in steps and kind == ElementKind.END_OF_DATA and not drain:
            steps[task].append((seq, _END, (-1,)))
    for seq, task, operator, _, event in facts.rows("lifecycle"):
        if task in steps and event in _ENDS:
            steps[task].append((seq, _END, (operator,)))
    for seq, task, time_ns, phase, kind, *_ in facts.rows("actions"):
        if task in steps and time_ns < _REAL_TIME_NS:
            steps[task].append((seq, _ACTION, (time_ns, phase, kind)))
    first = _first_channels(graph)
    for seq, task, _, channel, _, kind, value, _, _, _ in facts.rows("sent"):
        if kind == ElementKind.WATERMARK and task in steps and channel in first:
            steps[task].append((seq, _FORWARDED, (value,)))
    return steps


def _first_channels(graph: JobGraph) -> set[int]:
    """One channel of each edge that carries what the inputs of its task make together."""
    paths, first = EventTimePaths(graph), set()
    for channel in graph.channels.values():
        edge = graph.edges[channel.edge]
        if not channel.subpartition and paths.origin_of_output(edge.source_vertex, edge.source_operator) == INPUTS:
            first.add(channel.channel)
    return first


_ENDS: Final = (
    LifeEvent.FINISH, LifeEvent.CLOSE, LifeEvent.STOP_NO_DRAIN, LifeEvent.CANCELING, LifeEvent.CANCELED, LifeEvent.FAILED,
)  # fmt: skip


@dataclass(slots=True)
class _Service:
    """The timers of one service that wait, and the watermarks of its operator."""

    origin: int
    head: bool
    spread: bool
    live: dict[int, dict[Identity, int]] = field(default_factory=lambda: {domain: {} for domain in TimeDomain})
    """Per domain, with the sequence number of the registration."""
    queues: dict[int, list[tuple[Identity, int]]] = field(default_factory=lambda: {domain: [] for domain in TimeDomain})
    watermark: int = NO_TIMESTAMP
    heard: int = -1
    """Sequence number of the row that brought ``watermark``."""
    has_ended: bool = False
    removed: int = -1
    """The last row that took out a timer of processing time."""

    def register(self, domain: int, identity: Identity, seq: int) -> bool:
        fresh = identity not in self.live[domain]
        if fresh:
            self.live[domain][identity] = seq
            heappush(self.queues[domain], (identity, seq))
        return fresh

    def earliest(self, domain: int) -> int | None:
        """The least timestamp that waits."""
        queue, live = self.queues[domain], self.live[domain]
        while queue and live.get(queue[0][0]) != queue[0][1]:
            heappop(queue)
        return queue[0][0][0] if queue else None

    def take_due(self, watermark: int, before: float) -> list[Identity]:
        """Takes out the event-time timers up to ``watermark`` that were registered before a row."""
        queue, live = self.queues[TimeDomain.EVENT_TIME], self.live[TimeDomain.EVENT_TIME]
        due, kept = [], []
        while queue and queue[0][0][0] <= watermark:
            identity, seq = heappop(queue)
            if live.get(identity) != seq:
                continue
            if seq < before:
                due.append(identity)
                del live[identity]
            else:
                kept.append((identity, seq))
        for entry in kept:
            heappush(queue, entry)
        return due


_FOREVER: Final = float("inf")


class _Task:
    """Replays one task."""

    def __init__(self, findings: Findings, graph: JobGraph, task: int) -> None:
        self.findings = findings
        self.task = task
        self.paths = EventTimePaths(graph)
        self.vertex = graph.tasks[task].vertex if task in graph.tasks else -1
        self.services: dict[tuple[int, int], _Service] = {}
        self.marks: dict[int, tuple[int, int]] = {}
        self.depth = 0
        self.since = 0
        """When the last wait of the loop began."""
        self.begun: list[tuple[int, int]] = []
        """Sequence number and time of each default action."""

    def _act(self, seq: int, time_ns: int, phase: int, kind: int) -> None:
        """A loop that waited has run every mail; one that works runs a mail after a few default actions."""
        if phase == ActionPhase.BEGIN and kind == ActionKind.DEFAULT_ACTION:
            self.begun.append((seq, time_ns))
            if len(self.begun) >= _BUSY:
                first, began_ns = self.begun[-_BUSY]
                self._overdue(first, began_ns, works=True)
        self.depth += {ActionPhase.BEGIN: 1, ActionPhase.END: -1}.get(ActionPhase(phase), 0)
        if kind == WaitKind.MAIL and phase in (ActionPhase.WAIT, ActionPhase.RESUME) and not self.depth:
            if phase == ActionPhase.RESUME and time_ns > self.since:
                self._overdue(seq, time_ns, works=False)
            self.since = time_ns

    def _overdue(self, seq: int, time_ns: int, works: bool) -> None:
        for place, service in sorted(self.services.items()):
            live = service.live[TimeDomain.PROCESSING_TIME]
            if service.has_ended or (works and service.removed >= seq):
                continue
            due = [timer for timer, at in live.items() if (timer[0] + 2) * NS_PER_MS <= time_ns and at < seq]
            for timer in due:
                del live[timer]
            self._left(place, due, NO_TIMESTAMP)

    def replay(self, steps: list[Step], whole: bool) -> None:
        for seq, what, row in steps:
            if what == _TIMER:
                self._timer(row)
            elif what == _MARK:
                self._mark(seq, row[0], row[1])
            elif what == _ACTION:
                self._act(seq, *row)
            elif what == _END:
                for (operator, _), service in self.services.items():
                    service.has_ended |= row[0] in (operator, -1)
            else:
                for place, service in sorted(self.services.items()):
                    if service.head and service.origin == INPUTS:
                        self._left(place, service.take_due(row[0], _FOREVER), row[0])
        for place, service in sorted(self.services.items()) if whole else ():
            self._left(place, service.take_due(service.watermark, service.heard), service.watermark)

    def _service(self, operator: int, number: int) -> _Service:
        service = self.services.get((operator, number))
        if service is None:
            described = self.paths.operator(self.vertex, operator)
            head = described is not None and described.input_operator < 0
            origin = self.paths.origin_of_input(self.vertex, operator)
            if self.paths.keeps_back(self.vertex, origin):
                origin = FREE
            service = _Service(origin, head, described is not None and self.paths.holds_back(self.vertex))
            service.watermark, service.heard = self.marks.get(origin, (NO_TIMESTAMP, -1))
            self.services[operator, number] = service
        return service

    def _mark(self, seq: int, origin: int, watermark: int) -> None:
        """What was due at the watermark before has fired before the next one comes (rule 9.4)."""
        self.marks[origin] = (watermark, seq)
        for place, service in sorted(self.services.items()):
            if service.origin == origin:
                if not service.spread:
                    self._left(place, service.take_due(service.watermark, service.heard), service.watermark)
                service.watermark, service.heard = watermark, seq

    def _left(self, place: tuple[int, int], due: list[Identity], watermark: int) -> None:
        for timestamp, key, start, end in due:
            self.findings.broken(
                "a due timer did not fire", task=self.task, operator=place[0], service=place[1], timestamp=timestamp, key=key,
                window_start=start, window_end=end, watermark=watermark,
            )  # fmt: skip

    def _timer(self, row: Row) -> None:
        seq, _, operator, time_ns, action, domain, timestamp, _, key, start, watermark, end, number = row
        service = self._service(operator, number)
        identity = (timestamp, key, start, end)
        wrong = ""
        if action == TimerAction.REGISTER:
            wrong = "" if service.register(domain, identity, seq) else "registered although it waits"
        else:
            if domain == TimeDomain.PROCESSING_TIME:
                service.removed = seq
            if service.live[domain].pop(identity, None) is None:
                wrong = "does not wait"
            if action == TimerAction.FIRE and not wrong:
                wrong = self._untimely(service, domain, timestamp, time_ns)
        if not wrong and service.origin != FREE:
            differs = watermark > service.watermark if service.spread else watermark != service.watermark
            wrong = "the recorded watermark is not the watermark of the operator" if differs else ""
        if wrong:
            self.findings.broken(
                wrong, task=self.task, operator=operator, service=number, seq=seq, action=TimerAction(action),
                domain=TimeDomain(domain), timestamp=timestamp, key=key, watermark=watermark, time_ns=time_ns,
            )  # fmt: skip

    def _untimely(self, service: _Service, domain: int, timestamp: int, time_ns: int) -> str:
        earliest = service.earliest(domain)
        if earliest is not None and earliest < timestamp:
            return "before one of an earlier time"
        if domain == TimeDomain.PROCESSING_TIME:
            return "before its time" if time_ns // NS_PER_MS <= timestamp else ""
        return "before its time" if service.origin != FREE and timestamp > service.watermark else ""

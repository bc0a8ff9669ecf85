"""Law idle: an idle task emits nothing, and is idle exactly when its inputs, or its strategy, are (rules 5.8, 8.4, 8.16)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping

from flowsim.facts.kinds import ElementKind, LifeEvent
from flowsim.laws.job_graph import JobGraph
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP, NS_PER_MS
from tests.support.oracle.catalogue import Outcome
from tests.support.oracle.event_time_paths import FREE, Cause, EventTimePaths, emissions
from tests.support.oracle.facts import Facts, Findings, not_applicable
from tests.support.oracle.task_watermarks import Sent, sent_event_time
from tests.support.oracle.valve_model import ACTIVE, IDLE

LAW = "idle"
_STRAIGHT = ("map", "filter", "flat_map")
"""Kinds of operators that emit while they take a record in, and at no other time."""
_TIMED = ("bounded", "monotonous", "none")
"""Kinds of strategies that are idle only by their timeout."""


def idle(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Follows the status of every channel, and of every strategy."""
    if not graph.channels:
        return not_applicable(LAW, "the job has no channels")
    sent = sent_event_time(facts)
    made: dict[tuple[int, int], list[tuple[int, int, int, int]]] = {}
    first_split_row: dict[tuple[int, int], int] = {}
    for seq, task, operator, time_ns, split, kind, timestamp, _, _ in facts.rows("generated_watermark"):
        if split == -1:
            made.setdefault((task, operator), []).append((seq, kind, timestamp, time_ns))
        else:
            first_split_row[task, operator] = min(seq, first_split_row.get((task, operator), seq))
    findings = Findings(sum(map(len, sent.values())) + sum(map(len, made.values())))
    paths, called_for = EventTimePaths(graph), emissions(facts, graph)
    for task, origins in sorted(paths.channels_by_origin().items()):
        for origin, channels in sorted(origins.items()):
            statuses = paths.origin_of_statuses(graph.tasks[task].vertex, origin)
            changes = None if statuses == FREE else _changes(called_for.get((task, statuses), []))
            for channel in channels:
                _judge_channel(findings, sent.get(channel, []), changes, whole, {"task": task, "channel": channel})
    timeouts = _Timeouts(facts, graph, paths, set(made), first_split_row)
    for place, rows in sorted(made.items()):
        _judge_strategy(findings, place, sorted(rows), timeouts)
    return findings.outcome(LAW)


def _changes(causes: list[Cause]) -> list[tuple[int, int]]:
    """When the output's status changes, and to what."""
    return [(seq, value) for seq, reported in causes for kind, value in reported if kind == ElementKind.STATUS]


def _judge_channel(
    findings: Findings, rows: list[Sent], changes: list[tuple[int, int]] | None, whole: bool, place: dict[str, int]
) -> None:
    """``changes``: the statuses that the channel must have; None where no facts say that."""
    statuses = [row for row in rows if row[1] == ElementKind.STATUS]
    for seq, kind, value in rows:
        before = [status for at, _, status in statuses if at < seq][-1:] or [ACTIVE]
        if kind == ElementKind.WATERMARK and before == [IDLE]:
            findings.broken("a watermark is sent while idle", seq=seq, timestamp=value, **place)
        if kind == ElementKind.STATUS and changes is None and before == [value]:
            findings.broken("a status equals the previous one", seq=seq, status=_name(value), **place)
    if changes is None:
        return
    begins = [-1, *(seq for seq, _ in changes)]
    called_for = [[], *([value] for _, value in changes)]
    for number, begin in enumerate(begins):
        end = begins[number + 1] if number + 1 < len(begins) else MAX_WATERMARK
        left = list(called_for[number])
        for seq, _, value in statuses:
            if not begin <= seq < end:
                continue
            if left == [value]:
                left = []
            else:
                findings.broken("not what all its inputs are", seq=seq, status=_name(value), **place)
        if left and (whole or number < len(begins) - 1):
            findings.broken("a change is not sent", seq=begin, status=_name(left[0]), **place)


def _judge_strategy(
    findings: Findings, place: tuple[int, int], rows: list[tuple[int, int, int, int]], timeouts: _Timeouts
) -> None:
    status = ACTIVE
    for seq, kind, value, time_ns in rows:
        wrong = ""
        if kind == ElementKind.WATERMARK:
            wrong = "speaks while idle" if status == IDLE else ""
        else:
            if value == status:
                wrong = "a status equals the previous one"
            elif value == IDLE and timeouts.too_early(place, seq, time_ns):
                wrong = "idle before the timeout has passed"
            status = value
        if wrong:
            findings.broken(wrong, task=place[0], operator=place[1], seq=seq, time_ns=time_ns)


class _Timeouts:
    """When each strategy with a timeout was last heard of, as far as what it gave out tells (rule 8.4)."""

    def __init__(
        self, facts: Facts, graph: JobGraph, paths: EventTimePaths, judged: set[tuple[int, int]],
        first_split_row: Mapping[tuple[int, int], int],
    ) -> None:  # fmt: skip
        self._first_split_row = first_split_row
        self._idle_ms: dict[tuple[int, int], int] = {}
        self._heard: dict[tuple[int, int], tuple[list[int], list[int]]] = {}
        for task, operator in judged:
            described = paths.operator(graph.tasks[task].vertex, operator) if task in graph.tasks else None
            strategy = described.params.get("watermarks") if described is not None else None
            if isinstance(strategy, Mapping) and strategy.get("kind") in _TIMED:
                idle_ms = strategy.get("idle_ms")
                if isinstance(idle_ms, int):
                    self._idle_ms[task, operator] = idle_ms
        if not self._idle_ms:
            return
        watched = self._watched(graph, paths)
        heard: dict[tuple[int, int], list[tuple[int, int]]] = {place: [] for place in self._idle_ms}
        for seq, task, _, time_ns, event in facts.rows("lifecycle"):
            if event == LifeEvent.RUNNING:
                for place in [place for place in heard if place[0] == task]:
                    heard[place].append((seq, time_ns))
        for seq, _, time_ns, channel, _, kind, _, _, _, _ in facts.rows("sent"):
            if kind == ElementKind.RECORD and channel in watched:
                heard[watched[channel]].append((seq, time_ns))
        for place, moments in heard.items():
            latest, so_far = NO_TIMESTAMP, []
            moments.sort()
            for _, time_ns in moments:
                latest = max(latest, time_ns)
                so_far.append(latest)
            self._heard[place] = ([seq for seq, _ in moments], so_far)

    def _watched(self, graph: JobGraph, paths: EventTimePaths) -> dict[int, tuple[int, int]]:
        """The channels that carry what a strategy saw, perhaps not all of it."""
        watched: dict[int, tuple[int, int]] = {}
        for channel in graph.channels.values():
            edge = graph.edges[channel.edge]
            operator = None if edge.side_output else paths.operator(edge.source_vertex, edge.source_operator)
            while operator is not None and operator.kind in _STRAIGHT and not operator.input_tag:
                operator = paths.feeder(operator)
            if operator is not None and (channel.source_task, operator.operator) in self._idle_ms:
                watched[channel.channel] = (channel.source_task, operator.operator)
        return watched

    def too_early(self, place: tuple[int, int], seq: int, time_ns: int) -> bool:
        """Whether less than the timeout has passed since the strategy was last heard of."""
        if place not in self._idle_ms or seq > self._first_split_row.get(place, seq):
            return False
        seqs, latest = self._heard[place]
        number = bisect_left(seqs, seq)
        return number > 0 and time_ns - latest[number - 1] <= self._idle_ms[place] * NS_PER_MS


def _name(status: int) -> str:
    return "ACTIVE" if status == ACTIVE else "IDLE"

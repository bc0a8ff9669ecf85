"""Of law idle: a strategy is idle when it had no record for longer than its timeout (rules 8.4, 8.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from flowsim.facts.kinds import LifeEvent
from flowsim.laws.elements import SentBefore
from flowsim.laws.event_time.paths import ACTIVE, IDLE, WATERMARK, EventTimePaths
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Findings
from flowsim.laws.slices import Slice
from flowsim.units import NS_PER_MS

_RUNNING: Final = int(LifeEvent.RUNNING)
_COLUMNS: Final = ("seq", "operator", "split", "kind", "timestamp", "time_ns")
_STRAIGHT: Final = ("map", "filter", "flat_map")
"""Kinds of operators that emit while they process a record, and at no other time."""
_TIMED: Final = ("bounded", "monotonous", "none")
"""Kinds of strategies that are idle only by their timeout."""
Moment = tuple[int, int]
"""A sequence number and ``time_ns``."""


class IdleStrategies:
    """The statuses that the operators of one task generate."""

    def __init__(self, graph: JobGraph, task: Task, found: Findings) -> None:
        self._found = found
        self._task = task.task
        self._statuses: dict[int, int] = {}
        """By operator."""
        self._timeouts: dict[int, tuple[int, SentBefore]] = {}
        """Of operators without splits, with the records that show when they had one."""
        self._started: list[Moment] = []
        for operator, idle_ms, edges in graph.once(_timeouts_by_vertex).get(task.vertex, ()):
            outgoing = graph.once(EventTimePaths).outgoing(task.task)
            channels = [channel for channel in outgoing if graph.channels[channel].edge in edges]
            self._timeouts[operator] = idle_ms * NS_PER_MS, SentBefore(channels, outgoing, "time_ns")

    def feed(self, facts: Slice) -> None:
        """Examines one epoch."""
        idle: dict[int, list[Moment]] = {operator: [] for operator in self._timeouts}
        with_splits: set[int] = set()
        for seq, operator, split, kind, value, time_ns in facts.of("generated_watermark").tuples(_COLUMNS):
            if split != -1:
                with_splits.add(operator)
                continue
            status = self._statuses.get(operator, ACTIVE)
            if kind == WATERMARK:
                if status == IDLE:
                    self._broken("watermark while idle", operator, seq)
                continue
            if value == status:
                self._broken("no change", operator, seq)
            elif value == IDLE and operator in idle and operator not in with_splits:
                idle[operator].append((seq, time_ns))
            self._statuses[operator] = value
        if self._timeouts:
            lives = facts.of("lifecycle").tuples(("seq", "time_ns", "event"))
            self._started += [(seq, time_ns) for seq, time_ns, event in lives if event == _RUNNING]
        for operator, (timeout_ns, records) in self._timeouts.items():
            self._examine(operator, timeout_ns, idle[operator], records, facts)
        for operator in with_splits & self._timeouts.keys():
            del self._timeouts[operator]

    def _examine(
        self, operator: int, timeout_ns: int, idle: Sequence[Moment], records: SentBefore, facts: Slice
    ) -> None:
        before = records.before(facts, [seq for seq, _ in idle])
        for (seq, time_ns), (_, last_record) in zip(idle, before, strict=True):
            last = max([last_record, *(at for start, at in self._started if start < seq)])
            if time_ns - last <= timeout_ns:
                shown = {"time_ns": time_ns, "last_record_ns": last, "timeout_ns": timeout_ns}
                self._broken("idle before the timeout has passed", operator, seq, **shown)

    def _broken(self, what: str, operator: int, seq: int, **shown: int) -> None:
        place = {"task": self._task, "operator": operator, "seq": seq}
        self._found.broken(what, (self._task, seq), **place, **shown)


def _timeouts_by_vertex(graph: JobGraph) -> dict[int, list[tuple[int, int, set[int]]]]:
    """Operators with a timeout in ms, and the edges that carry their records, perhaps not all of them."""
    paths = graph.once(EventTimePaths)
    edges: dict[tuple[int, int], set[int]] = {}
    for edge in graph.edges.values():
        operator = paths.behind(edge, lambda operator: operator.kind in _STRAIGHT)
        if operator is not None:
            edges.setdefault((operator.vertex, operator.operator), set()).add(edge.edge)
    found: dict[int, list[tuple[int, int, set[int]]]] = {}
    for operator in graph.operators:
        strategy = operator.params.get("watermarks")
        if not isinstance(strategy, Mapping) or strategy.get("kind") not in _TIMED:
            continue
        idle_ms = strategy.get("idle_ms")
        if isinstance(idle_ms, int):
            carried = edges.get((operator.vertex, operator.operator), set())
            found.setdefault(operator.vertex, []).append((operator.operator, idle_ms, carried))
    return found

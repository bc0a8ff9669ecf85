"""Of law idle: a strategy is idle when it had no record for longer than its timeout (rules 8.4, 8.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from flowsim.facts.kinds import LifeEvent
from flowsim.laws.elements import sent_records
from flowsim.laws.event_time.marks import Marks
from flowsim.laws.event_time.paths import ACTIVE, IDLE, WATERMARK, EventTimePaths
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Findings
from flowsim.laws.slices import Ints, Slice
from flowsim.units import NO_TIMESTAMP, NS_PER_MS

_RUNNING: Final = int(LifeEvent.RUNNING)
_STRAIGHT: Final = ("map", "filter", "flat_map")
"""Kinds of operators that emit while they process a record, and at no other time."""
_TIMED: Final = ("bounded", "monotonous", "none")
"""Kinds of strategies that are idle only by their timeout."""


class Timed(NamedTuple):
    """A strategy with a timeout, and the edges that carry its records, perhaps not all of them."""

    operator: int
    idle_ms: int
    edges: frozenset[int]


class Timeout:
    """When a strategy with a timeout had its last record, as far as the records sent show."""

    __slots__ = ("_channels", "_idle_ns", "_is_all", "_last_ns", "early")

    def __init__(self, idle_ms: int, channels: list[int], outgoing: list[int]) -> None:
        """``outgoing``: all channels of the task."""
        self._idle_ns = idle_ms * NS_PER_MS
        self._channels = channels
        self._is_all = channels == outgoing
        self._last_ns = NO_TIMESTAMP
        self.early = Findings()
        """Rows that violate the law unless the operator has splits, which may show later."""

    def feed(self, facts: Slice, idle: Sequence[tuple[int, int]], place: dict[str, int]) -> None:
        """Reads one epoch; ``idle`` says when the strategy became idle: sequence numbers and ``time_ns``."""
        begins = facts.of("lifecycle").tuples(("seq", "time_ns", "event"))
        begins = [row for row in begins if row[2] == _RUNNING]
        rows = facts.of("sent")
        seqs: Ints = np.empty(0, dtype=np.int64)
        times = seqs
        if len(rows) and self._channels:
            mask = facts.once(sent_records)
            if not self._is_all:
                mask = mask & np.isin(rows.column("channel"), self._channels)
            seqs, times = rows.column("seq")[mask], rows.column("time_ns")[mask]
        if idle:
            latest = np.maximum.accumulate(np.concatenate(([self._last_ns], times)))
            for seq, time_ns in idle:
                of_record = int(latest[np.searchsorted(seqs, seq)])
                last = max((at for before, at, _ in begins if before < seq), default=of_record)
                self._examine(seq, time_ns, max(last, of_record), place)
        if len(times):
            self._last_ns = max(self._last_ns, int(times.max()))
        for _, at, _ in begins:
            self._last_ns = max(self._last_ns, at)

    def _examine(self, seq: int, time_ns: int, last_ns: int, place: dict[str, int]) -> None:
        if time_ns - last_ns <= self._idle_ns:
            self.early.broken(
                "idle before the timeout has passed", (place["task"], seq),
                **place, seq=seq, time_ns=time_ns, last_record_ns=last_ns, timeout_ns=self._idle_ns,
            )  # fmt: skip


class StrategyStatuses:
    """The statuses that the operators of one task generate."""

    def __init__(self, graph: JobGraph, task: Task, found: Findings) -> None:
        self._found = found
        self._task = task.task
        self._idle: set[int] = set()
        self._timeouts: dict[int, Timeout] = {}
        timed = graph.once(_timed_by_vertex).get(task.vertex)
        if timed:
            origins = graph.once(EventTimePaths).channels_by_origin.get(task.task, {}).values()
            outgoing = sorted(channel for channels in origins for channel in channels)
            for operator, idle_ms, edges in timed:
                channels = [channel for channel in outgoing if graph.channels[channel].edge in edges]
                self._timeouts[operator] = Timeout(idle_ms, channels, outgoing)

    def feed(self, facts: Slice, generated: dict[int, Marks]) -> None:
        """Examines one epoch."""
        idle: dict[int, list[int]] = {}
        for operator, marks in generated.items():
            if operator in self._idle or marks.has_status():
                idle[operator] = self._examine(operator, marks)
        if not self._timeouts:
            return
        rows = facts.of("generated_watermark")
        with_splits: set[int] = set()
        if len(rows) and (of_splits := rows.column("split") != -1).any():
            with_splits.update(np.unique(rows.column("operator")[of_splits]).tolist())
        for operator in self._timeouts.keys() & with_splits:
            del self._timeouts[operator]
        for operator, timeout in self._timeouts.items():
            changes = idle.get(operator, ())
            moments = rows.tuples(("seq", "time_ns"), np.isin(rows.column("seq"), changes)) if changes else ()
            timeout.feed(facts, moments, self._place(operator))

    def _place(self, operator: int) -> dict[str, int]:
        return {"task": self._task, "operator": operator}

    def _examine(self, operator: int, marks: Marks) -> list[int]:
        """Where the strategy became idle."""
        status, found = IDLE if operator in self._idle else ACTIVE, []
        for seq, kind, value in marks.rows:
            if kind == WATERMARK:
                if status == IDLE:
                    self._broken("watermark while idle", operator, seq)
                continue
            if value == status:
                self._broken("no change", operator, seq)
            elif value == IDLE:
                found.append(seq)
            status = value
        (self._idle.add if status == IDLE else self._idle.discard)(operator)
        return found

    def _broken(self, what: str, operator: int, seq: int) -> None:
        self._found.broken(what, (self._task, seq), **self._place(operator), seq=seq)

    def end(self) -> None:
        """No operator that has a timeout had splits."""
        for timeout in self._timeouts.values():
            self._found.add(timeout.early)


def _timed_by_vertex(graph: JobGraph) -> dict[int, list[Timed]]:
    edges: dict[tuple[int, int], set[int]] = {}
    paths = graph.once(EventTimePaths)
    for edge in graph.edges.values():
        operator = paths.operator(edge.source_vertex, edge.source_operator)
        while operator is not None and operator.kind in _STRAIGHT:
            operator = paths.feeder(operator)
        if operator is not None:
            edges.setdefault((operator.vertex, operator.operator), set()).add(edge.edge)
    found: dict[int, list[Timed]] = {}
    for operator in graph.operators:
        strategy = operator.params.get("watermarks")
        if (
            isinstance(strategy, Mapping)
            and strategy.get("kind") in _TIMED
            and isinstance(strategy.get("idle_ms"), int)
        ):
            carried = frozenset(edges.get((operator.vertex, operator.operator), ()))
            found.setdefault(operator.vertex, []).append(Timed(operator.operator, strategy["idle_ms"], carried))
    return found

"""Laws in-flight-cut and in-flight-restored by their definitions, row by row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final, NamedTuple

from flowsim.facts.element_numbers import element_number
from flowsim.facts.kinds import CheckpointStep, ElementKind, LifeEvent, StoredAction
from flowsim.facts.schema import RECOVERED_FIRST
from flowsim.laws.job_graph import JobGraph
from flowsim.laws.job_history import NO_CHECKPOINT, StoredChannelEvent
from tests.support.oracle.facts import Facts, Row

Counts = tuple[int, int]
"""Rows examined, and violations."""
_LONGS: Final = 2**64
_BARRIERS: Final = (ElementKind.CHECKPOINT_BARRIER, ElementKind.UNALIGNED_BARRIER)
_WITHOUT_PLACE: Final = (ElementKind.UNALIGNED_BARRIER, ElementKind.EVENT)
Number = tuple[int, int]
"""The number of an element, and its place in the channel."""


class Sums(NamedTuple):
    """Number of elements, the sum of their numbers, and of their numbers times their places, modulo 2^64."""

    elements: int = 0
    total: int = 0
    weighted: int = 0

    @classmethod
    def of(cls, numbers: Iterable[Number]) -> Sums:
        numbers = list(numbers)
        total, weighted = sum(number for number, _ in numbers), sum(number * place for number, place in numbers)
        return cls(len(numbers), total % _LONGS, weighted % _LONGS)

    @classmethod
    def stored(cls, rows: Iterable[StoredChannelEvent]) -> Sums:
        """The sums of rows, added."""
        rows = list(rows)
        columns = [
            [row.elements for row in rows],
            [row.element_sum for row in rows],
            [row.weighted_sum for row in rows],
        ]
        elements, total, weighted = map(sum, columns)
        return cls(elements, total % _LONGS, weighted % _LONGS)


class Flow:
    """The numbers of the elements of one end of a channel, in order, each with its row."""

    def __init__(self, rows: Iterable[Row]) -> None:
        self.rows = list(rows)
        self.live: list[tuple[int, Number]] = []
        self.recovered: list[tuple[int, Number]] = []
        self.records: list[Number] = []
        events = 0
        for row in self.rows:
            seq, _, _, _, position, kind, timestamp, fingerprint, *_ = row
            if kind >= ElementKind.END_OF_DATA:
                events += kind not in _WITHOUT_PLACE
                continue
            number = element_number(kind, timestamp, fingerprint)
            if position >= 0:
                self.live.append((seq, (number, position - events)))
                continue
            self.recovered.append((seq, (number, position - RECOVERED_FIRST)))
            if kind == ElementKind.RECORD:
                self.records.append((number, 0))

    def live_before(self, seq: float) -> Sums:
        return Sums.of(number for at, number in self.live if at < seq)

    def recovered_before(self, seq: float) -> Sums:
        return Sums.of(number for at, number in self.recovered if at < seq)


def _flows(facts: Facts, table: str) -> dict[tuple[int, int], Flow]:
    """By task and channel."""
    rows: dict[tuple[int, int], list[Row]] = defaultdict(list)
    for row in sorted(facts.rows(table)):
        rows[row[1], row[3]].append(row)
    return {place: Flow(of_place) for place, of_place in rows.items()}


def _attempts(facts: Facts) -> dict[int, int]:
    """The attempt of each task that recorded something."""
    tables = ("sent", "received", "checkpoint_steps")
    return {row[1]: facts.attempt(row[1], row[0]) for table in tables for row in facts.rows(table)}


def _restored(graph: JobGraph, task: int, attempt: int) -> list[StoredChannelEvent]:
    """What the attempt starts with; of a checkpoint that was restored several times the last rows."""
    checkpoint = graph.history.restored(task, attempt)
    events = [
        event
        for event in graph.history.stored_channels
        if (event.action, event.checkpoint, event.task_id) == (StoredAction.RESTORED, checkpoint, task)
    ]
    return list({(event.edge, event.source, event.target): event for event in events}.values())


def in_flight_cut(facts: Facts, graph: JobGraph, whole: bool) -> Counts:
    """Of each channel and completed checkpoint, what is stored is what is between the cuts."""
    sent, received, attempts = _flows(facts, "sent"), _flows(facts, "received"), _attempts(facts)
    snapshots: dict[int, dict[int, int]] = defaultdict(dict)
    for seq, task, _, checkpoint, step, *_ in sorted(facts.rows("checkpoint_steps")):
        if step == CheckpointStep.SYNC_START and checkpoint in graph.history.completed:
            snapshots[task][checkpoint] = seq
    stored = {
        (event.checkpoint, event.channel): event
        for event in graph.history.stored_channels
        if event.action == StoredAction.STORED
    }
    finished = {row[1] for row in facts.rows("lifecycle") if row[4] == LifeEvent.RESTORED_AS_FINISHED}
    examined = violations = 0
    for channel in graph.channels.values():
        sender = sent.get((channel.source_task, channel.channel), Flow(()))
        receiver = received.get((channel.target_task, channel.channel), Flow(()))
        restored = _restored(graph, channel.target_task, attempts.get(channel.target_task, 0))
        for checkpoint, at in snapshots[channel.target_task].items():
            examined += 1
            barriers = [row for row in sender.rows if row[5] in _BARRIERS and row[6] == checkpoint]
            overtakes = any(row[5] == ElementKind.UNALIGNED_BARRIER for row in barriers)
            recovered = receiver.recovered_before(at)
            first = recovered
            if all(event.channel >= 0 for event in restored):
                first = Sums.stored(event for event in restored if event.channel == channel.channel)
            last = sender.live_before(barriers[0][0] if barriers else float("inf"))
            between = _behind(_without(first, recovered), _without(last, receiver.live_before(at)))
            event = stored.get((checkpoint, channel.channel))
            contained = Sums() if event is None else Sums.stored([event])
            # Rule 12.100: a sender that was restored as finished stores nothing.
            may_be_empty = not overtakes or channel.source_task in finished
            is_wrong = contained != between and not (may_be_empty and contained.elements == 0)
            violations += is_wrong or (event is not None and event.rest_bytes != 0)
    return examined, violations


def _without(both: Sums, first: Sums) -> Sums:
    """What follows a prefix, with places from 0."""
    total = both.total - first.total
    weighted = both.weighted - first.weighted - first.elements * total
    return Sums(both.elements - first.elements, total % _LONGS, weighted % _LONGS)


def _behind(first: Sums, after: Sums) -> Sums:
    weighted = first.weighted + after.weighted + first.elements * after.total
    return Sums(first.elements + after.elements, (first.total + after.total) % _LONGS, weighted % _LONGS)


def in_flight_restored(facts: Facts, graph: JobGraph, whole: bool) -> Counts:
    """Each attempt receives what it restores, before anything new on the channel."""
    received = _flows(facts, "received")
    examined = violations = 0
    for task, attempt in _attempts(facts).items():
        checkpoint = graph.history.restored(task, attempt)
        events = [] if checkpoint == NO_CHECKPOINT else _restored(graph, task, attempt)
        rescaled = {event.edge for event in events if event.channel < 0}
        flows = {channel: flow for (receiver, channel), flow in received.items() if receiver == task}
        edges = {c: graph.channels[c].edge if c in graph.channels else -1 for c in flows}
        pairs: list[tuple[Sums, Sums]] = []
        for edge in rescaled:
            records = [number for channel, flow in flows.items() if edges[channel] == edge for number in flow.records]
            pairs.append((Sums.stored(e for e in events if e.edge == edge), Sums.of(records)))
        restored = {event.channel for event in events if event.channel >= 0}
        recovered = {channel for channel, flow in flows.items() if edges[channel] not in rescaled and flow.recovered}
        for channel in restored | recovered:
            found = flows[channel].recovered_before(float("inf")) if channel in recovered else Sums()
            pairs.append((Sums.stored(event for event in events if event.channel == channel), found))
        examined += len(pairs)
        violations += sum(
            found != expected and (whole or found.elements >= expected.elements) for expected, found in pairs
        )
        for flow in flows.values():
            begin = min((seq for seq, _ in flow.live), default=float("inf"))
            violations += sum(seq > begin for seq, _ in flow.recovered)
    return examined, violations

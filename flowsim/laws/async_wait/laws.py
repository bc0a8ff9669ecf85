"""The laws of async operators, and the machine that examines them for one task."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from flowsim.facts.kinds import ElementKind, Level
from flowsim.laws.async_wait import capacity, end, once, order, retries
from flowsim.laws.async_wait.arrivals import Arrivals
from flowsim.laws.async_wait.elements import COLUMNS, Elements
from flowsim.laws.async_wait.places import (
    COMPLETE,
    EMIT,
    FAIL,
    INVOKE,
    PUT,
    RETRY,
    TIMEOUT,
    Place,
    Steps,
    is_end,
    needs_an_async_operator,
    operators_by_vertex,
)
from flowsim.laws.async_wait.readers import Channels, Reader, on_channels, readers_by_operator
from flowsim.laws.elements import sent_records
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Findings, FoundByLaw, Law
from flowsim.laws.slices import Ints, Mask, Rows, Slice

_IDS: Final = (order.ID, once.ID, capacity.ID, retries.ID, end.ID)
_RECORD: Final = int(ElementKind.RECORD)
_OF_ONCE: Final = (PUT, COMPLETE, FAIL, TIMEOUT, EMIT)


class _Examined:
    """What examines one async operator of the task."""

    __slots__ = ("_arrivals", "_capacity", "_elements", "_end", "_order", "_readers", "place")

    def __init__(self, place: Place, channels: Sequence[Channels], fed: Sequence[Place], found: FoundByLaw) -> None:
        """``channels`` and ``fed``: who reads its results, over channels and in the chain."""
        self.place = place
        self._capacity = capacity.Capacity(place, found[capacity.ID])
        self._order = order.Order(place, found[order.ID])
        self._elements = Elements(
            self._order, once.Once(place, found[once.ID]), retries.Retries(place, found[retries.ID])
        )
        self._end = end.End(place, found[end.ID])
        self._arrivals = Arrivals(place, found[order.ID]) if place.is_head else None
        self._readers: list[tuple[tuple[int, ...] | Place, Reader]] = [
            *((ids, Reader(name, place, found[once.ID])) for name, ids in channels),
            *((other, Reader(f"operator {other.number}", place, found[once.ID])) for other in fed),
        ]

    def feed(self, facts: Slice, steps: Steps | None, ends: Sequence[int]) -> None:
        """``ends``: every END_INPUT in this slice."""
        if steps is not None:
            self._capacity.feed(steps)
            self._order.feed(steps)
            self._elements.feed(steps.each(COLUMNS))
        if steps is not None or ends:
            self._end.feed(steps, ends)
        if self._arrivals is not None:
            self._arrivals.feed(facts, steps)

    def feed_readers(self, facts: Slice, by_place: dict[Place, Steps]) -> None:
        """Takes the steps of all async operators of the task, and the records that it sent."""
        steps = by_place.get(self.place)
        for source, reader in self._readers:
            if isinstance(source, Place):
                reader.feed(steps, *_records_put(source, by_place.get(source)))
            else:
                seqs, channels, fingerprints = facts.once(_records_sent)
                mask = on_channels(channels, source)
                reader.feed(steps, seqs[mask], fingerprints[mask])

    def end(self) -> None:
        self._elements.end()
        if self._arrivals is not None:
            self._arrivals.end()
        for _, reader in self._readers:
            reader.end()


def _records_sent(facts: Slice) -> tuple[Ints, Ints, Ints]:
    """Sequence number, channel and fingerprint of the records that the task sent."""
    rows = facts.of("sent")
    if not len(rows):
        return _NONE, _NONE, _NONE
    mask = facts.once(sent_records)
    return rows.column("seq")[mask], rows.column("channel")[mask], rows.column("fingerprint")[mask]


def _records_put(place: Place, steps: Steps | None) -> tuple[Ints, Ints]:
    """Sequence number and fingerprint of the records that another operator of the chain passed to this one."""
    if steps is None:
        return _NONE, _NONE
    mask = steps.puts & (steps.column("kind") == _RECORD) & (steps.seq > place.opening)
    return steps.seq[mask], steps.column("fingerprint")[mask]


_NONE: Final[Ints] = np.empty(0, dtype=np.int64)


class AsyncWait:
    """Examines the async operators of one task."""

    __slots__ = ("_examined", "_found")

    def __init__(self, examined: Sequence[_Examined], found: FoundByLaw) -> None:
        self._examined = examined
        self._found = found

    def feed(self, facts: Slice) -> None:
        ends = self._life_events(facts) if self._examined else {}
        rows = facts.of("async_elements")
        by_place = self._steps(rows) if len(rows) else {}
        for examined in self._examined:
            place = examined.place
            examined.feed(facts, by_place.get(place), ends.get(place, ()))
        for examined in self._examined:
            examined.feed_readers(facts, by_place)

    def _life_events(self, facts: Slice) -> dict[Place, list[int]]:
        """Every END_INPUT of an async operator."""
        ends: dict[Place, list[int]] = {}
        places = {examined.place.number: examined.place for examined in self._examined}
        for seq, operator, event in facts.of("lifecycle").tuples(("seq", "operator", "event")):
            place = places.get(operator)
            if place is not None:
                self._found[end.ID].examined += place.life_event(seq, event)
                if is_end(event):
                    ends.setdefault(place, []).append(seq)
        return ends

    def _steps(self, rows: Rows) -> dict[Place, Steps]:
        """Splits the rows by operators."""
        self._count(rows)
        operator = rows.column("operator")
        by_place: dict[Place, Steps] = {}
        known = 0
        for examined in self._examined:
            mask: Mask = operator == examined.place.number
            size = int(np.count_nonzero(mask))
            if size:
                by_place[examined.place] = Steps(rows, None if size == len(rows) else mask)
            known += size
        if known < len(rows):
            self._strays(rows)
        return by_place

    def _count(self, rows: Rows) -> None:
        action, found = rows.column("action"), self._found
        counts = np.bincount(action.astype(np.uint8), minlength=256).tolist()
        records = int(np.count_nonzero((action == PUT) & (rows.column("kind") == _RECORD)))
        found[order.ID].examined += counts[PUT] + counts[EMIT]
        found[once.ID].examined += sum(counts[one] for one in _OF_ONCE)
        found[capacity.ID].examined += len(rows)
        found[retries.ID].examined += counts[INVOKE] + counts[RETRY] + records

    def _strays(self, rows: Rows) -> None:
        """Rows of operators that are described otherwise, or not at all."""
        known = {examined.place.number for examined in self._examined}
        for seq, task, operator, action in rows.tuples(("seq", "task", "operator", "action")):
            if operator not in known and action in _OF_ONCE:
                self._found[once.ID].broken(
                    "of an operator that is not described as async", (task, seq), task=task, operator=operator, seq=seq
                )

    def end(self, whole: bool) -> None:
        for examined in self._examined:
            examined.end()


def _make(graph: JobGraph, task: Task, found: FoundByLaw) -> AsyncWait:
    places = [Place(task, operator) for operator in graph.once(operators_by_vertex).get(task.vertex, ())]
    of_law = {law: found.get(law) or Findings() for law in _IDS}
    channels = graph.once(readers_by_operator) if places else {}
    return AsyncWait(
        [
            _Examined(
                place,
                channels.get((place.task, place.number), ()),
                [other for other in places if other.feeder == place.number],
                of_law,
            )
            for place in places
        ],
        of_law,
    )


_READS: Final = {
    "async_elements": (*COLUMNS[1:], "operator", "queued"),
    "lifecycle": ("operator", "event"),
    "received": ("kind", "timestamp", "fingerprint"),
    "sent": ("channel", "kind", "fingerprint"),
    "task_watermark": ("kind", "timestamp"),
}


def _law(law: str, counts: str, sentence: str, *rules: str) -> Law:
    return Law(law, sentence, rules, Level.ELEMENTS, _READS, _make, needs_an_async_operator, counts=counts)


LAWS: Final = (
    _law(
        order.ID,
        order.COUNTS,
        "An ordered async operator emits elements in the order in which they arrived, watermarks included; in an unordered "
        "one no element overtakes a watermark, and no watermark an element.",
        "11.5", "11.9", "11.10", "11.11",
    ),
    _law(
        once.ID,
        once.COUNTS,
        "Every element of an async operator has one outcome, and is emitted once, after that outcome and with exactly its "
        "results; at the end of input all elements have been emitted.",
        "11.12", "11.13", "11.14", "11.15", "11.17", "11.18", "11.19",
    ),
    _law(
        capacity.ID,
        capacity.COUNTS,
        "The queue of an async operator never holds more elements than its capacity, and holds those that were put and not "
        "emitted.",
        "11.1", "11.2", "11.5", "11.29",
    ),
    _law(
        retries.ID,
        retries.COUNTS,
        "An async operator calls its function once for each record, and again only when a retry is due: no more often than "
        "the retry strategy allows, or once more at the end of input.",
        "11.24", "11.25", "11.27", "11.28",
    ),
    _law(
        end.ID,
        end.COUNTS,
        "At the end of input the queue of an async operator is empty, and afterwards no element is put, passed to the "
        "function or emitted.",
        "11.19",
    ),
)  # fmt: skip

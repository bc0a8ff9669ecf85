"""The laws of async operators, and the machine that examines them for one task."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np

from flowsim.facts.kinds import ElementKind, Level, LifeEvent
from flowsim.laws.async_wait import capacity, element_timers, once, order, payload, retries
from flowsim.laws.async_wait.arrivals import Arrivals
from flowsim.laws.async_wait.elements import Elements
from flowsim.laws.async_wait.places import (
    COMPLETE,
    EMIT,
    FAIL,
    INVOKE,
    NEVER,
    PUT,
    RETRY,
    TIMEOUT,
    Place,
    Step,
    needs_an_async_operator,
    operators_by_vertex,
)
from flowsim.laws.async_wait.readers import Reader, readers_by_operator
from flowsim.laws.elements import sent_records
from flowsim.laws.findings import FoundByLaw
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Attempts, Law
from flowsim.laws.machine import Machine, on_row, reads
from flowsim.laws.slices import Mask, Row, Slice

_RECORD: Final = int(ElementKind.RECORD)
_OF_ONCE: Final = (PUT, COMPLETE, FAIL, TIMEOUT, EMIT)


_step_of: Callable[[Row], Step] = partial(tuple.__new__, Step)
"""As ``Step._make``, in a quarter of the time."""


class _Examined:
    """The checks of one async operator of the task."""

    def __init__(self, place: Place, found: FoundByLaw) -> None:
        self.place = place
        self.source: Reader | None = None
        """The reader of another async operator whose results this one gets."""
        self.readers: list[Reader] = []
        self.timers = None if place.legacy else element_timers.ElementTimers(place, found[element_timers.ID])
        self.end_of_input = capacity.End(place, found[capacity.END_ID])
        self.arrivals = Arrivals(place, found[order.ID]) if place.is_head else None
        self._capacity = capacity.Capacity(place, found[capacity.ID])
        self._elements = Elements(
            order.Order(place, found[order.ID]), once.Once(place, found[once.ID]),
            retries.Retries(place, found[retries.ID]), payload.Payload(place, found[payload.ID]), self.timers,
        )  # fmt: skip

    def live(self, seq: int, event: int) -> None:
        """A row of ``lifecycle``."""
        if event == LifeEvent.END_INPUT:
            self.end_of_input.input_ends(seq)
            if self.timers is not None and self.place.end == NEVER:
                self.timers.input_ends(seq)
        self.place.live(seq, event)

    def step(self, step: Step) -> None:
        """A row of ``async_elements``."""
        place, action = self.place, step.action
        self._capacity.step(step)
        self._elements.step(step)
        if step.seq > place.end or step.seq > place.closing:
            self.end_of_input.late(step)
        if action == EMIT:
            self.end_of_input.queued = step.queued
            for reader in self.readers:
                reader.emit(step)
        elif action == PUT:
            self.end_of_input.queued = step.queued
            if self.arrivals is not None and step.seq > place.opening:
                self.arrivals.put(step)
            if self.source is not None and step.kind == _RECORD and step.seq > place.opening:
                self.source.get(step.seq, step.fingerprint)

    def end(self) -> None:
        self._elements.end()
        if self.arrivals is not None:
            self.arrivals.end()
        for reader in self.readers:
            reader.end()


@reads(received=("kind",))
def _received_records(machine: AsyncWait, facts: Slice) -> Mask | None:
    return np.asarray(facts.of("received").column("kind") == _RECORD) if machine._heads else None


def _watermarks(machine: AsyncWait, facts: Slice) -> Mask | None:
    is_watermark = facts.of("task_watermark").column("kind") == ElementKind.WATERMARK
    return np.asarray(is_watermark) if machine._heads else None


@reads(sent_records)
def _sent_records(machine: AsyncWait, facts: Slice) -> Mask | None:
    return facts.once(sent_records) if machine._by_channel else None


class AsyncWait(Machine):
    """Examines the async operators of one task: all their facts in the order of ``seq``."""

    def __init__(self, graph: JobGraph, task: Task, found: FoundByLaw) -> None:
        places = [Place(task, operator) for operator in graph.once(operators_by_vertex).get(task.vertex, ())]
        self._task = task.task
        self._found = found
        self._examined = {place.number: _Examined(place, found) for place in places}
        self._by_channel: dict[int, Reader] = {}
        """The readers of the channels on which the task sends."""
        self._heads = [examined.arrivals for examined in self._examined.values() if examined.arrivals is not None]
        for place, examined in zip(places, self._examined.values(), strict=True):
            for name, channels in graph.once(readers_by_operator).get((place.task, place.number), ()):
                examined.readers.append(Reader(name, place, found[once.ID]))
                self._by_channel.update(dict.fromkeys(channels, examined.readers[-1]))
            upstream_operator = self._examined.get(place.upstream_operator)
            if upstream_operator is not None:
                examined.source = Reader(f"operator {place.number}", upstream_operator.place, found[once.ID])
                upstream_operator.readers.append(examined.source)

    @on_row("async_elements", columns=Step._fields)
    def _element(self, *row: int) -> None:
        step = _step_of(row)
        examined = self._examined.get(step.operator)
        if examined is not None:
            examined.step(step)
        elif step.action in _OF_ONCE:
            what, at = "of an operator that is not described as async", (self._task, step.seq)
            self._found[once.ID].broken(what, at, task=self._task, operator=step.operator, seq=step.seq)

    @on_row("lifecycle")
    def _life(self, seq: int, operator: int, event: int) -> None:
        if operator in self._examined:
            self._found[capacity.END_ID].examined += event in (LifeEvent.END_INPUT, LifeEvent.CLOSE)
            self._examined[operator].live(seq, event)

    @on_row("received", _received_records)
    def _arrive(self, seq: int, kind: int, timestamp: int, fingerprint: int) -> None:
        for head in self._heads:
            head.arrive((seq, kind, timestamp, fingerprint))

    @on_row("task_watermark", _watermarks)
    def _arrive_watermark(self, seq: int, kind: int, timestamp: int) -> None:
        self._arrive(seq, kind, timestamp, 0)

    @on_row("sent", _sent_records)
    def _send(self, seq: int, channel: int, fingerprint: int) -> None:
        if channel in self._by_channel:
            self._by_channel[channel].get(seq, fingerprint)

    @on_row("system_timers", law=element_timers.ID)
    def _timer(self, seq: int, operator: int, time_ns: int, entry: int, action: int, kind: int, timestamp: int) -> None:
        self._found[element_timers.ID].examined += 1
        examined = self._examined.get(operator)
        if examined is not None and examined.timers is not None:
            examined.timers.step(seq, time_ns, entry, action, kind, timestamp)

    @reads(async_elements=("action", "kind"))
    def _count(self, facts: Slice) -> None:
        rows = facts.of("async_elements")
        action, found = rows.column("action"), self._found
        counts = np.bincount(action.astype(np.uint8), minlength=256).tolist()
        is_record = rows.column("kind") == _RECORD
        found[order.ID].examined += counts[PUT] + counts[EMIT]
        found[once.ID].examined += sum(counts[action] for action in _OF_ONCE)
        found[capacity.ID].examined += len(rows)
        found[retries.ID].examined += counts[INVOKE] + counts[RETRY] + int((is_record & (action == PUT)).sum())
        found[payload.ID].examined += counts[INVOKE] + counts[RETRY] + counts[TIMEOUT]
        found[element_timers.ID].examined += int((is_record & (action == EMIT)).sum())

    def end(self, whole: bool) -> None:
        for examined in self._examined.values():
            examined.end()


def _law(law: str, counts: str, sentence: str, *rules: str) -> Law:
    return Law(law, sentence, rules, Level.ELEMENTS, AsyncWait, needs_an_async_operator, counts=counts)


LAWS: Final = (
    _law(
        order.ID,
        order.COUNTS,
        "An ordered async operator emits elements in the order of arrival, watermarks included. In an "
        "unordered async operator, no element overtakes a watermark, and no watermark overtakes an element.",
        "11.5", "11.9", "11.10", "11.11",
    ),
    _law(
        once.ID,
        once.COUNTS,
        "Every element of an async operator has one outcome. It is emitted once, after that outcome and with "
        "exactly its results. At the end of input all elements have been emitted.",
        "11.12", "11.13", "11.14", "11.15", "11.17", "11.18", "11.19",
    ),
    _law(
        payload.ID,
        payload.COUNTS,
        "The function of an async operator receives each element as it was put, also in a retry and at a timeout.",
        "11.1", "11.17", "11.25",
    ),
    _law(
        capacity.ID,
        capacity.COUNTS,
        "The queue of an async operator holds exactly the elements that were put and not emitted, and never "
        "more than its capacity.",
        "11.1", "11.2", "11.5", "11.29",
    ),
    _law(
        retries.ID,
        retries.COUNTS,
        "An async operator calls its function once for each record, and again only if a retry is due: at "
        "most as often as the retry strategy allows, or once more at the end of input.",
        "11.24", "11.25", "11.27", "11.28",
    ),
    _law(
        capacity.END_ID,
        capacity.END_COUNTS,
        "At the end of input the queue of an async operator is empty. Afterwards no element is put, passed "
        "to the function or emitted.",
        "11.19",
    ),
    Law(
        element_timers.ID,
        "Each record of an async operator with a timeout has one timeout timer. This timer and the timer of "
        "a retry fire on time, or are cancelled before the record is emitted.",
        ("9.10", "11.1", "11.12", "11.24", "11.26"),
        Level.FULL,
        AsyncWait,
        needs_an_async_operator,
        attempts=Attempts.FRESH,
        counts=element_timers.COUNTS,
    ),
)  # fmt: skip

"""Of law task-watermark: watermarks wait in the queue of an async operator, statuses do not (rules 11.2, 11.3)."""

from __future__ import annotations

from operator import itemgetter
from typing import Final

import numpy as np

from flowsim.facts.kinds import AsyncAction, LifeEvent
from flowsim.laws.async_wait.places import operators_by_vertex
from flowsim.laws.event_time.lanes import HeldBackLane, Lane
from flowsim.laws.event_time.marks import FEW, NO_MARKS, Mark, Marks
from flowsim.laws.event_time.outlet import CHANGED, LEFT, MARK, Outlet, Reader, Step
from flowsim.laws.event_time.paths import FREE, INPUTS, STATUS, WATERMARK, EventTimePaths
from flowsim.laws.job_graph import JobGraph, Operator, Task
from flowsim.laws.law import Findings
from flowsim.laws.slices import Ints, Slice

_COLUMNS: Final = ("seq", "entry", "timestamp")
_PUT: Final = int(AsyncAction.PUT)
_EMIT: Final = int(AsyncAction.EMIT)
_OPEN: Final = int(LifeEvent.OPEN)


class QueueSteps:
    """What the queue of one async operator takes and emits in each epoch."""

    __slots__ = ("_is_open", "_last_entry", "_operator", "_too_early", "_waiting", "left", "records", "taken")

    def __init__(self, operator: int) -> None:
        self._operator = operator
        self._is_open = False
        self._waiting: dict[int, int] = {}
        """Watermarks in the queue, by entry."""
        self._last_entry = -1
        self._too_early: set[int] = set()
        """Entries that left before they came: in a damaged recording only."""
        self.taken: list[Mark] = []
        """Watermarks that it took, but not from a snapshot: after the operator was opened (rule 11.22)."""
        self.left: list[Step] = []
        """Watermarks that left it."""
        self.records: Ints = np.empty(0, dtype=np.int64)
        """When records left it."""

    @property
    def next_mark(self) -> int | None:
        """The watermark that leaves next."""
        return self._waiting[min(self._waiting)] if self._waiting else None

    def feed(self, facts: Slice) -> None:
        """Reads the steps of one epoch."""
        opening = -1 if self._is_open else self._opening(facts)
        rows = facts.of("async_elements")
        if not len(rows):
            self.taken, self.left, self.records = [], [], self.records[:0]
            return
        action, is_mark = rows.column("action"), rows.column("kind") == WATERMARK
        own = rows.column("operator") == self._operator
        puts, emits = own & (action == _PUT), own & (action == _EMIT)
        put = rows.tuples(_COLUMNS, puts & is_mark)
        self.taken = [(seq, WATERMARK, at) for seq, _, at in put if self._is_open and seq > opening]
        self.left = [(seq, LEFT, 0, WATERMARK, at) for seq, _, at in rows.tuples(_COLUMNS, emits & is_mark)]
        self.records = rows.column("seq")[emits & ~is_mark]
        entries = rows.column("entry")
        highest = np.maximum.accumulate(np.concatenate(([self._last_entry], entries[puts])))
        self._last_entry = int(highest[-1])
        are_new = (entries[puts] > highest[:-1])[is_mark[puts]].tolist()
        for (_, entry, at), is_new in zip(put, are_new, strict=True):
            if is_new and entry not in self._too_early:
                self._waiting[entry] = at
        emitted = entries[emits]
        self._too_early.update(emitted[emitted > self._last_entry].tolist())
        if self._waiting:
            if len(emitted) > FEW:
                emitted = emitted[np.isin(emitted, list(self._waiting))]
            for entry in emitted.tolist():
                self._waiting.pop(entry, None)

    def _opening(self, facts: Slice) -> int:
        """When the operator was opened, if that was in this epoch."""
        for seq, operator, event in facts.of("lifecycle").tuples(("seq", "operator", "event")):
            if operator == self._operator and event == _OPEN:
                self._is_open = True
                return int(seq)
        return -1


class AsyncQueue:
    """One async operator of a task: compares what reaches it with what it takes, and what it emits with what is sent."""

    def __init__(self, operator: Operator, statuses: int) -> None:
        self.operator = operator
        self.steps = QueueSteps(operator.operator)
        self.outlet = Outlet(True) if statuses != FREE else None
        """For all readers; None where no facts call for statuses, so that each channel has an outlet of its own."""
        self.intake: Lane | HeldBackLane | None = None
        """Where what reaches the operator leaves no other queue."""
        self.intake_origin = FREE
        self._statuses = statuses
        self._channels: dict[int, tuple[Outlet, int]] = {}
        """Per channel the outlet, and the index of the reader there."""
        self._behind: list[tuple[QueueSteps, int]] = []

    def add_channel(self, channel: int, found: Findings, task: int) -> None:
        """A channel that carries what leaves the queue."""
        outlet = self.outlet or Outlet(False)
        self._channels[channel] = outlet, len(outlet.readers)
        outlet.readers.append(Reader(found, {"task": task, "channel": channel}, True))

    def add_queue(self, outlet: Outlet, behind: AsyncQueue, found: Findings, task: int) -> None:
        """An async operator that takes what leaves the queue by the outlet for all readers."""
        self._behind.append((behind.steps, len(outlet.readers)))
        outlet.readers.append(Reader(found, {"task": task, "operator": behind.operator.operator}, False))

    def feed(self, reaching: dict[int, Marks], passing: dict[int, Marks], sent: dict[int, Marks]) -> None:
        """Examines one epoch of whose steps all queues of the task have read theirs."""
        if self.intake is not None:
            # No output lies before the head of a chain.
            causes = reaching if self.operator.input_operator < 0 else passing
            self.intake.feed(causes.get(self.intake_origin, NO_MARKS), Marks(self.steps.taken))
        shared: list[Step] = []
        if self.outlet is not None:
            statuses = passing.get(self._statuses, NO_MARKS).statuses()
            shared = [(seq, CHANGED, 0, kind, value) for seq, kind, value in statuses]
        for channel, (outlet, reader) in self._channels.items():
            rows = sent.get(channel, NO_MARKS).rows
            if outlet is self.outlet:
                shared += [(seq, MARK, reader, kind, value) for seq, kind, value in rows]
            else:
                of_kind = {STATUS: CHANGED, WATERMARK: MARK}
                self._follow(outlet, [(seq, of_kind[kind], reader, kind, value) for seq, kind, value in rows])
        for steps, reader in self._behind:
            shared += [(seq, MARK, reader, kind, value) for seq, kind, value in steps.taken]
        if self.outlet is not None:
            self._follow(self.outlet, shared)

    def _follow(self, outlet: Outlet, steps: list[Step]) -> None:
        steps += self.steps.left
        steps.sort(key=itemgetter(0))
        outlet.follow(steps, self.steps.records)

    def end(self, whole: bool) -> None:
        """Settles what only the end shows."""
        if self.intake is not None:
            self.intake.end(whole)
        outlets = [self.outlet] if self.outlet is not None else [outlet for outlet, _ in self._channels.values()]
        for outlet in outlets:
            outlet.end(whole, self.steps.next_mark)


def queues_of(graph: JobGraph, task: Task, found: Findings) -> dict[int, AsyncQueue]:
    """The queues of a task by operator, each with its readers."""
    operators = graph.once(operators_by_vertex).get(task.vertex)
    if not operators:
        return {}
    paths, vertex = graph.once(EventTimePaths), task.vertex
    queues: dict[int, AsyncQueue] = {}
    for operator in sorted(operators):
        number = operator.operator
        queue = queues[number] = AsyncQueue(operator, paths.origin_of_statuses(vertex, number))
        for channel in paths.channels_by_origin.get(task.task, {}).get(number, ()):
            queue.add_channel(channel, found, task.task)
        origin = paths.origin_of_input(vertex, number)
        if queue.outlet is None or origin == FREE:
            continue
        before = queues.get(origin)
        if before is None:
            queue.intake_origin = origin
            queue.intake = _intake(paths, task, number, origin, found)
        elif before.outlet is not None and before.operator.params.get("design") != "legacy":
            # The emitter of a legacy operator may wait with a watermark for a place in the queue, and statuses overtake both.
            before.add_queue(before.outlet, queue, found, task.task)
    return queues


def _intake(paths: EventTimePaths, task: Task, operator: int, origin: int, found: Findings) -> Lane | HeldBackLane:
    place = {"task": task.task, "operator": operator}
    if origin == INPUTS and paths.holds_back(task.vertex):
        return HeldBackLane(found, place, takes_statuses=False)
    return Lane(found, place, paths.makes_the_first(task.vertex, origin), takes_statuses=False)

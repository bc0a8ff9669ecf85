"""The timers of one task, row after row (section 9). Runs in Python workers."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA = "run int, what string, task int, seq bigint, operator int, service int, timestamp bigint, key bigint"
OPERATOR, ARRIVED, MADE, FORWARDED, TIMER = range(5)
_WATERMARK, _STATUS = 1, 2
_REGISTER, _DELETE, _FIRE = range(3)
_EVENT_TIME, _PROCESSING_TIME = 0, 1
_MIN, _IDLE, _NS_PER_MS = -(2**63), -1, 1_000_000
_INPUTS, _FREE, _ALL_INPUTS = -1, -2, -3

Timer = tuple[int, int, int, int]
"""Timestamp, key, and the window."""
Wrong = tuple[str, int, int, int, int, int]
"""What, the row's number, operator, service, timestamp and key."""


class Line(NamedTuple):
    """OPERATOR: ``operator``, ``origin`` of what it hears, ``flags`` 1 head, 2 spreads its timers; or, with operator -1,

    ``inputs`` of the task. ARRIVED: ``operator`` is the input, ``kind``, ``timestamp``. MADE, FORWARDED: ``timestamp``.
    """

    what: int
    operator: int
    origin: int
    inputs: int
    flags: int
    kind: int
    seq: int
    time_ns: int
    timestamp: int
    action: int
    domain: int
    key: int
    window_start: int
    window_end: int
    watermark: int
    service: int


COLUMNS = Line._fields


class Clockwork:
    """The timers of one domain of one service."""

    def __init__(self) -> None:
        self.waits: dict[Timer, int] = {}
        self.order: list[tuple[Timer, int]] = []

    def register(self, timer: Timer, number: int) -> bool:
        if timer in self.waits:
            return False
        self.waits[timer] = number
        heappush(self.order, (timer, number))
        return True

    def first(self) -> int | None:
        """The earliest time that waits; leaves behind what does not wait any more."""
        while self.order:
            timer, number = self.order[0]
            if self.waits.get(timer) == number:
                return timer[0]
            heappop(self.order)
        return None

    def overdue(self, watermark: int, before: int | None) -> list[Timer]:
        """Takes out what should have fired up to ``watermark``, of those registered before a row (None: of all)."""
        found: list[Timer] = []
        later: list[tuple[Timer, int]] = []
        while (first := self.first()) is not None and first <= watermark:
            timer, number = heappop(self.order)
            if before is None or number < before:
                del self.waits[timer]
                found.append(timer)
            else:
                later.append((timer, number))
        for entry in later:
            heappush(self.order, entry)
        return found


class Service:
    """One timer service, and how far its operator's event time is."""

    def __init__(self, operator: int, number: int, origin: int, flags: int) -> None:
        self.operator, self.number, self.origin = operator, number, origin
        self.is_head, self.spreads = bool(flags & 1), bool(flags & 2)
        self.domains = (Clockwork(), Clockwork())
        self.watermark, self.since = _MIN, -1

    def overdue(self, watermark: int, before: int | None) -> list[Wrong]:
        late = self.domains[_EVENT_TIME].overdue(watermark, before)
        return [("due and not fired", -1, self.operator, self.number, timer[0], timer[1]) for timer in late]

    def advance(self, watermark: int, seq: int) -> list[Wrong]:
        """What the last watermark made due has fired before the next one comes, unless it may be spread out."""
        wrong = [] if self.spreads else self.overdue(self.watermark, self.since)
        self.watermark, self.since = watermark, seq
        return wrong

    def take(self, line: Line) -> str:
        timers = self.domains[line.domain]
        timer = (line.timestamp, line.key, line.window_start, line.window_end)
        if line.action == _REGISTER:
            if not timers.register(timer, line.seq):
                return "registered although it waits"
        elif timers.waits.pop(timer, None) is None:
            return "does not wait"
        elif line.action == _FIRE:
            first = timers.first()
            if first is not None and first < line.timestamp:
                return "before one of an earlier time"
            if line.domain == _PROCESSING_TIME:
                if line.time_ns // _NS_PER_MS <= line.timestamp:
                    return "before its time"
            elif self.origin != _FREE and line.timestamp > self.watermark:
                return "before its time"
        if self.origin == _FREE:
            return ""
        agrees = line.watermark <= self.watermark if self.spreads else line.watermark == self.watermark
        return "" if agrees else "not the watermark of its operator"


class TaskTimers:
    """All services of one task."""

    def __init__(self) -> None:
        self.marks = [_MIN]
        self.idle: set[int] = set()
        self.combined = _MIN
        self.described: dict[int, tuple[int, int]] = {}
        self.services: dict[tuple[int, int], Service] = {}
        self.reached: dict[int, tuple[int, int]] = {}

    def take(self, line: Line) -> list[Wrong]:
        if line.what == TIMER:
            what = self._service(line).take(line)
            return [(what, line.seq, line.operator, line.service, line.timestamp, line.key)] if what else []
        if line.what == OPERATOR:
            if line.operator < 0:
                self.marks = [_MIN] * line.inputs
                self.described.setdefault(_ALL_INPUTS, (line.origin, 0))
            else:
                self.described[line.operator] = (line.origin, line.flags)
            return []
        if line.what == ARRIVED:
            return self._arrived(line)
        if line.what == MADE:
            return self._advance(line.operator, line.timestamp, line.seq)
        found = [s.overdue(line.timestamp, None) for s in self.services.values() if s.is_head and s.origin == _INPUTS]
        return [one for wrong in found for one in wrong]

    def _service(self, line: Line) -> Service:
        place = (line.operator, line.service)
        if place not in self.services:
            unknown = (self.described.get(_ALL_INPUTS, (_FREE, 0))[0], 0)
            service = Service(*place, *self.described.get(line.operator, unknown))
            service.watermark, service.since = self.reached.get(service.origin, (_MIN, -1))
            self.services[place] = service
        return self.services[place]

    def _arrived(self, line: Line) -> list[Wrong]:
        """Rule 8.16; a single input is heard as it is."""
        marks, index = self.marks, line.operator
        if len(marks) == 1:
            return self._advance(_INPUTS, line.timestamp, line.seq) if line.kind == _WATERMARK else []
        if not 0 <= index < len(marks):
            return []
        self.idle.discard(index)
        if line.kind == _WATERMARK:
            marks[index] = max(marks[index], line.timestamp)
        elif line.timestamp == _IDLE:
            self.idle.add(index)
        speaking = [mark for i, mark in enumerate(marks) if i not in self.idle]
        goal = min(speaking) if speaking else max(marks)
        if goal <= self.combined:
            return []
        self.combined = goal
        return self._advance(_INPUTS, goal, line.seq)

    def _advance(self, origin: int, watermark: int, seq: int) -> list[Wrong]:
        self.reached[origin] = (watermark, seq)
        found = [s.advance(watermark, seq) for s in self.services.values() if s.origin == origin]
        return [one for wrong in found for one in wrong]

    def end(self, whole: bool) -> list[Wrong]:
        if not whole:
            return []
        return [one for s in self.services.values() for one in s.overdue(s.watermark, s.since)]


def fold_timers(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields one row per violation."""
    task: tuple[int, int] | None = None
    was_whole, machine = True, TaskTimers()
    for batch in batches:
        found: list[tuple[object, ...]] = []
        names = ("run", "task", "whole", *COLUMNS)
        for run, number, whole, *rest in zip(*(batch.column(n).to_pylist() for n in names), strict=True):
            if task != (run, number):
                found += _told(task, machine.end(was_whole))
                task, was_whole, machine = (run, number), whole, TaskTimers()
            found += _told(task, machine.take(Line(*rest)))
        yield _batch(found)
    yield _batch(_told(task, machine.end(was_whole)))


def _told(task: tuple[int, int] | None, wrong: list[Wrong]) -> list[tuple[object, ...]]:
    return [] if task is None else [(task[0], one[0], task[1], *one[1:]) for one in wrong]


def _batch(rows: list[tuple[object, ...]]) -> pa.RecordBatch:
    import pyarrow as pa

    names = ["run", "what", "task", "seq", "operator", "service", "timestamp", "key"]
    types = [pa.int32(), pa.string(), pa.int32(), pa.int64(), pa.int32(), pa.int32(), pa.int64(), pa.int64()]
    return pa.RecordBatch.from_arrays([pa.array([r[i] for r in rows], kind) for i, kind in enumerate(types)], names)

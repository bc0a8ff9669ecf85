"""What laws of event time follow in one task, row after row (rules 5.8, 8.16). Runs in Python workers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from flowsim.validation.checks.event_time_queue import Wrong

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA = "run int, what string, task int, seq bigint, place int, timestamp bigint"
CHANNEL, ARRIVED, MADE, SENT, QUEUE, TAKEN, LEFT = range(7)
_WATERMARK, _STATUS = 1, 2
_MIN, _MAX, _IDLE, _ACTIVE = -(2**63), 2**63 - 1, -1, 0
_INPUTS, _FREE = -1, -2


class Line(NamedTuple):
    """A row of ``event_time_rows``."""

    what: int
    who: int
    origin: int
    inputs: int
    flags: int
    kind: int
    split: int
    seq: int
    time_ns: int
    timestamp: int
    records: int
    highest: int
    seen: int | None
    seen_highest: int | None
    delay: int | None
    heard_ns: int | None
    idle_ms: int | None
    statuses: int


COLUMNS = Line._fields


class Origin:
    """What one origin lets its outputs know: statuses that change, watermarks while it is not idle."""

    def __init__(self) -> None:
        self.status = _ACTIVE
        self.lanes: list[Lane] = []

    def lets_pass(self, kind: int, value: int) -> bool:
        if kind == _WATERMARK:
            return self.status != _IDLE
        changed = value != self.status
        self.status = value
        return changed


class Lane:
    """One channel: what it is owed, and how it stands."""

    def __init__(self, channel: int, origin: int, may_end: bool, holds_back: bool) -> None:
        self.channel, self.origin, self.may_end, self.holds_back = channel, origin, may_end, holds_back
        self.is_queue = self.is_head = False
        """Whether it is the queue of an operator, which takes no status, and whether nothing lies before that."""
        self.owed: deque[tuple[int, int]] = deque()
        self.cause = -1
        self.reached = _MIN
        self.announced: set[int] = set()
        self.status = _ACTIVE
        self.untold = False


class Inputs:
    """The inputs of a task together."""

    def __init__(self) -> None:
        self.expect(1)

    def expect(self, count: int) -> None:
        self.count = count
        self.reached: list[int] = [_MIN] * count
        self.silent: set[int] = set()
        self.combined = _MIN

    def hear(self, index: int, kind: int, value: int) -> list[tuple[int, int]]:
        """What comes out when one input says something."""
        if self.count == 1:
            return [(kind, value)]
        if index < 0 or index >= self.count:
            return []
        all_silent = len(self.silent) == self.count
        self.silent.discard(index)
        if kind == _WATERMARK:
            self.reached[index] = max(self.reached[index], value)
        elif value == _IDLE:
            self.silent.add(index)
        now_silent = len(self.silent) == self.count
        if now_silent:
            goal = max(self.reached)
        else:
            goal = min(mark for number, mark in enumerate(self.reached) if number not in self.silent)
        out: list[tuple[int, int]] = []
        if goal > self.combined:
            self.combined = goal
            out.append((_WATERMARK, goal))
        return [*out, (kind, value)] if kind == _STATUS and now_silent != all_silent else out


class TaskEventTime:
    """What both laws follow: origins, lanes and inputs."""

    def __init__(self) -> None:
        self.inputs = Inputs()
        self.origins: dict[int, Origin] = {}
        self.lanes: dict[int, Lane] = {}

    def origin(self, number: int) -> Origin:
        return self.origins.setdefault(number, Origin())

    def describe(self, line: Line) -> None:
        """A row that says what there is, before all that happens."""
        if line.what == CHANNEL and line.who == -1:
            self.inputs.expect(line.inputs)
        elif line.what == CHANNEL and line.who >= 0:
            self.channel(line)

    def channel(self, line: Line) -> None:
        raise NotImplementedError

    def lane(self, line: Line, origin: int) -> Lane:
        lane = Lane(line.who, origin, bool(line.flags & 1), bool(line.flags & 2))
        self.origin(origin).lanes.append(lane)
        return lane

    def news(self, line: Line) -> tuple[Origin, list[tuple[int, int]], list[tuple[int, int]]]:
        """What an arrival, or what a strategy made, tells, and what of it passes to the outputs of its origin."""
        if line.what == ARRIVED:
            origin, news = self.origin(_INPUTS), self.inputs.hear(line.who, line.kind, line.timestamp)
        else:
            origin, news = self.origin(line.who), [(line.kind, line.timestamp)]
        return origin, news, [one for one in news if origin.lets_pass(*one)]

    def take(self, line: Line) -> list[Wrong]:
        raise NotImplementedError

    def end(self, whole: bool) -> list[Wrong]:
        raise NotImplementedError


class Follower:
    """Folds task after task with machines of one kind; yields one row per violation."""

    def __init__(self, make: Callable[[], TaskEventTime]) -> None:
        self.make = make

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task: tuple[int, int] | None = None
        was_whole, machine = True, self.make()
        for batch in batches:
            found: list[tuple[int, str, int, int, int, int]] = []
            names = ("run", "task", "whole", *COLUMNS)
            for run, number, whole, *rest in zip(*(batch.column(n).to_pylist() for n in names), strict=True):
                if task != (run, number):
                    found += _told(task, machine.end(was_whole))
                    task, was_whole, machine = (run, number), whole, self.make()
                line = Line(*rest)
                if line.what in (CHANNEL, QUEUE):
                    machine.describe(line)
                else:
                    found += _told(task, machine.take(line))
            yield _batch(found)
        yield _batch(_told(task, machine.end(was_whole)))


def _told(task: tuple[int, int] | None, wrong: list[Wrong]) -> list[tuple[int, str, int, int, int, int]]:
    return [] if task is None else [(task[0], what, task[1], seq, place, at) for what, seq, place, at in wrong]


def _batch(rows: list[tuple[int, str, int, int, int, int]]) -> pa.RecordBatch:
    import pyarrow as pa

    names = ("run", "what", "task", "seq", "place", "timestamp")
    types = (pa.int32(), pa.string(), pa.int32(), pa.int64(), pa.int32(), pa.int64())
    columns = [pa.array([row[i] for row in rows], kind) for i, kind in enumerate(types)]
    return pa.RecordBatch.from_arrays(columns, list(names))

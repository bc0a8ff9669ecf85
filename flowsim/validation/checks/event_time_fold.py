"""The event time of one task, row after row (rules 5.8, 8.1-8.7, 8.16). Runs in Python workers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA = "run int, what string, task int, seq bigint, place int, timestamp bigint"
Wrong = tuple[str, int, int, int]
"""What is wrong, the row's number, the channel or operator, and the timestamp."""

CHANNEL, ARRIVED, MADE, SENT = range(4)
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


COLUMNS = Line._fields
_NS_PER_MS = 1_000_000


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
        self.waiting: set[int] = set()
        """Operators that make the last watermark when the inputs have it."""

    def origin(self, number: int) -> Origin:
        return self.origins.setdefault(number, Origin())

    def channel(self, line: Line) -> None:
        if line.who == -1:
            self.inputs.expect(line.inputs)
            return
        if line.who < -1:
            self.waiting.add(-2 - line.who)
            return
        lane = Lane(line.who, line.origin, bool(line.flags & 1), bool(line.flags & 2))
        self.lanes[line.who] = lane
        self.origin(line.origin).lanes.append(lane)

    def told(self, line: Line) -> tuple[Origin, list[tuple[int, int]]]:
        """What an arrival, or what a strategy made, makes the outputs of its origin say."""
        if line.what == ARRIVED:
            origin, news = self.origin(_INPUTS), self.inputs.hear(line.who, line.kind, line.timestamp)
        else:
            origin, news = self.origin(line.who), [(line.kind, line.timestamp)]
        return origin, [one for one in news if origin.lets_pass(*one)]

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
                if line.what == CHANNEL:
                    machine.channel(line)
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


class SentAsTold(TaskEventTime):
    """Law task-watermark: every lane is owed what its origin is told, and pays before the next time."""

    def __init__(self) -> None:
        super().__init__()
        self.strategies: dict[int, Strategy] = {}
        self.over = False
        self.over_at = -1

    def take(self, line: Line) -> list[Wrong]:
        if line.what == SENT:
            lane = self.lanes.get(line.who)
            return [] if lane is None or lane.origin == _FREE else self._sent(lane, line)
        wrong: list[Wrong] = []
        if line.what == MADE:
            strategy = self.strategies.setdefault(line.who, Strategy())
            what = strategy.misfit(line, self.over)
            wrong = [(what, line.seq, line.who, line.timestamp)] if what else []
            if line.split >= 0:
                return wrong
            if self.over and (line.kind, line.timestamp) == (_WATERMARK, _MAX):
                self.waiting.discard(line.who)
        origin, news = self.told(line)
        if not news:
            return wrong
        if line.what == ARRIVED and not self.over and (_WATERMARK, _MAX) in news:
            self.over, self.over_at = True, line.seq
        for lane in origin.lanes:
            if lane.holds_back:
                lane.announced.update(value for kind, value in news if kind == _WATERMARK)
                if all(kind == _WATERMARK for kind, _ in news):
                    continue
            if lane.owed:
                wrong.append(("not sent", lane.cause, lane.channel, lane.owed[0][1]))
            lane.cause = line.seq
            lane.owed = deque(one for one in news if not lane.holds_back or one[0] == _STATUS)
        return wrong

    def _sent(self, lane: Lane, line: Line) -> list[Wrong]:
        if lane.holds_back and line.kind == _WATERMARK:
            fits = line.timestamp > lane.reached and line.timestamp in lane.announced
            lane.reached = max(lane.reached, line.timestamp)
        else:
            fits = bool(lane.owed) and lane.owed[0] == (line.kind, line.timestamp)
            if fits:
                lane.owed.popleft()
            elif lane.may_end and line.kind == _WATERMARK:
                fits = line.timestamp == _MAX
        return [] if fits else [("nothing calls for it", line.seq, lane.channel, line.timestamp)]

    def end(self, whole: bool) -> list[Wrong]:
        if not whole:
            return []
        lanes = self.lanes.values()
        wrong = [("not sent", lane.cause, lane.channel, lane.owed[0][1]) for lane in lanes if lane.owed]
        waiting = sorted(self.waiting) if self.over else ()
        return wrong + [("the end of event time does not pass", self.over_at, who, _MAX) for who in waiting]


class Strategy:
    """What one operator made: every output grows, the merged one goes with its splits."""

    def __init__(self) -> None:
        self.merged = _MIN
        self.reached: dict[int, int] = {}
        self.quiet: set[int] = set()
        self.passed_by: set[int] = set()

    def misfit(self, line: Line, inputs_ended: bool) -> str:
        described, has_splits, waits = (bool(line.flags & bit) for bit in (1, 2, 4))
        if not described:
            return "made by an operator that is not described"
        if line.split >= 0:
            return self._split(line)
        if line.seen is not None and (line.records, line.highest) != (line.seen, line.seen_highest):
            return "not the records that it gave out"
        if line.kind == _STATUS:
            return ""
        grows = line.timestamp > self.merged
        self.merged = max(self.merged, line.timestamp)
        if not grows:
            return "does not grow"
        if line.timestamp == _MAX:
            return "" if inputs_ended or not waits else "the end of event time before its input reached it"
        if not has_splits:
            return self._bounded(line)
        if line.timestamp not in self.reached.values():
            return "no split has reached it"
        self.passed_by.update(s for s, mark in self.reached.items() if mark < line.timestamp and s not in self.quiet)
        return ""

    def _split(self, line: Line) -> str:
        split, before = line.split, self.reached.get(line.split, _MIN)
        missed = split in self.passed_by
        self.passed_by.discard(split)
        self.quiet.discard(split)
        if line.kind == _STATUS:
            self.reached[split] = before
            if line.timestamp == _IDLE:
                self.quiet.add(split)
        else:
            self.reached[split] = max(before, line.timestamp)
        if missed:
            return "still there, but did not hold back the others"
        if line.kind == _STATUS:
            return ""
        if line.timestamp <= before:
            return "does not grow"
        return "" if line.timestamp == _MAX else self._bounded(line)

    def _bounded(self, line: Line) -> str:
        due = line.delay is None or line.timestamp == line.highest - line.delay
        return "" if due else "not the highest timestamp less the bound"


class Statuses(TaskEventTime):
    """Law idle: every lane knows its origin's status, and every strategy its own."""

    def __init__(self) -> None:
        super().__init__()
        self.made: dict[int, int] = {}
        self.causes: dict[int, tuple[int, int]] = {}

    def take(self, line: Line) -> list[Wrong]:
        if line.what == SENT:
            lane = self.lanes.get(line.who)
            return [] if lane is None else self._sent(lane, line)
        if line.what == MADE and line.split >= 0:
            return []
        wrong = self._made(line) if line.what == MADE else []
        origin, news = self.told(line)
        for kind, value in news:
            for lane in origin.lanes if kind == _STATUS else ():
                if lane.untold:
                    wrong.append(("a change is not told", lane.cause, lane.channel, lane.owed[0][1]))
                lane.untold, lane.cause, lane.owed = True, line.seq, deque([(kind, value)])
        return wrong

    def _made(self, line: Line) -> list[Wrong]:
        before = self.made.get(line.who, _ACTIVE)
        what = ""
        if line.kind == _WATERMARK:
            what = "speaks while idle" if before == _IDLE else ""
        else:
            self.made[line.who] = line.timestamp
            if line.timestamp == before:
                what = "no change"
            elif line.timestamp == _IDLE and self._too_early(line):
                what = "idle before the timeout has passed"
        return [(what, line.seq, line.who, line.timestamp)] if what else []

    def _too_early(self, line: Line) -> bool:
        if line.idle_ms is None or line.heard_ns is None or line.flags & 2:
            return False
        return line.time_ns - line.heard_ns <= line.idle_ms * _NS_PER_MS

    def _sent(self, lane: Lane, line: Line) -> list[Wrong]:
        if line.kind == _WATERMARK:
            return [("speaks while idle", line.seq, lane.channel, line.timestamp)] if lane.status == _IDLE else []
        before, lane.status = lane.status, line.timestamp
        if lane.origin != _FREE and line.timestamp != self.origin(lane.origin).status:
            return [("not what all its inputs are", line.seq, lane.channel, line.timestamp)]
        if line.timestamp == before:
            return [("no change", line.seq, lane.channel, line.timestamp)]
        lane.untold = False
        return []

    def end(self, whole: bool) -> list[Wrong]:
        lanes = self.lanes.values() if whole else ()
        return [("a change is not told", lane.cause, lane.channel, lane.owed[0][1]) for lane in lanes if lane.untold]


def follow_sent(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Law task-watermark."""
    yield from Follower(SentAsTold)(batches)


def follow_statuses(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Law idle."""
    yield from Follower(Statuses)(batches)

"""Law idle in one task, row after row (rules 5.8, 8.4, 8.5, 8.16). Runs in Python workers."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flowsim.validation.checks.event_time_fold import LEFT, MADE, SENT, TAKEN, Follower, Lane, Line, TaskEventTime
from flowsim.validation.checks.event_time_queue import Wrong

if TYPE_CHECKING:
    import pyarrow as pa

_WATERMARK, _STATUS = 1, 2
_IDLE, _ACTIVE = -1, 0
_FREE = -2
_NS_PER_MS = 1_000_000


class Statuses(TaskEventTime):
    """Law idle: every lane knows its origin's status, and every strategy its own."""

    def __init__(self) -> None:
        super().__init__()
        self.made: dict[int, int] = {}
        self.causes: dict[int, tuple[int, int]] = {}

    def channel(self, line: Line) -> None:
        self.lanes[line.who] = self.lane(line, line.statuses)

    def take(self, line: Line) -> list[Wrong]:
        if line.what == SENT:
            lane = self.lanes.get(line.who)
            return [] if lane is None else self._sent(lane, line)
        if line.what in (TAKEN, LEFT) or (line.what == MADE and line.split >= 0):
            return []
        wrong = self._made(line) if line.what == MADE else []
        origin, _, news = self.news(line)
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


def follow_statuses(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Law idle."""
    yield from Follower(Statuses)(batches)

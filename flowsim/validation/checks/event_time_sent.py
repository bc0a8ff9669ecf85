"""Law task-watermark in one task, row after row (rules 5.8, 8.7, 8.16, 11.2). Runs in Python workers."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from flowsim.validation.checks.event_time_fold import (
    ARRIVED,
    CHANNEL,
    LEFT,
    MADE,
    QUEUE,
    SENT,
    TAKEN,
    Follower,
    Lane,
    Line,
    TaskEventTime,
)
from flowsim.validation.checks.event_time_queue import Queue, Reader, Wrong
from flowsim.validation.checks.event_time_strategy import Strategy

if TYPE_CHECKING:
    import pyarrow as pa

_WATERMARK, _STATUS = 1, 2
_MAX = 2**63 - 1
_INPUTS, _FREE = -1, -2


class SentAsTold(TaskEventTime):
    """Law task-watermark: every lane is owed what its origin is told, and pays before the next time."""

    def __init__(self) -> None:
        super().__init__()
        self.strategies: dict[int, Strategy] = {}
        self.waiting: dict[int, int] = {}
        """Operators that make the last watermark when it reached them, and where it comes from."""
        self.over_at: int | None = None
        self.lasts: dict[int, list[int]] = {}
        """Where each strategy made the last watermark."""
        self.doubtful: list[tuple[int, int]] = []
        self.queues: dict[int, Queue] = {}
        self.behind: dict[int, list[Queue]] = {}
        """All that speak for an operator: one for every channel where nobody knows the statuses."""
        self.statuses: dict[int, list[Queue]] = {}
        """By the origin of their statuses."""
        self.next_marks: dict[int, int | None] = {}
        self.readers: dict[int, tuple[Queue, Reader]] = {}
        self.intakes: dict[int, Lane | Reader] = {}

    def describe(self, line: Line) -> None:
        super().describe(line)
        if line.what == CHANNEL and line.who < -1:
            self.waiting[-2 - line.who] = line.origin
        if line.what != QUEUE:
            return
        self.next_marks[line.who] = line.seen
        queue = self.queue(line.who, line.statuses)
        if line.statuses == _FREE or line.origin == _FREE or queue is None:
            return
        before = self.queue(line.origin, line.statuses) if line.flags & 4 else None
        if before is not None:
            reader = self.intakes[line.who] = Reader(line.who)
            before.queues.append(reader)
        else:
            lane = self.intakes[line.who] = self.lane(line, line.origin)
            lane.is_queue, lane.is_head = True, bool(line.flags & 8)

    def channel(self, line: Line) -> None:
        if not line.flags & 4:
            self.lanes[line.who] = self.lane(line, line.origin)
            return
        queue = self.queue(line.origin, line.statuses) or self._speaks_for(line.origin)
        reader = Reader(line.who)
        queue.channels.append(reader)
        self.readers[line.who] = queue, reader

    def queue(self, operator: int, statuses: int) -> Queue | None:
        """The one that speaks for all readers of an operator; None where its statuses are free."""
        if statuses == _FREE:
            return None
        if operator not in self.queues:
            self.queues[operator] = self._speaks_for(operator)
            self.statuses.setdefault(statuses, []).append(self.queues[operator])
        return self.queues[operator]

    def _speaks_for(self, operator: int) -> Queue:
        queue = Queue()
        self.behind.setdefault(operator, []).append(queue)
        return queue

    def take(self, line: Line) -> list[Wrong]:
        if line.what == SENT:
            return self._left_on(line)
        if line.what == TAKEN:
            intake = self.intakes.get(line.who)
            if isinstance(intake, Reader):
                intake.rows.append((line.seq, line.kind, line.timestamp))
            return self._sent(intake, line) if isinstance(intake, Lane) else []
        if line.what == LEFT:
            queues = self.behind.get(line.who, ())
            return [w for queue in queues for w in queue.emitted(line.seq, line.kind, line.timestamp)]
        wrong: list[Wrong] = []
        if line.what == MADE:
            strategy = self.strategies.setdefault(line.who, Strategy())
            what = strategy.misfit(line)
            wrong = [(what, line.seq, line.who, line.timestamp)] if what else []
            if line.split >= 0:
                return wrong
            if (line.kind, line.timestamp) == (_WATERMARK, _MAX):
                self.lasts.setdefault(line.who, []).append(line.seq)
                self.doubtful += [] if what or not line.flags & 4 else [(line.who, line.seq)]
        origin, told, news = self.news(line)
        if line.what == ARRIVED and self.over_at is None and (_WATERMARK, _MAX) in news:
            self.over_at = line.seq
        for lane in origin.lanes:
            wrong += self._owe(lane, line.seq, told if lane.is_head else news)
        for queue in self.statuses.get(_INPUTS if line.what == ARRIVED else line.who, ()):
            wrong += [w for kind, status in news if kind == _STATUS for w in queue.changed(line.seq, status, True)]
        return wrong

    def _owe(self, lane: Lane, seq: int, news: list[tuple[int, int]]) -> list[Wrong]:
        if not news:
            return []
        if lane.holds_back:
            lane.announced.update(value for kind, value in news if kind == _WATERMARK)
            if lane.is_queue or all(kind == _WATERMARK for kind, _ in news):
                return []
        wrong = [("not sent", lane.cause, lane.channel, lane.owed[0][1])] if lane.owed else []
        lane.cause = seq
        unheard = (_STATUS if lane.is_queue else _WATERMARK) if lane.is_queue or lane.holds_back else None
        lane.owed = deque(one for one in news if one[0] != unheard)
        return wrong

    def _left_on(self, line: Line) -> list[Wrong]:
        behind = self.readers.get(line.who)
        if behind is None:
            lane = self.lanes.get(line.who)
            return [] if lane is None or lane.origin == _FREE else self._sent(lane, line)
        queue, reader = behind
        if line.kind == _STATUS and queue not in self.queues.values():
            return queue.changed(line.seq, line.timestamp, False)
        reader.rows.append((line.seq, line.kind, line.timestamp))
        return []

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
        wrong: list[Wrong] = []
        for operator, queues in self.behind.items():
            wrong += [w for queue in queues for w in queue.end(whole, self.next_marks.get(operator))]
        for who, seq in self.doubtful:
            reached = self._reached(who)
            if reached is None or seq < reached:
                wrong.append(("the end of event time before its input reached it", seq, who, _MAX))
        if not whole:
            return wrong
        lanes = [*self.lanes.values(), *(lane for lane in self.intakes.values() if isinstance(lane, Lane))]
        wrong += [("not sent", lane.cause, lane.channel, lane.owed[0][1]) for lane in lanes if lane.owed]
        for who in sorted(self.waiting):
            reached = self._reached(who)
            if reached is not None and all(seq <= reached for seq in self.lasts.get(who, ())):
                wrong.append(("the end of event time does not pass", reached, who, _MAX))
        return wrong

    def _reached(self, operator: int) -> int | None:
        """Where the end of event time reached an operator that waits for it."""
        origin = self.waiting.get(operator, _INPUTS)
        if origin == _INPUTS:
            return self.over_at
        return self.queues[origin].end_at if origin in self.queues else None


def follow_sent(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Law task-watermark."""
    yield from Follower(SentAsTold)(batches)

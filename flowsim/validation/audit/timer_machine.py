"""The timers of one task, slowly: those that wait lie sorted, and every row looks at them (section 9). Runs in Python workers."""

from __future__ import annotations

from bisect import bisect_left, insort

OPERATOR, ARRIVED, MADE, FORWARDED, TIMER = range(5)
COLUMNS = (
    "what", "operator", "origin", "inputs", "flags", "kind", "timestamp", "action", "domain", "key", "window_start",
    "window_end", "watermark", "service", "now_ms",
)  # fmt: skip
_WATERMARK = 1
_REGISTER, _DELETE, _FIRE = range(3)
_PROCESSING_TIME = 1
_MIN, _IDLE = -(2**63), -1
_INPUTS, _FREE, _TASK = -1, -2, -1

Waiting = list[tuple[int, int, int, int, int]]
"""Timestamp, key and window of timers, and at which row they were registered; the earliest first."""


class TimerMachine:
    """All timers of a task by operator, service and domain."""

    def __init__(self) -> None:
        self.rows = 0
        self.waiting: dict[tuple[int, int, int], Waiting] = {}
        self.about: dict[int, tuple[int, int]] = {}
        self.heard: dict[int, tuple[int, int]] = {}
        self.inputs: list[tuple[int, bool]] = [(_MIN, True)]
        """Per input how far it is and whether it is awake."""

    def take(self, row: tuple[int, ...]) -> str:
        what, operator, origin, inputs, flags, kind, timestamp = row[:7]
        self.rows += 1
        if what == TIMER:
            return self._timer(row)
        if what == OPERATOR:
            self.about[operator] = (origin, flags)
            if operator == _TASK:
                self.inputs = [(_MIN, True)] * inputs
            return ""
        if what == FORWARDED:
            heads = [
                place for place in self.waiting if self._about(place[0])[0] == _INPUTS and self._about(place[0])[1] & 1
            ]
            return self._leave(heads, timestamp, self.rows)
        if what == MADE:
            return self._hear(operator, timestamp)
        if len(self.inputs) == 1:
            return self._hear(_INPUTS, timestamp) if kind == _WATERMARK else ""
        if not 0 <= operator < len(self.inputs):
            return ""
        reached, _ = self.inputs[operator]
        self.inputs[operator] = (max(reached, timestamp), True) if kind == _WATERMARK else (reached, timestamp != _IDLE)
        awake = [mark for mark, is_awake in self.inputs if is_awake]
        together = min(awake) if awake else max(mark for mark, _ in self.inputs)
        return self._hear(_INPUTS, together) if together > self.heard.get(_INPUTS, (_MIN, 0))[0] else ""

    def _about(self, operator: int) -> tuple[int, int]:
        return self.about.get(operator, (self.about.get(_TASK, (_FREE, 0))[0], 0))

    def _hear(self, origin: int, watermark: int) -> str:
        """Before event time goes on, nothing of what it reached before may wait."""
        places = [place for place in self.waiting if self._about(place[0])[0] == origin]
        before, since = self.heard.get(origin, (_MIN, -1))
        left = self._leave([p for p in places if not self._about(p[0])[1] & 2], before, since)
        self.heard[origin] = (watermark, self.rows)
        return left

    def _leave(self, places: list[tuple[int, int, int]], watermark: int, before: int) -> str:
        left = ""
        for place in places:
            if place[2] == _PROCESSING_TIME:
                continue
            waiting = self.waiting[place]
            due = [timer for timer in waiting[: self._up_to(waiting, watermark)] if timer[4] < before]
            if due:
                self.waiting[place] = [timer for timer in waiting if timer not in due]
                left = "left behind by event time"
        return left

    def _up_to(self, waiting: Waiting, timestamp: int) -> int:
        return bisect_left(waiting, (timestamp + 1,))

    def _timer(self, row: tuple[int, ...]) -> str:
        _, operator, _, _, _, _, timestamp, action, domain, key, start, end, watermark, service, now_ms = row
        waiting = self.waiting.setdefault((operator, service, domain), [])
        mine = (timestamp, key, start, end)
        place = bisect_left(waiting, mine)
        there = place < len(waiting) and waiting[place][:4] == mine
        origin, flags = self._about(operator)
        reached = self.heard.get(origin, (_MIN, -1))[0]
        if action == _REGISTER:
            if there:
                return "waits already"
            insort(waiting, (*mine, self.rows))
        else:
            if there:
                del waiting[place]
            else:
                return "nobody waits for it"
            if action == _FIRE:
                if waiting and waiting[0][0] < timestamp:
                    return "out of the order of times"
                too_early = now_ms <= timestamp if domain == _PROCESSING_TIME else timestamp > reached
                if too_early and (domain == _PROCESSING_TIME or origin != _FREE):
                    return "too early"
        misread = watermark > reached if flags & 2 else watermark != reached
        return "tells another watermark" if misread and origin != _FREE else ""

    def end(self, whole: bool) -> str:
        left = ""
        for origin, (watermark, since) in self.heard.items() if whole else ():
            places = [place for place in self.waiting if self._about(place[0])[0] == origin]
            left = self._leave(places, watermark, since) or left
        return left

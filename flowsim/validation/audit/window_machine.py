"""A tumbling event-time window with the event-time trigger, as sections 10.A to 10.D tell it. Runs in Python workers."""

from __future__ import annotations

from collections import Counter
from heapq import heappop, heappush

MARK, INTAKE, MERGE, FIRE, DROP = range(5)
COLUMNS = (
    "what", "key", "timestamp", "fingerprint", "watermark", "side_output", "window_start", "window_end", "rows",
    "fingerprint_sum", "fingerprint_xor", "result", "cause", "at", "size", "offset", "lateness", "late_output",
)  # fmt: skip
_NEVER, _LAST = -(2**63), 2**63 - 1
_FIRED, _BY_ELEMENT, _BY_EVENT_TIMER = 1, 0, 1


class FireMachine:
    """One window operator of one subtask; its fires are judged."""

    judge_fires = True

    def __init__(self) -> None:
        self.watermark = self.highest = _NEVER
        self.intakes = 0
        self.panes: dict[tuple[int, int], list[int]] = {}
        """Rows, sum and exclusive or, by key and last millisecond."""
        self.to_fire: list[tuple[int, int]] = []
        """A heap of (last, key) of panes that have not fired on time yet."""
        self.owed: Counter[tuple[int, ...]] = Counter()
        self.owed_by_last_cause: Counter[tuple[int, ...]] = Counter()
        self.before: tuple[int, ...] = (MARK,)

    def take(self, row: tuple[int, ...]) -> str:
        before, self.before = self.before, row
        wrong = self._take(row)
        if self.judge_fires and row[0] == MERGE:
            return "a merge, where no windows merge"
        if self.judge_fires and row[0] == before[0] == FIRE and row[12] == before[12]:
            overtakes = row[6] > before[6] if row[12] == _BY_ELEMENT else row[13] < before[13]
            return "out of order" if overtakes else wrong
        return wrong

    def _take(self, row: tuple[int, ...]) -> str:
        what, _, timestamp, _, told, *_ = row
        if what == MARK:
            self._cause()
            self.watermark = timestamp
            self._reach(row)
            return ""
        judged = (what in (INTAKE, FIRE, MERGE)) if self.judge_fires else what == DROP
        wrong = "the operator's watermark is not the task's" if judged and told != self.watermark else ""
        if what == INTAKE:
            self._cause()
            self._take_in(row)
        elif judged and what != MERGE:
            seen = self._seen(row)
            if self.owed[seen] > 0:
                self.owed[seen] -= 1
                self.owed_by_last_cause[seen] -= self.owed_by_last_cause[seen] > 0
            else:
                wrong = "nothing calls for it"
        return wrong

    def end(self, whole: bool) -> str:
        missing = sum(self.owed.values()) - (0 if whole else sum(self.owed_by_last_cause.values()))
        return "what is called for never comes" if missing > 0 else ""

    def _cause(self) -> None:
        self.owed_by_last_cause.clear()

    def _owe(self, row: tuple[int, ...]) -> None:
        self.owed[row] += 1
        self.owed_by_last_cause[row] += 1

    def _seen(self, row: tuple[int, ...]) -> tuple[int, ...]:
        _, key, timestamp, fingerprint, _, side, start, end, rows, total, xor, result, cause, at, *_ = row
        if self.judge_fires:
            return (key, start, end, self.watermark, self.intakes, rows, total, xor, result, cause, at)
        return (self.intakes, key, timestamp, fingerprint, side)

    def _reach(self, row: tuple[int, ...]) -> None:
        self.highest = max(self.highest, self.watermark)
        while self.to_fire and self.to_fire[0][0] <= self.highest:
            last, key = heappop(self.to_fire)
            self._fire(key, last, row[14], _BY_EVENT_TIMER, last)

    def _fire(self, key: int, last: int, size: int, cause: int, at: int) -> None:
        if self.judge_fires:
            rows, total, xor = self.panes[key, last]
            end = min(last + 1, _LAST)
            fired = (self.watermark, self.intakes, rows, total, xor, _FIRED, cause, at)
            self._owe((key, last + 1 - size, end, *fired))

    def _take_in(self, row: tuple[int, ...]) -> None:
        _, key, timestamp, fingerprint, *_ = row
        size, offset, lateness, late_output = row[14:]
        self.intakes += 1
        if timestamp == _NEVER:
            return
        last = min(timestamp - (timestamp - offset) % size + size - 1, _LAST)
        if min(last + lateness, _LAST) <= self.watermark:
            if not self.judge_fires:
                self._owe((self.intakes, key, timestamp, fingerprint, late_output))
            return
        is_new = (key, last) not in self.panes
        pane = self.panes.setdefault((key, last), [0, 0, 0])
        pane[0] += 1
        pane[1] += fingerprint >> 31
        pane[2] ^= fingerprint
        if self.watermark >= last:
            self._fire(key, last, size, _BY_ELEMENT, timestamp)
        elif is_new:
            heappush(self.to_fire, (last, key))


class DropMachine(FireMachine):
    """The same operator; its late drops are judged."""

    judge_fires = False

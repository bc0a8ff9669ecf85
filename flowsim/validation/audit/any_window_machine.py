"""Windows of any kind, one row after the other; what should follow is owed until it is seen. Runs in Python workers."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from flowsim.validation.audit.any_window import BY_CLOCK, BY_RECORD, AnyWindows

MARK, INTAKE, MERGE, FIRE, DROP = range(5)
COLUMNS = (
    "what", "key", "timestamp", "fingerprint", "gap", "time_ns", "watermark", "side_output", "window_start", "window_end",
    "rows", "fingerprint_sum", "fingerprint_xor", "result", "cause", "at", "into_start", "into_end", "params",
)  # fmt: skip


class AnyFireMachine:
    """One window operator of one subtask; its firings and merges are judged."""

    judged: tuple[int, ...] = (INTAKE, FIRE, MERGE)

    def __init__(self) -> None:
        self.windows: AnyWindows | None = None
        self.late_output = self.late = 0
        self.owed: Counter[tuple[int, ...]] = Counter()
        self.excused: Counter[tuple[int, ...]] = Counter()
        """What the last cause calls for."""
        self.waiting: tuple[Any, ...] | None = None
        self.merges: list[tuple[Any, ...]] = []
        self.last: tuple[Any, ...] = (MARK,)

    def take(self, row: tuple[Any, ...]) -> str:
        if self.windows is None:
            params = json.loads(row[18])
            self.windows = AnyWindows(params, self._called_for)
            self.late_output = int(params.get("late_output") is True)
        if row[0] == MERGE and self.waiting is not None:
            self.merges.append(row)
            return ""
        wrong = self._settle(self.windows)
        if row[0] == INTAKE:
            self.waiting = row
            return wrong
        if row[0] == MARK:
            self.excused.clear()
            self.windows.reach(row[2])
        else:
            wrong = self._told(self.windows, row) or wrong
        self.last = row
        return wrong

    def end(self, whole: bool) -> str:
        wrong = self._settle(self.windows) if self.windows is not None else ""
        for row, n in self.owed.items():
            if n < 0 or n > (0 if whole else self.excused[row]):
                return "what is called for is not what comes"
        return wrong

    def _called_for(self, fire: tuple[int, ...], certain: bool) -> None:
        if FIRE in self.judged:
            self._owe((FIRE, *fire), certain)

    def _owe(self, row: tuple[int, ...], certain: bool = False) -> None:
        self.owed[row] += 1
        self.excused[row] += not certain

    def _settle(self, windows: AnyWindows) -> str:
        """The record that waited for the merges behind it."""
        row, merges = self.waiting, self.merges
        if row is None:
            return ""
        self.waiting, self.merges = None, []
        wrong = self._misread(windows, row)
        self.excused.clear()
        absorbed = {(merge[8], merge[9]) for merge in merges if merge[1] == row[1]}
        late = windows.record(row[1], row[2], row[3], row[4], row[5], absorbed)
        self.late += late
        if late and DROP in self.judged:
            self._owe((DROP, windows.count, *row[1:4], self.late_output))
        for merge in windows.merges if MERGE in self.judged else ():
            self._owe((MERGE, *merge))
        windows.merges.clear()
        self.last = row
        for merge in merges:
            wrong = self._told(windows, merge) or wrong
            self.last = merge
        return wrong

    def _misread(self, windows: AnyWindows, row: tuple[Any, ...]) -> str:
        return (
            "the operator's watermark is not the task's"
            if row[0] in self.judged and row[6] != windows.watermark
            else ""
        )

    def _told(self, windows: AnyWindows, row: tuple[Any, ...]) -> str:
        what, key = row[0], row[1]
        wrong = self._misread(windows, row)
        if what == FIRE:
            return self._fired(windows, row) or wrong
        if what in self.judged:
            seen = (*row[1:4], row[7]) if what == DROP else (key, *row[8:10], *row[16:18], windows.watermark)
            place = (windows.count,)
            self.owed[(what, *place, *seen) if what == DROP else (what, *seen, *place)] -= 1
        return wrong

    def _fired(self, windows: AnyWindows, row: tuple[Any, ...]) -> str:
        key, start, end, cause, at = row[1], row[8], row[9], row[14], row[15]
        wrong = ""
        if not windows.foretold and not windows.spoke(key, start, end, row[10:13], row[13]):
            wrong = "it speaks of what its window does not hold"
        if cause == BY_CLOCK:
            windows.clock_rang(key, start, end, at)
        if windows.foretold:
            if cause == BY_CLOCK and row[5] < (at + 1) * 10**6:
                wrong = "before its time"
            if self.last[0] == FIRE and self.last[14] == cause:
                overtakes = start > self.last[8] if cause == BY_RECORD else at < self.last[15]
                wrong = "out of order" if overtakes else wrong
            if FIRE in self.judged:
                self.owed[(FIRE, key, start, end, windows.watermark, windows.count, *row[10:16])] -= 1
        return wrong if FIRE in self.judged else ""


class AnyDropMachine(AnyFireMachine):
    """The same operator; its late drops are judged."""

    judged = (DROP,)


class LateCountMachine(AnyFireMachine):
    """The same operator; only how many rows were late, and how many were dropped, is compared."""

    judged = ()

    def __init__(self) -> None:
        super().__init__()
        self.dropped = 0

    def take(self, row: tuple[Any, ...]) -> str:
        self.dropped += row[0] == DROP
        super().take(row)
        return ""

    def end(self, whole: bool) -> str:
        super().end(whole)
        return "late rows that were not dropped, or others" if abs(self.late - self.dropped) > (not whole) else ""

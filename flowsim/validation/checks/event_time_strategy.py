"""What one operator makes of its records and splits (rules 8.1-8.7). Runs in Python workers."""

from __future__ import annotations

from flowsim.validation.checks.event_time_fold import Line

_STATUS = 2
_MIN, _MAX, _IDLE = -(2**63), 2**63 - 1, -1


class Strategy:
    """What one operator made: every output grows, the merged one goes with its splits."""

    def __init__(self) -> None:
        self.merged = _MIN
        self.reached: dict[int, int] = {}
        self.quiet: set[int] = set()
        self.passed_by: set[int] = set()

    def misfit(self, line: Line) -> str:
        described, has_splits = (bool(line.flags & bit) for bit in (1, 2))
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
            return ""
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

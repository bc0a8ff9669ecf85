"""A strategy, row after row: its records as they went out, and what it made of them (rules 8.1-8.7). Runs in Python workers."""

from __future__ import annotations

RECORD, RUNNING, ENDED, MADE = range(4)
COLUMNS = (
    "what", "split", "kind", "timestamp", "time_ns", "records", "highest", "sees", "hears", "delay", "idle_ms", "described",
    "splits", "waits",
)  # fmt: skip
_WATERMARK, _STATUS = 1, 2
_MIN, _MAX, _IDLE = -(2**63), 2**63 - 1, -1


class MadeMachine:
    """Law task-watermark. Every watermark is either the highest timestamp less the bound, or that of the slowest split."""

    def __init__(self) -> None:
        self.count, self.highest, self.ended = 0, _MIN, False
        self.outputs: dict[int, int] = {}
        self.sleeping: set[int] = set()
        self.thought_gone: set[int] = set()

    def take(self, row: tuple[int, ...]) -> str:
        what, split, kind, timestamp, _, records, highest, sees, _, delay, _, described, splits, waits = row
        if what == RECORD:
            if sees:
                self.count += 1
                self.highest = max(self.highest, timestamp)
            return ""
        if what != MADE:
            self.ended = self.ended or what == ENDED
            return ""
        if not described:
            return "an unknown strategy"
        if split >= 0 and split in self.thought_gone:
            self.thought_gone.remove(split)
            self._note(split, kind, timestamp)
            return "a split that held nobody back comes back"
        grows = timestamp > self.outputs.get(split, _MIN)
        self._note(split, kind, timestamp)
        if split < 0 and sees and not splits and (records, highest) != (self.count, self.highest):
            return "counts other records than went out"
        if kind != _WATERMARK:
            return ""
        if not grows:
            return "goes back"
        if timestamp == _MAX:
            return "too early for the end" if split < 0 and waits and not self.ended else ""
        if split < 0 and splits:
            return self._merged(timestamp)
        return "" if delay is None or highest - delay == timestamp else "made of another timestamp"

    def _note(self, split: int, kind: int, timestamp: int) -> None:
        self.sleeping.discard(split)
        if kind == _STATUS and timestamp == _IDLE:
            self.sleeping.add(split)
        reached = timestamp if kind == _WATERMARK else _MIN
        self.outputs[split] = max(self.outputs.get(split, _MIN), reached)

    def _merged(self, timestamp: int) -> str:
        reached = {split: mark for split, mark in self.outputs.items() if split >= 0}
        self.thought_gone |= {split for split, mark in reached.items() if mark < timestamp} - self.sleeping
        return "" if timestamp in reached.values() else "no split is there"

    def end(self, whole: bool) -> str:
        return ""


class QuietMachine:
    """Law idle: awake or asleep, and when it was heard of last."""

    def __init__(self) -> None:
        self.asleep, self.last_ns = False, _MIN

    def take(self, row: tuple[int, ...]) -> str:
        what, split, kind, timestamp, time_ns, _, _, _, hears, _, idle_ms, _, splits, _ = row
        if what == RUNNING or (what == RECORD and hears):
            self.last_ns = max(self.last_ns, time_ns)
        if what != MADE or split >= 0:
            return ""
        if kind == _WATERMARK:
            return "talks in its sleep" if self.asleep else ""
        was, self.asleep = self.asleep, timestamp == _IDLE
        if was == self.asleep:
            return "no news"
        too_early = self.asleep and idle_ms is not None and not splits and self.last_ns > _MIN
        return "asleep too early" if too_early and time_ns <= self.last_ns + idle_ms * 1_000_000 else ""

    def end(self, whole: bool) -> str:
        return ""

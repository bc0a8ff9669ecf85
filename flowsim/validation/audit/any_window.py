"""A window with everything in it: records in a list, alarms in a list, the trigger's notes in a dictionary (section 10).

Slow and plain: what a window holds is added up anew whenever it fires. Runs in Python workers: needs nothing.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from typing import Any

LOW, HIGH = -(2**63), 2**63 - 1
BY_RECORD, BY_EVENT, BY_CLOCK = 0, 1, 2
Described = dict[str, Any]
"""JSON objects of an operator's params."""


def in_64_bits(number: int) -> int:
    """Java's long, which begins again at the other end."""
    number %= 2**64
    return number if number <= HIGH else number - 2**64


class Win:
    """One window of one key."""

    __slots__ = ("key", "start", "end", "records", "notes", "alarms", "since", "renamed", "open")

    def __init__(self, key: int, start: int, end: int) -> None:
        self.key, self.start, self.end = key, start, end
        self.records: list[tuple[int, int]] = []
        self.notes: dict[str, int] = {}
        self.alarms: dict[tuple[int, int], int] = {}
        """(Clock or event, time) to the number of the record with which it was set."""
        self.since = (0, 0)
        self.renamed = False
        self.open = True

    def final(self) -> int:
        return HIGH if self.start == LOW and self.end == HIGH else in_64_bits(self.end - 1)

    def sums(self) -> tuple[int, int, int]:
        total = xor = 0
        for _, fingerprint in self.records:
            total, xor = total + (fingerprint >> 31), xor ^ fingerprint
        return len(self.records), total, xor


def can_foretell(params: Described) -> bool:
    """Whether a model can say when such an operator fires."""
    trigger, family = params.get("trigger"), params["assigner"]
    kinds: list[str] = []
    while isinstance(trigger, dict):
        kinds.append(str(trigger.get("kind")))
        numbers = {"count": "count", "timeout": "interval_ms"}
        if kinds[-1].startswith("continuous_"):
            numbers[kinds[-1]] = "interval_ms"
        if kinds[-1] in numbers and not trigger.get(numbers[kinds[-1]], 0) > 0:
            return False
        trigger = trigger.get("of")
    known = {"event_time", "processing_time", "never", "end_of_stream", "count", "continuous_event_time",
             "continuous_processing_time"}  # fmt: skip
    if not kinds or kinds[-1] not in known or not set(kinds) <= known | {"purging", "timeout"}:
        return False
    if "timeout" in kinds and (kinds.count("timeout") > 1 or family.startswith("sliding")):
        return False
    by_watermark = {"event_time", "continuous_event_time", "end_of_stream"} & set(kinds)
    return not (by_watermark and family.endswith("processing_time")) and not strange_evictor(params)


def strange_evictor(params: Described) -> bool:
    """Whether nobody can tell what its evictor leaves."""
    evictor = params.get("evictor")
    if evictor is None:
        return False
    if evictor.get("kind") == "count" and evictor.get("count", 0) > 0:
        return "session" in params["assigner"]
    return not (evictor.get("kind") == "time" and evictor.get("window_ms", 0) > 0)


class AnyWindows:
    """All windows of one operator; ``say`` hears of every firing that a cause calls for."""

    def __init__(self, params: Described, say: Callable[[tuple[int, ...], bool], None]) -> None:
        self.params, self.say = params, say
        self.family: str = params["assigner"]
        self.event_time = self.family.endswith("event_time")
        self.merging = "session" in self.family
        self.foretold = can_foretell(params)
        self.watermark, self.clock, self.count, self.number = LOW, 0, 0, 0
        self.windows: dict[tuple[int, int, int], Win] = {}
        self.bell: tuple[list[tuple[int, int, Win]], list[tuple[int, int, Win]]] = ([], [])
        self.serial = 0
        self.over: list[Win] = []
        self.merges: list[tuple[int, ...]] = []

    # Causes.

    def reach(self, watermark: int) -> None:
        self._close_over()
        self.watermark = watermark
        while (due := self._next(BY_EVENT, watermark)) is not None:
            self._ring(due[2], BY_EVENT, due[0], certain=False)

    def record(
        self, key: int, at: int, fingerprint: int, gap: int, time_ns: int, absorbed: set[tuple[int, int]]
    ) -> bool:
        """Whether it is late."""
        self._close_over()
        self.clock = time_ns // 10**6
        self.count += 1
        self.number = self.count
        if self.event_time and at == LOW and not self.merging:
            return False
        taken = False
        for start, end in self._windows_of(at if self.event_time else self.clock, gap):
            win = self._united(key, start, end, absorbed) if self.merging else self._window(key, start, end)
            if self.event_time and self._cleanup(win) <= self.watermark:
                self._shut(win)
                continue
            taken = True
            if not win.records:
                win.since = (self.count, time_ns)
            win.records.append((at, fingerprint))
            if self.foretold:
                self._answer(win, self._ask(self.params["trigger"], win, BY_RECORD, at), BY_RECORD, at, certain=False)
            if self._cleanup(win) < HIGH:
                self._alarm(win, BY_EVENT if self.event_time else BY_CLOCK, self._cleanup(win))
        return self.event_time and not taken and in_64_bits(at + self.params.get("lateness_ms", 0)) <= self.watermark

    def clock_rang(self, key: int, start: int, end: int, at: int) -> None:
        """A timer of the clock is recorded to have fired: those before it have run."""
        while (due := self._next(BY_CLOCK, at - 1)) is not None:
            self._unheard(due[2], due[0])
        win = self.windows.get((key, start, end))
        if win is not None and win.alarms.pop((BY_CLOCK, at), None) is not None:
            self.number = self.count
            self._ring(win, BY_CLOCK, at, certain=True)

    def spoke(self, key: int, start: int, end: int, sums: tuple[int, int, int], result: int) -> bool:
        """A firing that nobody can foretell: whether it speaks of what the window holds."""
        win = self.windows.get((key, start, end))
        if win is None or not win.records:
            return False
        if strange_evictor(self.params):
            fits = sums[0] <= len(win.records)
            del win.records[sums[0] :]
        else:
            fits = self._given(win, result) == sums
        if result & 2:
            win.records = []
        return fits

    # Windows.

    def _windows_of(self, at: int, gap: int) -> list[tuple[int, int]]:
        p = self.params
        if self.family == "global":
            return [(LOW, HIGH)]
        if self.merging:
            return [(at, in_64_bits(at + (gap if self.family.startswith("dynamic") else p["gap_ms"])))]
        size = p["size_ms"]
        step = p["slide_ms"] if self.family.startswith("sliding") else size
        first = in_64_bits(at - in_64_bits(at - p.get("offset_ms", 0)) % step)
        if not self.family.startswith("sliding"):
            return [(first, in_64_bits(first + size))]
        oldest = in_64_bits(at - size)
        starts = range(first, first - size - step, -step) if first <= at else ()
        return [(start, in_64_bits(start + size)) for start in starts if start > oldest]

    def _window(self, key: int, start: int, end: int) -> Win:
        return self.windows.setdefault((key, start, end), Win(key, start, end))

    def _cleanup(self, win: Win) -> int:
        return min(win.final() + self.params.get("lateness_ms", 0), HIGH) if self.event_time else win.final()

    def _shut(self, win: Win) -> None:
        win.open = False
        self.windows.pop((win.key, win.start, win.end), None)

    def _close_over(self) -> None:
        for win in self.over:
            self._shut(win)
        self.over = []

    def _united(self, key: int, start: int, end: int, absorbed: set[tuple[int, int]]) -> Win:
        mine = [win for place, win in self.windows.items() if place[0] == key]
        for win in mine:
            # By the clock it may have been cleaned up this very millisecond; whether this record absorbed it tells.
            if not self.event_time and win.end <= start and (win.start, win.end) not in absorbed:
                while win.open and (due := sorted(t for c, t in win.alarms if c == BY_CLOCK and t <= win.final())):
                    self._unheard(win, due[0])
        self.number = self.count
        met = [win for win in mine if win.open and win.start <= end and win.end >= start]
        low, high = min([start, *(win.start for win in met)]), max([end, *(win.end for win in met)])
        if [(win.start, win.end) for win in met] == [(low, high)]:
            if (start, end) == (low, high) and met[0].renamed:
                met[0].records, met[0].renamed = [], False
            return met[0]
        whole = Win(key, low, high)
        for win in sorted(met, key=lambda each: each.start):
            if not whole.records:
                whole.since = win.since
            whole.records += win.records
            for name, value in win.notes.items():
                known = whole.notes.get(name)
                whole.notes[name] = value if known is None else value + known if name == "count" else min(value, known)
            self.merges.append((key, win.start, win.end, low, high, self.watermark, self.count))
            self._shut(win)
        whole.renamed = bool(met)
        self.windows[key, low, high] = whole
        if met and self.foretold:
            self._after_merge(self.params["trigger"], whole)
        return whole

    # Alarms.

    def _alarm(self, win: Win, which: int, at: int) -> None:
        if (which, at) not in win.alarms:
            win.alarms[which, at] = self.number
            self.serial += 1
            insort(self.bell[which - 1], (at, self.serial, win))

    def _next(self, which: int, up_to: int) -> tuple[int, int, Win] | None:
        bell = self.bell[which - 1]
        while bell and bell[0][0] <= up_to:
            at, serial, win = bell.pop(0)
            if win.open and (which, at) in win.alarms:
                if which == BY_EVENT:
                    del win.alarms[which, at]
                return at, serial, win
        return None

    def _unheard(self, win: Win, at: int) -> None:
        """It has run, and nothing was recorded: right if the window was empty then."""
        number = win.alarms.pop((BY_CLOCK, at))
        first, time_ns = win.since
        empty = bool(win.records) and number < first and (at + 1) * 10**6 <= time_ns
        self.number = number if empty else self.count
        self._ring(win, BY_CLOCK, at, certain=True, heard=not empty)

    def _ring(self, win: Win, which: int, at: int, certain: bool, heard: bool = True) -> None:
        answer = self._ask(self.params["trigger"], win, which, at) if self.foretold else 0
        if heard:
            self._answer(win, answer, which, at, certain)
        if self.event_time == (which == BY_EVENT) and at == self._cleanup(win):
            if self.foretold or which == BY_CLOCK:
                self._shut(win)
            else:
                self.over.append(win)

    # The trigger.

    def _answer(self, win: Win, answer: int, cause: int, at: int, certain: bool) -> None:
        if answer and win.records:
            sums = self._given(win, answer)
            fire = (win.key, win.start, win.end, self.watermark, self.count, *sums, answer, cause, at)
            self.say(fire, certain)
            if answer & 2:
                win.records = []

    def _given(self, win: Win, result: int) -> tuple[int, int, int]:
        """What the function is given; the evictor acts before or after that."""
        evictor = self.params.get("evictor") if result & 1 else None
        if evictor is None:
            return win.sums()
        if evictor["after"]:
            sums = win.sums()
            self._evict(win, evictor)
            return sums
        self._evict(win, evictor)
        return win.sums()

    def _evict(self, win: Win, evictor: Described) -> None:
        if evictor["kind"] == "count":
            del win.records[: max(0, len(win.records) - evictor["count"])]
        elif win.records and win.records[0][0] != LOW:
            limit = in_64_bits(max(win.records)[0] - evictor["window_ms"])
            win.records = [each for each in win.records if each[0] > limit]

    def _after_merge(self, trigger: Described, win: Win) -> None:
        kind = trigger["kind"]
        if kind == "purging":
            self._after_merge(trigger["of"], win)
        elif "next" in win.notes:
            self._alarm(win, BY_EVENT if kind == "continuous_event_time" else BY_CLOCK, win.notes["next"])
        elif kind == "event_time" and win.final() > self.watermark:
            self._alarm(win, BY_EVENT, win.final())
        elif kind == "processing_time" and win.final() > self.clock:
            self._alarm(win, BY_CLOCK, win.final())

    def _ask(self, trigger: Described, win: Win, cause: int, at: int) -> int:
        kind: str = trigger["kind"]
        if kind == "purging":
            return 3 if (answer := self._ask(trigger["of"], win, cause, at)) & 1 else answer
        if kind == "timeout":
            return self._ask_timeout(trigger, win, cause, at)
        if kind == "count":
            return self._ask_count(trigger["count"], win) if cause == BY_RECORD else 0
        if kind == "never":
            return 0
        which = BY_CLOCK if "processing" in kind else BY_EVENT
        if cause not in (BY_RECORD, which):
            return 0
        if cause == BY_RECORD:
            if which == BY_EVENT and kind != "end_of_stream" and win.final() <= self.watermark:
                return 1
            if kind != "continuous_processing_time":
                self._alarm(win, which, win.final())
            if kind.startswith("continuous") and "next" not in win.notes:
                base = self.clock if which == BY_CLOCK else at
                whole = base // trigger["interval_ms"] + (base < 0 and base % trigger["interval_ms"] > 0)
                self._plan(win, which, (whole + 1) * trigger["interval_ms"])
            return 0
        if kind.startswith("continuous") and at != win.final():
            if at != win.notes.get("next"):
                return 0
            self._plan(win, which, at + trigger["interval_ms"])
            return 1
        return int(kind == "processing_time" or at == win.final())

    def _ask_count(self, limit: int, win: Win) -> int:
        win.notes["count"] = win.notes.get("count", 0) + 1
        if win.notes["count"] < limit:
            return 0
        del win.notes["count"]
        return 1

    def _plan(self, win: Win, which: int, at: int) -> None:
        win.notes["next"] = min(in_64_bits(at), win.final())
        self._alarm(win, which, win.notes["next"])

    def _ask_timeout(self, trigger: Described, win: Win, cause: int, at: int) -> int:
        answer = self._ask(trigger["of"], win, cause, at)
        if trigger["clear_on_timeout"] if cause != BY_RECORD else answer & 1:
            self._forget(trigger["of"], win)
        if cause != BY_RECORD:
            return 1 | answer & 2
        if answer & 1:
            return answer
        if trigger["reset_on_element"] and "timeout" in win.notes:
            win.alarms.pop((BY_CLOCK, win.notes.pop("timeout")), None)
        if "timeout" not in win.notes:
            win.notes["timeout"] = self.clock + trigger["interval_ms"]
            self._alarm(win, BY_CLOCK, win.notes["timeout"])
        return answer

    def _forget(self, inner: Described, win: Win) -> None:
        while "of" in inner:
            inner = inner["of"]
        kind = inner["kind"]
        which = BY_CLOCK if "processing" in kind else BY_EVENT
        if "timeout" in win.notes:
            win.alarms.pop((BY_CLOCK, win.notes["timeout"]), None)
        if kind in ("event_time", "processing_time", "end_of_stream"):
            win.alarms.pop((which, win.final()), None)
        elif "next" in win.notes:
            win.alarms.pop((which, win.notes["next"]), None)
        win.notes.clear()

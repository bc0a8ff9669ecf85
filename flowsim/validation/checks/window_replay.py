"""The judge's own window operator: one pane per key and window, with its contents, its trigger's state and its timers.

Written from section 10 of the rules, without a look at the simulator's operator. Runs in Python workers: needs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from heapq import heappop, heappush

from flowsim.validation.checks.window_shape import Shape, number

_MIN, _MAX = -(2**63), 2**63 - 1
_NS = 1_000_000
_FIRE, _PURGE = 1, 2
ELEMENT, EVENT_TIMER, CLOCK_TIMER = 0, 1, 2


def _long(number: int) -> int:
    """What 64 bits hold of it: times wrap around as Java's do."""
    return (number - _MIN) % 2**64 + _MIN


Window = tuple[int, int]
Fire = tuple[int, ...]
"""key, start, end, watermark, intakes, rows, sum, xor, result, cause, at."""


@dataclass(slots=True, eq=False)
class Pane:
    """One key and window."""

    key: int
    start: int
    end: int
    rows: int = 0
    total: int = 0
    xor: int = 0
    records: list[tuple[int, int]] = field(default_factory=list)
    first: tuple[int, int] = (0, 0)
    """Number and time of the first record since it was empty."""
    count: int = 0
    following: int | None = None
    timeout: int | None = None
    events: set[int] = field(default_factory=set)
    clocks: dict[int, int] = field(default_factory=dict)
    """Clock timers, each with how many records had been taken in when it was set."""
    joined: bool = False
    """It came about by a merge."""
    alive: bool = True

    @property
    def last(self) -> int:
        return _MAX if (self.start, self.end) == (_MIN, _MAX) else _long(self.end - 1)

    def add(self, fingerprint: int) -> None:
        self.rows += 1
        self.total += fingerprint >> 31
        self.xor ^= fingerprint

    def drain(self) -> None:
        self.rows = self.total = self.xor = 0
        self.records = []


class Replay:
    """Takes watermarks, records and clock firings in order; ``told`` collects the fires that each calls for."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.watermark, self.now, self.taken, self.rank = _MIN, 0, 0, 0
        self.panes: dict[int, dict[Window, Pane]] = {}
        self.heaps: tuple[list[tuple[int, int, Pane]], list[tuple[int, int, Pane]]] = ([], [])
        self.serial = 0
        self.told: list[Fire] = []
        self.overdue: list[Fire] = []
        """Fires of clock timers that must have run already, and were not recorded."""
        self.merged: list[tuple[int, ...]] = []
        self.closing: list[Pane] = []
        """Panes to close at the next cause: a fire that cannot be foretold may still be told of them."""

    def mark(self, watermark: int) -> None:
        self._close_all()
        self.watermark = watermark
        heap = self.heaps[0]
        while heap and heap[0][0] <= watermark:
            at, _, pane = heappop(heap)
            if pane.alive and at in pane.events:
                pane.events.discard(at)
                self._timer(pane, EVENT_TIMER, at, self.told)

    def intake(self, key: int, timestamp: int, fingerprint: int, gap: int, time_ns: int, absorbed: set[Window]) -> bool:
        """Whether the record is late."""
        self._close_all()
        self.now = time_ns // _NS
        self.taken += 1
        self.rank = self.taken
        shape = self.shape
        here = self.panes.setdefault(key, {})
        missing = shape.by_event and timestamp == _MIN and not shape.merging
        inside = False
        for start, end in () if missing else self._assign(timestamp if shape.by_event else self.now, gap):
            pane = self._join(key, start, end, absorbed) if shape.merging else here.get((start, end))
            if pane is None:
                pane = here[start, end] = Pane(key, start, end)
            if shape.by_event and self._cleanup(pane) <= self.watermark:
                self._close(pane)
                continue
            inside = True
            self._put(pane, timestamp, fingerprint, time_ns)
        return shape.by_event and not missing and not inside and _long(timestamp + shape.lateness) <= self.watermark

    def clock(self, key: int, window: Window, at: int) -> None:
        """A recorded clock firing: every timer before it has run by now."""
        heap = self.heaps[1]
        while heap and heap[0][0] < at:
            due, _, pane = heappop(heap)
            if pane.alive and due in pane.clocks:
                self._unseen(pane, due)
        found = self.panes.get(key, {}).get(window)
        if found is not None and found.clocks.pop(at, None) is not None:
            self.rank = self.taken
            self._timer(found, CLOCK_TIMER, at, self.told)

    def answer(self, key: int, window: Window, contents: tuple[int, ...], result: int) -> bool:
        """Whether a recorded answer of a trigger that cannot be foretold speaks of what the window holds."""
        pane = self.panes.get(key, {}).get(window)
        if pane is None or not pane.rows:
            return False
        evictor = self.shape.evictor if result & _FIRE else None
        if evictor is not None and not evictor.get("after"):
            self._evict(pane, evictor)
        fits = contents == (pane.rows, pane.total, pane.xor)
        if self.shape.unknown_evictor:
            fits = contents[0] <= pane.rows
            pane.rows = min(pane.rows, contents[0])
        if evictor is not None and evictor.get("after"):
            self._evict(pane, evictor)
        if result & _PURGE:
            pane.drain()
        return fits

    def _assign(self, at: int, gap: int) -> list[Window]:
        shape = self.shape
        if shape.kind == "global":
            return [(_MIN, _MAX)]
        if shape.merging:
            return [(at, _long(at + (shape.size if shape.kind == "session" else gap)))]
        start = _long(at - _long(at - shape.offset) % shape.slide)
        if shape.kind == "tumbling":
            return [(start, _long(start + shape.size))]
        windows = []
        while at >= start > _long(at - shape.size):
            windows.append((start, _long(start + shape.size)))
            start -= shape.slide
        return windows

    def _cleanup(self, pane: Pane) -> int:
        return min(pane.last + self.shape.lateness, _MAX) if self.shape.by_event else pane.last

    def _put(self, pane: Pane, timestamp: int, fingerprint: int, time_ns: int) -> None:
        if not pane.rows:
            pane.first = (self.taken, time_ns)
        pane.add(fingerprint)
        if self.shape.evictor is not None:
            pane.records.append((timestamp, fingerprint))
        if self.shape.trigger is not None:
            answer = self._ask(self.shape.trigger, pane, ELEMENT, timestamp)
            self._obey(pane, answer, ELEMENT, timestamp, self.told)
        if self._cleanup(pane) < _MAX:
            self._set(pane, not self.shape.by_event, self._cleanup(pane))

    def _set(self, pane: Pane, clock: bool, at: int) -> None:
        if at in (pane.clocks if clock else pane.events):
            return
        if clock:
            pane.clocks[at] = self.rank
        else:
            pane.events.add(at)
        self.serial += 1
        heappush(self.heaps[clock], (at, self.serial, pane))

    def _timer(self, pane: Pane, cause: int, at: int, fires: list[Fire] | None) -> None:
        answer = 0 if self.shape.trigger is None else self._ask(self.shape.trigger, pane, cause, at)
        if fires is not None:
            self._obey(pane, answer, cause, at, fires)
        if at == self._cleanup(pane) and (cause == EVENT_TIMER) == self.shape.by_event:
            if self.shape.foretold or cause == CLOCK_TIMER:
                self._close(pane)
            else:
                self.closing.append(pane)

    def _unseen(self, pane: Pane, at: int) -> None:
        """A clock timer that has run unseen: before the pane had contents, if that can be; else it should have been seen."""
        rank = pane.clocks.pop(at)
        number, time_ns = pane.first
        was_empty = pane.rows > 0 and rank < number and (at + 1) * _NS <= time_ns
        self.rank = rank if was_empty else self.taken
        self._timer(pane, CLOCK_TIMER, at, None if was_empty else self.overdue)

    def _obey(self, pane: Pane, answer: int, cause: int, at: int, fires: list[Fire]) -> None:
        if not answer or not pane.rows:
            return
        evictor = self.shape.evictor
        if evictor is not None and not evictor.get("after"):
            self._evict(pane, evictor)
        fires.append((pane.key, pane.start, pane.end, self.watermark, self.taken, pane.rows, pane.total, pane.xor, answer,
                      cause, at))  # fmt: skip
        if evictor is not None and evictor.get("after"):
            self._evict(pane, evictor)
        if answer & _PURGE:
            pane.drain()

    def _evict(self, pane: Pane, evictor: dict[str, object]) -> None:
        records = pane.records
        if evictor["kind"] == "count":
            records = records[-number(evictor, "count") :]
        elif records and records[0][0] != _MIN:
            cutoff = _long(max(at for at, _ in records) - number(evictor, "window_ms"))
            records = [(at, fp) for at, fp in records if at > cutoff]
        pane.drain()
        for _, fingerprint in records:
            pane.add(fingerprint)
        pane.records = records

    def _close_all(self) -> None:
        for pane in self.closing:
            self._close(pane)
        self.closing.clear()

    def _close(self, pane: Pane) -> None:
        pane.alive = False
        self.panes[pane.key].pop((pane.start, pane.end), None)

    def _join(self, key: int, start: int, end: int, absorbed: set[Window]) -> Pane:
        """The pane of a new window among those of its key, which it may join."""
        here = self.panes[key]
        if not self.shape.by_event:
            self._settle_ended(key, start, absorbed)
        touching = sorted((p for p in here.values() if p.start <= end and start <= p.end), key=lambda p: p.start)
        if not touching:
            here[start, end] = pane = Pane(key, start, end)
            return pane
        low, high = min(start, touching[0].start), max(end, max(p.end for p in touching))
        if len(touching) == 1 and (touching[0].start, touching[0].end) == (low, high):
            pane = touching[0]
            if pane.joined and (start, end) == (low, high):
                # It counts as new then: what its members had brought stays with them (rule 10.25).
                pane.drain()
                pane.joined = False
            return pane
        pane = Pane(key, low, high, joined=True)
        for old in touching:
            if old.rows and not pane.rows:
                pane.first = old.first
            pane.rows, pane.total, pane.xor = pane.rows + old.rows, pane.total + old.total, pane.xor ^ old.xor
            pane.records += old.records
            pane.count += old.count
            if old.following is not None:
                pane.following = old.following if pane.following is None else min(pane.following, old.following)
            self.merged.append((key, old.start, old.end, low, high, self.watermark, self.taken))
            self._close(old)
        here[low, high] = pane
        if self.shape.trigger is not None:
            self._after_merge(self.shape.trigger, pane)
        return pane

    def _settle_ended(self, key: int, now: int, absorbed: set[Window]) -> None:
        """Windows that end right now were cleaned up just before, unless this very record was seen to absorb them."""
        for pane in [p for p in self.panes[key].values() if p.end <= now and (p.start, p.end) not in absorbed]:
            while pane.alive and (due := [at for at in pane.clocks if at <= pane.last]):
                self._unseen(pane, min(due))
        self.rank = self.taken

    def _after_merge(self, trigger: dict[str, object], pane: Pane) -> None:
        kind = trigger["kind"]
        if kind == "purging":
            self._after_merge(trigger["of"], pane)  # type: ignore[arg-type]
        elif kind in ("continuous_event_time", "continuous_processing_time") and pane.following is not None:
            self._set(pane, kind == "continuous_processing_time", pane.following)
        elif (kind == "event_time" and pane.last > self.watermark) or (
            kind == "processing_time" and pane.last > self.now
        ):
            self._set(pane, kind == "processing_time", pane.last)

    def _ask(self, trigger: dict[str, object], pane: Pane, cause: int, at: int) -> int:
        """Rules 10.17 to 10.23. ``at``: of the record, or of the timer."""
        kind = trigger["kind"]
        if kind == "purging":
            answer = self._ask(trigger["of"], pane, cause, at)  # type: ignore[arg-type]
            return _FIRE | _PURGE if answer & _FIRE else answer
        if kind == "timeout":
            return self._timed_out(trigger, pane, cause, at)
        if kind == "count" and cause == ELEMENT:
            pane.count = (pane.count + 1) % number(trigger, "count") if pane.count < number(trigger, "count") else 0
            return int(pane.count == 0)
        if kind == "event_time" and cause == ELEMENT and pane.last <= self.watermark:
            return _FIRE
        if kind in ("event_time", "end_of_stream", "processing_time") and cause == ELEMENT:
            self._set(pane, kind == "processing_time", pane.last)
        elif kind in ("event_time", "end_of_stream"):
            return int(cause == EVENT_TIMER and at == pane.last)
        elif kind == "processing_time":
            return int(cause == CLOCK_TIMER)
        elif kind in ("continuous_event_time", "continuous_processing_time"):
            return self._continuous(
                kind == "continuous_processing_time", number(trigger, "interval_ms"), pane, cause, at
            )
        return 0

    def _continuous(self, clock: bool, interval: int, pane: Pane, cause: int, at: int) -> int:
        if cause == ELEMENT:
            if not clock and pane.last <= self.watermark:
                return _FIRE
            if not clock:
                self._set(pane, False, pane.last)
            if pane.following is None:
                base = self.now if clock else at
                # Towards zero, as Java divides.
                self._follow(clock, pane, (abs(base) // interval * interval) * (1 if base >= 0 else -1) + interval)
            return 0
        if (cause == CLOCK_TIMER) != clock:
            return 0
        if at != pane.last:
            if at != pane.following:
                return 0
            self._follow(clock, pane, at + interval)
        return _FIRE

    def _follow(self, clock: bool, pane: Pane, at: int) -> None:
        pane.following = min(_long(at), pane.last)
        self._set(pane, clock, pane.following)

    def _timed_out(self, trigger: dict[str, object], pane: Pane, cause: int, at: int) -> int:
        inner: dict[str, object] = trigger["of"]  # type: ignore[assignment]
        answer = self._ask(inner, pane, cause, at)
        if cause != ELEMENT:
            if trigger.get("clear_on_timeout"):
                self._reset(inner, pane)
            return _FIRE | answer & _PURGE
        if answer & _FIRE:
            self._reset(inner, pane)
            return answer
        if pane.timeout is not None and trigger.get("reset_on_element"):
            pane.clocks.pop(pane.timeout, None)
            pane.timeout = None
        if pane.timeout is None:
            pane.timeout = self.now + number(trigger, "interval_ms")
            self._set(pane, True, pane.timeout)
        return answer

    def _reset(self, inner: dict[str, object], pane: Pane) -> None:
        """A timeout that clears: its own timer, and all that the trigger inside keeps."""
        if pane.timeout is not None:
            pane.clocks.pop(pane.timeout, None)
            pane.timeout = None
        while inner["kind"] == "purging":
            inner = inner["of"]  # type: ignore[assignment]
        kind = inner["kind"]
        pane.count = 0
        if kind in ("event_time", "end_of_stream"):
            pane.events.discard(pane.last)
        elif kind == "processing_time":
            pane.clocks.pop(pane.last, None)
        elif pane.following is not None:
            (pane.clocks.pop(pane.following, None) if kind == "continuous_processing_time"
             else pane.events.discard(pane.following))  # fmt: skip
            pane.following = None

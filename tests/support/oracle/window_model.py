"""A second model of one window operator of one subtask: what must follow from its intake (sections 10.B, 10.C, 10.E)."""

from __future__ import annotations

from dataclasses import dataclass, field

from flowsim.facts.kinds import FireCause
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from tests.support.oracle.facts import Row
from tests.support.oracle.window_contents import Account, Contents
from tests.support.oracle.window_plan import Window, WindowPlan, last_of
from tests.support.oracle.window_timers import Timers
from tests.support.oracle.window_triggers import CONTINUE, FIRE, PURGE, Memory, Silent, Trigger, trigger_of

NS_PER_MS = 1_000_000
ALWAYS = -1
"""The cause of what must be there even where a recording breaks off."""


@dataclass(frozen=True, slots=True)
class Expected:
    """A row that must follow, and the sequence number of its cause."""

    row: Row
    cause: int


@dataclass(frozen=True, slots=True)
class Intake:
    """One record that the operator took in."""

    seq: int
    key: int
    timestamp: int
    fingerprint: int
    gap_ms: int
    time_ns: int
    is_right: bool


@dataclass(slots=True)
class Place:
    """One key and window, as its trigger sees it."""

    model: WindowModel
    key: int
    window: Window
    memory: Memory

    @property
    def watermark(self) -> int:
        return self.model.watermark

    @property
    def now_ms(self) -> int:
        return self.model.now_ms

    def set_timer(self, event_time: bool, at: int) -> None:
        self.model.timers(event_time).add((at, self.key, self.window), self.model.rank)

    def delete_timer(self, event_time: bool, at: int) -> None:
        self.model.timers(event_time).delete((at, self.key, self.window))


@dataclass(slots=True)
class WindowModel:
    """Takes watermarks, records and recorded clock firings in order, and notes what each must bring about."""

    plan: WindowPlan
    watermark: int = NO_TIMESTAMP
    now_ms: int = 0
    intakes: int = 0
    rank: int = 0
    """The number of the record with which a timer that is set now is set."""
    cause: int = ALWAYS
    fires: list[Expected] = field(default_factory=list)
    drops: list[Expected] = field(default_factory=list)
    merges: list[Expected] = field(default_factory=list)
    calls: list[Expected] = field(default_factory=list)
    """Of the function of two streams: key, window, both sides, calls and the sum over them, and records taken in."""
    since: int = ALWAYS
    """Sequence number of the last record or watermark."""
    _trigger: Trigger = field(default_factory=Silent)
    _memories: dict[tuple[int, Window], Memory] = field(default_factory=dict)
    _contents: dict[tuple[int, Window], Contents] = field(default_factory=dict)
    _known: dict[int, dict[Window, bool]] = field(default_factory=dict)
    """Merging assigners: the windows of each key, and whether the contents of each are its own."""
    _doomed: list[tuple[int, Window]] = field(default_factory=list)
    """Windows whose cleanup is due, but whose last firing cannot be predicted: they stay until the next cause."""
    _event_timers: Timers = field(default_factory=Timers)
    _clock_timers: Timers = field(default_factory=Timers)

    def __post_init__(self) -> None:
        if self.plan.predicted and self.plan.trigger is not None:
            self._trigger = trigger_of(self.plan.trigger)

    def timers(self, event_time: bool) -> Timers:
        return self._event_timers if event_time else self._clock_timers

    def advance(self, seq: int, watermark: int) -> None:
        """A watermark of the task: every event-time timer up to it runs (rule 9.4)."""
        self._next_cause(seq)
        self.watermark = watermark
        while (due := self._event_timers.poll(watermark)) is not None:
            (at, key, window), _ = due
            self._run(key, window, True, at)

    def take_in(self, intake: Intake, absorbed: set[Window]) -> None:
        """A record, and the windows whose absorption was recorded with it (rules 10.7, 10.10, 10.27)."""
        self._next_cause(intake.seq)
        self.now_ms = intake.time_ns // NS_PER_MS
        self.intakes += 1
        self.rank = self.intakes
        placed = False
        for assigned in self.plan.windows_of(intake.timestamp, self.now_ms, intake.gap_ms):
            window = self._merge(intake.key, assigned, absorbed) if self.plan.merging else assigned
            if self.plan.is_window_late(window, self.watermark):
                self._known.get(intake.key, {}).pop(window, None)
                continue
            placed = True
            self._add(intake, window)
        if not placed and self.plan.is_row_late(intake.timestamp, self.watermark):
            row = (self.intakes, intake.key, intake.timestamp, intake.fingerprint, int(self.plan.late_output))
            self.drops.append(Expected(row, intake.seq))

    def fired_by_clock(self, key: int, window: Window, at: int) -> None:
        """A recorded firing of a processing-time timer: the clock has reached ``at``, and all timers before it have run."""
        self.cause = ALWAYS
        while (due := self._clock_timers.poll(at - 1)) is not None:
            self._run_late(*due)
        rank = self._clock_timers.delete((at, key, window))
        if rank is not None:
            self.rank = self.intakes
            self._run(key, window, False, at)

    def fires_unforetold(self, key: int, window: Window, rows: int, result: int) -> Account | None:
        """A recorded result of a trigger that cannot be predicted: the contents it must have, and what it leaves behind."""
        contents = self._contents.get((key, window))
        if contents is None or not contents.rows:
            return None
        account = contents.fire() if result & FIRE else contents.account()
        if result & FIRE:
            self._expect_calls(key, window, contents)
        if result & PURGE:
            contents.empty()
        elif self.plan.keeps_unknown:
            contents.rows = min(contents.rows, rows)
        return account

    def _next_cause(self, seq: int) -> None:
        self.cause = self.since = seq
        for key, window in self._doomed:
            self._forget(key, window)
        self._doomed.clear()

    def _add(self, intake: Intake, window: Window) -> None:
        contents = self._contents.get((intake.key, window))
        if contents is None:
            contents = self._contents[intake.key, window] = Contents(self.plan.evictor, self.plan.join is not None)
        contents.add(intake.timestamp, intake.fingerprint, intake.is_right, (self.intakes, intake.time_ns))
        place = self._place(intake.key, window)
        answer = self._trigger.on_element(place, intake.timestamp)
        self._obey(place, contents, answer, FireCause.ELEMENT, intake.timestamp)
        self._timer_of_cleanup(place, set_it=True)

    def _run(self, key: int, window: Window, event_time: bool, at: int, silent: bool = False) -> None:
        """A timer of the window: the trigger is asked, then it may be time to clean up (rules 10.13, 10.28)."""
        if self.plan.merging and window not in self._known.get(key, {}):
            return
        place = self._place(key, window)
        answer = self._trigger.on_timer(place, event_time, at)
        if not silent:
            cause = FireCause.EVENT_TIME_TIMER if event_time else FireCause.PROCESSING_TIME_TIMER
            self._obey(place, self._contents.get((key, window)), answer, cause, at)
        if event_time == self.plan.event_time and at == self.plan.cleanup_of(window):
            self._trigger.clear(place)
            if event_time and not self.plan.predicted:
                self._doomed.append((key, window))
            else:
                self._forget(key, window)

    def _run_late(self, timer: tuple[int, int, Window], rank: int) -> None:
        """A clock timer that ran some time ago, unseen: perhaps while its window was empty."""
        at, key, window = timer
        contents = self._contents.get((key, window))
        first, time_ns = contents.since if contents is not None else (0, 0)
        silent = rank < first and (at + 1) * NS_PER_MS <= time_ns
        self.rank = rank if silent else self.intakes
        self._run(key, window, False, at, silent)

    def _obey(self, place: Place, contents: Contents | None, answer: int, cause: FireCause, at: int) -> None:
        if answer == CONTINUE or contents is None or not contents.rows:
            return
        account = contents.fire() if answer & FIRE else contents.account()
        row = (place.key, *place.window, self.watermark, self.intakes, *account, answer, int(cause), at)
        self.fires.append(Expected(row, self.cause))
        if answer & FIRE:
            self._expect_calls(place.key, place.window, contents)
        if answer & PURGE:
            contents.empty()

    def _expect_calls(self, key: int, window: Window, contents: Contents) -> None:
        """Rule 10.37: one call per pair, or one with both sides."""
        left = [fingerprint for _, fingerprint, is_right in contents.given if not is_right]
        right = [fingerprint for _, fingerprint, is_right in contents.given if is_right]
        if self.plan.join == "join":
            products = [one * other for one in left for other in right]
        else:
            products = [sum(left) * sum(right)]
        sums = [_as_long(sum(numbers)) for numbers in (left, right, products)]
        row = (key, *window, len(left), len(right), sums[0], sums[1], len(products), sums[2], self.intakes)
        self.calls.append(Expected(row, self.since))

    def _merge(self, key: int, new: Window, absorbed: set[Window]) -> Window:
        """Adds a window to those of its key: all that meet or touch become one (rules 10.25, 10.26)."""
        known = self._known.setdefault(key, {})
        if not self.plan.event_time:
            self._clean_up_touched(key, new, absorbed)
        met = sorted(window for window in known if window[0] <= new[1] and new[0] <= window[1])
        whole = (min(new[0], *(w[0] for w in met)), max(new[1], *(w[1] for w in met))) if met else new
        if met == [whole]:
            if new == whole and not known[whole]:
                # Flink takes the window for a new one then, and leaves what its members had put together behind.
                self._contents.pop((key, whole), None)
                known[whole] = True
            return whole
        if not met:
            known[new] = True
            return new
        self._absorb(key, met, whole)
        known[whole] = False
        return whole

    def _absorb(self, key: int, met: list[Window], whole: Window) -> None:
        contents = self._contents[key, whole] = Contents(self.plan.evictor, self.plan.join is not None)
        place = self._place(key, whole)
        moved = []
        for window in met:
            memory = self._place(key, window).memory
            moved.append(Memory(memory.count, memory.noted, memory.timeout, memory.parts))
            memory.count, memory.noted, memory.timeout, memory.parts = 0, None, None, {}
        self._trigger.on_merge(place, moved)
        for window in met:
            old = self._place(key, window)
            self._trigger.clear(old)
            self._timer_of_cleanup(old, set_it=False)
            contents.absorb(self._contents.get((key, window), Contents(None)))
            self._forget(key, window)
            row = (key, *window, *whole, self.watermark, self.intakes)
            self.merges.append(Expected(row, self.cause))

    def _clean_up_touched(self, key: int, new: Window, absorbed: set[Window]) -> None:
        """A window that ends now may have been cleaned up just before; whether it was absorbed tells."""
        cause = self.cause
        if new[1] - 1 > self.now_ms:
            self.cause = ALWAYS  # A merge that ends now fails the job instead (rule 10.26).
        for window in [w for w in self._known[key] if w[1] <= new[0] and w not in absorbed]:
            while (due := self._clock_timers.poll_window(key, window, last_of(window))) is not None:
                self._run_late(*due)
        self.cause, self.rank = cause, self.intakes

    def _timer_of_cleanup(self, place: Place, set_it: bool) -> None:
        """Rule 10.8."""
        at = self.plan.cleanup_of(place.window)
        if at != MAX_WATERMARK:
            (place.set_timer if set_it else place.delete_timer)(self.plan.event_time, at)

    def _forget(self, key: int, window: Window) -> None:
        self._contents.pop((key, window), None)
        self._memories.pop((key, window), None)
        self._known.get(key, {}).pop(window, None)

    def _place(self, key: int, window: Window) -> Place:
        memory = self._memories.get((key, window))
        if memory is None:
            memory = self._memories[key, window] = Memory()
        return Place(self, key, window, memory)


def _as_long(number: int) -> int:
    """The lowest 64 bits, as a signed number."""
    low = number & (2**64 - 1)
    return low - 2**64 if low >= 2**63 else low

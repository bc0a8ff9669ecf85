"""The time that counts towards the idle timeouts of a task, and when its periodic calls ran (rules 8.2, 8.4)."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Iterable
from typing import Final, NamedTuple

from flowsim.facts.kinds import ActionKind, ActionPhase, WaitKind
from flowsim.facts.schema import OUTPUT_FULL
from flowsim.laws.free_moments import BUSY, REAL_TIME_NS
from flowsim.laws.machine import reads
from flowsim.laws.slices import Slice
from flowsim.units import NS_PER_MS

ACTIONS: Final = ("time_ns", "phase", "kind", "priority")
_BEGIN, _END = int(ActionPhase.BEGIN), int(ActionPhase.END)
_WAIT: Final = int(ActionPhase.WAIT)
_MAIL, _LOCK_HOLDER = int(ActionKind.MAIL), int(ActionKind.LOCK_HOLDER)
_DEFAULT_ACTION: Final = int(ActionKind.DEFAULT_ACTION)
_WAIT_FOR_MAIL, _LOCK, _BUFFER = int(WaitKind.MAIL), int(WaitKind.LOCK), int(WaitKind.BUFFER)


class Event(NamedTuple):
    """A row of the task."""

    seq: int
    time_ns: int


class Moment(NamedTuple):
    """At row ``seq`` and time ``now_ns``, every mail that was due until ``due_ns`` has run."""

    seq: int
    due_ns: int
    now_ns: int


class TaskActivity:
    """When a task waited for output and ran its mails; from the facts of level full."""

    def __init__(self) -> None:
        self.is_known = False
        """Whether this is recorded, for virtual time, and for a task without a checkpoint lock."""
        self.mails: list[Event] = []
        """The beginnings of mails: each periodic call is in one of them."""
        self.ends: list[Event] = []
        """The ends of actions of the loop."""
        self.moments: list[Moment] = []
        self.full: list[tuple[int, int]] = []
        """The waits for output, as times."""
        self._is_locked = False
        self._depth = 0
        self._waiting: dict[int, Event] = {}
        """The beginnings of open waits, by kind."""
        self._begun: deque[int] = deque(maxlen=BUSY)
        """The times at which the last default actions began."""

    @reads(actions=ACTIONS)
    def feed(self, facts: Slice) -> None:
        rows = facts.of("actions")
        if not len(rows) or self._is_locked:
            return
        phases, kinds = rows.column("phase"), rows.column("kind")
        is_action = phases <= _END
        self._is_locked = bool(((kinds == _LOCK_HOLDER) & is_action).any() or ((kinds == _LOCK) & ~is_action).any())
        self.is_known = not self._is_locked and int(rows.column("time_ns")[0]) < REAL_TIME_NS
        chosen = is_action | (kinds == _WAIT_FOR_MAIL) | (kinds == _BUFFER)
        for seq, time_ns, phase, kind, priority in rows.tuples(("seq", *ACTIONS), chosen):
            if phase == _BEGIN:
                self._depth += 1
                self._begin(seq, time_ns, kind)
            elif phase == _END:
                self._depth -= 1
                if not self._depth:
                    self.ends.append(Event(seq, time_ns))
            elif phase == _WAIT:
                self._waiting[kind] = Event(seq, time_ns)
            else:
                self._resume(seq, time_ns, kind, priority)

    def _begin(self, seq: int, time_ns: int, kind: int) -> None:
        if kind == _MAIL:
            self.mails.append(Event(seq, time_ns))
        elif kind == _DEFAULT_ACTION:
            self._begun.append(time_ns)
            if len(self._begun) == BUSY:
                self._add(Moment(seq, self._begun[0] - 1, time_ns))

    def _resume(self, seq: int, time_ns: int, kind: int, priority: int) -> None:
        since = self._waiting.pop(kind, Event(seq, time_ns))
        if time_ns <= since.time_ns:
            return
        if kind == _BUFFER or priority == OUTPUT_FULL:
            self.full.append((since.time_ns, time_ns))
        if kind == _WAIT_FOR_MAIL and not self._depth:
            # Otherwise, a mail that was due would have ended the wait at once.
            self._add(Moment(since.seq, since.time_ns, since.time_ns))

    def _add(self, moment: Moment) -> None:
        if not self.moments or moment.due_ns > self.moments[-1].due_ns:
            self.moments.append(moment)

    def forget(self) -> None:
        """Forgets all lists, for a caller that examines the facts slice by slice."""
        for known in (self.mails, self.ends, self.moments, self.full):
            known.clear()

    def stored_ns(self, event: Event, has_records: bool, calls: Calls | None, until: int) -> int | None:
        """The earliest time at which a generator can have stored the time after its last record; None: not before a row.

        The first periodic call after a record notices it, the next one stores. Without records, the first one stores.
        """
        place = bisect_left(self.mails, Event(event.seq + 1, 0))
        mails = self.mails[place : place + 1 + has_records]
        if len(mails) <= has_records or mails[-1].seq >= until:
            return None
        earliest = mails[-1].time_ns
        return max(earliest, calls.after(mails[0].time_ns)) if has_records and calls is not None else earliest

    def idle_by(self, clock: IdleClock, event: Event, timeout_ns: int, calls: Calls) -> tuple[Moment, Moment] | None:
        """Two moments: by the first one a generator has stored the time after ``event``, its last record; by the second one
        its stream is idle. None: the facts do not show it.

        In every interval, its end included, a periodic call is due.
        """
        interval_ns = calls.interval_ns
        # The generator sees a record after it was emitted, and that may wait, but not longer than the action.
        place = bisect_left(self.ends, Event(event.seq + 1, 0))
        if place == len(self.ends):
            return None
        noticed = self._first(event.seq, self.ends[place].time_ns + interval_ns)
        stored = None if noticed is None else self._first(noticed.seq, noticed.now_ns + interval_ns)
        if stored is None:
            return None
        moments, reading = self.moments, clock.at(stored.now_ns) + timeout_ns
        place = bisect_right(moments, reading, key=lambda moment: clock.at(moment.due_ns - interval_ns))
        return (stored, moments[place]) if place < len(moments) else None

    def called_by(self, event: Event, interval_ns: int, seq: int) -> Moment | None:
        """The first moment after row ``seq`` by which the periodic calls after the action of ``event`` have run."""
        place = bisect_left(self.ends, Event(event.seq + 1, 0))
        return self._first(seq, self.ends[place].time_ns + interval_ns) if place < len(self.ends) else None

    def _first(self, seq: int, due_ns: int) -> Moment | None:
        """The first moment after a row at which all mails up to a time have run."""
        moments = self.moments
        place = max(bisect_left(moments, (seq + 1,)), bisect_left(moments, due_ns, key=lambda moment: moment.due_ns))
        return moments[place] if place < len(moments) else None


class IdleClock:
    """A clock that stands still during some periods."""

    def __init__(self, pauses: Iterable[tuple[int, int]]) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._before: list[int] = []
        """The sum of the pauses before each one."""
        total = 0
        for start, end in sorted(pauses):
            if self._ends and start <= self._ends[-1]:
                total += max(end - self._ends[-1], 0)
                self._ends[-1] = max(end, self._ends[-1])
            else:
                self._starts.append(start)
                self._ends.append(end)
                self._before.append(total)
                total += end - start

    def at(self, time_ns: int) -> int:
        """The reading of the clock."""
        place = bisect_right(self._starts, time_ns) - 1
        if place < 0:
            return time_ns
        return time_ns - self._before[place] - (min(time_ns, self._ends[place]) - self._starts[place])


class Calls(NamedTuple):
    """The periodic calls of a strategy (rules 8.2, 9.10)."""

    between_ns: int
    """The setting of the job."""
    interval_ns: int
    """The longest time from one call that is due to the next one."""
    first_ns: int | None
    """The time from which the calls of a source are due in equal steps; None: each call decides when the next one is due."""

    def after(self, time_ns: int) -> int:
        """The earliest time of a call after one that is not before this time."""
        if self.first_ns is None:
            return time_ns + self.between_ns
        return time_ns + self.between_ns - (time_ns - self.first_ns) % self.between_ns


def calls_of(interval_ms: int, source_opened_ns: int | None, is_source: bool) -> Calls | None:
    """``source_opened_ns``: when the source was opened. None: the calls are not known."""
    interval_ns = interval_ms * NS_PER_MS
    if interval_ns <= 0 or (is_source and source_opened_ns is None):
        return None
    # The calls of an operator that assigns timestamps drift: its timer adds 1 ms, from a time inside a millisecond.
    return Calls(
        interval_ns, interval_ns if is_source else interval_ns + 2 * NS_PER_MS, source_opened_ns if is_source else None
    )

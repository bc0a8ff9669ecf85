"""Law async-timers: the timers of an element end with it (rules 9.10, 11.1, 11.12, 11.24, 11.26)."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import ElementKind, SystemTimer, TimerAction
from flowsim.laws.async_wait.places import Check, Place, Step
from flowsim.laws.findings import Findings, named
from flowsim.units import NS_PER_MS
from flowsim.values.java_long import wrapped

ID: Final = "async-timers"
COUNTS: Final = """\
- Rows examined: rows of `system_timers`, and EMIT rows of kind RECORD of `async_elements`. Operators of the legacy
  design record no timers and are not judged.
- A timer of a place is its (entry, kind). It *waits* from a REGISTER row to its next row, to the emission of its entry
  or to the end of the place. The emission and the end also begin a new *period* of the timer.
- A row of `system_timers` of a place is a violation when
  - REGISTER: the timer waits;
  - REGISTER of kind TIMEOUT: the timer has an earlier row in this period (one timer covers all attempts), or
    `timestamp` is not the milliseconds of its `time_ns` + `timeout_ms` (a Java long);
  - DELETE, FIRE: the timer does not wait, or waits with another `timestamp`;
  - FIRE: the milliseconds of its `time_ns` are not above `timestamp`.
- 1 for each timer of an entry that waits at the emission of the entry.
- If `timeout_ms` is above 0, 1 for each emission of kind RECORD whose entry has no row of kind TIMEOUT in this period.
- 1 for each timer that waits at the end of the place.
"""
_RECORD: Final = int(ElementKind.RECORD)
_REGISTER, _FIRE = int(TimerAction.REGISTER), int(TimerAction.FIRE)
_TIMEOUT: Final = int(SystemTimer.TIMEOUT)


class ElementTimers(Check):
    """Tracks the timers of the queued elements."""

    __slots__ = ("_timers",)

    def __init__(self, place: Place, found: Findings) -> None:
        super().__init__(place, found)
        self._timers: dict[tuple[int, int], tuple[int, int] | None] = {}
        """By entry and kind: sequence number of the registration and timestamp; None for a timer that has ended."""

    def step(self, seq: int, time_ns: int, entry: int, action: int, kind: int, timestamp: int) -> None:
        """A row of ``system_timers``."""
        timer, now_ms = (entry, kind), time_ns // NS_PER_MS
        waiting = self._timers.get(timer)
        what = ""
        if action == _REGISTER:
            if waiting is not None or (kind == _TIMEOUT and timer in self._timers):
                what = "a timer is registered a second time"
            elif kind == _TIMEOUT and timestamp != wrapped(now_ms + self.place.timeout_ms):
                what = "a timer is registered for another time than the timeout"
            self._timers[timer] = seq, timestamp
        else:
            if waiting is None or waiting[1] != timestamp:
                what = "a timer that is not registered is fired or deleted"
            elif action == _FIRE and now_ms <= timestamp:
                what = "a timer fired before its time"
            self._timers[timer] = None
        if what:
            self.broken_at(what, seq, entry=entry, timer=named(SystemTimer, kind), timestamp=timestamp, time_ms=now_ms)

    def emit(self, put: Step, step: Step) -> None:
        """The first EMIT of an element that was put."""
        if not self._timers and self.place.timeout_ms <= 0:
            return
        if step.kind == _RECORD and self.place.timeout_ms > 0 and (step.entry, _TIMEOUT) not in self._timers:
            self.broken("a record is emitted without a timeout timer", step)
        for kind in SystemTimer:
            waiting = self._timers.pop((step.entry, kind), None)
            if waiting is not None:
                self.broken(
                    "the timer of an emitted record is still registered",
                    step,
                    timer=named(SystemTimer, kind),
                    timestamp=waiting[1],
                )

    def input_ends(self, seq: int) -> None:
        """The first END_INPUT."""
        for (entry, kind), waiting in self._timers.items():
            if waiting is not None:
                self.broken_at("a timer is still registered at the end of input", waiting[0], entry=entry,
                               timer=named(SystemTimer, kind), timestamp=waiting[1])  # fmt: skip
        self._timers.clear()

"""A model of the triggers (section 10.D), independent of the operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from flowsim.laws.windows.panes import Pane
from flowsim.laws.windows.plan import number_of, parts_of
from flowsim.values.java_long import remainder, wrapped

CONTINUE, FIRE, PURGE = 0, 1, 2
"""Bits of a result; together they are ``WindowResult``."""


class Clocks(Protocol):
    """Event time and processing time of an operator, in ms, and its timers."""

    watermark: int
    now_ms: int

    def set_timer(self, pane: Pane, event_time: bool, at: int) -> None: ...

    def delete_timer(self, pane: Pane, event_time: bool, at: int) -> None: ...


class Trigger:
    """Called for every record and timer; returns the bits FIRE and PURGE. This one never fires."""

    steady: bool = True
    """After a record with the result CONTINUE, another record has no effect until a timer runs or windows merge."""
    by_clock: bool = False
    """A processing-time timer may have an effect."""

    def on_element(self, pane: Pane, clocks: Clocks, timestamp: int) -> int:
        return CONTINUE

    def on_timer(self, pane: Pane, clocks: Clocks, event_time: bool, at: int) -> int:
        return CONTINUE

    def on_merge(self, pane: Pane, clocks: Clocks, absorbed: Sequence[Pane]) -> None:
        """Does nothing: there is no state."""

    def clear(self, pane: Pane, clocks: Clocks) -> None:
        """Does nothing: there is no state."""


class AtTheEnd(Trigger):
    """Fires at the window's last millisecond, by either clock (rules 10.17, 10.18)."""

    def __init__(self, event_time: bool, at_once: bool) -> None:
        self.event_time = event_time
        self.at_once = at_once
        """A record of a window that the watermark has passed fires it."""
        self.by_clock = not event_time

    def on_element(self, pane: Pane, clocks: Clocks, timestamp: int) -> int:
        if self.at_once and pane.last <= clocks.watermark:
            return FIRE
        clocks.set_timer(pane, self.event_time, pane.last)
        return CONTINUE

    def on_timer(self, pane: Pane, clocks: Clocks, event_time: bool, at: int) -> int:
        if event_time != self.event_time:
            return CONTINUE
        return FIRE if not event_time or at == pane.last else CONTINUE

    def on_merge(self, pane: Pane, clocks: Clocks, absorbed: Sequence[Pane]) -> None:
        if pane.last > (clocks.watermark if self.event_time else clocks.now_ms):
            clocks.set_timer(pane, self.event_time, pane.last)

    def clear(self, pane: Pane, clocks: Clocks) -> None:
        clocks.delete_timer(pane, self.event_time, pane.last)


class EveryCount(Trigger):
    """Rule 10.19."""

    steady = False

    def __init__(self, count: int) -> None:
        self.count = count

    def on_element(self, pane: Pane, clocks: Clocks, timestamp: int) -> int:
        pane.count += 1
        if pane.count < self.count:
            return CONTINUE
        pane.count = 0
        return FIRE

    def on_merge(self, pane: Pane, clocks: Clocks, absorbed: Sequence[Pane]) -> None:
        pane.count += sum(member.count for member in absorbed)

    def clear(self, pane: Pane, clocks: Clocks) -> None:
        pane.count = 0


class EveryInterval(Trigger):
    """Rules 10.21, 10.22."""

    def __init__(self, event_time: bool, interval_ms: int) -> None:
        self.event_time = event_time
        self.interval_ms = interval_ms
        self.by_clock = not event_time

    def on_element(self, pane: Pane, clocks: Clocks, timestamp: int) -> int:
        if self.event_time:
            if pane.last <= clocks.watermark:
                return FIRE
            clocks.set_timer(pane, True, pane.last)
        if pane.next_fire_ms is None:
            at = timestamp if self.event_time else clocks.now_ms
            self._set_next_fire(pane, clocks, at - remainder(at, self.interval_ms))
        return CONTINUE

    def on_timer(self, pane: Pane, clocks: Clocks, event_time: bool, at: int) -> int:
        if event_time != self.event_time:
            return CONTINUE
        if at == pane.last:
            return FIRE
        if at != pane.next_fire_ms:
            return CONTINUE
        self._set_next_fire(pane, clocks, at)
        return FIRE

    def on_merge(self, pane: Pane, clocks: Clocks, absorbed: Sequence[Pane]) -> None:
        next_fire_ms = [
            at for at in (pane.next_fire_ms, *(member.next_fire_ms for member in absorbed)) if at is not None
        ]
        pane.next_fire_ms = min(next_fire_ms, default=None)
        if pane.next_fire_ms is not None:
            clocks.set_timer(pane, self.event_time, pane.next_fire_ms)

    def clear(self, pane: Pane, clocks: Clocks) -> None:
        if pane.next_fire_ms is not None:
            clocks.delete_timer(pane, self.event_time, pane.next_fire_ms)
            pane.next_fire_ms = None

    def _set_next_fire(self, pane: Pane, clocks: Clocks, since: int) -> None:
        pane.next_fire_ms = min(wrapped(since + self.interval_ms), pane.last)
        clocks.set_timer(pane, self.event_time, pane.next_fire_ms)


class Purging(Trigger):
    """Rule 10.20."""

    def __init__(self, inner: Trigger) -> None:
        self.inner = inner
        self.steady, self.by_clock = inner.steady, inner.by_clock

    def on_element(self, pane: Pane, clocks: Clocks, timestamp: int) -> int:
        answer = self.inner.on_element(pane, clocks, timestamp)
        return FIRE | PURGE if answer & FIRE else answer

    def on_timer(self, pane: Pane, clocks: Clocks, event_time: bool, at: int) -> int:
        answer = self.inner.on_timer(pane, clocks, event_time, at)
        return FIRE | PURGE if answer & FIRE else answer

    def on_merge(self, pane: Pane, clocks: Clocks, absorbed: Sequence[Pane]) -> None:
        self.inner.on_merge(pane, clocks, absorbed)

    def clear(self, pane: Pane, clocks: Clocks) -> None:
        self.inner.clear(pane, clocks)


class TimedOut(Purging):
    """Rule 10.23: every timer of the window fires it, including those of the inner trigger and of the cleanup."""

    def __init__(self, inner: Trigger, interval_ms: int, reset: bool, clears: bool) -> None:
        super().__init__(inner)
        self.interval_ms, self.reset, self.clears = interval_ms, reset, clears
        self.steady, self.by_clock = inner.steady and not reset, True

    def on_element(self, pane: Pane, clocks: Clocks, timestamp: int) -> int:
        answer = self.inner.on_element(pane, clocks, timestamp)
        if answer & FIRE:
            self.clear(pane, clocks)
            return answer
        if pane.timeout is not None and self.reset:
            clocks.delete_timer(pane, False, pane.timeout)
            pane.timeout = None
        if pane.timeout is None:
            pane.timeout = clocks.now_ms + self.interval_ms
            clocks.set_timer(pane, False, pane.timeout)
        return answer

    def on_timer(self, pane: Pane, clocks: Clocks, event_time: bool, at: int) -> int:
        answer = self.inner.on_timer(pane, clocks, event_time, at)
        if self.clears:
            self.clear(pane, clocks)
        return FIRE | answer & PURGE

    def clear(self, pane: Pane, clocks: Clocks) -> None:
        if pane.timeout is not None:
            clocks.delete_timer(pane, False, pane.timeout)
            pane.timeout = None
        self.inner.clear(pane, clocks)


class AnyOf(Trigger):
    """Fires if one of its parts fires, each with a state of its own. Not in Flink."""

    def __init__(self, parts: Sequence[Trigger]) -> None:
        self.parts = parts
        self.steady = all(part.steady for part in parts)
        self.by_clock = any(part.by_clock for part in parts)

    def on_element(self, pane: Pane, clocks: Clocks, timestamp: int) -> int:
        return self._together([pane], lambda part: part.on_element(pane, clocks, timestamp))

    def on_timer(self, pane: Pane, clocks: Clocks, event_time: bool, at: int) -> int:
        return self._together([pane], lambda part: part.on_timer(pane, clocks, event_time, at))

    def on_merge(self, pane: Pane, clocks: Clocks, absorbed: Sequence[Pane]) -> None:
        self._together([pane, *absorbed], lambda part: part.on_merge(pane, clocks, absorbed))

    def clear(self, pane: Pane, clocks: Clocks) -> None:
        self._together([pane], lambda part: part.clear(pane, clocks))

    def _together(self, panes: Sequence[Pane], call: Callable[[Trigger], int | None]) -> int:
        """Calls each part while the panes have its state; returns the results together."""
        answer = CONTINUE
        for index, part in enumerate(self.parts):
            outer = [pane.enter_part(index) for pane in panes]
            answer |= call(part) or CONTINUE
            for pane, state in zip(panes, outer, strict=True):
                pane.leave_part(index, state)
        return answer


NEVER: Final = Trigger()
_SIMPLE: Final[Mapping[str, Trigger]] = {
    "never": NEVER,
    "event_time": AtTheEnd(event_time=True, at_once=True),
    "end_of_stream": AtTheEnd(event_time=True, at_once=False),
    "processing_time": AtTheEnd(event_time=False, at_once=False),
}


def trigger_of(given: Mapping[str, object]) -> Trigger:
    """The model of a trigger that ``plan.known_trigger`` knows."""
    kind, of = str(given["kind"]), given.get("of")
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if kind == "count":
        return EveryCount(number_of(given, "count"))
    if kind == "any_of":
        return AnyOf([trigger_of(part) for part in parts_of(given)])
    if not isinstance(of, Mapping):
        return EveryInterval(kind == "continuous_event_time", number_of(given, "interval_ms"))
    if kind == "purging":
        return Purging(trigger_of(of))
    reset, clears = bool(given.get("reset_on_element")), bool(given.get("clear_on_timeout"))
    return TimedOut(trigger_of(of), number_of(given, "interval_ms"), reset, clears)

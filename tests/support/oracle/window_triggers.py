"""A second model of the triggers (section 10.D), which shares no code with the operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from flowsim.values.java_long import wrapped
from tests.support.oracle.window_plan import Window, last_of

CONTINUE, FIRE, PURGE = 0, 1, 2
"""Bits of an answer; together they are ``WindowResult``."""


@dataclass(slots=True)
class Memory:
    """What triggers keep of one key and window."""

    count: int = 0
    noted: int | None = None
    """When a continuous trigger fires next."""
    timeout: int | None = None
    parts: dict[int, Memory] = field(default_factory=dict)
    """Of each part of an ``any_of``."""

    def of_part(self, index: int) -> Memory:
        return self.parts.setdefault(index, Memory())


class Place(Protocol):
    """One key and window, and the timers that can be set for it; times in ms."""

    window: Window
    memory: Memory

    @property
    def watermark(self) -> int: ...

    @property
    def now_ms(self) -> int: ...

    def set_timer(self, event_time: bool, at: int) -> None: ...

    def delete_timer(self, event_time: bool, at: int) -> None: ...


class Trigger(Protocol):
    """Asked about every record and timer; answers with the bits FIRE and PURGE."""

    def on_element(self, place: Place, timestamp: int) -> int: ...

    def on_timer(self, place: Place, event_time: bool, at: int) -> int: ...

    def on_merge(self, place: Place, absorbed: Sequence[Memory]) -> None: ...

    def clear(self, place: Place) -> None: ...


class Silent:
    """Never fires; the parent of those that seldom do."""

    def on_element(self, place: Place, timestamp: int) -> int:
        return CONTINUE

    def on_timer(self, place: Place, event_time: bool, at: int) -> int:
        return CONTINUE

    def on_merge(self, place: Place, absorbed: Sequence[Memory]) -> None:
        """Nothing was kept."""

    def clear(self, place: Place) -> None:
        """Nothing was kept."""


class AtTheEnd(Silent):
    """At the window's last millisecond, by either clock (rules 10.17, 10.18)."""

    def __init__(self, event_time: bool, at_once: bool) -> None:
        self.event_time = event_time
        self.at_once = at_once
        """A record of a window that the watermark has passed fires it."""

    def on_element(self, place: Place, timestamp: int) -> int:
        last = last_of(place.window)
        if self.at_once and last <= place.watermark:
            return FIRE
        place.set_timer(self.event_time, last)
        return CONTINUE

    def on_timer(self, place: Place, event_time: bool, at: int) -> int:
        if event_time != self.event_time:
            return CONTINUE
        return FIRE if not event_time or at == last_of(place.window) else CONTINUE

    def on_merge(self, place: Place, absorbed: Sequence[Memory]) -> None:
        last = last_of(place.window)
        if last > (place.watermark if self.event_time else place.now_ms):
            place.set_timer(self.event_time, last)

    def clear(self, place: Place) -> None:
        place.delete_timer(self.event_time, last_of(place.window))


class EveryCount(Silent):
    """Rule 10.19."""

    def __init__(self, count: int) -> None:
        self.count = count

    def on_element(self, place: Place, timestamp: int) -> int:
        place.memory.count += 1
        if place.memory.count < self.count:
            return CONTINUE
        place.memory.count = 0
        return FIRE

    def on_merge(self, place: Place, absorbed: Sequence[Memory]) -> None:
        place.memory.count += sum(memory.count for memory in absorbed)

    def clear(self, place: Place) -> None:
        place.memory.count = 0


class EveryInterval(Silent):
    """Rules 10.21, 10.22."""

    def __init__(self, event_time: bool, interval_ms: int) -> None:
        self.event_time = event_time
        self.interval_ms = interval_ms

    def on_element(self, place: Place, timestamp: int) -> int:
        if self.event_time:
            if last_of(place.window) <= place.watermark:
                return FIRE
            place.set_timer(True, last_of(place.window))
        if place.memory.noted is None:
            at = timestamp if self.event_time else place.now_ms
            # Java's remainder has the sign of the dividend.
            self._note(place, at - (at % self.interval_ms if at >= 0 else -(-at % self.interval_ms)))
        return CONTINUE

    def on_timer(self, place: Place, event_time: bool, at: int) -> int:
        if event_time != self.event_time:
            return CONTINUE
        if at == last_of(place.window):
            return FIRE
        if at != place.memory.noted:
            return CONTINUE
        self._note(place, at)
        return FIRE

    def on_merge(self, place: Place, absorbed: Sequence[Memory]) -> None:
        noted = [memory.noted for memory in (place.memory, *absorbed) if memory.noted is not None]
        place.memory.noted = min(noted, default=None)
        if place.memory.noted is not None:
            place.set_timer(self.event_time, place.memory.noted)

    def clear(self, place: Place) -> None:
        if place.memory.noted is not None:
            place.delete_timer(self.event_time, place.memory.noted)
            place.memory.noted = None

    def _note(self, place: Place, since: int) -> None:
        place.memory.noted = min(wrapped(since + self.interval_ms), last_of(place.window))
        place.set_timer(self.event_time, place.memory.noted)


class Purging:
    """Rule 10.20."""

    def __init__(self, inner: Trigger) -> None:
        self.inner = inner
        self.on_merge = inner.on_merge
        self.clear = inner.clear

    def on_element(self, place: Place, timestamp: int) -> int:
        answer = self.inner.on_element(place, timestamp)
        return FIRE | PURGE if answer & FIRE else answer

    def on_timer(self, place: Place, event_time: bool, at: int) -> int:
        answer = self.inner.on_timer(place, event_time, at)
        return FIRE | PURGE if answer & FIRE else answer


class TimedOut:
    """Rule 10.23: every timer of the window fires it, whichever trigger registered the timer."""

    def __init__(self, inner: Trigger, interval_ms: int, reset: bool, clears: bool) -> None:
        self.inner = inner
        self.interval_ms = interval_ms
        self.reset = reset
        self.clears = clears
        self.on_merge = inner.on_merge

    def on_element(self, place: Place, timestamp: int) -> int:
        answer = self.inner.on_element(place, timestamp)
        if answer & FIRE:
            self.clear(place)
            return answer
        if place.memory.timeout is not None and self.reset:
            place.delete_timer(False, place.memory.timeout)
            place.memory.timeout = None
        if place.memory.timeout is None:
            place.memory.timeout = place.now_ms + self.interval_ms
            place.set_timer(False, place.memory.timeout)
        return answer

    def on_timer(self, place: Place, event_time: bool, at: int) -> int:
        answer = self.inner.on_timer(place, event_time, at)
        if self.clears:
            self.clear(place)
        return FIRE | answer & PURGE

    def clear(self, place: Place) -> None:
        if place.memory.timeout is not None:
            place.delete_timer(False, place.memory.timeout)
            place.memory.timeout = None
        self.inner.clear(place)


class AnyOf:
    """Every part is asked, each with a memory of its own; not in Flink."""

    def __init__(self, parts: Sequence[Trigger]) -> None:
        self.parts = parts

    def on_element(self, place: Place, timestamp: int) -> int:
        return self._ask(place, lambda part, _: part.on_element(place, timestamp))

    def on_timer(self, place: Place, event_time: bool, at: int) -> int:
        return self._ask(place, lambda part, _: part.on_timer(place, event_time, at))

    def on_merge(self, place: Place, absorbed: Sequence[Memory]) -> None:
        self._ask(place, lambda part, index: part.on_merge(place, [one.of_part(index) for one in absorbed]))

    def clear(self, place: Place) -> None:
        self._ask(place, lambda part, _: part.clear(place))

    def _ask(self, place: Place, question: Callable[[Trigger, int], int | None]) -> int:
        whole, answers = place.memory, [CONTINUE]
        for index, part in enumerate(self.parts):
            place.memory = whole.of_part(index)
            answers.append(question(part, index) or CONTINUE)
        place.memory = whole
        return FIRE * any(one & FIRE for one in answers) | PURGE * any(one & PURGE for one in answers)


_SIMPLE: Final[Mapping[str, Trigger]] = {
    "never": Silent(),
    "event_time": AtTheEnd(event_time=True, at_once=True),
    "end_of_stream": AtTheEnd(event_time=True, at_once=False),
    "processing_time": AtTheEnd(event_time=False, at_once=False),
}


def trigger_of(given: Mapping[str, object]) -> Trigger:
    """The model of a trigger that ``window_plan`` found to be known."""
    kind, of = str(given["kind"]), given.get("of")
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if kind == "count":
        return EveryCount(_number(given, "count"))
    if isinstance(of, Sequence):
        return AnyOf([trigger_of(part) for part in of])
    if not isinstance(of, Mapping):
        return EveryInterval(kind == "continuous_event_time", _number(given, "interval_ms"))
    if kind == "purging":
        return Purging(trigger_of(of))
    reset, clears = bool(given.get("reset_on_element")), bool(given.get("clear_on_timeout"))
    return TimedOut(trigger_of(of), _number(given, "interval_ms"), reset, clears)


def _number(given: Mapping[str, object], name: str) -> int:
    value = given[name]
    assert isinstance(value, int)
    return value

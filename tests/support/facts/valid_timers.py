"""Timers of the model job: those that its windows need, and some that are not needed, registered, deleted and fired."""

from __future__ import annotations

from random import Random

from flowsim.facts.kinds import Level, TimeDomain, TimerAction
from tests.support.facts.fact_builder import FactBuilder

Timer = tuple[int, int]
"""Timestamp and key."""


class HonestTimers:
    """Two event-time timers a window, as a trigger and a cleanup ask for, and now and then one of processing time."""

    def __init__(self, facts: FactBuilder, random: Random) -> None:
        self.facts = facts
        self.random = random
        self.waiting: dict[int, dict[Timer, dict[str, int]]] = {}

    def on_element(self, keyed: dict[str, int], window: tuple[int, int], lateness_ms: int, watermark: int) -> None:
        last = window[1] - 1
        spare = keyed["key_hash"] % 7
        for timestamp in (last, last + lateness_ms):
            if timestamp > watermark:
                self._register({**keyed, "window_start": window[0], "window_end": window[1]}, timestamp, watermark)
        if self.random.random() < 0.3 and (columns := self._register(keyed, last + 1 + spare, watermark)):
            self._record(TimerAction.DELETE, TimeDomain.EVENT_TIME, last + 1 + spare, columns, watermark)
            del self.waiting[keyed["task"]][last + 1 + spare, keyed["key"]]
        if self.random.random() < 0.3:
            # The model's clock is at its first millisecond all the time.
            for action in (TimerAction.REGISTER, TimerAction.FIRE):
                self._record(action, TimeDomain.PROCESSING_TIME, -1 - spare, keyed, watermark)

    def due(self, task: int, watermark: int) -> list[Timer]:
        """Event-time timers up to a watermark, by time."""
        return sorted(timer for timer in self.waiting.get(task, ()) if timer[0] <= watermark)

    def fire(self, task: int, timestamp: int, key: int, watermark: int) -> None:
        columns = self.waiting[task].pop((timestamp, key))
        self._record(TimerAction.FIRE, TimeDomain.EVENT_TIME, timestamp, columns, watermark)

    def _register(self, columns: dict[str, int], timestamp: int, watermark: int) -> dict[str, int] | None:
        waiting = self.waiting.setdefault(columns["task"], {})
        if (timestamp, columns["key"]) in waiting:
            return None
        waiting[timestamp, columns["key"]] = columns
        self._record(TimerAction.REGISTER, TimeDomain.EVENT_TIME, timestamp, columns, watermark)
        return columns

    def _record(
        self, action: TimerAction, domain: TimeDomain, timestamp: int, columns: dict[str, int], mark: int
    ) -> None:
        if self.facts.level >= Level.FULL:
            self.facts.add("timers", **columns, action=action, domain=domain, timestamp=timestamp, watermark=mark)

"""The share of the last minute that a task spent in one state, computed as in Flink. Flink: TimerGauge (rule 13.2)."""

from __future__ import annotations

from typing import Final

from flowsim.task_clock import Clock
from flowsim.units import NS_PER_MS

UPDATE_INTERVAL_MS: Final = 5000
"""The interval in ms at which Flink updates its gauges. Flink: View.UPDATE_INTERVAL_SECONDS."""

SAMPLES: Final = 12
_NOT_STARTED: Final = 0
"""The sentinel of rule 0.5: a measurement that starts at time 0 is lost, so no clock here starts at 0."""


class TimerGauge:
    """Milliseconds per second between ``mark_start`` and ``mark_end``, over the last ``samples`` updates.

    Time is read in whole milliseconds. The owner calls ``update`` every ``interval_ms``; a running measurement counts
    up to the time of the update. Flink: TimerGauge.
    """

    __slots__ = (
        "_clock",
        "_interval_ms",
        "_samples_ms",
        "_index",
        "_is_full",
        "_value",
        "_current_ms",
        "_started_ms",
        "_counted_ms",
        "_longest_ms",
        "_last_longest_ms",
        "_accumulated_ms",
    )

    def __init__(self, clock: Clock, interval_ms: int = UPDATE_INTERVAL_MS, samples: int = SAMPLES) -> None:
        self._clock = clock
        self._interval_ms = interval_ms
        self._samples_ms = [0] * samples
        self._index = 0
        self._is_full = False
        self._value = 0
        self._current_ms = 0
        self._started_ms = _NOT_STARTED
        self._counted_ms = 0
        """The time in ms up to which the running measurement is counted."""
        self._longest_ms = 0
        self._last_longest_ms = 0
        self._accumulated_ms = 0

    def mark_start(self) -> None:
        """Starts a measurement; does nothing while a measurement is running."""
        if self._started_ms == _NOT_STARTED:
            self._started_ms = self._counted_ms = self._clock.now_ns // NS_PER_MS

    def mark_end(self) -> None:
        """Ends the running measurement; does nothing if no measurement is running."""
        if self._started_ms != _NOT_STARTED:
            self._count(self._clock.now_ns // NS_PER_MS)
            self._started_ms = self._counted_ms = _NOT_STARTED

    def update(self) -> None:
        """Closes the sample of the last interval."""
        if self._started_ms != _NOT_STARTED:
            self._count(self._clock.now_ns // NS_PER_MS)
        samples = self._samples_ms
        samples[self._index] = self._current_ms
        self._index = (self._index + 1) % len(samples)
        self._is_full = self._is_full or self._index == 0
        count = len(samples) if self._is_full else self._index
        self._value = _per_second(sum(samples[:count]), self._interval_ms * count)
        self._last_longest_ms, self._longest_ms = self._longest_ms, 0
        self._current_ms = 0

    @property
    def value(self) -> int:
        """Returns the milliseconds per second, 0 to 1000, as of the last update. Flink: TimerGauge.getValue."""
        return self._value

    @property
    def max_single_measurement_ms(self) -> int:
        """The longest measurement in the last closed sample. Flink: TimerGauge.getMaxSingleMeasurement."""
        return self._last_longest_ms

    @property
    def accumulated_ms(self) -> int:
        """The total since the beginning. Flink: TimerGauge.getAccumulatedCount."""
        return self._accumulated_ms

    @property
    def is_measuring(self) -> bool:
        return self._started_ms != _NOT_STARTED

    def value_with(self, open_ms: int) -> int:
        """Returns the value with the open sample, whose interval ends after ``open_ms``.

        Flink has no such sample: its gauges end with their task, without a last update.
        """
        samples = self._samples_ms
        kept = len(samples) if self._is_full else self._index
        running_ms = self._clock.now_ns // NS_PER_MS - self._counted_ms if self.is_measuring else 0
        return _per_second(sum(samples[:kept]) + self._current_ms + running_ms, self._interval_ms * kept + open_ms)

    def _count(self, now_ms: int) -> None:
        passed_ms = now_ms - self._counted_ms
        self._current_ms += passed_ms
        self._accumulated_ms += passed_ms
        self._longest_ms = max(self._longest_ms, now_ms - self._started_ms)
        self._counted_ms = now_ms


def _per_second(spent_ms: int, of_ms: int) -> int:
    return 0 if of_ms <= 0 else min(max(spent_ms * 1000 // of_ms, 0), 1000)

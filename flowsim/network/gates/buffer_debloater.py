"""Computes the buffer size that a gate requests from its senders. Flink: BufferDebloater, BufferSizeEMA,
ThroughputCalculator.
"""

from __future__ import annotations

from math import floor

from flowsim.task_clock import Clock
from flowsim.units import NS_PER_MS


class ThroughputCalculator:
    """Counts bytes, and the time in ms during which the gate was not empty. Flink: ThroughputCalculator.

    ``clock`` is read in whole ms. If no time was measured, the throughput does not change.
    """

    __slots__ = ("_clock", "_throughput", "_bytes", "_measured_ms", "_since_ms")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._throughput = 0
        self._bytes = 0
        self._measured_ms = 0
        self._since_ms: int | None = None
        """Start of the running measurement in ms; None while the measurement is paused."""

    def incoming_data_size(self, size_bytes: int) -> None:
        """Counts a buffer or event that the gate returned; resumes a paused measurement."""
        self.resume_measurement()
        self._bytes += size_bytes

    def pause_measurement(self) -> None:
        """Pauses the measurement; called when the gate is empty."""
        if self._since_ms is not None:
            self._measured_ms += self._clock.now_ns // NS_PER_MS - self._since_ms
            self._since_ms = None

    def resume_measurement(self) -> None:
        """Resumes the measurement; called when the gate has data again."""
        if self._since_ms is None:
            self._since_ms = self._clock.now_ns // NS_PER_MS

    def calculate_throughput(self) -> int:
        """Returns the bytes per second since the last call."""
        if self._since_ms is not None:
            now_ms = self._clock.now_ns // NS_PER_MS
            self._measured_ms += now_ms - self._since_ms
            self._since_ms = now_ms
        if self._measured_ms:
            self._throughput = int(self._bytes / self._measured_ms * 1000.0)
        self._bytes = self._measured_ms = 0
        return self._throughput


class BufferSizeEMA:
    """An exponential moving average of buffer sizes in bytes, between two bounds. Flink: BufferSizeEMA."""

    __slots__ = ("_last", "_maximum", "_minimum", "_alpha")

    def __init__(self, starting_bytes: int, maximum_bytes: int, minimum_bytes: int, samples: int) -> None:
        self._last = float(starting_bytes)
        self._maximum = float(maximum_bytes)
        self._minimum = float(minimum_bytes)
        self._alpha = 2.0 / (samples + 1)

    def calculate_buffer_size(self, total_bytes: int, buffers: int) -> int:
        """Returns the next size; ``total_bytes`` is the target for all ``buffers`` together.

        The size grows at most by a factor of two.
        """
        # A gate that was idle measures a throughput of nothing, then of a burst: the bound keeps one sample from deciding
        # (rule 6.22).
        desired = min(total_bytes / buffers, 2.0 * self._last)
        moved = self._last + self._alpha * (desired - self._last)
        self._last = max(self._minimum, min(moved, self._maximum))
        return floor(self._last + 0.5)


class BufferDebloater:
    """Computes announcements from throughput and buffers in use, one instance per gate. Flink: BufferDebloater.

    ``last_bytes``: the last announced size, initially the starting size. ``estimated_ms``: the estimated time to
    process the buffers in use. Sizes in bytes, times in ms.
    """

    __slots__ = ("last_bytes", "estimated_ms", "_ema", "_target_ms", "_maximum", "_minimum", "_threshold")

    def __init__(
        self,
        target_ms: int,
        starting_bytes: int,
        maximum_bytes: int,
        minimum_bytes: int,
        threshold_percent: int,
        samples: int,
    ) -> None:
        self.last_bytes = starting_bytes
        self.estimated_ms = 0
        self._ema = BufferSizeEMA(starting_bytes, maximum_bytes, minimum_bytes, samples)
        self._target_ms = target_ms
        self._maximum = maximum_bytes
        self._minimum = minimum_bytes
        self._threshold = threshold_percent / 100.0

    def recalculate_buffer_size(self, throughput: int, buffers_in_use: int) -> int | None:
        """Returns the size to announce in bytes, or None; ``throughput`` is in bytes per second."""
        buffers = max(1, buffers_in_use)
        size = self._ema.calculate_buffer_size(throughput * self._target_ms // 1000, buffers)
        self.estimated_ms = size * buffers * 1000 // max(1, throughput)
        if self._is_too_near(size):
            return None
        self.last_bytes = size
        return size

    def _is_too_near(self, size: int) -> bool:
        """True if the size differs too little from the last announced size (rule 6.23)."""
        if size == self.last_bytes:
            return True
        # A bound is announced however near it is: the average approaches it in ever smaller steps (rule 6.23).
        if size <= self._minimum or size >= self._maximum:
            return False
        return abs(size - self.last_bytes) < int(self.last_bytes * self._threshold)

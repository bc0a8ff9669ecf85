"""Which buffer size a gate should ask its senders for. Flink: BufferDebloater (rules 6.22, 6.23)."""

from __future__ import annotations

from flowsim.network.throughput.buffer_size_ema import BufferSizeEMA


class BufferDebloater:
    """One per gate: turns throughput and buffers in use into announcements. Flink: BufferDebloater.

    ``last_bytes`` is the size announced last, at first the starting size; ``estimated_ms`` how long what was in use is
    estimated to take. Sizes in bytes, times in ms.
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
        """The size to announce, or None; ``throughput`` in bytes per second."""
        buffers = max(1, buffers_in_use)
        size = self._ema.calculate_buffer_size(throughput * self._target_ms // 1000, buffers)
        self.estimated_ms = size * buffers * 1000 // max(1, throughput)
        if self._is_too_near(size):
            return None
        self.last_bytes = size
        return size

    def _is_too_near(self, size: int) -> bool:
        """Rule 6.23."""
        if size == self.last_bytes:
            return True
        if size <= self._minimum or size >= self._maximum:
            return False
        return abs(size - self.last_bytes) < int(self.last_bytes * self._threshold)

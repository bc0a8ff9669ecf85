"""The buffer size that debloating moves towards. Flink: BufferSizeEMA (rule 6.22)."""

from __future__ import annotations

from math import floor


class BufferSizeEMA:
    """An exponential moving average of buffer sizes in bytes, within its bounds. Flink: BufferSizeEMA."""

    __slots__ = ("_last", "_maximum", "_minimum", "_alpha")

    def __init__(self, starting_bytes: int, maximum_bytes: int, minimum_bytes: int, samples: int) -> None:
        self._last = float(starting_bytes)
        self._maximum = float(maximum_bytes)
        self._minimum = float(minimum_bytes)
        self._alpha = 2.0 / (samples + 1)

    def calculate_buffer_size(self, total_bytes: int, buffers: int) -> int:
        """The next size, after ``total_bytes`` were found best for ``buffers`` together; it grows to twice at most."""
        desired = min(total_bytes / buffers, 2.0 * self._last)
        moved = self._last + self._alpha * (desired - self._last)
        self._last = max(self._minimum, min(moved, self._maximum))
        return floor(self._last + 0.5)

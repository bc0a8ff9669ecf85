"""How many bytes a gate takes per second while it has some. Flink: ThroughputCalculator (rule 6.24)."""

from __future__ import annotations

from collections.abc import Callable


class ThroughputCalculator:
    """Counts bytes, and the time in ms during which the gate was not empty. Flink: ThroughputCalculator.

    ``now_ms`` is the clock. Without any time measured the last throughput stands.
    """

    __slots__ = ("_now_ms", "_throughput", "_bytes", "_measured_ms", "_since_ms")

    def __init__(self, now_ms: Callable[[], int]) -> None:
        self._now_ms = now_ms
        self._throughput = 0
        self._bytes = 0
        self._measured_ms = 0
        self._since_ms: int | None = None
        """When the running measurement began; None while it pauses."""

    def incoming_data_size(self, size_bytes: int) -> None:
        """The gate handed out a buffer or event of that size; a paused measurement goes on."""
        self.resume_measurement()
        self._bytes += size_bytes

    def pause_measurement(self) -> None:
        """The gate had nothing."""
        if self._since_ms is not None:
            self._measured_ms += self._now_ms() - self._since_ms
            self._since_ms = None

    def resume_measurement(self) -> None:
        """The gate has something."""
        if self._since_ms is None:
            self._since_ms = self._now_ms()

    def calculate_throughput(self) -> int:
        """Bytes per second since the last call."""
        if self._since_ms is not None:
            now_ms = self._now_ms()
            self._measured_ms += now_ms - self._since_ms
            self._since_ms = now_ms
        if self._measured_ms:
            self._throughput = int(self._bytes / self._measured_ms * 1000.0)
        self._bytes = self._measured_ms = 0
        return self._throughput

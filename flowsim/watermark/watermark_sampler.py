"""The last few values of a watermark, taken at equal intervals. Flink: WatermarkSampler (rule 8.23)."""

from __future__ import annotations

from collections import deque

from flowsim.units import NO_TIMESTAMP


class WatermarkSampler:
    """Keeps ``capacity`` samples, at first all "none"; with capacity 0 the oldest sample is the latest value.

    Flink: WatermarkSampler.
    """

    __slots__ = ("latest", "_samples")

    def __init__(self, capacity: int) -> None:
        if capacity < 0:
            raise ValueError(f"a sampler keeps 0 samples or more, got {capacity}")
        self.latest = NO_TIMESTAMP
        self._samples = deque([NO_TIMESTAMP] * capacity, maxlen=capacity)

    def add_latest(self, watermark: int) -> None:
        self.latest = watermark

    def sample(self) -> None:
        """An interval has passed: the latest value is sampled, the oldest sample forgotten."""
        self._samples.append(self.latest)

    @property
    def oldest_sample(self) -> int:
        return self._samples[0] if self._samples else self.latest

    @property
    def is_settled(self) -> bool:
        """Whether further samples change nothing."""
        return all(sample == self.latest for sample in self._samples)

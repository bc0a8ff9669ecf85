"""Latencies of simulated calls: whole nanoseconds, never below 0, drawn from the run's seed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, Protocol

from flowsim.errors import BadInput
from flowsim.operators.stream_operator import Value
from flowsim.units import NS_PER_MS

MAX_LATENCY_NS: Final = 2**62
"""The upper limit in ns for distributions with heavy tails: 146 years."""

Z_OF_P99: Final = 2.3263478740408408
"""The 99th percentile of the standard normal distribution."""


class Latency(Protocol):
    """The latency of each call, in ns."""

    def draw_ns(self, value: Value, random: Random) -> int:
        """Returns the latency of a call for ``value``, in ns."""


@dataclass(frozen=True, slots=True)
class FixedLatency:
    """The same latency for every call."""

    ns: int

    def __post_init__(self) -> None:
        _require(self.ns >= 0, "fixed latency: expected at least 0 ns", self.ns)

    def draw_ns(self, value: Value, random: Random) -> int:
        return self.ns


@dataclass(frozen=True, slots=True)
class UniformLatency:
    """Uniform from ``low_ns`` to ``high_ns``, both included."""

    low_ns: int
    high_ns: int

    def __post_init__(self) -> None:
        _require(self.low_ns >= 0, "uniform latency: expected low of at least 0 ns", self.low_ns)
        _require(self.high_ns >= self.low_ns, f"uniform latency: expected high >= low, {self.low_ns} ns", self.high_ns)

    def draw_ns(self, value: Value, random: Random) -> int:
        return random.randint(self.low_ns, self.high_ns)


@dataclass(frozen=True, slots=True)
class NormalLatency:
    """Normal. A negative value is drawn again, so the mean is slightly higher if it is near 0."""

    mean_ns: int
    standard_deviation_ns: int

    def __post_init__(self) -> None:
        deviation = self.standard_deviation_ns
        _require(self.mean_ns >= 0, "normal latency: expected a mean of at least 0 ns", self.mean_ns)
        _require(deviation >= 0, "normal latency: expected a standard deviation of at least 0 ns", deviation)

    def draw_ns(self, value: Value, random: Random) -> int:
        while True:
            drawn = round(random.gauss(self.mean_ns, self.standard_deviation_ns))
            if drawn >= 0:
                return min(drawn, MAX_LATENCY_NS)


@dataclass(frozen=True, slots=True)
class LognormalLatency:
    """Log-normal: ``median * exp(sigma * z)`` with z standard normal.

    Half of the calls are below the median, and few calls take many times as long. In textbooks mu is ``ln(median)``.
    The 99th percentile is ``median * exp(2.3263 * sigma)``.
    """

    median_ns: int
    sigma: float

    def __post_init__(self) -> None:
        _require(self.median_ns >= 1, "lognormal latency: expected a median of at least 1 ns", self.median_ns)
        fits = math.isfinite(self.sigma) and 0 <= self.sigma <= 10
        _require(fits, "lognormal latency: expected sigma from 0 to 10", self.sigma)

    @classmethod
    def of_percentiles(cls, median_ns: int, p99_ns: int) -> LognormalLatency:
        """Returns the latency with this median and 99th percentile, in ns: sigma is ``ln(p99 / median) / 2.3263``.

        >>> LognormalLatency.of_percentiles(20_000_000, 200_000_000).sigma
        0.9897...
        """
        _require(median_ns >= 1, "lognormal latency: expected a median of at least 1 ns", median_ns)
        _require(p99_ns >= median_ns, f"lognormal latency: expected p99 >= median, {median_ns} ns", p99_ns)
        return cls(median_ns, math.log(p99_ns / median_ns) / Z_OF_P99)

    def draw_ns(self, value: Value, random: Random) -> int:
        factor = math.exp(self.sigma * random.gauss(0.0, 1.0))
        return min(round(self.median_ns * factor), MAX_LATENCY_NS)


@dataclass(frozen=True, slots=True)
class ExponentialLatency:
    """Exponential, as for a constant rate of answers: ``-mean * ln(u)``, u uniform between 0 and 1."""

    mean_ns: int

    def __post_init__(self) -> None:
        _require(self.mean_ns >= 0, "exponential latency: expected a mean of at least 0 ns", self.mean_ns)

    def draw_ns(self, value: Value, random: Random) -> int:
        return min(round(self.mean_ns * random.expovariate(1.0)), MAX_LATENCY_NS)


class TraceLatency:
    """Measured latencies in order, repeated from the first latency. Every subtask starts at the first latency."""

    __slots__ = ("_latencies_ns", "_next")

    def __init__(self, latencies_ns: Sequence[int]) -> None:
        _require(len(latencies_ns) > 0, "trace of latencies: expected at least one", 0)
        _require(min(latencies_ns) >= 0, "trace of latencies: expected at least 0 ns", min(latencies_ns))
        self._latencies_ns = tuple(latencies_ns)
        self._next = 0

    def __deepcopy__(self, memo: Mapping[int, object]) -> TraceLatency:
        """Returns a copy for another subtask, which reads the same latencies independently."""
        return TraceLatency(self._latencies_ns)

    def draw_ns(self, value: Value, random: Random) -> int:
        at = self._next
        self._next = (at + 1) % len(self._latencies_ns)
        return self._latencies_ns[at]


class RecordLatency:
    """A latency in ms that a function computes from the record, for examples and tests."""

    __slots__ = ("_ms_of",)

    def __init__(self, ms_of: Callable[[Value], object]) -> None:
        self._ms_of = ms_of

    def draw_ns(self, value: Value, random: Random) -> int:
        """Returns the function's result in ns; raises BadInput unless the result is a number of at least 0."""
        ms = self._ms_of(value)
        if isinstance(ms, int | float) and not isinstance(ms, bool) and 0 <= ms <= MAX_LATENCY_NS // NS_PER_MS:
            return round(ms * NS_PER_MS)
        raise BadInput(
            f"the latency of a call: expected milliseconds of at least 0, got {ms!r:.100} for {value!r:.200}"
        )


@dataclass(frozen=True, slots=True)
class SpikyLatency:
    """A ``share`` of the calls uses the latency ``spike``, the other calls use ``base``."""

    base: Latency
    share: float
    spike: Latency

    def __post_init__(self) -> None:
        _require(0 <= self.share <= 1, "spikes: expected a share from 0 to 1", self.share)

    def draw_ns(self, value: Value, random: Random) -> int:
        chosen = self.spike if random.random() < self.share else self.base
        return chosen.draw_ns(value, random)


def _require(holds: bool, expected: str, got: float) -> None:
    if not holds:
        raise BadInput(f"{expected}, got {got}")

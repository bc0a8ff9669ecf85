"""What a generated field may be drawn from; each draw depends on the record's index and the seeded stream only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random

from flowsim.errors import BadInput


@dataclass(frozen=True, slots=True)
class SequenceOf:
    """``start + index * step``; with ``modulo`` the remainder of it. The index counts all records of the source."""

    start: int = 0
    step: int = 1
    modulo: int | None = None

    def __post_init__(self) -> None:
        if self.modulo is not None and self.modulo < 1:
            raise BadInput(f"sequence: expected modulo >= 1, got {self.modulo}")

    def draw(self, index: int, random: Random) -> int:
        value = self.start + index * self.step
        return value if self.modulo is None else value % self.modulo


@dataclass(frozen=True, slots=True)
class UniformInt:
    """A whole number from ``low`` to ``high``, both included."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if self.low > self.high:
            raise BadInput(f"uniform int: expected low <= high, got {self.low} and {self.high}")

    def draw(self, index: int, random: Random) -> int:
        return random.randint(self.low, self.high)


@dataclass(frozen=True, slots=True)
class UniformDouble:
    """A double from ``low`` to ``high``."""

    low: float
    high: float

    def draw(self, index: int, random: Random) -> float:
        return random.uniform(self.low, self.high)


@dataclass(frozen=True, slots=True)
class Normal:
    """A double around ``mean`` with a standard deviation."""

    mean: float
    standard_deviation: float

    def draw(self, index: int, random: Random) -> float:
        return random.gauss(self.mean, self.standard_deviation)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the values, by weight; without weights all alike."""

    values: Sequence[object]
    weights: Sequence[float] | None = None

    def __post_init__(self) -> None:
        if not self.values:
            raise BadInput("choice: expected at least one value, got none")
        if self.weights is not None and len(self.weights) != len(self.values):
            raise BadInput(f"choice: expected {len(self.values)} weights, got {len(self.weights)}")
        if self.weights is not None and (min(self.weights) < 0 or sum(self.weights) <= 0):
            raise BadInput("choice: expected weights >= 0, not all of them 0")

    def draw(self, index: int, random: Random) -> object:
        if self.weights is None:
            return self.values[random.randrange(len(self.values))]
        return random.choices(self.values, cum_weights=list(accumulate(self.weights)))[0]


@dataclass(frozen=True, slots=True)
class JitteredTime:
    """Event time in ms: ``start + index * step``, moved back by up to ``jitter`` ms, each amount alike."""

    start: int = 0
    step: int = 1
    jitter: int = 0

    def __post_init__(self) -> None:
        if self.jitter < 0:
            raise BadInput(f"jittered time: expected jitter >= 0 ms, got {self.jitter}")

    def draw(self, index: int, random: Random) -> int:
        return self.start + index * self.step - random.randint(0, self.jitter)


Distribution = SequenceOf | UniformInt | UniformDouble | Normal | Choice | JitteredTime
"""The closed set of distributions."""

"""Which units an exploration has, one after the other. They do not depend on how many processes there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from flowsim.explore.strategies.by_name import DEFAULT_STRATEGIES, strategy_of
from flowsim.explore.unit import DEFAULT, SEARCH, Unit, UnitResult, is_whole
from flowsim.sim.exploring_loop import Space

SPACES: Final[tuple[Space, ...]] = ("order", "runtime")

_SMALLEST: Final = 10
_LARGEST: Final = 200
"""Units grow with the runs before them, so that a job whose runs are slow is seen in both spaces soon."""


@dataclass(slots=True)
class SpacePlan:
    """The units of a space: the default run; then a strategy, in the order space beside a search of all orders."""

    space: Space
    strategy: str
    first_seed: int
    runs: int
    """How many runs at most."""
    planned: int = 0
    sampled: int = 0
    is_over: bool = False
    """True if there is no further run: all orders were tried, or the strategy has ended."""
    samples: bool = True
    """False if the strategy has ended; its units are planned and not made, because others may be made at the same time."""
    choices: int = 0
    decided: int = 0

    def next_units(self) -> list[Unit]:
        """Returns the next units; none at the end. Call ``ended`` with that of the default run before the next call."""
        left = self.runs - self.planned
        if left <= 0 or self.is_over:
            return []
        if not self.planned:
            return [self._unit(DEFAULT, 1)]
        size = min(max(_SMALLEST, self.planned), _LARGEST, left)
        if self.space == "runtime":
            return [self._unit(self.strategy, size)]
        searched = self._unit(SEARCH, (size + 1) // 2)
        return [searched, self._unit(self.strategy, size // 2)] if size > 1 else [searched]

    def _unit(self, strategy: str, runs: int) -> Unit:
        first = self.first_seed if is_whole(strategy) else self.first_seed + self.sampled
        unit = Unit(self.space, strategy, first, runs, self.planned, self.choices, self.decided)
        self.planned += runs
        self.sampled += runs * unit.is_sample
        return unit

    def ended(self, result: UnitResult) -> None:
        """Called with the result of each unit, in the order of the units."""
        if result.unit.strategy == DEFAULT:
            self.choices, self.decided = result.choices, result.decided
        elif result.has_ended and result.unit.is_sample and self.space == "order":
            self.samples = False
        elif result.has_ended:
            self.is_over = True


class Plan:
    """The units of an exploration, in turn of each of its spaces. Raises BadInput for an unknown strategy."""

    def __init__(self, strategies: Mapping[Space, str], first_seed: int, runs: int) -> None:
        for space, strategy in strategies.items():
            strategy_of(strategy, space, first_seed)
        share = -(-runs // len(strategies))
        self.spaces: Mapping[Space, SpacePlan] = {
            space: SpacePlan(space, strategy, first_seed, min(share, runs - number * share))
            for number, (space, strategy) in enumerate(strategies.items())
        }

    @property
    def runs(self) -> int:
        """How many runs there are at most."""
        return sum(space.runs for space in self.spaces.values())

    def units(self) -> Iterator[Unit]:
        """Yields the units. Those of a space that is over when their turn comes are not made."""
        while units := [unit for space in self.spaces.values() for unit in space.next_units()]:
            yield from units

    def is_over(self, unit: Unit) -> bool:
        """True if a unit is not made, because its space is over or its strategy has ended."""
        space = self.spaces[unit.space]
        return space.is_over or (not space.samples and unit.is_sample)

    def ended(self, result: UnitResult) -> None:
        """Called with the result of each unit, in the order of the units."""
        self.spaces[result.unit.space].ended(result)


def strategies_of(spaces: tuple[Space, ...], strategy: str | None) -> dict[Space, str]:
    """Returns the strategy of each space: the given one, or the default of the space."""
    return {space: strategy or DEFAULT_STRATEGIES[space] for space in spaces}

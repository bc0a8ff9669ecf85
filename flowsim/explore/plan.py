"""Which units an exploration has, one after the other. They do not depend on how many processes there are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from sys import maxsize
from typing import Final

from flowsim.explore.split_product import SplitProduct, split_of
from flowsim.explore.strategies.by_name import DEFAULT_STRATEGIES, strategy_of
from flowsim.explore.subtrees import SplitSearch
from flowsim.explore.unit import DEFAULT, SEARCH, Chain, Unit, UnitResult, is_whole
from flowsim.sim.exploring_loop import Space

SPACES: Final[tuple[Space, ...]] = ("order", "runtime")

_SMALLEST: Final = 10
_LARGEST: Final = 200
"""Units grow with the runs before them, so that a job whose runs are slow is seen in both spaces soon."""

_TURNS_OF_ONE_SEARCH: Final = 7
"""After these the search is split: in the order space, which then had 276 runs of a search, if they have their largest size."""

_RUNS_OF_A_TURN: Final = 400
_FEWEST_TURNS: Final = 8
_MOST_TURNS: Final = 64
"""A round has this many turns at least and at most, and one for so many runs before it: one group of subtrees for each."""

States = dict[Chain, bytes]
"""Where the units of a chain continue."""


@dataclass(frozen=True, slots=True)
class SearchProgress:
    """How far the exhaustive search of a space is."""

    blocked: int = 0
    share: float = 0.0
    """The part of the tree of all orders that is finished."""
    of_parts: tuple[int, ...] = ()
    """How many results each part has, if parts that share no later task were searched by themselves."""
    is_complete: bool = False


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
    progress: SearchProgress = SearchProgress()
    _state: bytes = b""
    """That of the search, until it is split."""
    _split: SplitSearch | SplitProduct | None = None
    _groups: list[int] = field(default_factory=list)
    """The groups of subtrees of the round for which no unit is planned."""
    _made: int = 0
    """How many runs were made: units of a group that needs fewer, or of a strategy that has ended, were planned for more."""
    _has_samples: bool = True
    """False in a round that begins after the end of the strategy: all its runs are those of the search."""

    def begin_round(self, states: States) -> int:
        """Returns how many turns the next round has. All units before must have ended; adds the states of the new ones."""
        self.planned, self._has_samples = self._made, self.samples
        if not self.planned:
            return 1
        if self.space == "runtime" or self.is_over or self.planned >= self.runs:
            return maxsize
        if self.planned == 1:
            return _TURNS_OF_ONE_SEARCH
        turns = min(max(_FEWEST_TURNS, self.planned // _RUNS_OF_A_TURN), _MOST_TURNS)
        if self._split is None and not self._state:
            return turns
        self._split = self._split or split_of(self._state)
        dealt = self._split.deal(turns)
        states.update({(self.space, SEARCH, number): state for number, state in dealt.items()})
        self._groups = list(dealt)
        return len(dealt)

    def next_units(self) -> list[Unit]:
        """Returns the units of the next turn; none at the end."""
        left = self.runs - self.planned
        if left <= 0 or self.is_over:
            return []
        if not self.planned:
            return [self._unit(DEFAULT, 1)]
        size = min(max(_SMALLEST, self.planned), _LARGEST, left)
        if self.space == "runtime":
            return [self._unit(self.strategy, size)]
        searched = self._unit(SEARCH, (size + 1) // 2, 0 if self._split is None else self._groups.pop(0))
        return [searched, self._unit(self.strategy, size // 2)] if size > 1 and self._has_samples else [searched]

    def _unit(self, strategy: str, runs: int, group: int = 0) -> Unit:
        first = self.first_seed if is_whole(strategy) else self.first_seed + self.sampled
        unit = Unit(self.space, strategy, first, runs, self.planned, self.choices, self.decided, group)
        self.planned += runs
        self.sampled += runs * unit.is_sample
        return unit

    def ended(self, result: UnitResult) -> None:
        """Called with the result of each unit, in the order of the units."""
        unit, split = result.unit, self._split
        self._made += result.runs
        if unit.strategy == DEFAULT:
            self.choices, self.decided = result.choices, result.decided
        elif unit.group and split is not None:
            if result.state:
                split.take_back(unit.group, result.state, result.blocked)
            self.progress = SearchProgress(split.blocked, split.share, split.results_of_parts, split.is_finished)
            self.is_over = split.is_finished
        elif result.has_ended and unit.is_sample and self.space == "order":
            self.samples = False
        elif result.has_ended:
            self.is_over = True
        if unit.strategy == SEARCH and not unit.group:
            self._state = result.state
            self.progress = SearchProgress(result.blocked, result.share, result.of_parts, result.has_ended)


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
        self.states: States = {}
        """Where chains continue; a worker changes it as well."""

    @property
    def runs(self) -> int:
        """How many runs there are at most."""
        return sum(space.runs for space in self.spaces.values())

    def units(self) -> Iterator[Unit | None]:
        """Yields the units in rounds of turns. Those of a space that is over when their turn comes are not made.

        None: call ``ended`` for all units before asking for the next one, because it depends on them.
        """
        while True:
            turns = min(space.begin_round(self.states) for space in self.spaces.values())
            for turn in range(turns):
                units = [unit for space in self.spaces.values() for unit in space.next_units()]
                if not (units or turn):
                    return
                if not units:
                    break
                yield from units
            yield None

    def is_over(self, unit: Unit) -> bool:
        """True if a unit is not made, because its space is over or its strategy has ended."""
        space = self.spaces[unit.space]
        return space.is_over or (not space.samples and unit.is_sample)

    def ended(self, result: UnitResult) -> SearchProgress:
        """Called with the result of each unit, in the order of the units; returns how far the search of its space is."""
        space = self.spaces[result.unit.space]
        space.ended(result)
        return space.progress


def strategies_of(spaces: tuple[Space, ...], strategy: str | None) -> dict[Space, str]:
    """Returns the strategy of each space: the given one, or the default of the space."""
    return {space: strategy or DEFAULT_STRATEGIES[space] for space in spaces}

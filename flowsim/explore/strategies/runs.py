"""The runs of an exploration: the default first, then those of a strategy; in the order space beside a search of all orders."""

from __future__ import annotations

from flowsim.explore.exhaustive import ExhaustiveSearch
from flowsim.explore.strategies.by_name import strategy_of
from flowsim.explore.strategies.strategy import Strategy
from flowsim.sim.choice_token import Recorded
from flowsim.sim.exploring_loop import Space


class Runs:
    """Returns what decides each run. ``strategy`` is a name; raises BadInput for one that does not exist.

    In the order space every second run is one of an exhaustive search, which alone would see only orders that differ late in
    the run; there are no further runs when it has finished.
    """

    def __init__(self, space: Space, strategy: str, seed: int) -> None:
        self.space: Space = space
        self.search = ExhaustiveSearch() if space == "order" else None
        """The exhaustive search of the order space."""
        self._strategy: Strategy = strategy_of(strategy, space, seed)
        self._number = 0
        self._choices = 0
        """How many choices the default run had."""

    def next_run(self) -> Recorded | None:
        """Returns the source of choices of the next run; None: there is none. Call ``ended`` before the next call."""
        number, search, strategy = self._number, self.search, self._strategy
        self._number += 1
        if search is not None:
            if search.is_finished:
                return None
            if number % 2 == 0 or strategy.is_finished:
                search.begin()
                return search
        elif number == 0:
            return Recorded(self.space)
        return None if strategy.is_finished else strategy.next_run(self._choices)

    def ended(self, run: Recorded, is_new: bool) -> None:
        """Called after each run; ``is_new``: it has another result than those before."""
        if self._number == 1:
            self._choices = run.choices
        if run is self.search:
            self.search.end()
        elif self._number > 1:
            self._strategy.ended(run, is_new)

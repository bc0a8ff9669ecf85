"""The runs of an exploration of one space, for a caller that makes them itself."""

from __future__ import annotations

from collections.abc import Iterator

from flowsim.explore.exhaustive import ExhaustiveSearch
from flowsim.explore.plan import Plan, SearchProgress, strategies_of
from flowsim.explore.unit import DEFAULT, Unit, UnitResult, UnitRuns
from flowsim.sim.choice_token import Recorded
from flowsim.sim.exploring_loop import Space


class Runs:
    """Returns what decides each run, at most ``runs`` times. Raises BadInput for an unknown strategy."""

    def __init__(self, space: Space, strategy: str | None, seed: int, runs: int) -> None:
        self.space: Space = space
        self._plan = Plan(strategies_of((space,), strategy), seed, runs)
        self._units: Iterator[Unit | None] = self._plan.units()
        self._current: tuple[Unit, UnitRuns] | None = None
        self._default = Recorded(space)

    def next_run(self) -> Recorded | None:
        """Returns the source of choices of the next run; None: there is none. Call ``ended`` before the next call."""
        while True:
            if self._current is not None:
                source = self._current[1].next_run()
                if source is not None:
                    return source
                self._end(*self._current)
            unit = next((unit for unit in self._units if unit is not None and not self._plan.is_over(unit)), None)
            if unit is None:
                return None
            self._current = unit, UnitRuns(unit, ExhaustiveSearch(), self._plan.states.get(unit.chain, b""))

    def search(self) -> SearchProgress:
        """Returns how far the exhaustive search is; there is no run after this."""
        if self._current is not None:
            self._end(*self._current)
        return self._plan.spaces[self.space].progress

    def _end(self, unit: Unit, runs: UnitRuns) -> None:
        state = self._plan.states[unit.chain] = runs.state()
        end = UnitResult(unit, runs.made, has_ended=runs.has_ended, state=state)
        if unit.strategy == DEFAULT:
            end.choices, end.decided = self._default.choices, self._default.decided
        if isinstance(runs.search, ExhaustiveSearch):
            end.share = runs.search.share
        self._plan.ended(end)
        self._current = None

    def ended(self, run: Recorded, is_new: bool) -> None:
        """Called after each run; ``is_new``: it has another result than those before."""
        if self._current is not None:
            unit, runs = self._current
            runs.ended(run, is_new)
            if unit.strategy == DEFAULT:
                self._default = run

"""Explores a job: which results it can have, and whether these are all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial

from flowsim.explore.explored_job import ExploredJob
from flowsim.explore.outcome import Outcome, View
from flowsim.explore.plan import Plan, SearchProgress, States, strategies_of
from flowsim.explore.unit import SEARCH, LawCount, Unit, UnitResult, explore_unit
from flowsim.sim.choice_token import ChoiceToken
from flowsim.sim.exploring_loop import Space


@dataclass(slots=True)
class Found:
    """A result, and the token of the run that is the easiest to explain."""

    outcome: Outcome
    token: ChoiceToken
    runs: int = 0
    by_space: Counter[Space] = field(default_factory=Counter)
    """In how many runs of each space it was found."""
    sampled: Counter[Space] = field(default_factory=Counter)
    """In how many of the runs with random choices."""


@dataclass(slots=True)
class ExploredSpace:
    """How far the exploration of a space came."""

    strategy: str
    runs: int = 0
    sampled: int = 0
    """Runs with random choices."""
    searched: int = 0
    """Runs of the exhaustive search."""
    blocked: int = 0
    share: float = 0.0
    """The part of the tree of all orders that the search has finished."""
    of_parts: tuple[int, ...] = ()
    """How many results each part has, if parts that share no later task were searched by themselves."""
    is_complete: bool = False
    """True if the search has finished: there is no other result in the order space."""
    is_strategy_finished: bool = False
    """True if the strategy had no further run."""


@dataclass(slots=True)
class JobExploration:
    """The results so far, by digest, in the order in which they were found."""

    view: View
    spaces: dict[Space, ExploredSpace] = field(default_factory=dict)
    results: dict[str, Found] = field(default_factory=dict)
    runs: int = 0
    is_interrupted: bool = False
    """True if Ctrl-C ended the exploration."""
    last_new: int = 0
    """The number of the run that found the newest result, from 1."""
    checked: int = 0
    laws: dict[str, LawCount] = field(default_factory=dict)
    """The verdicts of the checked runs."""
    findings: dict[str, tuple[ChoiceToken, int]] = field(default_factory=dict)
    """A run of each finding, with the fewest choices, and the number of checked runs that have it."""

    @property
    def searched(self) -> int:
        """Runs of the exhaustive search."""
        return sum(space.searched for space in self.spaces.values())

    @property
    def sampled(self) -> int:
        """Runs with random choices."""
        return sum(space.sampled for space in self.spaces.values())

    @property
    def share(self) -> float:
        """The part of the tree of all orders that the search has finished."""
        return self.spaces["order"].share if "order" in self.spaces else 0.0

    @property
    def is_complete(self) -> bool:
        """True if the search has finished: there is no other result in the order space."""
        return "order" in self.spaces and self.spaces["order"].is_complete

    def results_in(self, space: Space) -> int:
        """How many results were found in a space."""
        return sum(space in found.by_space for found in self.results.values())

    def results_by(self, view: View) -> int:
        """How many results there would be if only what the view compares would count."""
        return len({found.outcome.viewed(view).digest for found in self.results.values()})

    def unseen(self, space: Space) -> float:
        """The share of random runs of a space that would have a result that none of them had (Good-Turing)."""
        once = sum(found.sampled[space] == 1 for found in self.results.values())
        sampled = self.spaces[space].sampled if space in self.spaces else 0
        return once / sampled if sampled else 1.0

    def add(self, part: UnitResult, search: SearchProgress) -> None:
        """Adds the runs of a unit; ``search``: how far that of its space is with them."""
        unit, space = part.unit, self.spaces[part.unit.space]
        for digest, one in part.results.items():
            found, token = self.results.get(digest), ChoiceToken.parse(one.token)
            if found is None:
                found = self.results[digest] = Found(one.outcome, token)
                self.last_new = max(self.last_new, self.runs + one.first + 1)
            elif token.is_simpler_than(found.token):
                found.token = token
            found.runs += one.runs
            found.by_space[unit.space] += one.runs
            if unit.is_sample:
                found.sampled[unit.space] += one.runs
        self.runs += part.runs
        self.is_interrupted |= part.is_interrupted
        space.runs += part.runs
        if unit.is_sample:
            space.sampled += part.runs
            space.is_strategy_finished |= part.has_ended
        if unit.strategy == SEARCH and part.runs:
            space.searched += part.runs
            space.blocked, space.share, space.of_parts = search.blocked, search.share, search.of_parts
            space.is_complete = search.is_complete
        self._add_checks(part)

    def _add_checks(self, part: UnitResult) -> None:
        self.checked += part.checked
        for law, count in part.laws.items():
            self.laws.setdefault(law, LawCount()).add(count)
        for what, finding in part.findings.items():
            token = ChoiceToken.parse(finding.token)
            first, runs = self.findings.get(what, (token, 0))
            if token.is_simpler_than(first):
                first = token
            self.findings[what] = first, runs + finding.runs


Worker = Callable[[Iterable[Unit | None], States], Iterator[UnitResult]]
"""Makes the runs of units, and yields what they found in the order of the units; the last ones need not be whole.

In place of a unit, None: which ones are next depends on all results before, so it yields these first.
"""


def explore(
    plan: Plan, view: View, worker: Worker, on_unit: Callable[[JobExploration, UnitResult], object] = lambda *_: None
) -> JobExploration:
    """Makes the runs of a plan, until ``on_unit`` returns True."""
    spaces = {name: ExploredSpace(space.strategy) for name, space in plan.spaces.items()}
    exploration = JobExploration(view, spaces)
    for part in worker((unit for unit in plan.units() if unit is None or not plan.is_over(unit)), plan.states):
        if plan.is_over(part.unit):
            continue
        exploration.add(part, plan.ended(part))
        if on_unit(exploration, part):
            break
    return exploration


def in_this_process(run: Callable[[Unit, bytes], UnitResult]) -> Worker:
    """Makes the runs of each unit in this process; ``run`` makes those of one."""

    def work(units: Iterable[Unit | None], states: States) -> Iterator[UnitResult]:
        for unit in units:
            if unit is None:
                continue
            result = run(unit, states.get(unit.chain, b"") if unit.continues else b"")
            states[unit.chain] = result.state
            yield result
            if not result.is_whole:
                return

    return work


def explore_job(
    job: ExploredJob,
    runs: int,
    view: View = "exact",
    *,
    strategy: str | None = None,
    seed: int = 1,
    is_over: Callable[[], bool] = lambda: False,
    on_run: Callable[[ChoiceToken, bool], object] = lambda *_: None,
) -> JobExploration:
    """Runs a job ``runs`` times, or until each order was tried, or until ``is_over``; its runs are not checked.

    ``on_run`` gets the token of each run, and whether its result is new in its unit. Raises BadInput for an unknown strategy.
    """
    plan = Plan(strategies_of((job.space,), strategy), seed, runs)
    run = partial(explore_unit, job, view=view, is_over=is_over, on_run=lambda _, token, is_new: on_run(token, is_new))
    return explore(plan, view, in_this_process(run))

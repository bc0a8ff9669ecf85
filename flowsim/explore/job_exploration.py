"""Explores a job: which results it can have, and whether these are all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from flowsim.explore.exhaustive import ExhaustiveSearch
from flowsim.explore.explored_job import ExploredJob
from flowsim.explore.outcome import Outcome, View
from flowsim.explore.strategies.by_name import DEFAULT_STRATEGIES
from flowsim.explore.strategies.runs import Runs
from flowsim.sim.choice_token import ChoiceToken


@dataclass(slots=True)
class Found:
    """A result, in how many runs it was found, and the token of the run with the fewest choices of its own."""

    outcome: Outcome
    token: ChoiceToken
    runs: int = 0
    sampled: int = 0
    """In how many of the runs with random choices."""


@dataclass(slots=True)
class JobExploration:
    """The results so far, by digest, in the order in which they were found."""

    view: View
    search: ExhaustiveSearch | None = None
    """The search of all orders, in the order space."""
    results: dict[str, Found] = field(default_factory=dict)
    runs: int = 0
    sampled: int = 0
    """Runs with random choices."""
    is_interrupted: bool = False
    """True if Ctrl-C ended the exploration."""
    is_strategy_finished: bool = False
    """True if the strategy had no further run."""
    last_new: int = 0
    """The number of the run that found the newest result, from 1."""

    @property
    def searched(self) -> int:
        """Runs of the exhaustive search."""
        return 0 if self.search is None else self.search.runs

    @property
    def share(self) -> float:
        """The part of the tree of all orders that the search has finished."""
        return 0.0 if self.search is None else self.search.share

    @property
    def is_complete(self) -> bool:
        """True if the search has finished: there is no other result in the order space."""
        return self.search is not None and self.search.is_finished

    @property
    def unseen(self) -> float:
        """The share of runs with random choices that would have a result that none of them had (Good-Turing)."""
        once = sum(found.sampled == 1 for found in self.results.values())
        return once / self.sampled if self.sampled else 1.0

    def add(self, outcome: Outcome, token: ChoiceToken, *, is_sample: bool) -> bool:
        """Adds a run; returns True if its result is new."""
        self.runs += 1
        self.sampled += is_sample
        viewed = outcome.viewed(self.view)
        found = self.results.get(viewed.digest)
        is_new = found is None
        if found is None:
            found = self.results[viewed.digest] = Found(viewed, token)
            self.last_new = self.runs
        if len(token.deviations) < len(found.token.deviations):
            found.token = token
        found.runs += 1
        found.sampled += is_sample
        return is_new


def explore_job(
    job: ExploredJob,
    runs: int,
    view: View = "exact",
    *,
    strategy: str | None = None,
    seed: int = 1,
    is_over: Callable[[], bool] = lambda: False,
    on_run: Callable[[JobExploration, ChoiceToken, bool], object] = lambda *_: None,
) -> JobExploration:
    """Runs a job ``runs`` times, or until each order was tried, or until ``is_over``.

    ``on_run`` gets the exploration so far, the token of the run, and whether its result is new. Ctrl-C ends the exploration,
    which keeps what it found. Raises BadInput for an unknown strategy.
    """
    sources = Runs(job.space, strategy or DEFAULT_STRATEGIES[job.space], seed)
    exploration = JobExploration(view, sources.search)
    try:
        while exploration.runs < runs and not is_over():
            source = sources.next_run()
            if source is None:
                exploration.is_strategy_finished = True
                break
            outcome = job.run(source)
            if not exploration.runs and not outcome.is_bounded:
                job.bound_by(source)
            token = source.token(job.digest)
            is_new = exploration.add(outcome, token, is_sample=source is not sources.search)
            sources.ended(source, is_new)
            on_run(exploration, token, is_new)
    except KeyboardInterrupt:
        exploration.is_interrupted = True
    return exploration

"""Explores the order space of a job: which results it can have, and whether these are all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from random import Random

from flowsim.cluster.job_execution import JobExecutionResult, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.cluster.planned_job import planned_job
from flowsim.cluster.run_bounds import UNBOUNDED
from flowsim.cluster.run_events import CheckedEvents
from flowsim.explore.exhaustive import ExhaustiveSearch
from flowsim.explore.explore import EXPLORED_BOUNDS
from flowsim.explore.observed_graph import observe
from flowsim.explore.outcome import Outcome, View, outcome_of, sink_name
from flowsim.facts.recorder import Recorder
from flowsim.graph.stream_graph import StreamGraph
from flowsim.sim.choice_token import ChoiceToken, Recorded
from flowsim.sim.exploring_loop import ExploringPolicy, Option


class ExploredJob:
    """A job that runs many times, and whose runs keep nothing but their results. ``digest``: of the job with its settings.

    A run ends after 10 million steps, or at the bounds of ``options``.
    """

    def __init__(self, graph: StreamGraph, options: RunOptions, digest: str) -> None:
        options = replace(options, bounds=EXPLORED_BOUNDS) if options.bounds == UNBOUNDED else options
        observed = observe(graph)
        self._ends = observed.ends
        self._options = replace(options, recorder=None, budget_records=None, policy=ExploringPolicy(Recorded()))
        self._execution = planned_job(observed.graph, self._options, CheckedEvents(self._options))
        self.digest = digest

    def run(self, source: Recorded) -> Outcome:
        return self.outcome(self.result(source))

    def result(self, source: Recorded, recorder: Recorder | None = None) -> JobExecutionResult:
        """Runs the job, and records the run if there is a recorder. Raises RunInterrupted with the result so far."""
        options = replace(self._options, policy=ExploringPolicy(source), recorder=recorder)
        return MiniCluster(self._execution, options).run()

    def outcome(self, result: JobExecutionResult) -> Outcome:
        """Returns the outcome of the run that has just ended."""
        return outcome_of(result, self._ends)

    def rows_so_far(self) -> dict[str, list[object]]:
        """Returns the values that each sink holds while a run goes on, or after it."""
        return {sink_name(name): [value for value, _ in end.records()] for name, end in self._ends.items()}


@dataclass(slots=True)
class Found:
    """A result, in how many runs it was found, and the token of the run with the fewest choices of its own."""

    outcome: Outcome
    token: ChoiceToken
    runs: int = 0
    sampled: int = 0
    """In how many of the runs with random choices."""


@dataclass(slots=True)
class OrderExploration:
    """The results so far, by digest, in the order in which they were found."""

    view: View
    results: dict[str, Found] = field(default_factory=dict)
    runs: int = 0
    sampled: int = 0
    """Runs with random choices."""
    search: ExhaustiveSearch = field(default_factory=ExhaustiveSearch)
    is_interrupted: bool = False
    """True if Ctrl-C ended the exploration."""
    last_new: int = 0
    """The number of the run that found the newest result, from 1."""

    @property
    def searched(self) -> int:
        """Runs of the exhaustive search."""
        return self.search.runs

    @property
    def share(self) -> float:
        """The part of the tree of all orders that the search has finished."""
        return self.search.share

    @property
    def is_complete(self) -> bool:
        """True if the search has finished: there is no other result in the order space."""
        return self.search.is_finished

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


class RandomChoices(Recorded):
    """Chooses each step at random, each option alike."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._random = Random(seed)

    def decide(self, options: Sequence[Option]) -> int:
        return int(self._random.random() * len(options))


def sources_of_runs(search: ExhaustiveSearch, runs: int, first_seed: int) -> Iterator[Recorded]:
    """Yields what decides each run, until the search has finished: the search, and every second time random choices.

    A depth-first search alone sees only orders that differ late in the run. The caller runs the job before it asks for the
    next source.
    """
    for number in range(runs):
        if search.is_finished:
            return
        if number % 2:
            yield RandomChoices(first_seed + number // 2)
        else:
            search.begin()
            yield search
            search.end()


def explore_orders(
    job: ExploredJob,
    runs: int,
    view: View = "exact",
    *,
    first_seed: int = 1,
    is_over: Callable[[], bool] = lambda: False,
    on_run: Callable[[OrderExploration, ChoiceToken, bool], object] = lambda *_: None,
) -> OrderExploration:
    """Runs a job until the search has finished, or ``runs`` times, or until ``is_over``.

    ``on_run`` gets the exploration so far, the token of the run, and whether its result is new. Ctrl-C ends the exploration,
    which keeps what it found.
    """
    exploration = OrderExploration(view)
    try:
        for source in sources_of_runs(exploration.search, runs, first_seed):
            if is_over():
                break
            outcome = job.run(source)
            token = source.token(job.digest)
            is_new = exploration.add(outcome, token, is_sample=source is not exploration.search)
            on_run(exploration, token, is_new)
    except KeyboardInterrupt:
        exploration.is_interrupted = True
    return exploration

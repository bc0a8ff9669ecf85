"""A job that an exploration runs many times."""

from __future__ import annotations

from contextlib import redirect_stdout
from dataclasses import replace
from io import TextIOBase
from typing import Final

from flowsim.cluster.job_execution import JobExecutionResult, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.cluster.planned_job import planned_job
from flowsim.cluster.run_bounds import UNBOUNDED, RunBounds
from flowsim.cluster.run_events import CheckedEvents
from flowsim.explore.exhaustive import ExhaustiveSearch
from flowsim.explore.observed_graph import observe
from flowsim.explore.outcome import Outcome, outcome_of, sink_name
from flowsim.explore.parts import parts_of
from flowsim.explore.product_search import ProductSearch
from flowsim.explore.row_keys import KeyedCollectSink
from flowsim.facts.recorder import Recorder
from flowsim.graph.stream_graph import StreamGraph
from flowsim.sim.choice_token import ChoiceToken, Recorded, Recounted, Replayed
from flowsim.sim.exploring_loop import Space
from flowsim.sim.sampled.by_strategy import replay

EXPLORED_BOUNDS: Final = RunBounds(steps=10_000_000)
"""The bounds of an explored run by default: some minutes."""

_SURELY: Final = 50_000
_TIMES: Final = 100
"""Each run may have 50,000 callbacks of the event loop, and 100 for each step of the first run."""


class _Nowhere(TextIOBase):
    def write(self, text: str) -> int:
        return len(text)


def silenced() -> redirect_stdout[_Nowhere]:
    """Drops what a run prints: thousands of runs print the same."""
    return redirect_stdout(_Nowhere())


class ExploredJob:
    """A job that runs many times, and whose runs keep nothing but their results. ``digest``: of the job with its settings.

    A run ends at the bounds of ``options``; without any, after 10 million steps, or fewer as soon as a run has ended.
    """

    def __init__(self, graph: StreamGraph, options: RunOptions, digest: str, space: Space = "order") -> None:
        self._has_bounds = options.bounds != UNBOUNDED
        options = options if self._has_bounds else replace(options, bounds=EXPLORED_BOUNDS)
        observed = observe(graph)
        self._observed = observed
        self._ends = observed.ends
        self._options = replace(options, recorder=None, budget_records=None, policy=Recorded(space).policy())
        self.execution = planned_job(observed.graph, self._options, CheckedEvents(self._options))
        self.digest = digest
        self.space: Space = space

    @property
    def bounds(self) -> RunBounds:
        """The bounds of each run."""
        return self._options.bounds

    @property
    def sinks_without_keys(self) -> list[str]:
        """The names of the sinks that ``--outcome keys`` compares in order, because the keys of their rows are not known."""
        return [sink_name(name) for name, end in self._ends.items() if not isinstance(end, KeyedCollectSink)]

    @property
    def has_keys(self) -> bool:
        """True if the keys of the rows of a sink are known."""
        return len(self.sinks_without_keys) < len(self._ends)

    def bound_by(self, decided: int) -> None:
        """Bounds further runs by the steps of a run that ended: one that needs very many more works without end."""
        if not self._has_bounds:
            steps = min(EXPLORED_BOUNDS.steps or _SURELY, _SURELY + _TIMES * decided)
            self._options = replace(self._options, bounds=RunBounds(steps=steps))

    def search(self) -> ExhaustiveSearch | ProductSearch:
        """Returns a search of all orders: part by part if the job has parts that share no later task."""
        parts = parts_of(self.execution)
        tasks = self._tasks_of_sinks()
        return ExhaustiveSearch() if parts.count < 2 or tasks is None else ProductSearch(parts, tasks)

    def _tasks_of_sinks(self) -> dict[str, list[int]] | None:
        """Returns the task of each subtask of a sink; None if one is not found."""
        vertices = {chained.node.name: vertex for vertex in self.execution.job.vertices for chained in vertex.operators}
        if not self._ends.keys() <= vertices.keys():
            return None
        return {
            sink_name(name): [subtask.id for subtask in self.execution.subtasks_of(vertices[name])]
            for name in self._ends
        }

    def run(self, source: Recorded) -> Outcome:
        return self.outcome(self.result(source))

    def result(self, source: Recorded, recorder: Recorder | None = None) -> JobExecutionResult:
        """Runs the job, and records the run if there is a recorder. Raises RunInterrupted with the result so far."""
        options = replace(self._options, policy=source.policy(), recorder=recorder)
        self._observed.clear()
        with silenced():
            return MiniCluster(self.execution, options).run()

    def with_choices(self, token: ChoiceToken) -> ChoiceToken:
        """Returns a token that has the choices of a random run, for one that has its seed; others as they are.

        Raises BadInput if the token belongs to another job, or its run makes other choices.
        """
        token.check_job(self.digest)
        if token.sampled is None or not token.asks_for_choices:
            return token
        source = replay(token)
        self.result(source)
        source.check_end()
        return source.token_of_choices(self.digest)

    def recounted(self, token: ChoiceToken) -> ChoiceToken:
        """Returns the same choices in the other order of turns. Raises BadInput if the token does not fit."""
        source = Recounted(token, "sticky" if token.turns == "fair" else "fair")
        self.result(source)
        return source.token_of_choices(self.digest)

    def choices_and_defaults(self, token: ChoiceToken) -> tuple[dict[int, int], dict[int, int]]:
        """Returns the options of a token's choices as the loop counts them, and the default at each choice of the token."""
        if token.turns == "sticky":
            return dict(token.deviations), dict.fromkeys(dict(token.deviations), 0)
        source = Replayed(token)
        self.result(source)
        return dict(self.recounted(token).deviations), {
            number: default for number, (default, _) in source.defaults.items()
        }

    def outcome(self, result: JobExecutionResult) -> Outcome:
        """Returns the outcome of the run that has just ended."""
        return outcome_of(result, self._ends)

    def rows_so_far(self) -> dict[str, list[list[object]]]:
        """Returns the values that each sink and subtask holds while a run goes on, or after it."""
        return {
            sink_name(name): [[value for value, _ in end.records(part)] for part in range(end.parallelism)]
            for name, end in self._ends.items()
        }

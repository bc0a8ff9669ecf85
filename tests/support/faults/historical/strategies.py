"""The strategies that draw the schedules of a hunt: the only list of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from random import Random
from typing import Final

from flowsim.explore.exhaustive import ExhaustiveSearch
from flowsim.explore.strategies.uniform import UniformRun
from flowsim.faults.historical.bug import Bug, Space
from flowsim.sim.choice_token import Recorded
from flowsim.sim.exploring_loop import ExploringPolicy
from flowsim.sim.policy import SeededRandomPolicy
from flowsim.sim.rng import RandomStreams
from tests.support.faults.historical.runs import ScheduledRun

_RUNS_OF_A_SEED: Final = 100_000


@dataclass(frozen=True)
class Strategy:
    """The space of a strategy (``any``: it decides nothing), and its runs for a seed.

    ``runs`` yields without end, or until every order was tried. The caller makes each run before it asks for the next.
    """

    name: str
    space: Space
    runs: Callable[[int], Iterator[ScheduledRun]]
    is_random: bool = True
    """False: all seeds have the same runs."""


def _default(seed: int) -> Iterator[ScheduledRun]:
    """The run of the scenario as it is."""
    yield ScheduledRun()


def explored(choices: Recorded) -> ScheduledRun:
    """Returns the run of the order space that ``choices`` decide."""
    return ScheduledRun(ExploringPolicy(choices), choices=choices)


def _random_orders(seed: int) -> Iterator[ScheduledRun]:
    """Each step of the order space at random, each option alike."""
    for number in count(seed * _RUNS_OF_A_SEED):
        yield explored(UniformRun("order", Random(number), 0))


def _all_orders(seed: int) -> Iterator[ScheduledRun]:
    """All orders, without those that no task can tell from another one; the depth-first search of ``explore``."""
    search = ExhaustiveSearch()
    while not search.is_finished:
        search.begin()
        yield explored(search)
        search.end()


def _random_costs(seed: int) -> Iterator[ScheduledRun]:
    """Turns, events of one time and costs at random; every batch has one element."""
    for number in count(seed * _RUNS_OF_A_SEED):
        yield ScheduledRun(SeededRandomPolicy(RandomStreams(number)), number, 1)


STRATEGIES: Final[dict[str, Strategy]] = {
    strategy.name: strategy
    for strategy in (
        Strategy("default", "any", _default, is_random=False),
        Strategy("orders, uniform", "order", _random_orders),
        Strategy("orders, exhaustive", "order", _all_orders, is_random=False),
        Strategy("random", "runtime", _random_costs),
    )
}


def strategies_of(bug: Bug) -> list[Strategy]:
    """Returns the strategies of the bug's space; all if every schedule shows it."""
    return [each for each in STRATEGIES.values() if "any" in (bug.space, each.space) or bug.space == each.space]

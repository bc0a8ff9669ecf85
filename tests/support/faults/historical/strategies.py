"""The strategies that draw the schedules of a hunt: the only list of them."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import partial
from typing import Final

from flowsim.explore.exhaustive import ExhaustiveSearch
from flowsim.explore.strategies.by_name import STRATEGIES as EXPLORED
from flowsim.explore.strategies.by_name import strategy_of
from flowsim.faults.historical.bug import Bug, Space
from flowsim.sim import exploring_loop
from flowsim.sim.choice_token import Recorded
from tests.support.faults.historical.runs import ScheduledRun

_RUNS_OF_A_SEED: Final = 100_000
"""Seeds have different runs."""

Runs = Generator[ScheduledRun, bool | None]
"""Yields the runs of a seed without end, or until none is left; gets back whether the last one had a new result."""


@dataclass(frozen=True)
class Strategy:
    """The space of a strategy (``scenario``: it decides nothing), and its runs for a seed."""

    name: str
    space: Space
    runs: Callable[[int], Runs]
    is_random: bool = True
    """False: all seeds have the same runs."""
    begins_with_default: bool = False
    """True if the first run is the same for all seeds."""
    has_short_tokens: bool = False
    """True if the choices of a run are shrunk to a token."""


def _default(seed: int) -> Runs:
    """The run of the scenario as it is."""
    yield ScheduledRun()


def _of_explore(space: exploring_loop.Space, name: str, seed: int) -> Runs:
    """The default run of the space, and then those of a strategy of ``flowsim explore``."""
    first = Recorded(space)
    yield ScheduledRun(first)
    strategy = strategy_of(name, space, seed * _RUNS_OF_A_SEED)
    while not strategy.is_finished:
        run = strategy.next_run(first.choices)
        is_new = yield ScheduledRun(run)
        strategy.ended(run, bool(is_new))


def _all_orders(seed: int) -> Runs:
    """All orders, without those that no task can tell from another one; the depth-first search of ``explore``."""
    search = ExhaustiveSearch()
    while not search.is_finished:
        search.begin()
        yield ScheduledRun(search)
        search.end()


STRATEGIES: Final[dict[str, Strategy]] = {
    strategy.name: strategy
    for strategy in (
        Strategy("default", "scenario", _default, is_random=False),
        Strategy("order: uniform", "order", partial(_of_explore, "order", "uniform"), True, True, True),
        Strategy("order: exhaustive", "order", _all_orders, is_random=False),
        *(
            Strategy(name, "runtime", partial(_of_explore, "runtime", name), True, True, name == "portfolio")
            for name in EXPLORED
        ),
    )
}


def strategies_of(bug: Bug) -> list[Strategy]:
    """Returns the strategies of the bug's space."""
    return [each for each in STRATEGIES.values() if each.space in ("scenario", bug.space) or bug.space == "any"]

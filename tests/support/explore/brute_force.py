"""Every order of a job's events, one by one, and the results of an exhaustive search beside them.

``python -m tests.support.explore.brute_force --jobs 500`` compares tiny jobs; a job with too many orders is left out.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from flowsim.explore.exhaustive import ExhaustiveSearch
from flowsim.explore.explored_job import ExploredJob
from flowsim.explore.outcome import Outcome
from flowsim.explore.product_search import ProductSearch
from flowsim.scenario.yaml.problems import ScenarioErrors
from flowsim.sim.choice_token import Recorded
from flowsim.sim.exploring_loop import Option
from tests.support.explore.tiny_jobs import drawing_job, explored, failing_job, parted_job, timed_job, tiny_job

MOST_ORDERS = 1_200
KINDS = {"tiny": tiny_job, "drawing": drawing_job, "parted": parted_job, "failing": failing_job, "timed": timed_job}


@dataclass(slots=True)
class AllOrders(Recorded):
    """Decides each step in each possible way: the last one that has another option is changed first."""

    path: list[tuple[int, int]] = field(default_factory=list)
    """The index and the number of options of each step."""
    depth: int = 0
    runs: int = 0
    is_finished: bool = False

    def begin(self) -> None:
        self.depth = 0

    def decide(self, options: Sequence[Option]) -> int:
        if self.depth == len(self.path):
            self.path.append((0, len(options)))
        index, count = self.path[self.depth]
        assert count == len(options)
        self.depth += 1
        return index

    def end(self, outcome: Outcome | None = None) -> None:
        self.runs += 1
        while self.path and self.path[-1][0] + 1 == self.path[-1][1]:
            self.path.pop()
        if self.path:
            index, count = self.path[-1]
            self.path[-1] = index + 1, count
        self.is_finished = not self.path


def results(
    job: ExploredJob, search: AllOrders | ExhaustiveSearch | ProductSearch, most: int = MOST_ORDERS
) -> set[str]:
    """Returns the digests of the results; the search is not finished if there are more than ``most`` runs."""
    found = set()
    while not search.is_finished and search.runs < most:
        search.begin()
        outcome = job.run(search)
        found.add(outcome.digest)
        search.end(outcome)
    return found


@dataclass(frozen=True, slots=True)
class Compared:
    """How many runs each way needed, and the results that only one of them has."""

    orders: int
    searched: int
    missed: frozenset[str]
    unfounded: frozenset[str]


def compare(seed: int, most: int = MOST_ORDERS, draw: Callable[[int], dict[str, Any]] = tiny_job) -> Compared | None:
    """Compares the ways for a tiny job; None if it has too many orders, or is no job.

    A job of several parts often has too many: its search is compared with that of the whole job as well.
    """
    try:
        job = explored(draw(seed))
    except ScenarioErrors:
        return None
    search = job.search()
    orders: AllOrders | ExhaustiveSearch = AllOrders()
    reduced = results(job, search, most)
    every = results(job, orders, most)
    if isinstance(search, ProductSearch) and not orders.is_finished:
        orders = ExhaustiveSearch()
        every |= results(job, orders, most)
    missed = frozenset(every - reduced)
    if not search.is_finished or (not orders.is_finished and not missed):
        return None
    return Compared(orders.runs, search.runs, missed, frozenset(reduced - every))


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--jobs", type=int, default=100)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--orders", type=int, default=MOST_ORDERS, help="leave out jobs that have more")
    arguments.add_argument(
        "--draw",
        choices=KINDS,
        default="tiny",
        help="jobs in which tasks draw channels and splits; of several parts; that fail; with periodic watermarks",
    )
    given = arguments.parse_args()
    compared = orders = searched = different = 0
    seed = given.seed
    while compared < given.jobs:
        found = compare(seed, given.orders, KINDS[given.draw])
        if found is not None:
            compared, orders, searched = compared + 1, orders + found.orders, searched + found.searched
            if found.missed or found.unfounded:
                different += 1
                print(f"seed {seed}: missed {sorted(found.missed)}, unfounded {sorted(found.unfounded)}", flush=True)
        seed += 1
    print(
        f"{compared} jobs of {seed - given.seed} seeds: {orders} orders, {searched} runs of the search, {different} differ"
    )
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())

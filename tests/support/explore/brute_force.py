"""Every order of a job's events, one by one, and the results of an exhaustive search beside them.

``python -m tests.support.explore.brute_force --jobs 500`` compares tiny jobs; a job with too many orders is left out; Ctrl-C
ends it with the counts so far.
``--split 3 2`` splits each search, as a long one is.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from flowsim.explore.exhaustive import ExhaustiveSearch
from flowsim.explore.explored_job import ExploredJob
from flowsim.explore.outcome import Outcome
from flowsim.explore.product_search import ProductSearch
from flowsim.explore.split_product import SplitProduct, split_of
from flowsim.explore.subtrees import SplitSearch
from flowsim.explore.unit import SEARCH, Unit, UnitRuns
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

    def begin(self) -> Recorded:
        self.depth = 0
        return self

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


class InSubtrees:
    """A search that is split after its first run, into groups of which each has few runs in a round."""

    def __init__(self, search: Callable[[], ExhaustiveSearch | ProductSearch], groups: int, of_a_group: int) -> None:
        self._search = search
        self._groups = groups
        self._of_a_group = of_a_group
        self._first = search()
        self._split: SplitSearch | SplitProduct | None = None
        self._dealt: dict[int, bytes] = {}
        self._group: UnitRuns | None = None
        self._run = Recorded()
        self.runs = 0

    @property
    def is_finished(self) -> bool:
        return self._first.is_finished or (self._split is not None and self._split.is_finished)

    @property
    def share(self) -> float:
        return self._first.share if self._split is None else self._split.share

    def begin(self) -> Recorded:
        self.runs += 1
        if self._split is None:
            return self._first.begin()
        if self._group is None:
            self._dealt = self._dealt or self._split.deal(self._groups)
            unit = Unit("order", SEARCH, 1, self._of_a_group, 0, group=min(self._dealt))
            self._group = UnitRuns(unit, self._search(), self._dealt.pop(unit.group))
            self._number = unit.group
        run = self._group.next_run()
        assert run is not None
        self._run = run
        return run

    def end(self, outcome: Outcome | None = None) -> None:
        if self._split is None or self._group is None:
            self._first.end(outcome)
            self._split = split_of(self._first.state())
            return
        self._group.ended(self._run, False, outcome)
        if self._group.has_ended or self._group.made == self._of_a_group:
            search = self._group.search
            assert search is not None
            self._split.take_back(self._number, search.state(), search.blocked)
            self._group = None


Search = AllOrders | ExhaustiveSearch | ProductSearch | InSubtrees


def results(job: ExploredJob, search: Search, most: int = MOST_ORDERS) -> set[str]:
    """Returns the digests of the results; the search is not finished if there are more than ``most`` runs."""
    found = set()
    while not search.is_finished and search.runs < most:
        outcome = job.run(search.begin())
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


def compare(
    seed: int,
    most: int = MOST_ORDERS,
    draw: Callable[[int], dict[str, Any]] = tiny_job,
    split: tuple[int, int] | None = None,
) -> Compared | None:
    """Compares the ways for a tiny job; None if it has too many orders, or is no job.

    ``split``: into how many groups the search is split, and how many runs each has in a round.

    A job of several parts often has too many: its search is compared with that of the whole job as well.
    """
    try:
        job = explored(draw(seed))
    except ScenarioErrors:
        return None
    search: Search = job.search() if split is None else InSubtrees(job.search, *split)
    orders: AllOrders | ExhaustiveSearch = AllOrders()
    reduced = results(job, search, most)
    every = results(job, orders, most)
    if isinstance(job.search(), ProductSearch) and not orders.is_finished:
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
    arguments.add_argument(
        "--split",
        type=int,
        nargs=2,
        metavar=("GROUPS", "RUNS"),
        help="search in subtrees: so many groups and runs of each",
    )
    given = arguments.parse_args()
    compared = orders = searched = different = 0
    seed = given.seed
    with suppress(KeyboardInterrupt):
        while compared < given.jobs:
            found = compare(seed, given.orders, KINDS[given.draw], given.split)
            if found is not None:
                compared, orders, searched = compared + 1, orders + found.orders, searched + found.searched
                if found.missed or found.unfounded:
                    different += 1
                    print(
                        f"seed {seed}: missed {sorted(found.missed)}, unfounded {sorted(found.unfounded)}", flush=True
                    )
            seed += 1
    print(
        f"{compared} jobs of {seed - given.seed} seeds: {orders} orders, {searched} runs of the search, {different} differ"
    )
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())

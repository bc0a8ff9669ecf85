"""A search that is split into subtrees has the results of every order, however the runs are dealt."""

from __future__ import annotations

from math import factorial

import pytest

from flowsim.explore import plan as plans
from flowsim.explore.exhaustive import ExhaustiveSearch
from flowsim.explore.job_exploration import explore_job
from flowsim.explore.runs import Runs
from flowsim.explore.subtrees import SplitSearch, Subtrees
from tests.support.explore.brute_force import KINDS, InSubtrees, compare, results
from tests.support.explore.tiny_jobs import explored
from tests.unit.explore.test_exhaustive import DRAWING, FAILING, SMALL, TIMED, union

JOBS = [
    *(("tiny", seed) for seed in SMALL),
    *(("failing", seed) for seed in FAILING[:4]),
    *(("timed", seed) for seed in TIMED[:2]),
    *(("drawing", seed) for seed in DRAWING),
]


@pytest.mark.parametrize("split", [(1, 1), (3, 2)])
@pytest.mark.parametrize(("kind", "seed"), JOBS)
def test_subtrees_have_the_results_of_all_orders(kind: str, seed: int, split: tuple[int, int]) -> None:
    found = compare(seed, 300, KINDS[kind], split)
    assert found is not None
    assert (found.missed, found.unfounded) == (frozenset(), frozenset())
    assert found.searched <= found.orders


@pytest.mark.parametrize("split", [(1, 1), (2, 5), (8, 100)])
def test_subtrees_have_no_run_twice_and_their_shares_make_one(split: tuple[int, int]) -> None:
    """Each channel has three elements."""
    search, job = InSubtrees(*split), explored(union(2))
    assert len(results(job, search)) == 6
    assert (search.runs, search.share) == (factorial(6) // factorial(3) ** 2, 1.0)
    half = InSubtrees(*split)
    results(job, half, 10)
    assert 0.2 < half.share < 0.8


def test_group_that_had_no_run_is_dealt_again() -> None:
    first, job = ExhaustiveSearch(), explored(union(2))
    first.end(job.run(first.begin()))
    split, runs = SplitSearch(first.state()), 1
    while not split.is_finished:
        dealt = split.deal(3)
        number = max(dealt)
        group = Subtrees(dealt[number])
        while not group.is_finished:
            group.end(job.run(group.begin()))
            runs += 1
        split.take_back(number, group.state(), group.blocked)
    assert runs == factorial(6) // factorial(3) ** 2


@pytest.fixture
def early(monkeypatch: pytest.MonkeyPatch) -> None:
    """Splits a search after 5 of its runs."""
    monkeypatch.setattr(plans, "_TURNS_OF_ONE_SEARCH", 1)
    monkeypatch.setattr(plans, "_LARGEST", 10)


@pytest.mark.usefixtures("early")
def test_exploration_of_subtrees_is_complete_with_as_many_runs_of_the_search() -> None:
    found = explore_job(explored(union(3)), 1_000)
    assert (len(found.results), found.searched, found.is_complete, found.share) == (20, 70, True, 1.0)


@pytest.mark.usefixtures("early")
def test_runs_that_a_group_does_not_need_are_made_by_others() -> None:
    """The search has five of the runs, and half of the others."""
    found = explore_job(explored(union(3)), 101)
    assert (found.runs, found.searched, found.is_complete) == (101, 50, False)


@pytest.mark.usefixtures("early")
def test_runs_for_a_test_are_split_as_well() -> None:
    job, runs, made = explored(union(2)), Runs("order", None, 1, 1_000), 0
    while (source := runs.next_run()) is not None:
        job.run(source)
        runs.ended(source, is_new=False)
        made += 1
    assert (runs.search().is_complete, made < 60) == (True, True)

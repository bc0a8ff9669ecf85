"""A search that is split into subtrees has the results of every order, however the runs are dealt."""

from __future__ import annotations

from math import factorial

import pytest

from flowsim.explore import plan as plans
from flowsim.explore.exhaustive import ExhaustiveSearch
from flowsim.explore.job_exploration import explore_job
from flowsim.explore.product_search import ProductSearch
from flowsim.explore.runs import Runs
from flowsim.explore.subtrees import SplitSearch, Subtrees
from tests.support.explore.brute_force import KINDS, InSubtrees, compare, results
from tests.support.explore.tiny_jobs import explored
from tests.unit.explore.test_exhaustive import DRAWING, FAILING, FIELDS, SMALL, TIMED, union
from tests.unit.explore.test_product_search import PARTED, three_receivers

OF_NO_PARTS = (10,)
"""A failing job whose two parts depend on each other: the search begins again after the first run of a part."""

JOBS = [
    *(("tiny", seed) for seed in SMALL),
    *(("failing", seed) for seed in FAILING[:3]),
    *(("timed", seed) for seed in TIMED[:2]),
    *(("drawing", seed) for seed in DRAWING),
    *(("parted", seed) for seed in PARTED[:3]),
]


@pytest.mark.parametrize("split", [(1, 1), (3, 2)])
@pytest.mark.parametrize(("kind", "seed"), JOBS)
def test_subtrees_have_the_results_of_all_orders(kind: str, seed: int, split: tuple[int, int]) -> None:
    found = compare(seed, 300, KINDS[kind], split)
    assert found is not None
    assert (found.missed, found.unfounded) == (frozenset(), frozenset())
    assert found.searched <= found.orders + (seed in OF_NO_PARTS and kind == "failing")


@pytest.mark.parametrize("split", [(1, 1), (2, 5), (8, 100)])
def test_subtrees_have_no_run_twice_and_their_shares_make_one(split: tuple[int, int]) -> None:
    """Each channel has three elements."""
    job = explored(union(2))
    search = InSubtrees(job.search, *split)
    assert len(results(job, search)) == 6
    assert (search.runs, search.share) == (factorial(6) // factorial(3) ** 2, 1.0)
    half = InSubtrees(job.search, *split)
    results(job, half, 10)
    assert 0.2 < half.share < 0.8


@pytest.mark.parametrize("split", [(1, 1), (4, 7)])
@pytest.mark.parametrize(("rows", "of_each", "runs"), [(1, 2, 3 * 6 + 4), (2, 6, 3 * 20 + 200)])
def test_parts_are_split_as_well(rows: int, of_each: int, runs: int, split: tuple[int, int]) -> None:
    """Beside the runs of each part there is one for each combination in which two parts have another result."""
    job = explored(three_receivers(rows))
    search = InSubtrees(job.search, *split)
    assert (len(results(job, search)), search.runs, search.share) == (of_each**3, runs, 1.0)


def test_parts_of_which_a_late_run_shows_that_they_depend_are_searched_as_a_whole() -> None:
    """The second part divides by zero if 10 comes after 20, and its failure ends the first part."""
    job = union(1)
    rows = {"a": 1, "b": 2, "c": 10, "d": 20}
    job["sources"] = {name: {"collection": {"fields": FIELDS, "rows": [[n]]}} for name, n in rows.items()}
    job["operators"] = {
        "works": {"input": ["a", "b"], "map": {"add": {"m": "n"}}},
        "pairs": {"input": ["c", "d"], "window": {"count": 2}, "aggregate": {"n": "last(n)"}},
        "fails": {"input": "pairs", "map": {"add": {"m": "1 / (n - 10)"}}},
    }
    job["sinks"] = {f"of_{name}": {"input": name, "collect": {}} for name in ("works", "fails")}
    one, groups = explored(job).search(), InSubtrees(explored(job).search, 4, 3)
    assert results(explored(job), groups) == results(explored(job), one)
    assert isinstance(one, ProductSearch)
    assert (one.is_whole, groups.is_finished, groups.runs > 10) == (True, True, True)


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

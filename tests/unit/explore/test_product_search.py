"""Jobs whose parts share no later task are searched part by part."""

from __future__ import annotations

from typing import Any

import pytest

from flowsim.explore.parts import BEFORE, parts_of
from flowsim.explore.product_search import ProductSearch
from tests.support.explore.brute_force import KINDS, compare, results
from tests.support.explore.tiny_jobs import explored
from tests.unit.explore.test_exhaustive import union

PARTED = (3, 5, 7, 20, 31)
"""Jobs of several parts with few orders, which the search of the whole job tries as well."""


def three_receivers(rows: int) -> dict[str, Any]:
    return union(rows, {"partition": "broadcast", "parallelism": 3})


def searched(scenario: dict[str, Any]) -> tuple[int, ProductSearch]:
    job = explored(scenario)
    search = job.search()
    assert isinstance(search, ProductSearch)
    return len(results(job, search)), search


@pytest.mark.parametrize(("rows", "of_each", "runs"), [(1, 2, 3 * 6 + 4), (2, 6, 3 * 20 + 200)])
def test_receivers_without_a_common_reader_are_searched_one_by_one(rows: int, of_each: int, runs: int) -> None:
    """Beside the runs of each part there is one for each combination in which two parts have another result."""
    found, search = searched(three_receivers(rows))
    assert (found, search.runs, search.results_of_parts) == (of_each**3, runs, (of_each,) * 3)
    assert not search.is_whole


def test_task_that_reads_two_parts_joins_them() -> None:
    scenario = three_receivers(1)
    job = explored(scenario)
    assert parts_of(job.execution).of_task == (BEFORE, BEFORE, 0, 1, 2)
    scenario["sinks"]["all"]["parallelism"] = 1
    assert parts_of(explored(scenario).execution).of_task == (BEFORE, BEFORE, 0, 0, 0, 0)


def test_parts_that_a_clock_connects_are_searched_as_a_whole() -> None:
    windows = {"key_by": "n", "window": {"tumbling": "4 ms", "time": "processing"}, "aggregate": {"m": "sum(n)"}}
    scenario = union(1)
    scenario["operators"]["both"] = {"input": ["left", "right"], "parallelism": 2, **windows}
    scenario["sinks"]["all"]["parallelism"] = 2
    _, search = searched(scenario)
    assert (search.is_whole, search.results_of_parts) == (True, ())


@pytest.mark.parametrize("seed", PARTED)
def test_search_of_parts_finds_the_results_of_the_whole_job(seed: int) -> None:
    found = compare(seed, most=200, draw=KINDS["parted"])
    assert found is not None
    assert (found.missed, found.unfounded) == (frozenset(), frozenset())
    assert found.searched <= found.orders

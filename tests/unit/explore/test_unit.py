"""Units of an exploration: the search continues from its state, and which units there are."""

from __future__ import annotations

from itertools import pairwise

import pytest

from flowsim.explore.exhaustive import ExhaustiveSearch
from flowsim.explore.job_exploration import JobExploration, explore_job
from flowsim.explore.plan import Plan
from flowsim.explore.product_search import ProductSearch
from flowsim.explore.unit import DEFAULT, SEARCH, Unit, UnitResult
from tests.support.explore.tiny_jobs import explored
from tests.unit.explore.test_exhaustive import union


@pytest.mark.parametrize("receivers", [1, 2])
def test_search_continues_from_its_state_with_the_same_runs(receivers: int) -> None:
    """Two receivers of a broadcast are two parts."""
    job = explored(union(2, {"partition": "broadcast", "parallelism": receivers}))

    def tokens(search: ExhaustiveSearch | ProductSearch, *, moves: bool) -> list[str]:
        made = []
        while not search.is_finished:
            search.begin()
            outcome = job.run(search)
            made.append(str(search.token(job.digest)))
            search.end(outcome)
            if moves:
                state, search = search.state(), job.search()
                search.restore(state)
        return made

    assert tokens(job.search(), moves=True) == tokens(job.search(), moves=False)


def planned(plan: Plan) -> list[Unit]:
    """Returns the units, each of which makes all its runs."""
    units = []
    for unit in plan.units():
        if unit is not None:
            units.append(unit)
            plan.ended(UnitResult(unit, unit.runs))
    return units


def test_units_grow_and_have_seeds_of_their_own() -> None:
    units = planned(Plan({"runtime": "pos"}, 40, 1_000))
    assert [unit.runs for unit in units] == [1, 10, 11, 22, 44, 88, 176, 200, 200, 200, 48]
    assert (units[0].strategy, sum(unit.runs for unit in units)) == (DEFAULT, 1_000)
    for before, unit in pairwise(units[1:]):
        assert unit.first_seed == before.first_seed + before.runs


def test_spaces_take_turns_and_share_the_runs() -> None:
    units = planned(Plan({"order": "uniform", "runtime": "portfolio"}, 1, 101))
    assert [unit.space for unit in units[:8]] == ["order", "runtime", "order", "order", "runtime"] + ["order"] * 2 + [
        "runtime"
    ]
    assert {unit.strategy for unit in units if unit.space == "order"} == {DEFAULT, SEARCH, "uniform"}
    by_space = [sum(unit.runs for unit in units if unit.space == space) for space in ("order", "runtime")]
    assert by_space == [51, 50]


def test_plan_with_more_runs_has_the_same_units_first() -> None:
    few, many = (planned(Plan({"order": "uniform"}, 1, runs)) for runs in (300, 900))
    assert few[:-2] == many[: len(few) - 2]


def test_no_unit_of_a_space_follows_the_end_of_its_search() -> None:
    plan = Plan({"order": "uniform", "runtime": "uniform"}, 1, 400)
    made = []
    for unit in plan.units():
        if unit is not None and not plan.is_over(unit):
            made.append((unit.space, unit.strategy))
            plan.ended(UnitResult(unit, unit.runs, has_ended=unit.strategy == SEARCH))
    assert made.count(("order", SEARCH)) == 1
    assert ("order", "uniform") not in made
    assert made.count(("runtime", "uniform")) > 3


def test_search_has_the_runs_that_a_finished_strategy_does_not_need() -> None:
    """Of 70 orders, 12 have one choice other than the default."""
    found = explore_job(explored(union(3)), 60, strategy="delay1")
    assert (found.runs, found.is_complete) == (60, False)
    assert found.spaces["order"].is_strategy_finished
    assert found.searched > 40


def test_runs_after_a_finished_strategy_belong_to_the_search() -> None:
    found: JobExploration = explore_job(explored(union(2)), 1_000, strategy="delay1")
    assert found.is_complete
    assert (found.spaces["order"].is_strategy_finished, found.searched) == (True, 20)

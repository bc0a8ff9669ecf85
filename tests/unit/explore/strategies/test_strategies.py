"""The strategies: what each of them guarantees, and that equal seeds give equal runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

import pytest

from flowsim.errors import BadInput
from flowsim.explore.explored_job import ExploredJob
from flowsim.explore.job_exploration import explore_job
from flowsim.explore.strategies.by_name import STRATEGIES, strategy_of
from flowsim.explore.strategies.delay import DelayBounded
from flowsim.explore.strategies.guided import Guided
from flowsim.explore.strategies.portfolio import Portfolio
from flowsim.explore.strategies.strategy import Strategy
from flowsim.sim.choice_token import ChoiceToken, Recorded, Sampled
from flowsim.sim.exploring_loop import START, TIME, Option
from flowsim.sim.origin import OptionKey
from flowsim.sim.sampled.by_strategy import replay
from flowsim.sim.sampled.pct import PctRun
from flowsim.sim.sampled.pos import PosRun
from tests.support.explore.tiny_jobs import explored
from tests.unit.explore.test_exhaustive import union


@pytest.fixture(scope="module")
def job() -> ExploredJob:
    return explored(union(2), "runtime")


@pytest.mark.parametrize("name", STRATEGIES)
def test_equal_seeds_give_equal_runs(job: ExploredJob, name: str) -> None:
    tokens: list[list[str]] = []
    for seed in (1, 1, 2):
        made: list[str] = []
        explore_job(job, 12, strategy=name, seed=seed, on_run=lambda token, _, made=made: made.append(str(token)))  # type: ignore[misc]
        tokens.append(made)
    assert tokens[0] == tokens[1] != tokens[2]
    assert len(set(tokens[0])) > 8


@pytest.mark.parametrize("name", ["portfolio", "uniform", "weighted", "pos", "guided"])
def test_all_orders_of_a_union_are_found(job: ExploredJob, name: str) -> None:
    found = explore_job(job, 150, strategy=name)
    assert len(found.results) == 6
    assert (found.searched, found.is_complete) == (0, False)
    for digest, one in found.results.items():
        again = replay(ChoiceToken.parse(str(one.token)))
        assert (again.space, job.run(again).digest) == ("runtime", digest)
        again.check_end()


def test_first_run_is_the_default(job: ExploredJob) -> None:
    found = explore_job(job, 1, strategy="pos")
    assert [one.token.deviations for one in found.results.values()] == [()]


def test_unknown_strategy_is_refused() -> None:
    with pytest.raises(BadInput, match="there is no strategy 'dfs'; there are: portfolio, pos, pct2"):
        strategy_of("dfs", "runtime", 1)


class Model:
    """A model: actors with as many steps each; a step is a turn of the actor."""

    def __init__(self, *steps: int) -> None:
        self.steps = steps

    def run(self, source: Recorded) -> str:
        """Returns the actors in the order of their turns."""
        left, order = list(self.steps), ""
        while any(left):
            ready = [actor for actor, steps in enumerate(left) if steps]
            actor = ready[source.choose([Option(("turn", number), START) for number in ready])]
            left[actor] -= 1
            order += "abcd"[actor]
            source.executed({actor})
        return order

    def runs(self, strategy: Strategy, most: int) -> list[str]:
        orders: list[str] = []
        default = Recorded("runtime")
        self.run(default)
        while len(orders) < most and not strategy.is_finished:
            source = strategy.next_run(default.choices)
            orders.append(self.run(source))
            strategy.ended(source, is_new=orders[-1] not in orders[:-1])
        return orders


def test_delay_bounded_search_tries_every_schedule_with_few_deviations_once() -> None:
    def deviations(order: str) -> int:
        """How often a step is not the default, the first actor with steps left."""
        left = {"a": 2, "b": 2}
        count = 0
        for actor in order:
            count += actor != next(each for each, steps in left.items() if steps)
            left[actor] -= 1
        return count

    orders = ["aabb", "abab", "abba", "baab", "baba", "bbaa"]
    for most in (1, 2):
        strategy = DelayBounded("runtime", 1, most)
        expected = [order for order in orders if deviations(order) <= most]
        assert sorted(Model(2, 2).runs(strategy, 100)) == expected
        assert strategy.is_finished


def test_delay_bounded_search_continues_from_its_state() -> None:
    whole = Model(3, 3).runs(DelayBounded("runtime", 1, 2), 100)
    strategy, orders = DelayBounded("runtime", 1, 2), list[str]()
    while not strategy.is_finished:
        orders += Model(3, 3).runs(strategy, 2)
        other = DelayBounded("runtime", 1, 2)
        other.restore(strategy.state())
        strategy = other
    assert len(orders) >= 10
    assert orders == whole


def test_sampled_run_depends_on_its_own_seed_only() -> None:
    for name in ("uniform", "weighted", "pos", "pct2"):
        whole = Model(5, 5).runs(STRATEGIES[name]("runtime", 7), 6)
        parts = [Model(5, 5).runs(STRATEGIES[name]("runtime", 7 + first), 2) for first in (0, 2, 4)]
        assert [order for part in parts for order in part] == whole


def test_priorities_starve_an_actor_that_uniform_choices_serve() -> None:
    """One of eight random priorities of four actors lets the first one run last; 1 of 70 million uniform schedules does."""
    orders = Model(9, 9, 9, 9).runs(STRATEGIES["pct2"]("runtime", 1), 60)
    assert any(order.endswith("aaaaaaaa") for order in orders)
    assert not any(
        order.endswith("aaaaaaaa") for order in Model(9, 9, 9, 9).runs(STRATEGIES["uniform"]("runtime", 1), 60)
    )


def test_pct_changes_priorities_as_often_as_it_may() -> None:
    for name, depth in (("pct2", 2), ("pct3", 3)):
        switches = Counter[int]()
        for order in Model(6, 6).runs(STRATEGIES[name]("runtime", 1), 200):
            switches[sum(one != other for one, other in pairwise(order))] += 1
        assert max(switches) == depth


def test_time_does_not_pass_for_ever_while_an_actor_is_ready() -> None:
    options: Sequence[Option] = [Option(("turn", 0), START), Option(TIME.key, START)]
    for seed in range(20):
        run = PctRun("runtime", Sampled("pct1", seed, 10), changes=0)
        assert 0 in [run.choose(options) for _ in range(10)]


@pytest.mark.parametrize(("touched", "is_drawn_again"), [({1}, True), ({2}, False), ({-1}, True)])
def test_pos_draws_again_for_steps_that_race_with_the_executed_one(touched: set[int], is_drawn_again: bool) -> None:
    keys: list[OptionKey] = [("arrive", 1, wire) for wire in range(3)]
    run = PosRun("runtime", Sampled("pos", 1))
    executed = keys.pop(run.choose([Option(key, START) for key in keys]))
    before = [run._priorities[key] for key in keys]
    run.executed(touched)
    assert executed not in run._priorities
    assert [run._priorities[key] != priority for key, priority in zip(keys, before, strict=True)] == [
        is_drawn_again
    ] * 2


def test_guided_strategy_follows_a_run_that_was_new_but_for_some_choices() -> None:
    """Unrelated orders of three actors with eight turns agree in about eight of 24 places."""
    strategy, model = Guided("runtime", 1), Model(8, 8, 8)
    orders = []
    for _ in range(30):
        run = strategy.next_run(0)
        orders.append(model.run(run))
        strategy.ended(run, is_new=True)
    assert len(set(orders)) > 20
    agreeing = [
        max(sum(one == two for one, two in zip(order, earlier, strict=True)) for earlier in orders[:number])
        for number, order in enumerate(orders)
        if number
    ]
    assert sum(places > 18 for places in agreeing) > 4


def test_portfolio_gives_more_runs_to_the_strategy_that_finds_new_results() -> None:
    class Counted:
        is_finished = False

        def __init__(self, name: str) -> None:
            self.name = name
            self.runs = 0

        def next_run(self, choices: int) -> Recorded:
            self.runs += 1
            return Recorded("runtime")

        def ended(self, run: Recorded, is_new: bool) -> None:
            """Does nothing."""

    good, bad = Counted("good"), Counted("bad")
    portfolio = Portfolio(1, {good: 0.2, bad: 0.2})
    for _ in range(400):
        before = good.runs
        run = portfolio.next_run(0)
        portfolio.ended(run, is_new=good.runs > before)
    assert good.runs > 300
    assert bad.runs > 20

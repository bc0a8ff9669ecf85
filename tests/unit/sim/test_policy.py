"""Scheduling policies, and the recorded choices."""

from __future__ import annotations

import pytest

from flowsim.errors import BadInput
from flowsim.sim.policy import FifoPolicy, ScriptedPolicy, SeededRandomPolicy
from flowsim.sim.rng import RandomStreams


def test_fifo_policy_chooses_first_ready_at_nominal_cost() -> None:
    policy = FifoPolicy()
    assert policy.choose([7, 3, 9]) == 0
    assert policy.scale_cost_ns(3, 1_000) == 1_000
    assert policy.describe() == {"policy": "fifo"}


def test_random_policy_chooses_ready_actors_uniformly() -> None:
    policy = SeededRandomPolicy(RandomStreams(3))
    chosen = [policy.choose([5, 6, 7]) for _ in range(3_000)]
    assert set(chosen) == {0, 1, 2}
    assert all(900 < chosen.count(index) < 1_100 for index in range(3))


def test_random_policy_repeats_choices_for_equal_seeds() -> None:
    first, second = SeededRandomPolicy(RandomStreams(3)), SeededRandomPolicy(RandomStreams(3))
    assert [first.choose([1, 2, 3, 4]) for _ in range(50)] == [second.choose([1, 2, 3, 4]) for _ in range(50)]


def test_cost_factors_are_in_range_and_average_to_one() -> None:
    policy = SeededRandomPolicy(RandomStreams(3))
    costs = [policy.scale_cost_ns(0, 1_000) for _ in range(4_000)]
    assert 0 <= min(costs) < 50
    assert 1_950 < max(costs) < 2_000
    assert 950 < sum(costs) / len(costs) < 1_050


def test_cost_factors_of_actor_do_not_depend_on_order_of_turns() -> None:
    alone, mixed = SeededRandomPolicy(RandomStreams(3)), SeededRandomPolicy(RandomStreams(3))
    expected = [alone.scale_cost_ns(1, 10**6) for _ in range(10)]
    actual = []
    for _ in range(10):
        mixed.scale_cost_ns(0, 10**6)
        mixed.choose([0, 1])
        actual.append(mixed.scale_cost_ns(1, 10**6))
    assert actual == expected


def test_cost_factor_range_of_one_keeps_costs() -> None:
    policy = SeededRandomPolicy(RandomStreams(3), (1.0, 1.0))
    assert [policy.scale_cost_ns(0, 777) for _ in range(5)] == [777] * 5
    assert policy.describe() == {"policy": "random", "cost_factor": [1.0, 1.0]}


@pytest.mark.parametrize("cost_factor", [(-1.0, 1.0), (2.0, 1.0), (0.0, float("inf")), (float("nan"), 1.0)])
def test_invalid_cost_factor_range_is_refused(cost_factor: tuple[float, float]) -> None:
    with pytest.raises(BadInput, match="cost_factor: expected two finite numbers"):
        SeededRandomPolicy(RandomStreams(3), cost_factor)


def test_script_is_followed_and_then_fifo() -> None:
    policy = ScriptedPolicy([2, 0, 1])
    assert [policy.choose([4, 5, 6]) for _ in range(5)] == [2, 0, 1, 0, 0]


def test_script_takes_costs_from_recorded_policy() -> None:
    recorded = SeededRandomPolicy(RandomStreams(8))
    policy = ScriptedPolicy([], SeededRandomPolicy(RandomStreams(8)))
    assert [policy.scale_cost_ns(1, 10**6) for _ in range(5)] == [recorded.scale_cost_ns(1, 10**6) for _ in range(5)]


def test_script_of_other_run_is_refused_at_invalid_choice() -> None:
    policy = ScriptedPolicy([1, 2])
    policy.choose([4, 5])
    with pytest.raises(BadInput, match=r"choice 1: expected an index below 2, the number of ready actors, got 2"):
        policy.choose([4, 5])

"""Explorations of the order space: results, counts and tokens, and what the order space leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

from flowsim.cluster.job_status import JobStatus
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.explore.assumptions import left_out
from flowsim.explore.checked_run import check_run
from flowsim.explore.explored_job import ExploredJob
from flowsim.explore.job_exploration import ExploredSpace, JobExploration, explore_job
from flowsim.explore.outcome import Outcome
from flowsim.explore.plan import SearchProgress
from flowsim.explore.unit import SEARCH, Unit, UnitResult
from flowsim.sim.choice_token import COSTS, ChoiceToken, Recorded, Replayed, Sampled, job_id
from flowsim.sim.exploring_loop import Space
from flowsim.sim.sampled.uniform import UniformRun
from tests.support.explore.tiny_jobs import compiled, explored

ROWS = {"fields": {"n": "long"}, "rows": [[1], [2]]}
UNION: dict[str, Any] = {
    "flowsim": 1,
    "name": "union",
    "sources": {"left": {"collection": ROWS}, "right": {"collection": {**ROWS, "rows": [[3], [4]]}}},
    "operators": {"both": {"input": ["left", "right"], "map": {"add": {"m": "n"}}}},
    "sinks": {"all": {"input": "both", "collect": {}}},
}


LATE: dict[str, Any] = {
    "flowsim": 1,
    "name": "late",
    "sources": {
        "readings": {
            "collection": {"fields": {"k": "string", "n": "long"}, "rows": [["a", 2], ["a", 30], ["a", 7]]},
            "watermarks": {"timestamp": "n", "max_out_of_orderness": "0 ms"},
        }
    },
    "operators": {
        "sums": {"input": "readings", "key_by": "k", "window": {"tumbling": "10 ms"}, "aggregate": {"n": "sum(n)"}}
    },
    "sinks": {"all": {"input": "sums", "collect": {}}},
}


@pytest.mark.parametrize("legacy", [False, True])
def test_periodic_watermark_can_come_between_two_records(legacy: bool) -> None:
    """In Flink the thread of a source can be slow, so the second record makes the third one late, or does not."""
    readings = LATE["sources"]["readings"] | {"legacy": legacy}
    found = explore_job(explored({**LATE, "sources": {"readings": readings}}), runs=1_000)
    sums = [[row[-1] for row in one.outcome.rows["all"][0]] for one in found.results.values()]  # type: ignore[index]
    assert found.is_complete
    assert sorted(sums) == [[2, 30], [9, 30]]


def test_exploration_finds_all_results_and_says_so() -> None:
    found = explore_job(explored(UNION), runs=1_000)
    assert (len(found.results), found.searched, found.is_complete, found.share) == (6, 20, True, 1.0)
    assert found.runs == 1 + found.searched + found.sampled, "the first run is the default"
    orders = [[row[0] for row in one.outcome.rows["all"][0]] for one in found.results.values()]  # type: ignore[index]
    assert sorted(orders) == [[1, 2, 3, 4], [1, 3, 2, 4], [1, 3, 4, 2], [3, 1, 2, 4], [3, 1, 4, 2], [3, 4, 1, 2]]


def test_every_token_repeats_its_result() -> None:
    job = explored(UNION)
    for digest, one in explore_job(job, runs=1_000).results.items():
        again = Replayed(ChoiceToken.parse(str(one.token)))
        assert job.run(again).digest == digest
        again.check_end()


def test_checked_run_of_a_token_holds_the_laws() -> None:
    scenario = compiled(UNION)
    job = ExploredJob(scenario.stream_graph(), scenario.run_options(), scenario.scenario.digest())
    tokens = [one.token for one in explore_job(job, runs=1_000).results.values()]
    steps = [check_run(scenario, token) for token in tokens]
    assert [step.status for step in steps] == [JobStatus.FINISHED] * 6
    assert [step.found for step in steps] == [[]] * 6
    assert len({step.digest for step in steps}) == 6
    assert check_run(scenario, tokens[3]).digest == steps[3].digest


def test_bag_ignores_the_order_of_rows() -> None:
    found = explore_job(explored(UNION), runs=1_000, view="bag")
    assert [one.runs for one in found.results.values()] == [found.runs]


def test_exploration_that_ends_early_says_how_far_it_came() -> None:
    found = explore_job(explored(UNION), runs=9)
    assert (found.runs, found.searched, found.sampled, found.is_complete) == (9, 4, 4, False)
    assert 0 < found.share < 1


def unit_of(strategy: str, outcomes: str, tokens: Sequence[int] = ()) -> UnitResult:
    """A unit whose runs ended with these causes; their tokens have so many choices."""
    part = UnitResult(Unit("order", strategy, 1, len(outcomes), 0))
    for cause, choices in zip_longest(outcomes, tokens, fillvalue=0):
        token = ChoiceToken(job_id(""), tuple((number, 1) for number in range(int(choices))))
        part.add(Outcome(JobStatus.FINISHED, str(cause), ()), token)
    return part


def exploration() -> JobExploration:
    return JobExploration("exact", {"order": ExploredSpace("uniform")})


def test_share_of_unseen_results_counts_those_that_were_sampled_once() -> None:
    found = exploration()
    found.add(unit_of("uniform", "aabc"), SearchProgress())
    found.add(unit_of(SEARCH, "db"), SearchProgress())
    assert found.unseen("order") == 2 / 4
    assert found.last_new == 5


def test_token_with_the_fewest_choices_is_kept() -> None:
    found = exploration()
    found.add(unit_of("uniform", "aa", (3, 2)), SearchProgress())
    found.add(unit_of("uniform", "aa", (1, 2)), SearchProgress())
    assert [len(one.token.deviations) for one in found.results.values()] == [1]


def test_finding_keeps_the_run_with_the_fewest_choices() -> None:
    found = exploration()
    for choices in ((3, 2), (1, 2)):
        part = unit_of("uniform", "aa", choices)
        for number in choices:
            part.add_findings(ChoiceToken(job_id(""), tuple((each, 1) for each in range(number))), ["wrong"])
        found.add(part, SearchProgress())
    token, runs = found.findings["wrong"]
    assert (len(token.deviations), runs) == (1, 4)


def test_run_with_choices_is_kept_rather_than_one_with_random_costs() -> None:
    choices, costs = (
        ChoiceToken(job_id(""), ((0, 1),), "runtime"),
        ChoiceToken(job_id(""), (), "runtime", Sampled(COSTS, 7)),
    )
    assert (choices.is_simpler_than(costs), costs.is_simpler_than(choices)) == (True, False)
    part = UnitResult(Unit("runtime", "portfolio", 1, 2, 0))
    for token in (costs, choices):
        part.add(Outcome(JobStatus.FINISHED, "", ()), token)
    assert [found.token for found in part.results.values()] == [str(choices)]


def test_random_runs_find_only_results_of_the_search() -> None:
    job = explored(UNION)
    results = explore_job(job, runs=1_000).results
    assert {
        job.run(UniformRun("order", Sampled("uniform", seed))).digest for seed in range(1_000, 1_060)
    } == results.keys()


def test_job_that_was_explored_before_has_the_same_results() -> None:
    job = explored(UNION)
    first, again = (list(explore_job(job, runs=1_000).results.items()) for _ in range(2))
    assert first == again


def test_results_of_a_program_are_explored_as_well() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1]).union(env.from_collection([2])).map(lambda number: number * 10)
    scenario = compiled(UNION)
    found = explore_job(ExploredJob(env.stream_graph("program"), scenario.run_options(), "program"), runs=1_000)
    assert sorted(one.outcome.rows["Map"][0] for one in found.results.values()) == [[10, 20], [20, 10]]


@pytest.mark.parametrize(
    ("change", "sentences"),
    [
        ({}, []),
        ({"settings": {"checkpointing": {"interval": "1 s"}}}, ["checkpoints start at their interval only"]),
        (
            {"settings": {"restart_strategy": {"fixed_delay": {"attempts": 1, "delay": "1 s"}}}},
            ["a task that fails restarts when nothing else can happen"],
        ),
        ({"actions": [{"cancel": {"at": "1 s"}}]}, ["actions have an effect only at their time"]),
        (
            {"operators": {"both": {**UNION["operators"]["both"], "parallelism": 2, "partition": "shuffle"}}},
            [],
        ),
    ],
)
def test_what_is_left_out_is_named(change: dict[str, Any], sentences: list[str]) -> None:
    scenario = compiled(UNION | change, Path("/nowhere"))
    assert left_out(scenario.stream_graph(), scenario.failures, scenario.actions) == sentences


def rebalanced(rows: int) -> dict[str, Any]:
    both = {**UNION["operators"]["both"], "input": "left", "parallelism": 2, "partition": "rebalance"}
    left = {"collection": {**ROWS, "rows": [[number] for number in range(rows)]}}
    sinks = {"all": {"input": "both", "collect": {}, "parallelism": 2}}
    return UNION | {"sources": {"left": left}, "operators": {"both": both}, "sinks": sinks}


def test_first_channel_of_round_robin_is_a_choice() -> None:
    """Whichever of two channels the source begins with, the seed's is the default."""
    job = explored(rebalanced(3))
    found = explore_job(job, runs=100)
    assert found.is_complete
    rows = [one.outcome.rows["all"] for one in found.results.values()]
    assert sorted(rows) == [[[(0, 0), (2, 2)], [(1, 1)]], [[(1, 1)], [(0, 0), (2, 2)]]]


@pytest.mark.parametrize("space", ["order", "runtime"])
def test_seed_decides_which_first_channel_is_the_default(space: Space) -> None:
    first = set()
    for seed in range(8):
        job = explored(rebalanced(3) | {"settings": {"seed": seed}}, space)
        default = job.run(Recorded(space))
        first.add(default.rows["all"][0] == [(1, 1)])
        other = job.run(Replayed(ChoiceToken(job_id(job.digest), ((0, 1),), space)))
        assert other.rows["all"] == default.rows["all"][::-1]
    assert first == {True, False}

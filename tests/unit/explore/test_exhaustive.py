"""The exhaustive search finds the results that trying every order finds, and needs fewer runs."""

from __future__ import annotations

import os
import subprocess
import sys
from math import comb
from pathlib import Path
from typing import Any

import pytest

from flowsim.errors import BadInput
from flowsim.explore.exhaustive import ExhaustiveSearch
from flowsim.sim.exploring_loop import ANY_ACTOR, CLOCK_ADVANCED, CLOCK_READ, START, Option
from flowsim.sim.origin import OptionKey
from tests.support.explore.brute_force import AllOrders, compare, results
from tests.support.explore.tiny_jobs import drawing_job, explored, failing_job, timed_job

ROOT = Path(__file__).parents[3]
FIELDS = {"n": "long"}
SMALL = (4, 13, 19, 23, 31, 43, 49, 74, 80, 5095)
"""Tiny jobs with few orders, of all kinds of operators."""

FAILING = (1, 8, 10, 11, 31, 34, 41)
"""Those in which a task fails."""
TIMED = (28, 29, 72, 209)
"""Those whose sources have periodic watermarks."""
DRAWING = (1, 3, 5, 9)
"""Those whose tasks draw channels or splits."""


def union(rows: int, partition: dict[str, Any] | None = None) -> dict[str, Any]:
    """Two sources with as many rows each, which one operator reads."""
    sources = {
        name: {"collection": {"fields": FIELDS, "rows": [[first + index] for index in range(rows)]}}
        for name, first in (("left", 0), ("right", 10))
    }
    both = {"input": ["left", "right"], "map": {"add": {"m": "n"}}, **(partition or {})}
    parallelism = both.get("parallelism", 1)
    return {
        "flowsim": 1,
        "name": "union",
        "sources": sources,
        "operators": {"both": both},
        "sinks": {"all": {"input": "both", "collect": {}, "parallelism": parallelism}},
    }


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_union_has_every_merge_of_its_inputs(rows: int) -> None:
    """A channel has the rows and a watermark, so there are more orders than results."""
    search = ExhaustiveSearch()
    found = results(explored(union(rows)), search)
    assert (len(found), search.runs, search.blocked) == (comb(2 * rows, rows), comb(2 * rows + 2, rows + 1), 0)


def test_broadcast_to_three_receivers_has_each_order_at_each_of_them() -> None:
    search = ExhaustiveSearch()
    found = results(explored(union(1, {"partition": "broadcast", "parallelism": 3})), search)
    assert (len(found), search.runs) == (2**3, 6**3)


def test_orders_without_a_common_receiver_are_one_run_for_each_first_channel() -> None:
    """The right source sends to two subtasks in turn."""
    scenario = union(2)
    scenario["operators"]["both"]["input"] = "left"
    scenario["sinks"]["other"] = {"input": "right", "collect": {}, "parallelism": 2}
    search = ExhaustiveSearch()
    assert (len(results(explored(scenario), search)), search.runs) == (2, 2)


def test_records_that_leave_in_one_step_can_be_read_apart() -> None:
    """The right source's record comes before, between or after the two records that the flat_map makes of one."""
    lines = {"collection": {"fields": {"line": "string"}, "rows": [["a b"]]}}
    operators = {
        "words": {"input": "left", "flat_map": {"each": "split(line)", "into": "word"}},
        "both": {"input": ["words", "right"], "map": {"select": {"word": "word"}}},
    }
    right = {"collection": {"fields": {"word": "string"}, "rows": [["c"]]}}
    sinks = {"all": {"input": "both", "collect": {}}}
    job = {**union(1), "sources": {"left": lines, "right": right}, "operators": operators, "sinks": sinks}
    search = ExhaustiveSearch()
    assert len(results(explored(job), search)) == 3


def test_order_of_records_before_a_shuffle_is_explored() -> None:
    """Two records on different channels: 2 results; on one channel: 2 orders, and 2 channels."""
    scenario = union(1)
    scenario["operators"]["spread"] = {
        "input": "both",
        "map": {"add": {"o": "n"}},
        "parallelism": 2,
        "partition": "shuffle",
    }
    scenario["sinks"] = {"all": {"input": "spread", "collect": {}, "parallelism": 2}}
    assert len(results(explored(scenario), ExhaustiveSearch())) == 6


def test_reader_that_asks_first_gets_the_first_split() -> None:
    """Of three splits, each reader can have any: the second and the third are asked for by either."""
    script = {"fields": FIELDS, "subtasks": [[{"record": [n]}] for n in range(3)], "assignment": "dynamic"}
    scenario = {
        "flowsim": 1,
        "name": "splits",
        "sources": {"read": {"script": script, "parallelism": 2}},
        "sinks": {"all": {"input": "read", "collect": {}, "parallelism": 2}},
    }
    assert len(results(explored(scenario), ExhaustiveSearch())) == 8


@pytest.mark.parametrize("seed", TIMED)
def test_search_finds_what_comes_between_the_records_of_a_source(seed: int) -> None:
    found = compare(seed, most=300, draw=timed_job)
    assert found is not None
    assert (found.missed, found.unfounded) == (set(), set())


@pytest.mark.parametrize("seed", DRAWING)
def test_search_finds_what_tasks_draw(seed: int) -> None:
    found = compare(seed, most=90, draw=drawing_job)
    assert found is not None
    assert (found.missed, found.unfounded) == (frozenset(), frozenset())
    assert found.searched <= found.orders


@pytest.mark.parametrize("seed", FAILING)
def test_search_finds_what_a_failing_task_leaves(seed: int) -> None:
    """A failure ends every other task, so its place among all their steps matters."""
    found = compare(seed, most=90, draw=failing_job)
    assert found is not None
    assert (found.missed, found.unfounded) == (frozenset(), frozenset())


def test_failure_of_another_pipeline_comes_before_or_after_a_row() -> None:
    """The two pipelines share no task."""
    job = union(1)
    job["operators"] = {
        name: {"input": source, "map": {"add": {"m": "1 / (n - 10)"}}, "partition": "rebalance"}
        for name, source in (("works", "left"), ("fails", "right"))
    }
    job["sinks"] = {f"of_{name}": {"input": name, "collect": {}} for name in job["operators"]}
    assert len(results(explored(job), ExhaustiveSearch())) == 2


@pytest.mark.parametrize("seed", SMALL)
def test_search_finds_the_results_of_all_orders(seed: int) -> None:
    found = compare(seed, most=90)
    assert found is not None
    assert (found.missed, found.unfounded) == (frozenset(), frozenset())
    assert found.searched <= found.orders


def test_search_says_that_a_job_changes_from_run_to_run() -> None:
    search = ExhaustiveSearch()
    search.begin()
    search.choose([option("a", 1), option("b", 1)])
    search.executed({1})
    search.choose([option("b", 1)])
    search.executed({1})
    search.end()
    search.begin()
    with pytest.raises(BadInput, match="step 0 had other options in an earlier run"):
        search.choose([option("a", 1)])


def option(name: str, actor: int, cause: int = START) -> Option:
    return Option(key(name, actor), cause)


def key(name: str, actor: int) -> OptionKey:
    return ("arrive", actor, ord(name))


class Model:
    """A model with events that all exist from the start; each has the same effect whenever it happens."""

    def __init__(self, **effects: set[int]) -> None:
        self.effects = {key(name, 0): effect for name, effect in effects.items()}

    def orders(self, search: ExhaustiveSearch | AllOrders) -> list[tuple[OptionKey, ...]]:
        done = []
        while not search.is_finished:
            search.begin()
            left, order = list(self.effects), []
            while left:
                order.append(left.pop(search.choose([Option(each, START) for each in left])))
                search.executed(self.effects[order[-1]])
            search.end()
            done.append(tuple(order))
        return done


@pytest.mark.parametrize(
    ("effects", "orders"),
    [
        ({"a": {1}, "b": {2}, "c": {3}}, 1),
        ({"a": {1}, "b": {1}, "c": {2}}, 2),
        ({"a": {1}, "b": {1, 2}, "c": {2}}, 4),
        ({"a": {1}, "b": {1}, "c": {1}}, 6),
        ({"a": {ANY_ACTOR}, "b": {2}, "c": {3}}, 4),
        ({"a": {CLOCK_ADVANCED}, "b": {1, CLOCK_READ}, "c": {2, CLOCK_READ}}, 4),
        ({"a": {CLOCK_ADVANCED}, "b": {1}, "c": {2, CLOCK_READ}}, 2),
    ],
)
def test_search_runs_each_class_of_orders_once(effects: dict[str, set[int]], orders: int) -> None:
    """The numbers are those of the ways to order the pairs of events that depend on each other."""
    search = ExhaustiveSearch()
    assert len(Model(**effects).orders(search)) - search.blocked == orders
    assert len(set(Model(**effects).orders(AllOrders()))) == 6


STATES = """
from flowsim.explore.exhaustive import ExhaustiveSearch
from tests.support.explore.tiny_jobs import explored
from tests.unit.explore.test_exhaustive import union

search, job = ExhaustiveSearch(), explored(union(3))
for _ in range(8):
    search.begin()
    search.end(job.run(search))
    print(search.state().hex())
"""


def test_state_of_a_search_is_the_same_in_each_process() -> None:
    """Kept units have it, and sets of strings have another order under another hash seed."""
    shown = {
        subprocess.run(
            [sys.executable, "-c", STATES], env={**os.environ, "PYTHONHASHSEED": seed}, cwd=ROOT,
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in "1234"
    }  # fmt: skip
    assert len(shown) == 1

"""The search for a run with a certain result."""

from __future__ import annotations

from typing import Any

from flowsim.explore.explored_job import ExploredJob
from flowsim.explore.strategies.guided import FollowingRun
from flowsim.explore.towards import Towards, closeness
from tests.support.explore.tiny_jobs import explored

LEFT, RIGHT = [1, 2, 3, 4, 5, 6], [11, 12, 13, 14, 15, 16]
WANTED = [11, 1, 2, 12, 13, 3, 14, 4, 5, 15, 16, 6]
"""One of 924 results."""
UNION: dict[str, Any] = {
    "flowsim": 1,
    "name": "union",
    "settings": {"buffer_timeout": 0},
    "sources": {
        name: {"collection": {"fields": {"n": "long"}, "rows": [[n] for n in numbers]}}
        for name, numbers in (("left", LEFT), ("right", RIGHT))
    },
    "operators": {"both": {"input": ["left", "right"], "map": {"add": {"m": "n"}}}},
    "sinks": {"all": {"input": "both", "collect": {}}},
}


def numbers_of(job: ExploredJob) -> list[int]:
    (part,) = job.rows_so_far()["all"]
    return [row["n"] if isinstance(row, dict) else row[0] for row in part]  # type: ignore[index]


def search(seed: int, *, is_told: bool = True, most: int = 400) -> tuple[int, list[list[int]]]:
    """The number of runs until the wanted result, and their results; ``is_told``: the search hears how close each came."""
    job, towards, results = explored(UNION), Towards("order", seed), list[list[int]]()
    while len(results) < most and WANTED not in results:
        run: FollowingRun = towards.next_run()
        job.run(run)
        results.append(numbers_of(job))
        towards.ended(run, closeness(results[-1], WANTED) if is_told else 0)
    return len(results), results


def test_result_is_found_by_changes_of_the_closest_runs() -> None:
    assert [search(seed)[0] < 400 for seed in (1, 2, 3)] == [True] * 3
    assert [search(seed, is_told=False)[0] for seed in (1, 2, 3)] == [400] * 3


def test_equal_seeds_make_equal_runs() -> None:
    assert search(1) == search(1)
    assert search(1, most=20)[1] != search(2, most=20)[1]

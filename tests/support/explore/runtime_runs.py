"""Runs of the runtime space, those with random costs among them, whose results must be results of the order space.

``python -m tests.support.explore.runtime_runs --jobs 100`` compares tiny jobs, with 300 runs of each.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

from flowsim.explore.exhaustive import ExhaustiveSearch
from flowsim.explore.runs import Runs
from flowsim.scenario.yaml.problems import ScenarioErrors
from flowsim.sim.sampled.costs import RandomCosts
from tests.support.explore.brute_force import KINDS, results
from tests.support.explore.tiny_jobs import compiled, explored, tiny_job

RUNS = 300


def outside(
    seed: int, runs: int = RUNS, most: int = 1_000, draw: Callable[[int], dict[str, Any]] = tiny_job
) -> list[str] | None:
    """Returns the schedules whose results are none of the order space; None if it is too large, or the job is none."""
    scenario = draw(seed)
    try:
        compiled(scenario)
    except ScenarioErrors:
        return None
    search = ExhaustiveSearch()
    ordered = results(explored(scenario), search, most)
    if not search.is_finished:
        return None
    found = []
    for timeout in (0, 2, 100):
        job = explored(scenario | {"settings": {"buffer_timeout": f"{timeout} ms"}}, "runtime")
        portfolio = Runs("runtime", "portfolio", seed, runs)
        for number in range(runs // 3):
            source = RandomCosts(number) if number % 2 else portfolio.next_run()
            assert source is not None
            if job.run(source).digest not in ordered:
                found.append(str(source.token(job.digest)))
            if number % 2 == 0:
                portfolio.ended(source, is_new=False)
    return found


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--jobs", type=int, default=20)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--runs", type=int, default=RUNS)
    arguments.add_argument("--draw", choices=KINDS, default="tiny", help="which jobs, as for brute_force")
    given = arguments.parse_args()
    compared = different = 0
    seed = given.seed
    while compared < given.jobs:
        found = outside(seed, given.runs, draw=KINDS[given.draw])
        if found is not None:
            compared += 1
            if found:
                different += 1
                print(f"seed {seed}: {len(found)} runs outside, such as {found[0]}", flush=True)
        seed += 1
    print(f"{compared} jobs with {given.runs} random runs each: {different} have a result outside the order space")
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())

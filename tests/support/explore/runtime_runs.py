"""Runs of the runtime space and of seeds, whose results must be results of the order space.

``python -m tests.support.explore.runtime_runs --jobs 100`` compares tiny jobs, with 300 runs of each.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.explore.exhaustive import ExhaustiveSearch
from flowsim.explore.observed_graph import observe
from flowsim.explore.outcome import outcome_of
from flowsim.explore.strategies.runs import Runs
from flowsim.scenario.yaml.problems import ScenarioErrors
from tests.support.explore.brute_force import results
from tests.support.explore.tiny_jobs import compiled, explored, tiny_job

RUNS = 300


def outside(seed: int, runs: int = RUNS, most: int = 1_000) -> list[str] | None:
    """Returns the schedules whose results are none of the order space; None if it is too large, or the job is none."""
    scenario = tiny_job(seed)
    try:
        job = compiled(scenario)
    except ScenarioErrors:
        return None
    search = ExhaustiveSearch()
    ordered = results(explored(scenario), search, most)
    if not search.is_finished:
        return None
    observed = observe(job.stream_graph())
    found = []
    explored_runs = Runs("runtime", "portfolio", seed)
    jobs = [
        explored(scenario | {"settings": {"buffer_timeout": f"{timeout} ms"}}, "runtime") for timeout in (0, 2, 100)
    ]
    for number in range(runs):
        if number % 2:
            source = explored_runs.next_run()
            assert source is not None
            if jobs[number % 3].run(source).digest not in ordered:
                found.append(f"portfolio, {source.token(jobs[number % 3].digest)}")
            explored_runs.ended(source, is_new=False)
            continue
        budget, timeout = 1 if number % 3 else 4_096, (0, 2, 100)[number % 7 % 3]
        graph = replace(observed.graph, settings=replace(observed.graph.settings, buffer_timeout_ms=timeout))
        options = replace(job.run_options(), seed=number, policy="random", budget_records=budget)
        if outcome_of(MiniCluster(graph, options).run(), observed.ends).digest not in ordered:
            found.append(f"random/{number}/{budget}, buffer timeout {timeout} ms")
    return found


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--jobs", type=int, default=20)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--runs", type=int, default=RUNS)
    given = arguments.parse_args()
    compared = different = 0
    seed = given.seed
    while compared < given.jobs:
        found = outside(seed, given.runs)
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

"""Small random scenarios, each run several times on Flink: is every result one that the explored orders have?

python -m tests.support.conform.explored_sample 30 [SEED]
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from random import Random
from typing import Final

from flowsim.cli.explored_conformance import Explored, explored
from flowsim.conform.both_sides import Here, repeated_on_flink
from flowsim.conform.compared_job import ComparedJob, jobs_of_scenario
from flowsim.conform.conformer import FlinkRunner
from flowsim.conform.unsupported import Unsupported
from flowsim.testing.drawing.choices import RandomChoices
from flowsim.testing.drawing.draft import Family, Sizes
from flowsim.testing.drawing.families import draw_scenario

REPETITIONS: Final = 3
RUNS: Final = 300
"""The most runs of an exploration."""
SMALL: Final = Sizes(sources=2, operators=2, parallelism=2, steps=4)
_FAMILIES: Final[tuple[Family, ...]] = ("plain", "event_time", "async")


def small_jobs(seed: int) -> Iterator[tuple[str, ComparedJob]]:
    """Yields the name and the job of each small scenario that Flink can run; several things can happen at one time."""
    for number in count():
        family = _FAMILIES[number % len(_FAMILIES)]
        choices = RandomChoices(Random(f"small {family}/{seed}/{number}"))
        scenario = draw_scenario(choices, family, determined=False, sizes=SMALL, may_be_ended=False)
        try:
            (job,) = jobs_of_scenario(scenario.compiled())
            job.check()
        except Unsupported:
            continue
        yield f"{family} {number} {seed}", job


def explored_jobs(runner: FlinkRunner, seed: int) -> Iterator[tuple[str, Explored]]:
    """Yields the name of each small scenario that both sides can run, and what its exploration has of Flink's results."""
    for name, job in small_jobs(seed):
        with tempfile.TemporaryDirectory() as folder:
            try:
                found = explored_on_flink(runner, job, Path(folder))
            except Unsupported:
                continue
        yield name, found


def explored_on_flink(runner: FlinkRunner, job: ComparedJob, folder: Path) -> Explored:
    """Runs a job on Flink, and explores its orders. Raises Unsupported."""
    flink = repeated_on_flink(runner, [job], Here([job]).run(), folder, REPETITIONS)
    return explored([job], flink, RUNS)


def main(scenarios: int, seed: int) -> int:
    runner = FlinkRunner.start(Path(tempfile.gettempdir(), "flowsim-conform-classes"))
    compared = proven = several = missing = 0
    try:
        for name, found in explored_jobs(runner, seed):
            compared += 1
            proven += found.is_proven
            several += found.results > 1
            if not all(found.among):
                missing += 1
                print(f"{name}: {found.line}", flush=True)
            if compared == scenarios:
                break
    finally:
        runner.close()
    print(
        f"{compared} scenarios, {several} with several results, {proven} proven; {missing} with a result that was not found"
    )
    return int(missing > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))

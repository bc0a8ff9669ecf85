"""Shows past divergences with scenarios, once they are brought back.

Prints a line of JSON for each: ``python -m tests.support.conform.finding``. Needs FLOWSIM_PURE=1, because a compiled core
ignores changes of its methods.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from flowsim.compiled_modules import COMPILED, execution_mode
from flowsim.conform.both_sides import Here, conformed, repeated_on_flink
from flowsim.conform.compared_job import ComparedJob, jobs_of_scenario
from flowsim.conform.conformer import FlinkRunner
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_scenario
from tests.support.conform.past_divergences import DIVERGENCES

Compare = Callable[[], str]
"""Runs a job here; returns how it differs from what Flink did, or "" if it does not."""

REPETITIONS: Final = 4


@dataclass(frozen=True)
class Finding:
    """What the scenario of a divergence showed with it, and without it."""

    divergence: str
    shown: str
    shown_without: str


def shown(compare: Compare) -> str:
    """Returns the difference, or the error of a run that ends with one."""
    try:
        return compare()
    except Exception as error:  # what a divergence raises
        return f"{type(error).__name__}: {error}"


def jobs_of(scenario: Path, folder: Path) -> list[ComparedJob]:
    """Returns the jobs of a scenario, which keep what is committed."""
    return jobs_of_scenario(compile_scenario(load_scenario(scenario), out_dir=folder, allow_python=True))


def conforming(runner: FlinkRunner, scenario: Path, folder: Path) -> Compare:
    """Runs a scenario on Flink, again while it differs: what a failed attempt does last is left open."""
    jobs = jobs_of(scenario, folder)
    here = Here(jobs).run()
    for number in range(REPETITIONS):
        flink = repeated_on_flink(runner, jobs, here, folder / f"{number}", 1)
        if conformed(jobs, here, flink, schedules=1).agrees:
            break

    def compare() -> str:
        again = jobs_of(scenario, folder)
        found = conformed(again, Here(again).run(), flink, schedules=1)
        return "" if found.agrees else "\n".join(map(str, found.phases))

    return compare


def findings() -> Iterator[Finding]:
    """Runs the scenario of each divergence on Flink, and here with the divergence and without it."""
    runner = FlinkRunner.start(Path(tempfile.gettempdir(), "flowsim-conform-classes"))
    try:
        for divergence in DIVERGENCES:
            with tempfile.TemporaryDirectory() as folder:
                compare = conforming(runner, divergence.scenario, Path(folder))
                with divergence.brought_back():
                    found = shown(compare)
                yield Finding(divergence.name, found, shown(compare))
    finally:
        runner.close()


def main() -> int:
    if execution_mode() == COMPILED:
        sys.stderr.write("the compiled core ignores changes of its methods: set FLOWSIM_PURE=1\n")
        return 2
    for finding in findings():
        print(json.dumps(asdict(finding)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

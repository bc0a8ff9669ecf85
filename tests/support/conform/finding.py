"""Looks for past divergences with scenarios, or with random jobs of the generators that once showed them.

Prints a line of JSON for each divergence: ``python -m tests.support.conform.finding scenarios`` (or ``generators``). Needs
FLOWSIM_PURE=1, because a compiled core ignores changes of its methods.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Final

from flowsim.compiled_modules import COMPILED, execution_mode
from flowsim.conform.both_sides import Here, conformed, repeated_on_flink
from flowsim.conform.compared_job import ComparedJob, jobs_of_scenario
from flowsim.conform.conformer import FlinkRunner
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_scenario
from tests.properties.test_disturbed_jobs import test_disturbed_job_commits_what_undisturbed_job_does as check_disturbed
from tests.support.conform.past_divergences import DIVERGENCES, Divergence
from tests.support.described.job_comparison import difference, ours, theirs
from tests.support.described.job_writer import JobWriter
from tests.support.flink.gateway import Flink
from tests.support.jobs import checkpoint_differences
from tests.support.jobs.checkpoint_comparison import ENDS
from tests.support.jobs.checkpoint_job_writer import CheckpointJobWriter
from tests.support.jobs.checkpoint_jobs import run_phases
from tests.support.jobs.unaligned_job_writer import UnalignedJobWriter

Compare = Callable[[], str]
"""Runs a job here; returns how it differs from what Flink did, or "" if it does not."""
Find = Callable[[Flink, int, Path], Compare]
"""Runs the job of a number on Flink."""

REPETITIONS: Final = 4


@dataclass(frozen=True)
class Finding:
    """What a job showed with the divergence, and without it."""

    divergence: str
    job: str
    shown: str
    shown_without: str


def described(flink: Flink, number: int, folder: Path) -> Compare:
    job = JobWriter(number).job()
    answer = theirs(flink, job)
    return lambda: difference(job, answer, ours(job))


def scripted(flink: Flink, number: int, folder: Path, writer: type[CheckpointJobWriter], **params: object) -> Compare:
    case = writer(number).case()
    case["params"] |= params
    answer = checkpoint_differences.theirs(flink, case, folder / "flink")

    def compare() -> str:
        with tempfile.TemporaryDirectory(dir=folder) as snapshots:
            board, ends = run_phases(case, Path(snapshots))
        return checkpoint_differences.difference(case, answer, board, [ENDS.get(end, end.name) for end in ends])

    return compare


def disturbed(flink: Flink, number: int, folder: Path) -> Compare:
    """Compares a run with failures with one without."""

    def compare() -> str:
        check_disturbed(number)
        return ""

    return compare


GENERATORS: Final[Mapping[str, Find]] = {
    "described": described,
    "checkpoints": partial(scripted, writer=CheckpointJobWriter),
    "checkpoints without an interval": partial(scripted, writer=CheckpointJobWriter, enabled=False),
    "unaligned": partial(scripted, writer=UnalignedJobWriter),
    "disturbed": disturbed,
}


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


def findings(divergence: Divergence, job: str, compare: Compare) -> Finding:
    """Runs a job that shows a divergence, with it and without it."""
    with divergence.brought_back():
        found = shown(compare)
    return Finding(divergence.name, job, found, shown(compare))


def find_with_generators() -> Iterator[Finding]:
    flink = Flink(Path(tempfile.gettempdir(), "flowsim-flink-classes"))
    try:
        for divergence in DIVERGENCES:
            for generator, number in divergence.shown_by.items():
                with tempfile.TemporaryDirectory() as folder:
                    compare = GENERATORS[generator](flink, number, Path(folder))
                    yield findings(divergence, f"{generator} {number}", compare)
    finally:
        flink.close()


def find_with_scenarios() -> Iterator[Finding]:
    runner = FlinkRunner.start(Path(tempfile.gettempdir(), "flowsim-conform-classes"))
    try:
        for divergence in DIVERGENCES:
            if divergence.scenario is not None:
                with tempfile.TemporaryDirectory() as folder:
                    compare = conforming(runner, divergence.scenario, Path(folder))
                    yield findings(divergence, divergence.scenario.name, compare)
    finally:
        runner.close()


def main(how: str) -> int:
    if execution_mode() == COMPILED:
        sys.stderr.write("the compiled core ignores changes of its methods: set FLOWSIM_PURE=1\n")
        return 2
    for finding in find_with_scenarios() if how == "scenarios" else find_with_generators():
        print(json.dumps(asdict(finding)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

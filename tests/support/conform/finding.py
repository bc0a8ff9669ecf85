"""Looks for a past divergence with random jobs of the generators that once showed it.

Prints a line of JSON for each divergence: ``python -m tests.support.conform.finding``. Needs FLOWSIM_PURE=1, because a
compiled core ignores changes of its methods.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Final

from flowsim.compiled_modules import COMPILED, execution_mode
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


def find(flink: Flink, divergence: Divergence, folder: Path) -> list[Finding]:
    """Runs the jobs that show a divergence, with it and without it."""
    findings = []
    for generator, number in divergence.shown_by.items():
        compare = GENERATORS[generator](flink, number, folder)
        with divergence.brought_back():
            found = shown(compare)
        findings.append(Finding(divergence.name, f"{generator} {number}", found, shown(compare)))
    return findings


def main() -> int:
    if execution_mode() == COMPILED:
        sys.stderr.write("the compiled core ignores changes of its methods: set FLOWSIM_PURE=1\n")
        return 2
    flink = Flink(Path(tempfile.gettempdir(), "flowsim-flink-classes"))
    try:
        for divergence in DIVERGENCES:
            with tempfile.TemporaryDirectory() as folder:
                for finding in find(flink, divergence, Path(folder)):
                    print(json.dumps(asdict(finding)), flush=True)
    finally:
        flink.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Looks for jobs of the public strategies that show a bug: python -m tests.support.faults.historical.search --help.

Prints a line of JSON for each bug. Needs FLOWSIM_PURE=1, because a compiled core ignores changes of its methods.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Final

import pytest
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowsim.cluster.job_status import JobStatus
from flowsim.cluster.run_bounds import RunBounds
from flowsim.compiled_modules import COMPILED, execution_mode
from flowsim.errors import FlowsimError, RunTooLong
from flowsim.faults.catalogue import Fault
from flowsim.faults.historical.bug import Bug
from flowsim.laws.law import Verdict
from flowsim.testing import DrawnScenario, Schedule, async_jobs, random_jobs, run_job, schedules, window_jobs
from tests.support.drawn import drawn
from tests.support.faults.historical.catalogue import BUGS

STRATEGIES: Final[Mapping[str, Callable[[], SearchStrategy[DrawnScenario]]]] = {
    "random_jobs": random_jobs,
    "async_jobs": async_jobs,
    "window_jobs": window_jobs,
}
BOUNDS: Final = RunBounds(steps=60_000)
"""A run with a bug may never end; most of those without one need about a tenth."""


@dataclass(frozen=True)
class Finding:
    """The first job that shows a bug, if any does."""

    ticket: str
    strategy: str | None = None
    seed: int | None = None
    shown_by: str = ""

    def __str__(self) -> str:
        if self.strategy is None:
            return f"{self.ticket}: not found"
        return f"{self.ticket}: {self.shown_by}, by {self.strategy}() of seed {self.seed}"


def drawn_job(strategy: str, seed: int) -> tuple[DrawnScenario, Schedule]:
    """The job and the schedule of a seed."""
    return drawn(st.tuples(STRATEGIES[strategy](), schedules()), seed)


job_of: Final = cache(drawn_job)
"""Every bug is tried with the same jobs, which are kept."""


def shown_by(job: DrawnScenario, schedule: Schedule, faults: Iterable[Fault] = ()) -> str:
    """What shows that a run is wrong: how it ended, the laws that it violates, or its output; "" if nothing does."""
    try:
        run = run_job(job, schedule=schedule, faults=faults, bounds=BOUNDS)
        outcomes = run.outcomes
    except Exception as error:  # what a broken component raises
        return type(error).__name__
    if run.result.status is not JobStatus.FINISHED:
        error = run.result.error
        return run.result.status.value if error is None else type(error).__name__
    violated = [outcome.law for outcome in outcomes if outcome.verdict is Verdict.VIOLATED]
    if violated:
        return "violates " + ", ".join(violated)
    return "" if {end: Counter(run.values(end)) for end in job.expected} == job.expected else "other output"


def search(bug: Bug, seeds: Iterable[int]) -> Finding:
    """Runs the jobs of the seeds until one shows the bug; a job that shows something without the bug is an error."""
    for seed in seeds:
        for strategy in STRATEGIES:
            job, schedule = job_of(strategy, seed)
            with pytest.MonkeyPatch.context() as patch:
                found = shown_by(job, schedule, bug.bring_back(patch))
            if found:
                with pytest.MonkeyPatch.context() as patch:
                    bug.leave_out(patch)
                    without_bug = shown_by(job, schedule)
                if without_bug == RunTooLong.__name__:
                    continue
                if without_bug:
                    raise FlowsimError(f"{strategy}() of seed {seed} without {bug.ticket}: {without_bug}")
                return Finding(bug.ticket, strategy, seed, found)
    return Finding(bug.ticket)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, required=True, help="jobs of each strategy that are tried for a bug")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first job")
    parser.add_argument("--cheap", action="store_true", help="only bugs that random jobs show often")
    parser.add_argument("tickets", nargs="*", help="only these bugs")
    given = parser.parse_args()
    if execution_mode() == COMPILED:
        parser.error("the compiled core ignores changes of its methods: set FLOWSIM_PURE=1")
    for bug in BUGS.values():
        if (bug.is_cheap or not given.cheap) and (not given.tickets or bug.ticket in given.tickets):
            found = search(bug, range(given.seed, given.seed + given.jobs))
            print(json.dumps(asdict(found)), flush=True)


if __name__ == "__main__":
    main()

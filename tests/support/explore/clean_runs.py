"""Random jobs without a bug, explored in both spaces and once with random costs: what a law finds is a false alarm.

``python -m tests.support.explore.clean_runs --jobs 100000`` explores 100,000 jobs and prints each false alarm with the seed
of its job and the token of its run. ``--seed SEED --token TOKEN`` repeats one, and shows the evidence of each law.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from time import process_time
from typing import Final

from hypothesis.strategies import SearchStrategy

from flowsim.cluster.job_execution import JobExecutionResult
from flowsim.cluster.job_status import JobStatus
from flowsim.cluster.recorded_run import RUN_STATUS
from flowsim.cluster.run_bounds import RunBounds
from flowsim.errors import RunTooLong
from flowsim.explore.explored_job import ExploredJob
from flowsim.explore.runs import Runs
from flowsim.facts.kinds import Level
from flowsim.laws.judge import check_all
from flowsim.laws.law import Outcome, Verdict
from flowsim.quantities import count_text
from flowsim.recording.memory import MemoryRecorder
from flowsim.sim.choice_token import ChoiceToken, Recorded
from flowsim.sim.exploring_loop import Space
from flowsim.sim.sampled.by_strategy import replay
from flowsim.sim.sampled.costs import RandomCosts
from flowsim.testing import DrawnScenario, Schedule, async_jobs, random_jobs, scenarios, window_jobs
from tests.support.drawn import drawn
from tests.support.faults.historical.search import shown_by

STRATEGIES: Final[Mapping[str, Callable[[], SearchStrategy[DrawnScenario]]]] = {
    "scenarios": scenarios,
    "random_jobs": random_jobs,
    "window_jobs": window_jobs,
    "async_jobs": async_jobs,
}
SPACES: Final[tuple[Space, ...]] = ("order", "runtime")
BOUNDS: Final = RunBounds(steps=10_000)
"""Some jobs with checkpoints and long pauses need more."""
RUNS: Final = 3
_TOO_LATE: Final = ("could not complete the element", "after the first record")
"""In an explored run time can pass before an answer, a retry or a record: a call fails, or a function finds it too late."""
_GOOD: Final = (JobStatus.FINISHED, JobStatus.CANCELED, JobStatus.STOPPED)


@dataclass(slots=True)
class Clean:
    """What the runs of random jobs showed."""

    jobs: int = 0
    runs: int = 0
    unfinished: int = 0
    """Runs that reached the bound of steps, of which nothing is known."""
    cpu_s: float = 0.0
    alarms: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        alarms, runs = count_text(len(self.alarms), "false alarm"), count_text(self.runs, "explored run")
        return (
            f"{self.jobs:,} random jobs, {runs}, {alarms}, {self.cpu_s:,.0f} CPU seconds "
            f"({self.unfinished:,} of the runs reached the bound of {BOUNDS.steps:,} steps)"
        )


def drawn_job(seed: int) -> DrawnScenario:
    """Returns the job of a seed; the strategies take turns."""
    return drawn(list(STRATEGIES.values())[seed % len(STRATEGIES)](), seed)


class CleanJob:
    """A random job in one space."""

    def __init__(self, scenario: DrawnScenario, space: Space) -> None:
        compiled = scenario.compiled()
        options = replace(compiled.run_options(), bounds=BOUNDS)
        self.explored = ExploredJob(compiled.stream_graph(), options, compiled.scenario.digest(), space)
        self._has_timeouts = any("timeout" in block.get("async", ()) for block in scenario.data["operators"].values())  # type: ignore[attr-defined]
        self._expected = {} if self._has_timeouts else scenario.expected

    def run(self, source: Recorded) -> tuple[JobExecutionResult, list[Outcome], str]:
        """Runs the job; returns its result, the violated laws, and what shows that the run is wrong, "" if nothing does."""
        recorder = MemoryRecorder(Level.FULL, records_state=True)
        result = self.explored.result(source, recorder)
        outcomes = check_all(recorder, RUN_STATUS[result.status].value, explored=not isinstance(source, RandomCosts))
        violated = [outcome for outcome in outcomes if outcome.verdict is Verdict.VIOLATED]
        if isinstance(result.error, RunTooLong):
            # A source that rests for long looks like a livelock until it goes on.
            violated = [outcome for outcome in violated if outcome.law != "progress"]
        if violated:
            return result, violated, "violates " + ", ".join(outcome.law for outcome in violated)
        if result.status in _GOOD:
            return result, [], "" if self._has_expected_rows() else "other rows"
        may_fail = isinstance(result.error, RunTooLong) or any(each in str(result.error) for each in _TOO_LATE)
        return result, [], "" if may_fail else f"{result.status.value}: {result.error}"

    def _has_expected_rows(self) -> bool:
        rows = self.explored.rows_so_far()
        return all(Counter(row for part in rows[end] for row in part) == of for end, of in self._expected.items())


def explore_job(seed: int, runs: int, clean: Clean) -> Iterator[str]:
    """Explores the job of a seed; yields a line for each false alarm."""
    scenario = drawn_job(seed)
    clean.jobs += 1
    schedule = Schedule("random", seed, 1)
    sign = shown_by(scenario, schedule)
    if sign == RunTooLong.__name__:
        clean.unfinished += 1
    elif sign not in ("", JobStatus.CANCELED.value, JobStatus.STOPPED.value):
        yield f"--seed {seed}, {schedule}: {sign}"
    for space in SPACES:
        job = CleanJob(scenario, space)
        sources = Runs(space, None, seed, runs)
        for _ in range(runs):
            source = sources.next_run()
            if source is None:
                break
            result, _, sign = job.run(source)
            sources.ended(source, is_new=False)
            clean.runs += 1
            clean.unfinished += isinstance(result.error, RunTooLong)
            if sign:
                yield f"--seed {seed} --token {source.token(job.explored.digest)}: {sign}"
            if isinstance(result.error, RunTooLong):
                break


def explore_jobs(
    jobs: int,
    first_seed: int,
    runs: int = RUNS,
    on_job: Callable[[int], object] = lambda _: None,
    on_alarm: Callable[[str], object] = lambda _: None,
) -> Clean:
    """Explores random jobs; an exception is a false alarm, too."""
    clean, begun = Clean(), process_time()
    for seed in range(first_seed, first_seed + jobs):
        on_job(seed - first_seed)
        try:
            for alarm in explore_job(seed, runs, clean):
                clean.alarms.append(alarm)
                on_alarm(alarm)
        except Exception as error:
            clean.alarms.append(f"--seed {seed}: {type(error).__name__}: {error}")
            on_alarm(clean.alarms[-1])
        clean.cpu_s = process_time() - begun
    return clean


def show(seed: int, token: ChoiceToken) -> None:
    """Prints the job of a seed, and what one of its runs shows."""
    scenario = drawn_job(seed)
    print(scenario)
    result, violated, sign = CleanJob(scenario, token.space).run(replay(token))
    print(f"{result.summary}\n{sign}")
    for outcome in violated:
        print(f"{outcome.law}: {count_text(outcome.violations, 'violation')}", *outcome.evidence[:5], sep="\n  ")


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--jobs", type=int, default=100)
    arguments.add_argument("--seed", type=int, default=0, help="of the first job")
    arguments.add_argument("--runs", type=int, default=RUNS, help="of each job in each space")
    arguments.add_argument("--token", type=ChoiceToken.parse, help="repeat this run of the job of the seed")
    given = arguments.parse_args()
    if given.token is not None:
        show(given.seed, given.token)
        return 0
    clean = explore_jobs(given.jobs, given.seed, given.runs, on_alarm=lambda alarm: print(alarm, flush=True))
    print(clean)
    return int(bool(clean.alarms))


if __name__ == "__main__":
    sys.exit(main())

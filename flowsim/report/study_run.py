"""One combination of a study: runs the scenario with it, reads the recording, and says what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from flowsim.cluster.run_options import JobStatus
from flowsim.errors import InvariantViolation, JobFailed
from flowsim.facts.kinds import Level
from flowsim.recording.reader import Recording
from flowsim.report.measures import Measures, measured
from flowsim.report.variation import Combination
from flowsim.scenario.compiling.compiled import CompiledScenario
from flowsim.scenario.compiling.compiler import compile_scenario
from flowsim.scenario.loader import load_scenario
from flowsim.scenario.run_directory import RUN_FILE, RunDirectory
from flowsim.scenario.runner import run_scenario


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """What all runs of a study have in common; ``seed``, ``policy`` and ``until_ns`` None: as the scenario says."""

    scenario: Path
    overrides: tuple[str, ...] = ()
    seed: int | None = None
    policy: Literal["fifo", "random"] | None = None
    until_ns: int | None = None
    allow_python: bool = False
    allow_path: bool = False
    keep: bool = True
    """Whether recordings and results stay once they were read."""

    def scenario_digest(self) -> str:
        """Of the scenario without the values of any combination; raises ScenarioError."""
        return load_scenario(self.scenario, self.overrides).digest()

    def compiled(self, combination: Combination, out: Path) -> CompiledScenario:
        """The job of one combination; raises ScenarioError."""
        scenario = load_scenario(self.scenario, (*self.overrides, *combination.overrides))
        return compile_scenario(
            scenario, out_dir=out, allow_python=self.allow_python, allow_path=self.allow_path
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class StudyRow:
    """What came of one combination."""

    combination: Combination
    status: str
    error: str | None
    """Of a job that failed."""
    is_unexpected: bool
    """The job failed or deadlocked, which the scenario does not expect."""
    measures: Measures


def run_combination(plan: StudyPlan, combination: Combination, out: Path) -> StudyRow:
    """Runs it on the virtual clock, recording elements in ``out``, and measures the recording.

    Raises BadInput, InvariantViolation, KeyboardInterrupt.
    """
    run = run_scenario(
        plan.compiled(combination, out), out=out, seed=plan.seed, policy=plan.policy, clock="virtual",
        record=Level.ELEMENTS, until_ns=plan.until_ns,
    )  # fmt: skip
    error = run.result.error
    if isinstance(error, JobFailed) and isinstance(error.cause, InvariantViolation) and not run.compiled.faults:
        raise error.cause
    job = next(outcome for outcome in run.expectations if outcome.what == "job")
    broke = run.result.status in (JobStatus.FAILED, JobStatus.DEADLOCKED)
    assert run.recording is not None
    measures = measured(Recording.open(run.recording))
    if not plan.keep:
        remove_run(out)
    told = None if error is None else str(error)
    return StudyRow(combination, run.result.status.value, told, broke and job.met is False, measures)


def remove_run(directory: Path) -> None:
    """Removes the directory of a run; raises BadInput, and removes nothing, when it holds anything else."""
    emptied = RunDirectory(directory)
    emptied.begin("", ())
    (directory / RUN_FILE).unlink()
    directory.rmdir()

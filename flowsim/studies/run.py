"""Runs the combinations of a study, and returns one row for each combination."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from flowsim.cluster.job_execution import JobStatus
from flowsim.errors import InvariantViolation, JobFailed
from flowsim.facts.kinds import Level
from flowsim.limits import DEFAULT_LIMITS, Limits
from flowsim.recording.reader import Recording
from flowsim.scenario.compiled import CompiledScenario
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_scenario
from flowsim.scenario.run_directory import RUN_FILE, RunDirectory
from flowsim.scenario.runner import run_compiled
from flowsim.studies.async_stage import AsyncStage
from flowsim.studies.measures import Measures, measured
from flowsim.studies.variation import Combination, Variation, combinations_of


@dataclass(frozen=True, slots=True)
class Study:
    """The plan of a study and the rows so far, in the order of the combinations."""

    name: str
    scenario_digest: str
    """The digest of the scenario with all overrides except those of the combinations."""
    seed: int
    overrides: tuple[str, ...]
    variations: tuple[Variation, ...]
    rows: tuple[StudyRow, ...]

    @property
    def is_complete(self) -> bool:
        """True if every combination has its row."""
        return len(self.rows) == sum(1 for _ in combinations_of(self.variations))

    @property
    def async_operators(self) -> tuple[str, ...]:
        """The names of the async operators, in the order of the job."""
        operators = dict.fromkeys(stage.operator for row in self.rows for stage in row.measures.stages)
        return tuple(operators)


def stage_of(row: StudyRow, operator: str) -> AsyncStage | None:
    """Returns the figures of one async operator in a row; None if the row has no operator of that name."""
    return next((stage for stage in row.measures.stages if stage.operator == operator), None)


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """The common settings of a study's runs.

    ``seed``, ``policy`` and ``until_ns`` None keep the settings of the scenario.
    """

    scenario: Path
    overrides: tuple[str, ...] = ()
    seed: int | None = None
    policy: Literal["fifo", "random"] | None = None
    until_ns: int | None = None
    allow_python: bool = False
    allow_path: bool = False
    keep: bool = True
    """True if recordings and results are kept after reading."""
    limits: Limits = DEFAULT_LIMITS

    def scenario_digest(self) -> str:
        """Returns the digest of the scenario without the values of any combination. Raises ScenarioError."""
        return load_scenario(self.scenario, self.overrides, self.limits).digest()

    def compiled(self, combination: Combination, out: Path) -> CompiledScenario:
        """Compiles the job of one combination. Raises ScenarioError."""
        scenario = load_scenario(self.scenario, (*self.overrides, *combination.overrides), self.limits)
        return compile_scenario(
            scenario, out_dir=out, allow_python=self.allow_python, allow_path=self.allow_path, until_ns=self.until_ns
        )


@dataclass(frozen=True, slots=True)
class StudyRow:
    """The result of one combination."""

    combination: Combination
    status: str
    error: str | None
    """The error of a failed job."""
    is_unexpected: bool
    """True if the job failed or deadlocked and the scenario does not expect it."""
    measures: Measures


def run_combination(plan: StudyPlan, combination: Combination, out: Path) -> StudyRow:
    """Runs one combination on the virtual clock, records elements in ``out``, and measures the recording.

    Raises BadInput, InvariantViolation, KeyboardInterrupt.
    """
    run = run_compiled(
        plan.compiled(combination, out),
        out=out,
        seed=plan.seed,
        policy=plan.policy,
        clock="virtual",
        record=Level.ELEMENTS,
        until_ns=plan.until_ns,
    )
    error = run.result.error
    if isinstance(error, JobFailed) and isinstance(error.cause, InvariantViolation) and not run.compiled.faults:
        raise error.cause
    job = next(outcome for outcome in run.expectations if outcome.what == "job")
    broke = run.result.status in (JobStatus.FAILED, JobStatus.DEADLOCKED)
    assert run.recording is not None
    measures = measured(Recording.open(run.recording))
    if not plan.keep:
        remove_run(out)
    message = None if error is None else str(error)
    return StudyRow(combination, run.result.status.value, message, broke and job.met is False, measures)


def remove_run(directory: Path) -> None:
    """Removes the directory of a run; raises BadInput, and removes nothing, if it contains anything else."""
    emptied = RunDirectory(directory)
    emptied.begin("", ())
    (directory / RUN_FILE).unlink()
    emptied.end()
    directory.rmdir()

"""Repeats an explored run of a scenario with a recording in memory, and checks it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from flowsim.cluster.job_execution import JobStatus
from flowsim.cluster.run_bounds import RunBounds
from flowsim.errors import BadInput, RunTooLong
from flowsim.explore.claim import Broken, broken_claim
from flowsim.explore.explored_job import EXPLORED_BOUNDS
from flowsim.explore.outcome import BOUND_REACHED
from flowsim.facts.kinds import Level
from flowsim.laws.judge import check_all
from flowsim.laws.law import Outcome, Verdict
from flowsim.recording.manifest import RunStatus
from flowsim.scenario.compiled import CompiledScenario
from flowsim.scenario.expectations import ExpectationOutcome
from flowsim.scenario.loader import Scenario
from flowsim.scenario.runner import ScenarioRun, run_compiled
from flowsim.sim.choice_token import ChoiceToken, job_id
from flowsim.sim.exploring_loop import ExploringPolicy
from flowsim.sim.sampled.by_strategy import replay

_PREFIX = {
    JobStatus.FINISHED: RunStatus.COMPLETE,
    JobStatus.STOPPED: RunStatus.STOPPED,
    JobStatus.CANCELED: RunStatus.CANCELED,
}


@dataclass(frozen=True, slots=True)
class CheckedRun:
    """How a run ended, and what it violated or did not meet."""

    status: JobStatus
    error: Exception | None
    outcomes: tuple[Outcome, ...]
    expectations: tuple[ExpectationOutcome, ...] = ()
    expected_verdicts: Mapping[str, str] = field(default_factory=dict)
    """The verdict of each law that the scenario names."""
    digest: str = ""
    """Of the recording."""
    failed: str = ""
    """A failure of a job that has no expectations."""
    claims: Broken = ()
    """The claims that do not hold, if they were checked as well."""

    @property
    def violated(self) -> tuple[Outcome, ...]:
        """The laws that this run violated, without those of which the scenario expects it."""
        return tuple(
            outcome
            for outcome in self.outcomes
            if outcome.verdict is Verdict.VIOLATED and self.expected_verdicts.get(outcome.law) != Verdict.VIOLATED.value
        )

    @property
    def unmet(self) -> tuple[ExpectationOutcome, ...]:
        """The expectations of the scenario that this run did not meet."""
        return tuple(outcome for outcome in self.expectations if outcome.met is False)

    @property
    def found(self) -> list[str]:
        """What the run violated or did not meet; the same words for the same finding of other runs."""
        found = [f"law {outcome.law} violated" for outcome in self.violated]
        found += [f"expected {unmet.what} not met: {unmet.expected}" for unmet in self.unmet]
        found += [broken_claim(name) for name, _ in self.claims]
        if isinstance(self.error, RunTooLong) and not found:
            return [BOUND_REACHED]
        return [*found, self.failed] if self.failed else found


def check_run(
    compiled: CompiledScenario,
    token: ChoiceToken,
    *,
    record: Level = Level.FULL,
    until_ns: int | None = None,
    bounds: RunBounds = EXPLORED_BOUNDS,
) -> CheckedRun:
    """Repeats a run of an exploration in memory and checks it. Raises BadInput if the token does not fit the job."""
    if record is Level.OFF:
        raise BadInput("explore checks recordings: use recording level elements or full, not off")
    check_token(token, compiled.scenario)
    policy = replay(token).policy()
    run = run_compiled(compiled, policy=policy, clock="virtual", record=record, until_ns=until_ns, bounds=bounds)
    outcomes = judged_in_memory(run, explored=isinstance(policy, ExploringPolicy))
    result = run.result
    expected = compiled.expect.laws
    return CheckedRun(result.status, result.error, tuple(outcomes), run.expectations, expected, run.digest or "")


def check_token(token: ChoiceToken, scenario: Scenario) -> None:
    """Raises BadInput if a token belongs to another job; names the override without which the job would be the same."""
    try:
        token.check_job(scenario.digest())
    except BadInput:
        for index, override in enumerate(scenario.overrides):
            if token.job == _job_without(scenario, index):
                raise BadInput(f"the token belongs to this job without --set {override}") from None
        raise


def _job_without(scenario: Scenario, override: int) -> str | None:
    try:
        return job_id(scenario.without(override).digest())
    except BadInput:  # there is no such job
        return None


def judged_in_memory(run: ScenarioRun, *, explored: bool = False) -> list[Outcome]:
    """Returns the law outcomes of a run without an output directory. An unfinished run is checked as a prefix."""
    if run.facts is None:
        raise BadInput("the run was not recorded, so it cannot be checked")
    status = _PREFIX.get(run.result.status, RunStatus.FAILED)
    return check_all(run.facts, status.value, explored=explored)

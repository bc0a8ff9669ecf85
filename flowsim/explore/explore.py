"""Runs a scenario in memory under different schedules, and checks each run against the laws when it ends."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from flowsim.cluster.job_execution import JobStatus
from flowsim.cluster.run_bounds import RunBounds
from flowsim.errors import BadInput, RunTooLong
from flowsim.explore.seeded_schedules import Strategy
from flowsim.explore.token import Token, scenario_id
from flowsim.facts.kinds import Level
from flowsim.laws.judge import check_all
from flowsim.laws.law import Outcome, Verdict
from flowsim.laws.verdict_line import line_of
from flowsim.quantities import count_text
from flowsim.recording.manifest import RunStatus
from flowsim.scenario.compiled import CompiledScenario
from flowsim.scenario.expectations import ExpectationOutcome
from flowsim.scenario.runner import ScenarioRun, run_compiled
from flowsim.sim.choice_token import ChoiceToken, Replayed
from flowsim.sim.exploring_loop import ExploringPolicy
from flowsim.sim.policy import SchedulingPolicy

EXPLORED_BOUNDS: Final = RunBounds(steps=10_000_000)
"""The bounds of an explored run by default: some minutes."""

_PREFIX = {
    JobStatus.FINISHED: RunStatus.COMPLETE,
    JobStatus.STOPPED: RunStatus.STOPPED,
    JobStatus.CANCELED: RunStatus.CANCELED,
}


@dataclass(frozen=True, slots=True)
class Step:
    """One explored run and its law outcomes."""

    seed: int
    token: Token | ChoiceToken
    status: JobStatus
    digest: str
    outcomes: tuple[Outcome, ...]
    expectations: tuple[ExpectationOutcome, ...]
    error: Exception | None
    expected_verdicts: Mapping[str, str]
    """The verdict of each law that the scenario names."""

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
    def is_violation(self) -> bool:
        """True if this run violated a law or reached its bounds."""
        return bool(self.violated) or isinstance(self.error, RunTooLong)

    @property
    def is_finding(self) -> bool:
        """True if this run is a violation, or did not meet an expectation on every schedule."""
        return self.is_violation or bool(self.unmet)


@dataclass(slots=True)
class Unmet:
    """An expectation on every schedule that some runs did not meet: its first outcome, and their number."""

    first: ExpectationOutcome
    step: Step
    """The first of these runs."""
    runs: int = 0


@dataclass(slots=True)
class Exploration:
    """The result of all runs so far."""

    runs: int = 0
    findings: list[Step] = field(default_factory=list)
    digests: dict[str, int] = field(default_factory=dict)
    """Number of runs per recording digest, in order of first appearance."""
    verdicts: dict[str, dict[Verdict, int]] = field(default_factory=dict)
    """Number of runs per law and verdict."""
    rows_examined: dict[str, int] = field(default_factory=dict)
    unmet: dict[str, Unmet] = field(default_factory=dict)
    """The expectations on every schedule that a run did not meet, by their description."""
    expected_verdicts: Mapping[str, str] = field(default_factory=dict)
    """The verdict of each law that the scenario names."""

    @property
    def distinct(self) -> int:
        """The number of different recordings."""
        return len(self.digests)

    @property
    def first_finding(self) -> Step | None:
        """The first violation; without one, the first run that did not meet an expectation."""
        return next((step for step in self.findings if step.is_violation), next(iter(self.findings), None))

    @property
    def never_examined(self) -> tuple[str, ...]:
        """Laws that applied but examined no row in any run, unless the scenario expects that.

        The runs show nothing about these laws.
        """
        return tuple(
            law
            for law, counts in self.verdicts.items()
            if Verdict.VACUOUS in counts
            and not self.rows_examined[law]
            and self.expected_verdicts.get(law) != Verdict.VACUOUS.value
        )

    @property
    def line(self) -> str:
        """The verdicts as one line: a law is violated if a run violated it, and vacuous if no run examined a row."""
        worst = (Verdict.VIOLATED, Verdict.HOLDS, Verdict.VACUOUS, Verdict.NOT_APPLICABLE)
        verdicts = {
            law: next(verdict for verdict in worst if verdict in counts) for law, counts in self.verdicts.items()
        }
        return f"{line_of(verdicts)} ({count_text(self.runs, 'run')})"

    def add(self, step: Step) -> None:
        """Adds one run to the counts."""
        self.runs += 1
        self.digests[step.digest] = self.digests.get(step.digest, 0) + 1
        for outcome in step.outcomes:
            counts = self.verdicts.setdefault(outcome.law, {})
            counts[outcome.verdict] = counts.get(outcome.verdict, 0) + 1
            self.rows_examined[outcome.law] = self.rows_examined.get(outcome.law, 0) + outcome.rows_examined
        for expectation in step.unmet:
            self.unmet.setdefault(expectation.what, Unmet(expectation, step)).runs += 1
        if step.is_finding:
            self.findings.append(step)


def explore(
    compiled: CompiledScenario,
    strategy: Strategy,
    seeds: Iterable[int],
    *,
    record: Level = Level.FULL,
    budget_records: int | None = 1,
    until_ns: int | None = None,
    until_violation: bool = True,
    on_step: Callable[[Step, Exploration], object] | None = None,
    bounds: RunBounds = EXPLORED_BOUNDS,
) -> Exploration:
    """Runs one schedule per seed, until the first violation or, with ``until_violation=False``, to the last seed.

    The scenario is compiled once: a run depends on nothing that another run left. A run that does not meet an
    expectation on every schedule is a finding, but does not end the exploration.

    ``budget_records`` 1 lets the policy choose after every element; None uses the scenario's. A run that reaches its
    ``bounds``, or a limit of its scenario, is a violation. Raises BadInput for a scenario that cannot be explored, and
    InvariantViolation.
    """
    if record is Level.OFF:
        raise BadInput("explore checks the recording of every run: use recording level elements or full, not off")
    exploration = Exploration(expected_verdicts=compiled.expect.laws)
    for seed in seeds:
        step = explore_once(
            compiled, strategy, seed, record=record, budget_records=budget_records, until_ns=until_ns, bounds=bounds
        )
        exploration.add(step)
        if on_step is not None:
            on_step(step, exploration)
        if step.is_violation and until_violation:
            break
    return exploration


def explore_once(
    compiled: CompiledScenario,
    strategy: Strategy,
    seed: int,
    *,
    record: Level = Level.FULL,
    budget_records: int | None = 1,
    until_ns: int | None = None,
    bounds: RunBounds = EXPLORED_BOUNDS,
) -> Step:
    """Runs the job under one schedule in memory and checks the run."""
    digest = scenario_id(compiled.scenario.digest())
    token = Token(digest, strategy.name, seed, budget_records, strategy.choices)
    return _checked_run(compiled, token, seed, strategy.policy(seed), record, budget_records, until_ns, bounds)


def explore_token(
    compiled: CompiledScenario,
    token: ChoiceToken,
    *,
    record: Level = Level.FULL,
    until_ns: int | None = None,
    bounds: RunBounds = EXPLORED_BOUNDS,
) -> Step:
    """Repeats a run of an exploration in memory and checks it. Raises BadInput if the token does not fit the job."""
    token.check_job(compiled.scenario.digest())
    policy = ExploringPolicy(Replayed(token))
    return _checked_run(compiled, token, compiled.run.seed, policy, record, None, until_ns, bounds)


def _checked_run(
    compiled: CompiledScenario,
    token: Token | ChoiceToken,
    seed: int,
    policy: SchedulingPolicy,
    record: Level,
    budget_records: int | None,
    until_ns: int | None,
    bounds: RunBounds,
) -> Step:
    run = run_compiled(
        compiled,
        seed=seed,
        policy=policy,
        clock="virtual",
        record=record,
        budget_records=budget_records,
        until_ns=until_ns,
        bounds=bounds,
    )
    outcomes: Sequence[Outcome] = judged_in_memory(run, explored=isinstance(policy, ExploringPolicy))
    return Step(
        seed,
        token,
        run.result.status,
        run.digest or "",
        tuple(outcomes),
        run.expectations,
        run.result.error,
        compiled.expect.laws,
    )


def judged_in_memory(run: ScenarioRun, *, explored: bool = False) -> list[Outcome]:
    """Returns the law outcomes of a run without an output directory. An unfinished run is checked as a prefix."""
    if run.facts is None:
        raise BadInput("the run was not recorded, so it cannot be checked")
    status = _PREFIX.get(run.result.status, RunStatus.FAILED)
    return check_all(run.facts, status.value, explored=explored)

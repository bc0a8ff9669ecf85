"""Makes the runs of ``flowsim explore``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, time

from flowsim.cli.explore_plan import ExplorePlan
from flowsim.cli.explored_findings import findings_of
from flowsim.cli.explored_results import ExploredResults
from flowsim.cli.explored_subjects import JobArguments, ScenarioSubject, Subject
from flowsim.cli.progress import CountProgress
from flowsim.cli.smaller_scenario import check_smaller, smaller_scenario
from flowsim.distribution import __version__
from flowsim.errors import BadInput
from flowsim.explore.job_exploration import JobExploration, Worker, explore, in_this_process
from flowsim.explore.kept_units import KeptUnits
from flowsim.explore.on_spark import on_spark
from flowsim.explore.plan import Plan
from flowsim.explore.processes import Opens, RunUnit, in_processes
from flowsim.explore.unit import DEFAULT, Unit, UnitResult, explore_unit
from flowsim.quantities import count_text
from flowsim.sim.choice_token import ChoiceToken
from flowsim.sim.exploring_loop import Space
from flowsim.validation.on_spark import spark_errors
from flowsim.validation.spark_session import spark_session


@dataclass(frozen=True, slots=True)
class Workers:
    """Who makes the runs: this process, several, or Spark."""

    jobs: int = 1
    """How many processes."""
    spark: bool = False
    master: str | None = None
    """The address of the Spark cluster; None: this machine."""

    def __post_init__(self) -> None:
        if self.spark and self.jobs > 1:
            raise BadInput("--jobs and --spark cannot be combined: Spark decides how many processes there are")
        if self.master is not None and not self.spark:
            raise BadInput("--master: applies to --spark only")

    @contextmanager
    def opened(self, opens: Opens, run_here: Callable[[Unit, bytes], UnitResult]) -> Iterator[Worker]:
        """Returns what makes the runs. Raises MissingExtra, and BadInput if there is no Spark."""
        if not self.spark:
            yield in_this_process(run_here) if self.jobs == 1 else in_processes(opens, self.jobs)
            return
        with (
            spark_session(self.master, app_name="flowsim explore") as session,
            spark_errors("the job cannot be explored"),
        ):
            # A session of its own: one that checked recordings sends a smaller flowsim to its workers.
            yield on_spark(session.newSession(), opens)


def explored_results(
    job: JobArguments,
    plan: ExplorePlan,
    workers: Workers,
    progress: CountProgress,
    resumed: Path | None = None,
    smaller: Path | None = None,
) -> ExploredResults:
    """Explores a job, checks some of its runs, and shrinks what they found.

    ``resumed``: the file that keeps the exploration, and from which it continues. ``smaller``: the file for a smaller scenario
    with the first finding. Raises BadInput.
    """
    units = Plan(plan.strategies, plan.first_seed, plan.runs)
    with TemporaryDirectory(prefix="flowsim-explore-") as out, job.surroundings():
        subjects = job.subjects(tuple(plan.strategies), out, warns=True)
        if plan.view == "keys" and not next(iter(subjects.values())).job.has_keys:
            raise BadInput(
                f"--outcome keys: {job.scenario} has no sink behind key_by, or behind a keyed operator in the same task: use "
                "exact or bag"
            )
        if smaller is not None:
            check_smaller(smaller, job.scenario, next(iter(subjects.values())))
        ends_at = monotonic() + plan.seconds
        shown = _Shown(units.runs, progress)
        run_here = partial(_run_here, subjects, plan, ends_at, shown.on_run)
        opens = partial(_opened, job, plan, time() + plan.seconds)
        kept = None if resumed is None else KeptUnits(resumed, _about(job, subjects, plan))

        def on_unit(exploration: JobExploration, part: UnitResult) -> bool:
            if part.unit.strategy == DEFAULT and part.decided:
                subjects[part.unit.space].job.bound_by(part.decided)
            if kept is not None:
                kept.add(part)
            shown.merged(exploration)
            return plan.until_finding and bool(exploration.findings)

        with workers.opened(opens, run_here) as worker:
            exploration = explore(units, plan.view, worker if kept is None else kept.continued(worker), on_unit)
        is_out_of_time = monotonic() > ends_at and not exploration.is_interrupted
        findings = findings_of(exploration.findings, subjects, progress, shrinks=not exploration.is_interrupted)
        shrunk = None
        if smaller is not None and findings and not exploration.is_interrupted:
            subject = subjects[findings[0].token.space]
            if isinstance(subject, ScenarioSubject):
                shrunk = smaller_scenario(job, plan, findings[0], subject, smaller, out, progress)
        return ExploredResults(exploration, findings, subjects, plan, is_out_of_time, shrunk)


def _about(job: JobArguments, subjects: Mapping[Space, Subject], plan: ExplorePlan) -> dict[str, object]:
    """Returns what must be the same to continue an exploration."""
    return {
        "job": next(iter(subjects.values())).job.digest,
        "strategies": dict(plan.strategies),
        "first_seed": plan.first_seed,
        "outcome": plan.view,
        "laws_every": plan.laws_every,
        "record": job.record,
        "until": job.until,
        "claims": [f"{claim.name} {claim.digest}" for claim in job.loaded_claims()],
        "version": __version__,
    }


def _run_here(
    subjects: Mapping[Space, Subject],
    plan: ExplorePlan,
    ends_at: float,
    on_run: Callable[[UnitResult, ChoiceToken, bool], object],
    unit: Unit,
    state: bytes,
) -> UnitResult:
    return run_unit(subjects, plan, unit, state, lambda: monotonic() > ends_at, on_run)


@contextmanager
def _opened(job: JobArguments, plan: ExplorePlan, ends_at: float) -> Iterator[RunUnit]:
    """Opens the job in another process; ``ends_at``: by the clock of the machines."""
    with TemporaryDirectory(prefix="flowsim-explore-") as out, job.surroundings():
        subjects = job.subjects(tuple(plan.strategies), out)
        yield lambda unit, state, stops: run_unit(subjects, plan, unit, state, lambda: time() > ends_at or stops())


def run_unit(
    subjects: Mapping[Space, Subject],
    plan: ExplorePlan,
    unit: Unit,
    state: bytes,
    is_over: Callable[[], bool],
    on_run: Callable[[UnitResult, ChoiceToken, bool], object] = lambda *_: None,
) -> UnitResult:
    """Makes the runs of a unit and checks some of them."""
    subject = subjects[unit.space]
    return explore_unit(
        subject.job,
        unit,
        state,
        plan.view,
        laws_every=plan.laws_every,
        check=subject.judge,
        claims=subject.claims,
        until_finding=plan.until_finding,
        is_over=is_over,
        on_run=on_run,
    )


class _Shown:
    """Shows how far an exploration is."""

    def __init__(self, runs: int, progress: CountProgress) -> None:
        self._merged: JobExploration | None = None
        """Without the units that are not finished."""
        self._runs = runs
        self._progress = progress

    def on_run(self, part: UnitResult, token: ChoiceToken, is_new: bool) -> None:
        """Shows a run of a unit that is not finished."""
        self._show(part.runs, f", {part.unit.space} space")

    def merged(self, exploration: JobExploration) -> None:
        """Shows an exploration after a further unit."""
        self._merged = exploration
        self._show(0, "")

    def _show(self, runs: int, where: str) -> None:
        found, text = self._merged, ""
        if found is not None:
            text = f"{count_text(len(found.results), 'result')}, {count_text(len(found.findings), 'finding')}"
            text += f", {found.share:.1%} of the orders" if "order" in found.spaces else ""
        self._progress((0 if found is None else found.runs) + runs, self._runs, text + where)

"""Makes the runs of ``flowsim explore``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import monotonic

from flowsim.cli.explored_findings import findings_of
from flowsim.cli.explored_results import ExploredResults, ExplorePlan
from flowsim.cli.explored_subjects import Subject
from flowsim.cli.progress import CountProgress
from flowsim.explore.job_exploration import JobExploration, explore, in_this_process
from flowsim.explore.plan import Plan
from flowsim.explore.unit import Unit, UnitResult, explore_unit
from flowsim.quantities import count_text
from flowsim.sim.choice_token import ChoiceToken
from flowsim.sim.exploring_loop import Space


def explored_results(
    subjects: Mapping[Space, Subject], plan: ExplorePlan, scenario: str, progress: CountProgress
) -> ExploredResults:
    """Explores a job, checks some of its runs, and shrinks what they found."""
    units = Plan(plan.strategies, plan.first_seed, plan.runs)
    ends_at = monotonic() + plan.seconds
    shown = _Shown(units.runs, progress)

    def run(unit: Unit, state: bytes) -> UnitResult:
        return run_unit(subjects, plan, unit, state, lambda: monotonic() > ends_at, shown.on_run)

    def on_unit(exploration: JobExploration, _: UnitResult) -> bool:
        shown.exploration = exploration
        return plan.until_finding and bool(exploration.findings)

    exploration = explore(units, plan.view, in_this_process(run), on_unit)
    is_out_of_time = monotonic() > ends_at and not exploration.is_interrupted
    findings = findings_of(exploration.findings, subjects, progress, shrinks=not exploration.is_interrupted)
    return ExploredResults(exploration, findings, subjects, plan, scenario, is_out_of_time)


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
        until_finding=plan.until_finding,
        is_over=is_over,
        on_run=on_run,
    )


class _Shown:
    """Shows how far an exploration is."""

    def __init__(self, runs: int, progress: CountProgress) -> None:
        self.exploration: JobExploration | None = None
        """Without the unit that is not finished."""
        self._runs = runs
        self._progress = progress

    def on_run(self, part: UnitResult, token: ChoiceToken, is_new: bool) -> None:
        before = self.exploration
        text = f"{part.unit.space} space, {part.unit.strategy}"
        if before is not None:
            text += f", {count_text(len(before.results), 'result')}, {count_text(len(before.findings), 'finding')}"
            text += f", {before.share:.1%} of the orders" if "order" in before.spaces else ""
        self._progress((0 if before is None else before.runs) + part.runs, self._runs, text)

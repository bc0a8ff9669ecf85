"""``flowsim explore --smaller FILE``: the scenario of a finding, with fewer records and settings."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final

from rich.console import Console

from flowsim.cli.explore_plan import ExplorePlan
from flowsim.cli.explored_findings import Finding, findings_of
from flowsim.cli.explored_subjects import JobArguments, ScenarioSubject, Subject
from flowsim.cli.progress import CountProgress
from flowsim.errors import BadInput
from flowsim.explore.job_exploration import explore, in_this_process
from flowsim.explore.plan import Plan
from flowsim.explore.smaller_data import TRIES, Document, records_of, smaller
from flowsim.explore.unit import UnitResult, explore_unit
from flowsim.quantities import count_text
from flowsim.sim.choice_token import ChoiceToken, Recorded, job_id
from flowsim.testing.drawing.yaml_text import yaml_text

_LEAST: Final = 20
_MOST: Final = 500
_TIMES: Final = 3
"""Each scenario has three times as many runs as the first one needed for a run with the finding, within these bounds."""


@dataclass(frozen=True, slots=True)
class SmallerScenario:
    """A scenario in ``file`` with a run that has the finding."""

    file: Path
    finding: Finding
    subject: Subject
    records: int
    of_records: int
    tried: int

    def data(self) -> dict[str, Any]:
        """Returns the JSON values."""
        return {
            "scenario": str(self.file),
            "records": self.records,
            "records_before": self.of_records,
            "tried": self.tried,
            "finding": self.finding.data(self.subject),
        }

    def show(self, console: Console) -> None:
        """Prints how small the scenario is, and the commands for it."""
        size = f"{count_text(self.records, 'record')} instead of {self.of_records:,}"
        console.print()
        console.print(f"smaller scenario {self.file}: {size}", style="bold", soft_wrap=True, markup=False)
        self.finding.show(console, self.subject, self.finding.runs, self.finding.runs)


@dataclass(frozen=True, slots=True)
class NoSmallerScenario:
    """Why there is no smaller scenario; the exploration has its results all the same."""

    reason: str

    def data(self) -> dict[str, Any]:
        """Returns the JSON values."""
        return {"scenario": None, "reason": self.reason}

    def show(self, console: Console) -> None:
        """Prints the reason."""
        console.print(f"no smaller scenario: {self.reason}", style="yellow", soft_wrap=True, markup=False)


def check_smaller(file: Path, scenario: str, subject: Subject) -> None:
    """Raises BadInput, before the exploration, if no smaller scenario can be written to the file."""
    if not isinstance(subject, ScenarioSubject):
        raise BadInput("--smaller: a Python program builds the job: let Hypothesis draw its data (docs/exploration.md)")
    if file.exists() and file.samefile(scenario):
        raise BadInput(f"--smaller {file}: is the scenario itself, which is never changed: give another file")
    if not file.resolve().parent.is_dir() or file.is_dir():
        raise BadInput(f"--smaller {file}: cannot be written: expected a file in a folder that exists")


def smaller_scenario(
    job: JobArguments,
    plan: ExplorePlan,
    finding: Finding,
    subject: ScenarioSubject,
    file: Path,
    out: str,
    progress: CountProgress,
) -> SmallerScenario | NoSmallerScenario:
    """Writes the smallest scenario found. If the default run does not have the finding, that of the scenario has not either.

    Ctrl-C ends the search, and the smallest one so far is written.
    """
    search = _Search(
        replace(job, scenario=str(file), overrides=()), plan, finding, _has_default(subject, finding.what), out
    )
    if not search.still_has(subject.document):
        return NoSmallerScenario(
            f"{count_text(search.runs, 'run')} of the whole scenario did not have the finding again"
        )

    def still_has(document: Document) -> bool:
        progress(search.tried, TRIES, f"smaller scenario: {count_text(records_of(search.document), 'record')}")
        return search.still_has(document)

    with suppress(KeyboardInterrupt):
        smaller(subject.document, still_has)
    try:
        file.write_text(yaml_text(search.document), encoding="utf-8")
    except OSError as error:
        return NoSmallerScenario(f"{file} cannot be written: {error.strerror}")
    (found,) = findings_of(
        {finding.what: (search.token, 1)}, {search.token.space: search.subject}, progress, shrinks=True
    )
    records = records_of(search.document), records_of(subject.document)
    return SmallerScenario(file, found, search.subject, *records, search.tried)


def _has_default(subject: Subject, what: str) -> bool:
    """True if the run that makes the default choices has the finding."""
    return what in subject.check(Recorded(subject.job.space).token(subject.job.digest))


class _Search:
    """Looks for a run of a scenario that has the finding; keeps the last scenario with one."""

    def __init__(self, job: JobArguments, plan: ExplorePlan, finding: Finding, by_default: bool, out: str) -> None:
        self._job = job
        self._plan = plan
        self._what = finding.what
        self._by_default = by_default
        self._out = out
        self.runs = min(max(_LEAST, _TIMES * plan.runs // finding.runs), _MOST)
        self.tried = 0
        self.token = finding.token
        self.document: Document = {}
        self.subject: Subject

    def still_has(self, document: Document) -> bool:
        """Returns True, and keeps the scenario, if one of some runs has the finding; False if it is not valid."""
        self.tried += 1
        try:
            subject = self._job.subject_of(yaml_text(document), self.token.space, self._out)
            if not self._by_default and _has_default(subject, self._what):
                return False
            token = self._run_with_finding(subject)
        except BadInput:
            return False
        if token is None:
            return False
        self.document, self.subject, self.token = document, subject, token
        return True

    def _run_with_finding(self, subject: Subject) -> ChoiceToken | None:
        same = replace(self.token, job=job_id(subject.job.digest))
        with suppress(BadInput):  # the choices do not fit
            if self._what in subject.check(same):
                return same
        found: list[ChoiceToken] = []

        def on_run(unit: UnitResult, _: ChoiceToken, is_new: bool) -> None:
            if self._what in unit.findings:
                found.append(ChoiceToken.parse(unit.findings[self._what].token))

        space, view = self.token.space, self._plan.view
        run = partial(
            explore_unit, subject.job, view=view, laws_every=1, check=subject.judge, claims=subject.claims,
            is_over=lambda: bool(found), on_run=on_run,
        )  # fmt: skip
        plan = Plan({space: self._plan.strategies[space]}, self._plan.first_seed, self.runs)
        explore(plan, view, in_this_process(run))
        return found[0] if found else None

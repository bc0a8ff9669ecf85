"""What ``flowsim explore`` found: each finding with a run of few choices, what that run shows, and how to repeat it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from rich.console import Console

from flowsim.cli.exit_code import ExitCode
from flowsim.cli.explored_subjects import Subject, with_claims
from flowsim.cli.progress import CountProgress
from flowsim.cli.verdicts import show_evidence
from flowsim.cluster.job_execution import JobStatus
from flowsim.errors import BadInput
from flowsim.explore.checked_run import CheckedRun
from flowsim.explore.claim import broken_claim, is_broken_claim
from flowsim.explore.outcome import BOUND_REACHED
from flowsim.explore.shrink import shortest
from flowsim.laws.law import Outcome
from flowsim.quantities import count_text
from flowsim.scenario.runner import broken_invariant
from flowsim.sim.choice_token import ChoiceToken
from flowsim.sim.exploring_loop import Space
from flowsim.trace.links import evidence_link, report_command, report_link

_SHRUNK: Final = 5
_REPLAYS: Final = 60
"""The most findings that are shrunk, and runs for each."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What some checked runs violated or did not meet, and one of these runs."""

    what: str
    runs: int
    token: ChoiceToken
    decisive: int | None = None
    """The number of the last choice without which the run does not have it."""
    chosen: Mapping[str, Any] | None = None
    """That choice as ``flowsim explain`` has it; None for a job that it does not explain."""
    checked: CheckedRun | None = None
    """The run; None for a finding after too many others."""

    @property
    def law(self) -> Outcome | None:
        """The outcome of the law that the run violated."""
        violated = () if self.checked is None else self.checked.violated
        return next((outcome for outcome in violated if self.what == f"law {outcome.law} violated"), None)

    @property
    def is_violation(self) -> bool:
        """True for a law, and for a run that reached its bounds; False for an expectation."""
        return self.what == BOUND_REACHED or self.what.startswith("law ")

    @property
    def values(self) -> tuple[str, str] | None:
        """What was expected, and what the run had instead."""
        unmet = () if self.checked is None else self.checked.unmet
        same = (one for one in unmet if self.what == f"expected {one.what} not met: {one.expected}")
        return next(((str(one.expected), str(one.found)) for one in same), None)

    def data(self, subject: Subject) -> dict[str, Any]:
        """Returns the JSON values."""
        law, values = self.law, self.values
        return {
            "what": self.what,
            "runs": self.runs,
            "token": str(self.token),
            "status": None if self.checked is None else self.checked.status.value,
            "digest": None if self.checked is None else self.checked.digest,
            "error": None if self.checked is None or self.checked.error is None else str(self.checked.error),
            "violations": None if law is None else law.violations,
            "evidence": [] if law is None else list(law.evidence),
            "expected": None if values is None else values[0],
            "found": None if values is None else values[1],
            "replay": self._repeat(subject),
            "explain": subject.explain(self.token),
            "report": self._report(subject),
            "decisive_choice": self.decisive,
            "chosen": self.chosen,
        }

    def show(self, console: Console, subject: Subject, runs: int, checked: int) -> None:
        """Prints the finding, and the commands that repeat it. Claims are checked on all ``runs``."""
        of = count_text(runs, "run") if is_broken_claim(self.what) else count_text(checked, "checked run")
        counted = f"in {self.runs:,} of {of}"
        console.print(f"{self.what}: {counted}", style="red", soft_wrap=True)
        if self.values is not None:
            console.print(f"  found: {self.values[1]}", soft_wrap=True, markup=False)
        for name, text in () if self.checked is None else self.checked.claims:
            if text and self.what == broken_claim(name):
                console.print(f"  {text}", soft_wrap=True, markup=False)
        if self.law is not None:
            show_evidence(console, self.law.evidence, "  ")
        if self.checked is not None and self.checked.error is not None and self.law is None:
            console.print(f"  the job {self.checked.status.value}: {self.checked.error}", soft_wrap=True, markup=False)
        how = "repeat the run" if is_broken_claim(self.what) else "reproduce"  # a run does not check claims
        console.print(f"  {how}: {self._repeat(subject)}", soft_wrap=True, markup=False)
        if report := self._report(subject):
            console.print(f"  then see it: {report}", soft_wrap=True, markup=False, highlight=False)
        if explain := subject.explain(self.token):
            console.print(f"  explain: {explain}", soft_wrap=True, markup=False)
        if self.decisive is not None:
            console.print(f"  without choice {self.decisive} of the token it does not happen", soft_wrap=True)
        if self.chosen is not None:
            texts = [
                f"  choice {self.decisive}: {self.chosen['text']}",
                f"    by default: {self.chosen['default']}",
                *(f"    {effect}" for effect in self.chosen["effects"]),
            ]
            console.print("\n".join(texts), soft_wrap=True, markup=False, highlight=False)

    def _repeat(self, subject: Subject) -> str:
        return subject.repeat(self.token, is_checked=True, is_bounded=self.what == BOUND_REACHED)

    def _report(self, subject: Subject) -> str | None:
        """Returns the command that opens the report of the repeated run at the first evidence; None for a program."""
        out = subject.repeated_in
        return None if out is None else report_command(str(out), _link(self.law))


def _link(law: Outcome | None) -> str:
    if law is None:
        return report_link("graph")
    for row in law.evidence:
        task, seq = row.get("task"), row.get("seq")
        if isinstance(task, int) and isinstance(seq, int):
            return evidence_link(row, task, seq, None)
    return report_link("laws")


def findings_of(
    found: Mapping[str, tuple[ChoiceToken, int]],
    subjects: Mapping[Space, Subject],
    progress: CountProgress,
    *,
    shrinks: bool,
) -> list[Finding]:
    """Returns the findings. The first ones have runs with fewer choices (if it ``shrinks``), which are checked again."""
    findings = []
    for number, (what, (token, runs)) in enumerate(found.items()):
        if number >= _SHRUNK or not shrinks:
            findings.append(Finding(what, runs, token))
            continue
        progress(number, min(len(found), _SHRUNK), f"shrinking: {what}")
        subject = subjects[token.space]
        first = subject.job.with_choices(token)
        smallest = shortest(first, subject.job.recounted, partial(_has, subject, what), _REPLAYS)
        decisive = _decisive(what, smallest, subject)
        chosen = None if decisive is None else _explained(subject, smallest, decisive)
        findings.append(Finding(what, runs, smallest, decisive, chosen, with_claims(subject, smallest)))
    return findings


def _decisive(what: str, token: ChoiceToken, subject: Subject) -> int | None:
    """Looks for the nearest run without the finding: the same choices but one, which is as late as possible."""
    for number, _ in reversed(token.deviations):
        fewer = replace(token, deviations=tuple(each for each in token.deviations if each[0] != number))
        try:
            if what not in subject.check(fewer):
                return number
        except BadInput:  # the other choices do not fit without it
            continue
    return None


def _explained(subject: Subject, token: ChoiceToken, choice: int) -> Mapping[str, Any] | None:
    """Returns the step of a choice: its ``text``, that of the ``default``, and the ``effects`` of the step."""
    explained = subject.explained(token)
    log = () if explained is None else explained["log"]
    return next(
        ({name: step[name] for name in ("text", "default", "effects")} for step in log if step["choice"] == choice),
        None,
    )


def _has(subject: Subject, what: str, token: ChoiceToken) -> bool:
    try:
        return what in subject.check(token)
    except BadInput:  # the choices do not fit
        return False


def code_of(findings: list[Finding], has_faults: bool) -> ExitCode:
    """Returns the exit code of the first violated law; without one, that of the first finding."""
    first = next((finding for finding in findings if finding.is_violation), next(iter(findings), None))
    if first is None:
        return ExitCode.FINE
    run = first.checked
    if run is not None and broken_invariant(run.error) is not None and not has_faults:
        return ExitCode.OUR_BUG
    has_failed = run is not None and run.status in (JobStatus.FAILED, JobStatus.DEADLOCKED)
    unexpectedly = run is not None and (bool(run.failed) or any(unmet.what == "job" for unmet in run.unmet))
    return ExitCode.JOB_FAILED if has_failed and unexpectedly and not first.is_violation else ExitCode.BROKEN

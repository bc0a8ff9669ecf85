"""What ``flowsim run --validate`` adds: the laws on the new recording, compared with the scenario's expectations."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from flowsim.cli.judging import EngineName, Judge, RecomputePlan
from flowsim.cli.progress import count_progress
from flowsim.cli.recorded_scenarios import ALLOW_PYTHON_NEEDED
from flowsim.cli.verdicts import OpenedRuns, report_data, show_report
from flowsim.cluster.job_execution import JobStatus
from flowsim.recording.reader import Recording
from flowsim.scenario.expectations import law_is_as_expected
from flowsim.scenario.runner import ScenarioRun
from flowsim.validation.verdict import Report

_ENDS = {"failed": "failed", "deadlocked": "deadlocked", "canceled": "was canceled"}


@dataclass(frozen=True, slots=True)
class JudgedRun:
    """The verdicts on the recording in ``out``, and one line per law with an unexpected verdict."""

    report: Report
    unexpected: list[str]
    out: Path

    def data(self) -> dict[str, Any]:
        """Returns the JSON document."""
        return {**report_data(self.report, self._runs()), "unexpected": self.unexpected}

    def show(self, console: Console, verbose: bool) -> None:
        """Prints the verdicts."""
        show_report(console, self.report, self._runs(), verbose)
        for text in self.unexpected:
            console.print(text, style="bold red", soft_wrap=True)

    def _runs(self) -> OpenedRuns:
        return OpenedRuns([Recording.open(self.out)], [self.out])


class RunJudge:
    """Checks a run with all laws; raises BadInput for engines and servers that exclude each other."""

    def __init__(self, engine: EngineName, master: str | None, remote: str | None) -> None:
        self._judge = Judge(engine, master, remote)

    def require(self, recomputes: bool) -> None:
        """Raises MissingExtra or BadInput if the check cannot run; called before the run."""
        self._judge.require(recomputes)

    def judge(self, done: ScenarioRun, out: Path, allow_python: bool, quiet: bool) -> JudgedRun:
        """Checks the recording in ``out``."""
        plans: list[RecomputePlan] = []
        recompute = done.compiled.recompute
        if recompute is not None:
            status = done.result.status
            is_ended = any(action.ends_the_job for action in done.compiled.scenario.model.actions)
            whole = status is JobStatus.FINISHED and not is_ended
            not_run = "" if whole else f"the job {_ENDS.get(status.value, 'was stopped')}, its results are incomplete"
            not_run = not_run if allow_python else ALLOW_PYTHON_NEEDED
            plans.append(RecomputePlan(0, recompute.script.name, recompute, out, not_run))
        with count_progress("judging", quiet) as progress:
            report = self._judge.judge([out], [Recording.open(out)], plans, progress)
        return JudgedRun(report, _unexpected(done, report), out)


def _unexpected(done: ScenarioRun, report: Report) -> list[str]:
    expect = done.compiled.scenario.model.expect
    lines = []
    for line in report.lines:
        law, verdict = line.outcome.law, line.outcome.verdict
        if not law_is_as_expected(expect, law, verdict):
            lines.append(f"expected law {law}: {expect.laws.get(law, 'holds')}, found: {verdict.value}")
    return lines

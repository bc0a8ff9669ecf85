"""What ``flowsim pyflink --validate`` adds: the laws on all recordings of a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console

from flowsim.cli.judging import Judge
from flowsim.cli.progress import count_progress
from flowsim.cli.verdicts import OpenedRuns, report_data, show_report
from flowsim.pyflink.program_executor import ProgramRun
from flowsim.recording.reader import Recording
from flowsim.validation.verdict import Report


@dataclass(frozen=True, slots=True)
class JudgedProgram:
    """The verdicts on the recordings of a program."""

    report: Report
    opened: OpenedRuns

    def data(self) -> dict[str, Any]:
        """Returns the JSON document."""
        return report_data(self.report, self.opened)

    def show(self, console: Console) -> None:
        """Prints the verdicts."""
        show_report(console, self.report, self.opened)


def judged_program(runs: Sequence[ProgramRun], quiet: bool) -> JudgedProgram | None:
    """Checks the recordings with all laws; None if there is none."""
    paths = [run.recording for run in runs if run.recording is not None]
    if not paths:
        return None
    opened = [Recording.open(path) for path in paths]
    with count_progress("judging", quiet) as progress:
        report = Judge().judge(paths, opened, (), progress)
    return JudgedProgram(report, OpenedRuns(opened, paths))

"""Shows a report: the verdict as one line, then the violated and the vacuous laws with evidence."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from flowsim.cli.tables import Column, show_table, show_text
from flowsim.errors import BadInput
from flowsim.laws.law import Verdict
from flowsim.quantities import count_text
from flowsim.recording.reader import Recording
from flowsim.scenario.run_description import rerun_of
from flowsim.trace.evidence import EvidenceReader, EvidenceText
from flowsim.validation.report import SENTENCES, as_data, table
from flowsim.validation.verdict import Line, Report


class OpenedRuns:
    """Recordings that a command opened, with their names for the user."""

    def __init__(self, opened: Sequence[Recording], paths: Sequence[str | Path]) -> None:
        self._opened = opened
        self._paths = list(map(str, paths))
        self._readers: dict[int, EvidenceReader] = {}

    def replay(self, run: int) -> str:
        """Returns the command that repeats the recorded run, or the reason why the run cannot be repeated."""
        try:
            rerun_of(self._opened[run].manifest)
        except BadInput as error:
            return f"cannot be replayed: {error}"
        return shlex.join(["flowsim", "replay", self._paths[run]])

    def texts(self, run: int, rows: Sequence[dict[str, object]]) -> list[EvidenceText]:
        """Returns rows of evidence as text; returns an empty list if the recording is not readable from this folder."""
        try:
            if run not in self._readers:
                self._readers[run] = EvidenceReader(self._opened[run], self._paths[run])
            return self._readers[run].texts(rows)
        except BadInput:
            return []


EVIDENCE_SHOWN = 5
LISTED = "; -v lists all laws"
_MOST_NAMES = 4
_NAMES = ("recording", "law")
_COLUMNS = (Column("verdict", left=True), Column("rows examined"), Column("violations"))
_STYLES = {"holds": "green", "violated": "bold red", "vacuous": "yellow", "not applicable": "dim"}


def show_report(console: Console, report: Report, runs: OpenedRuns, verbose: bool = False) -> None:
    """Prints the verdict as one line, then the violated and the vacuous laws; ``verbose``: first a line per law."""
    console.print()
    show_line(console, report.line, report.passed)
    if verbose:
        first = 0 if len(report.recordings) > 1 else 1
        styles = [_STYLES[line.outcome.verdict.value] for line in report.lines]
        show_table(console, _NAMES[first:], _COLUMNS, [line[first:-1] for line in table(report)], styles)
    _show_reasons(console, report, verbose)
    console.print(f"checked {report.engine}{'' if verbose else LISTED}", style="dim", soft_wrap=True)
    for line in report.lines:
        if line.broken:
            _show_broken(console, report, line, runs)


def show_line(console: Console, line: str, passed: bool) -> None:
    """Prints the verdict line."""
    console.print(line, style="bold green" if passed else "bold red", soft_wrap=True)


def _show_reasons(console: Console, report: Report, verbose: bool) -> None:
    """Prints why laws do not apply if ``verbose``, and always what was not checked of the others, or not run."""
    laws: dict[tuple[str, str], list[str]] = {}
    for line in report.lines:
        outcome = line.outcome
        is_shown = verbose or outcome.verdict is not Verdict.NOT_APPLICABLE or ":" in outcome.law
        if outcome.reason and is_shown:
            laws.setdefault((outcome.verdict.value, outcome.reason), []).append(outcome.law)
    for (verdict, reason), names in laws.items():
        of = list(dict.fromkeys(names))
        shown = f"{len(of)} laws" if len(of) > _MOST_NAMES and not verbose else ", ".join(of)
        show_text(console, f"{shown}: {verdict}: {reason}", "dim")


def _show_broken(console: Console, report: Report, line: Line, runs: OpenedRuns) -> None:
    outcome = line.outcome
    examined = f"{count_text(outcome.rows_examined, 'row')} examined"
    counts = f"{count_text(outcome.violations, 'violation')}, {examined}" if outcome.violations else examined
    title = f"{outcome.law} is {outcome.verdict.value} in {report.recordings[line.run]}: {counts}"
    console.print(f"\n{title}", style=f"bold {'red' if outcome.violations else 'yellow'}", soft_wrap=True)
    if sentence := SENTENCES.get(outcome.law):
        console.print(f"  {sentence}", soft_wrap=True)
    texts = runs.texts(line.run, outcome.evidence[:EVIDENCE_SHOWN])
    if texts:
        _show_texts(console, texts, len(outcome.evidence))
    else:
        show_evidence(console, outcome.evidence, "  ")
    if outcome.violations:
        console.print(f"  reproduce: {runs.replay(line.run)}", soft_wrap=True)


def report_data(report: Report, runs: OpenedRuns) -> dict[str, Any]:
    """Returns the report as JSON values: evidence as text, and a command that repeats each violating run."""
    document: dict[str, Any] = as_data(report)
    for line, data in zip(report.lines, document["laws"], strict=True):
        if line.outcome.violations:
            data["replay"] = runs.replay(line.run)
            data["in_words"] = [text.as_data() for text in runs.texts(line.run, line.outcome.evidence)]
    return document


def _show_texts(console: Console, texts: Sequence[EvidenceText], rows: int) -> None:
    for text in texts:
        lines = [
            f"  - {text.what}{': ' if text.expected else ''}{text.expected}",
            f"    {text.where}" if text.where else "",
            f"    {', '.join(f'{name}: {value}' for name, value in text.with_)}" if text.with_ else "",
            f"    see: {text.trace}",
            f"    in the report: {text.report}" if text.report else "",
        ]
        for line in filter(None, lines):
            console.print(line, soft_wrap=True, markup=False, highlight=False)
    _show_rest(console, rows, "  ")


def _show_rest(console: Console, rows: int, indent: str) -> None:
    if rows > EVIDENCE_SHOWN:
        console.print(f"{indent}... --json shows all {rows}")


def show_evidence(console: Console, rows: Sequence[dict[str, object]], indent: str) -> None:
    """Prints the first evidence rows; the JSON output has more rows."""
    for row in rows[:EVIDENCE_SHOWN]:
        console.print(indent + evidence_text(row), soft_wrap=True)
    _show_rest(console, len(rows), indent)


def evidence_text(row: dict[str, object]) -> str:
    """Formats one evidence row as one line: what happened, and its columns.

    >>> evidence_text({"what": "the task never finished", "task": 3})
    'the task never finished; task: 3'
    """
    columns = ", ".join(f"{name}: {value}" for name, value in row.items() if name != "what")
    return "; ".join(map(str, filter(None, (row.get("what"), columns))))

"""Shows a report: a table of the laws, then the evidence of violations."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from flowsim.cli.tables import Column, show_table, show_text
from flowsim.errors import BadInput
from flowsim.laws.law import Verdict
from flowsim.recording.reader import Recording
from flowsim.scenario.run_description import rerun_of
from flowsim.trace.evidence import EvidenceReader, EvidenceText
from flowsim.validation.report import as_data, evidence, table
from flowsim.validation.verdict import Report


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
_NAMES = ("recording", "law")
_COLUMNS = (Column("verdict", left=True), Column("rows examined"), Column("violations"))
_STYLES = {"holds": "green", "violated": "bold red", "vacuous": "yellow", "not applicable": "dim"}


def show_report(console: Console, report: Report, runs: OpenedRuns) -> None:
    """Prints one line per law and recording, then notes, then the evidence."""
    console.print()
    first = 0 if len(report.recordings) > 1 else 1
    lines = table(report)
    styles = [_STYLES[line.outcome.verdict.value] for line in report.lines]
    show_table(console, _NAMES[first:], _COLUMNS, [line[first:-1] for line in lines], styles)
    console.print(f"checked {report.engine}", style="dim", soft_wrap=True)
    laws: dict[tuple[str, str], list[str]] = {}
    for _, law, verdict, *_, reason in lines:
        if reason:
            laws.setdefault((verdict, reason), []).append(law)
    for (verdict, reason), law_names in laws.items():
        show_text(console, f"{', '.join(dict.fromkeys(law_names))}: {verdict}: {reason}", "dim")
    violated = [line.run for line in report.lines if line.outcome.verdict is Verdict.VIOLATED]
    for run, (recording, law, sentence, rows) in zip(violated, evidence(report), strict=True):
        console.print(f"\n{law} is violated in {recording}", style="bold red", soft_wrap=True)
        if sentence:
            console.print(f"  {sentence}", soft_wrap=True)
        texts = runs.texts(run, rows[:EVIDENCE_SHOWN])
        if texts:
            _show_texts(console, texts, len(rows))
        else:
            show_evidence(console, rows, "  ")
        console.print(f"  reproduce: {runs.replay(run)}", soft_wrap=True)


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
    """Formats one evidence row as one line."""
    return ", ".join(f"{name}: {value}" for name, value in row.items())

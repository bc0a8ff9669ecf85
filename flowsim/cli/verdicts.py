"""Shows a verdict: a table of the laws, and under it the evidence of what is violated."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rich.console import Console

from flowsim.cli.tables import Column, show_table, show_text
from flowsim.laws.law import Verdict
from flowsim.validation.report import as_data, evidence, table
from flowsim.validation.verdict import Report

ReplayCommand = Callable[[int], str]
"""How the recording with this number is made again, in words for a terminal."""

EVIDENCE_SHOWN = 5
_NAMES = ("recording", "law")
_COLUMNS = (Column("verdict", left=True), Column("rows examined"), Column("violations"))
_STYLES = {"holds": "green", "violated": "bold red", "vacuous": "yellow", "not applicable": "dim"}


def show_report(console: Console, report: Report, replay: ReplayCommand) -> None:
    """One line per law and recording, what there is to say of some of them, then the evidence."""
    console.print()
    first = 0 if len(report.recordings) > 1 else 1
    lines = table(report)
    styles = [_STYLES[line.outcome.verdict.value] for line in report.lines]
    show_table(console, _NAMES[first:], _COLUMNS, [line[first:-1] for line in lines], styles)
    console.print(f"judged {report.engine}", style="dim", soft_wrap=True)
    laws: dict[tuple[str, str], list[str]] = {}
    for _, law, verdict, *_, reason in lines:
        if reason:
            laws.setdefault((verdict, reason), []).append(law)
    for (verdict, reason), of in laws.items():
        show_text(console, f"{', '.join(dict.fromkeys(of))}: {verdict}: {reason}", "dim")
    runs = [line.run for line in report.lines if line.outcome.verdict is Verdict.VIOLATED]
    for run, (recording, law, sentence, rows) in zip(runs, evidence(report), strict=True):
        console.print(f"\n{law} is violated in {recording}", style="bold red", soft_wrap=True)
        if sentence:
            console.print(f"  {sentence}", soft_wrap=True)
        show_evidence(console, rows, "  ")
        console.print(f"  again: {replay(run)}", soft_wrap=True)


def report_data(report: Report, replay: ReplayCommand) -> dict[str, Any]:
    """The report as JSON-able data, with the way to make each violated recording again."""
    document: dict[str, Any] = as_data(report)
    for line, data in zip(report.lines, document["laws"], strict=True):
        if line.outcome.violations:
            data["replay"] = replay(line.run)
    return document


def show_evidence(console: Console, rows: Sequence[dict[str, object]], indent: str) -> None:
    """The first evidence rows; JSON has more of them."""
    for row in rows[:EVIDENCE_SHOWN]:
        console.print(indent + evidence_text(row), soft_wrap=True)
    if len(rows) > EVIDENCE_SHOWN:
        console.print(f"{indent}... --json shows {len(rows)}")


def evidence_text(row: dict[str, object]) -> str:
    """One evidence row on one line."""
    return ", ".join(f"{name}: {value}" for name, value in row.items())

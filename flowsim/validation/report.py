"""Converts a report to plain data: rows of text for a terminal, and JSON."""

from __future__ import annotations

import json
from typing import Final

from flowsim.laws.catalogue import LAWS
from flowsim.validation.verdict import Line, Report

HEADINGS: Final = ("recording", "law", "verdict", "rows examined", "violations", "reason")
SENTENCES: Final = {law.id: law.sentence for law in LAWS}
"""The sentence of each law, by the law's id."""


def table(report: Report) -> list[tuple[str, ...]]:
    """Returns one row of text per line of the report, in the order of ``HEADINGS``."""
    return [
        (
            report.recordings[line.run],
            line.outcome.law,
            line.outcome.verdict.value,
            f"{line.outcome.rows_examined:,}",
            f"{line.outcome.violations:,}",
            line.outcome.reason,
        )
        for line in report.lines
    ]


def as_data(report: Report) -> dict[str, object]:
    """Returns the whole report as JSON values."""
    return {
        "passed": report.passed,
        "verdict": report.line,
        "engine": report.engine,
        "recordings": list(report.recordings),
        "laws": [_line(report, line) for line in report.lines],
        "not_judged": [{"recording": report.recordings[run], "error": error} for run, error in report.errors],
    }


def to_json(report: Report) -> str:
    """Returns the report as JSON text."""
    return json.dumps(as_data(report), indent=2, allow_nan=False)


def _line(report: Report, line: Line) -> dict[str, object]:
    outcome = line.outcome
    return {
        "recording": report.recordings[line.run],
        "law": outcome.law,
        "verdict": outcome.verdict.value,
        "rows_examined": outcome.rows_examined,
        "violations": outcome.violations,
        "reason": outcome.reason,
        "evidence": list(outcome.evidence),
    }

"""A verdict as plain data: rows of text for a terminal, and JSON."""

from __future__ import annotations

import json
from typing import Final

from flowsim.laws.catalogue import LAWS
from flowsim.laws.law import Verdict
from flowsim.validation.verdict import Line, Report

HEADINGS: Final = ("recording", "law", "verdict", "rows examined", "violations", "seconds", "reason")
_SENTENCES: Final = {law.id: law.sentence for law in LAWS}


def table(report: Report) -> list[tuple[str, ...]]:
    """One row of text per line, in the order of ``HEADINGS``."""
    return [
        (
            report.recordings[line.run],
            line.outcome.law,
            line.outcome.verdict.value,
            f"{line.outcome.rows_examined:,}",
            f"{line.outcome.violations:,}",
            f"{line.seconds:.1f}",
            "; ".join(filter(None, (line.outcome.reason, _audit(line)))),
        )
        for line in report.lines
    ]


def _audit(line: Line) -> str:
    """What the slow form says, in words; '' where it was not asked."""
    if line.audited is None:
        return ""
    if not line.disputed:
        return f"the slow form agrees ({line.audited.seconds:.1f} s)"
    told = ", ".join(f"{what} ({n:,})" for what, n in line.audited.findings)
    return (
        f"DISPUTED: the slow form says {line.audited.verdict.value}, {line.audited.rows_examined:,} rows examined"
        + (f": {told}" if told else "")
    )


def evidence(report: Report) -> list[tuple[str, str, str, list[dict[str, object]]]]:
    """(recording, law, its sentence, evidence rows) of everything that is violated."""
    return [
        (
            report.recordings[line.run],
            line.outcome.law,
            _SENTENCES.get(line.outcome.law, ""),
            list(line.outcome.evidence),
        )
        for line in report.lines
        if line.outcome.verdict is Verdict.VIOLATED
    ]


def as_data(report: Report) -> dict[str, object]:
    """The whole report as JSON-able data."""
    return {
        "passed": report.passed,
        "recordings": list(report.recordings),
        "laws": [_line(report, line) for line in report.lines],
    }


def to_json(report: Report) -> str:
    """The report as JSON text."""
    return json.dumps(as_data(report), indent=2)


def _line(report: Report, line: Line) -> dict[str, object]:
    found, audited = line.outcome, line.audited
    slow = None if audited is None else {
        "verdict": audited.verdict.value, "rows_examined": audited.rows_examined, "findings": dict(audited.findings),
        "seconds": round(audited.seconds, 3), "agrees": not line.disputed,
    }  # fmt: skip
    return {
        "recording": report.recordings[line.run],
        "law": found.law,
        "verdict": found.verdict.value,
        "rows_examined": found.rows_examined,
        "violations": found.violations,
        "seconds": round(line.seconds, 3),
        "reason": found.reason,
        "evidence": list(found.evidence),
        **({} if slow is None else {"slow_form": slow}),
    }

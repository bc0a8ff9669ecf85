"""The report: one line per law and recording."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from typing import Final

from flowsim.errors import BadInput
from flowsim.laws.law import Outcome, Verdict
from flowsim.laws.verdict_line import verdict_line
from flowsim.notebook_html import Cell, html_block, html_table
from flowsim.quantities import count_text

_LINES: Final = 10
"""Maximum number of errors shown; JSON has all of them."""
_ROWS: Final = 100
"""Maximum number of verdicts in HTML."""


@dataclass(frozen=True, slots=True)
class Line:
    """The outcome of one law on one recording; ``run`` is an index into the recordings of the report."""

    run: int
    outcome: Outcome

    @property
    def broken(self) -> bool:
        """True if the law is violated or vacuous: neither is a pass."""
        return self.outcome.verdict in (Verdict.VIOLATED, Verdict.VACUOUS)


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """All lines: recordings in the order of the arguments, laws in catalogue order."""

    recordings: tuple[str, ...]
    """The paths of the recordings as opened."""
    lines: tuple[Line, ...]
    engine: str = ""
    """The engine, and why it was selected."""
    errors: tuple[tuple[int, str], ...] = ()
    """Recordings that could not be checked completely, with the reason."""

    @property
    def passed(self) -> bool:
        """True if all laws were checked on all recordings, and no law is violated or vacuous."""
        return not self.errors and not any(line.broken for line in self.lines)

    @property
    def line(self) -> str:
        """The verdicts as one line, e.g. ``20 laws hold, 25 do not apply``."""
        number = len(self.recordings)
        recordings = f" ({count_text(number, 'recording')})" if number > 1 else ""
        return verdict_line(line.outcome for line in self.lines) + recordings

    def of(self, run: int) -> dict[str, Outcome]:
        """Returns the verdicts of one recording by law."""
        return {line.outcome.law: line.outcome for line in self.lines if line.run == run}

    def with_lines(self, *lines: Line) -> Report:
        """Returns the report with more lines, e.g. of a scenario's recomputation."""
        return replace(self, lines=(*self.lines, *lines))

    def with_error(self, run: int, error: BadInput) -> Report:
        """Returns the report with an error for a recording."""
        return replace(self, errors=(*self.errors, (run, str(error))))

    def __repr__(self) -> str:
        return f"<Report: {self.line}>"

    def _repr_html_(self) -> str:
        """Shows the verdicts that are not a pass in notebooks; those of one recording that are a pass can be opened."""
        several = len(self.recordings) > 1
        headings: tuple[str, ...] = ("law", "verdict", "rows examined", "violations", "reason or first evidence")
        if several:
            headings = ("recording", *headings)
        broken = [self._cells(line) for line in self.lines if line.broken]
        others = [] if several else [self._cells(line) for line in self.lines if not line.broken]
        more = f", the first {_ROWS} of {len(broken)} are shown" if len(broken) > _ROWS else ""
        refused = [(self.recordings[run], text) for run, text in self.errors[:_LINES]]
        title = f"{'the other' if broken else 'all'} laws"
        opened = f"<details><summary>{title}</summary>\n{html_table(headings, others)}\n</details>"
        return html_block(
            "Report",
            self.line + more,
            *([html_table(("not judged", "reason"), refused)] if refused else []),
            *([html_table(headings, broken[:_ROWS])] if broken else []),
            *([opened] if others else []),
        )

    def _cells(self, line: Line) -> tuple[Cell, ...]:
        """Returns the law, verdict, counts, and the reason or the first row of evidence as JSON."""
        outcome = line.outcome
        first = json.dumps(outcome.evidence[0]) if outcome.evidence else ""
        cells = (
            outcome.law, outcome.verdict.value, outcome.rows_examined, outcome.violations, outcome.reason or first,
        )  # fmt: skip
        return (self.recordings[line.run], *cells) if len(self.recordings) > 1 else cells

    @property
    def error(self) -> NotJudged | None:
        """The error, if there is any."""
        return NotJudged(self) if self.errors else None


class EngineFailed(BadInput):
    """The engine failed, e.g. Spark lost its executors; the recordings are not the cause."""


class NotJudged(BadInput):
    """A recording is damaged, or Spark failed; ``report`` has the verdicts so far."""

    def __init__(self, report: Report) -> None:
        texts = Counter(text for _, text in report.errors)
        lines = [f"{text} ({n} recordings)" if n > 1 else text for text, n in texts.items()]
        more = [f"and {len(lines) - _LINES} more"] if len(lines) > _LINES else []
        super().__init__("\n".join([*lines[:_LINES], *more]))
        self.report = report

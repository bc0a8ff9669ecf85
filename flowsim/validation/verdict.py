"""The report: one line per law and recording."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Final

from flowsim.errors import BadInput
from flowsim.laws.law import Outcome, Verdict

_LINES: Final = 10
"""Maximum number of errors shown; JSON has all of them."""


@dataclass(frozen=True, slots=True)
class Line:
    """The outcome of one law on one recording; ``run`` is an index into the recordings of the report."""

    run: int
    outcome: Outcome

    @property
    def broken(self) -> bool:
        """Violated or vacuous: neither is a pass."""
        return self.outcome.verdict in (Verdict.VIOLATED, Verdict.VACUOUS)


@dataclass(frozen=True, slots=True)
class Report:
    """All lines: recordings in the order of the arguments, laws in catalogue order."""

    recordings: tuple[str, ...]
    """Paths as opened."""
    lines: tuple[Line, ...]
    engine: str = ""
    """The engine, and why it was selected."""
    errors: tuple[tuple[int, str], ...] = ()
    """Recordings that could not be checked completely, with the reason."""

    @property
    def passed(self) -> bool:
        """Whether everything was checked, and no law is violated or vacuous."""
        return not self.errors and not any(line.broken for line in self.lines)

    def of(self, run: int) -> dict[str, Outcome]:
        """The outcomes of one recording by law."""
        return {line.outcome.law: line.outcome for line in self.lines if line.run == run}

    def with_lines(self, *lines: Line) -> Report:
        """The report with more lines, e.g. of a scenario's recomputation."""
        return replace(self, lines=(*self.lines, *lines))

    def with_error(self, run: int, error: BadInput) -> Report:
        """The report with an error for a recording."""
        return replace(self, errors=(*self.errors, (run, str(error))))

    @property
    def error(self) -> NotJudged | None:
        """The error, if any."""
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

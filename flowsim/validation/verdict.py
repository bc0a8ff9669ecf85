"""What the judge says: one line per law and recording."""

from __future__ import annotations

from dataclasses import dataclass, replace

from flowsim.laws.law import Outcome, Verdict


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
    """All lines: recordings in the order of the arguments, laws in that of the catalogue."""

    recordings: tuple[str, ...]
    """Paths as opened."""
    lines: tuple[Line, ...]
    engine: str = ""
    """Where the laws were judged, and why there."""

    @property
    def passed(self) -> bool:
        """Whether no law is violated or vacuous."""
        return not any(line.broken for line in self.lines)

    def of(self, run: int) -> dict[str, Outcome]:
        """The outcomes of one recording by law."""
        return {line.outcome.law: line.outcome for line in self.lines if line.run == run}

    def with_lines(self, *lines: Line) -> Report:
        """The report with more lines, e.g. of a scenario's own recomputation."""
        return replace(self, lines=(*self.lines, *lines))

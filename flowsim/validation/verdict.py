"""What the judge says: one line per law and recording."""

from __future__ import annotations

from dataclasses import dataclass

from flowsim.laws.law import Outcome, Verdict


@dataclass(frozen=True, slots=True)
class Audited:
    """What the slow form of a law says of one recording; ``findings`` counts each way in which it found the law broken."""

    verdict: Verdict
    rows_examined: int
    findings: tuple[tuple[str, int], ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Line:
    """One law judged on one recording; ``seconds`` is the time of the law over all recordings together."""

    run: int
    outcome: Outcome
    seconds: float
    audited: Audited | None = None
    """The slow form's answer, where it was asked for and the law applies."""

    @property
    def disputed(self) -> bool:
        """Whether the slow form says something else: then a column that the recorder derived is wrong, or a judge is."""
        if self.audited is None:
            return False
        mine = (self.outcome.verdict, self.outcome.rows_examined)
        return mine != (self.audited.verdict, self.audited.rows_examined)

    @property
    def broken(self) -> bool:
        """Violated, vacuous or disputed: none is a pass."""
        return self.outcome.verdict in (Verdict.VIOLATED, Verdict.VACUOUS) or self.disputed


@dataclass(frozen=True, slots=True)
class Report:
    """All lines: recordings in the order of the arguments, laws in that of the catalogue."""

    recordings: tuple[str, ...]
    """Paths as opened; a line's ``run`` is an index into them."""
    lines: tuple[Line, ...]

    @property
    def passed(self) -> bool:
        """Whether no law is violated, vacuous or disputed."""
        return not any(line.broken for line in self.lines)

    def of(self, run: int) -> dict[str, Outcome]:
        """The outcomes of one recording by law."""
        return {line.outcome.law: line.outcome for line in self.lines if line.run == run}

    def with_lines(self, *lines: Line) -> Report:
        """The report with more lines, e.g. of a scenario's own recomputation."""
        return Report(self.recordings, (*self.lines, *lines))

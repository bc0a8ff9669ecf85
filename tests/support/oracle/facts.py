"""The input of a check, and how it reports."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Protocol

from flowsim.facts.kinds import Level
from flowsim.laws.findings import EVIDENCE_ROWS
from flowsim.laws.law import Outcome, Verdict

Row = tuple[int, ...]
NOTHING_KEPT = "the run ended before anything was kept"
"""Not even the description of the job: whether a law applies is not known."""


class Facts(Protocol):
    """Recorded facts, in memory or on disk; rows are tuples in the order of the table's columns."""

    @property
    def level(self) -> Level:
        """What was recorded."""

    def rows(self, table: str) -> Sequence[Row]:
        """The rows of a fact table."""

    def static_rows(self, table: str) -> Sequence[tuple[int | str, ...]]:
        """The rows of a description table."""

    def attempt(self, task: int, seq: int) -> int:
        """The attempt of its task in which a fact was recorded."""


class Findings:
    """Counts what one check examined and what it found broken, and keeps the first violations as evidence."""

    __slots__ = ("evidence", "rows_examined", "violations")

    def __init__(self, rows_examined: int) -> None:
        self.rows_examined = rows_examined
        self.violations = 0
        self.evidence: list[dict[str, object]] = []

    def broken(self, what: str, **where: object) -> None:
        """Counts one violation; ``where`` says which row, by column names."""
        self.violations += 1
        if len(self.evidence) < EVIDENCE_ROWS:
            self.evidence.append({"what": what, **{name: _plain(value) for name, value in where.items()}})

    def outcome(self, law: str, reason: str = "") -> Outcome:
        """The verdict that follows from the counts."""
        if self.violations:
            verdict = Verdict.VIOLATED
        else:
            verdict = Verdict.HOLDS if self.rows_examined else Verdict.VACUOUS
        return Outcome(law, verdict, self.rows_examined, self.violations, tuple(self.evidence), reason)


def not_applicable(law: str, reason: str) -> Outcome:
    """The law has nothing to speak of in this recording."""
    return Outcome(law, Verdict.NOT_APPLICABLE, 0, 0, (), reason)


def _plain(value: object) -> object:
    if isinstance(value, Enum):
        return value.name.lower()
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def multiset_difference(expected: Sequence[Row], actual: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """What is missing and what is unexpected, each in its own order."""
    spare: dict[Row, int] = {}
    for row in actual:
        spare[row] = spare.get(row, 0) + 1
    missing: list[Row] = []
    for row in expected:
        left = spare.get(row, 0)
        if left:
            spare[row] = left - 1
        else:
            missing.append(row)
    unexpected: list[Row] = []
    for row in reversed(actual):
        if spare.get(row, 0):
            spare[row] -= 1
            unexpected.append(row)
    unexpected.reverse()
    return missing, unexpected

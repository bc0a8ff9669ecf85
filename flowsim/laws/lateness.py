"""What laws report of a task or timer that is late: in an explored run, time can pass before an event that is due."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from flowsim.laws.law import Outcome, Verdict

_LATE: Final = frozenset(
    {
        "a due timer did not fire",
        "no watermark is generated for the highest timestamp",
        "not idle although the timeout has passed",
        "not idle although all its splits are",
    }
)
_WAITS: Final = ", but the task waits"
_FIRED_LATE: Final = "a timer that is not registered is fired or deleted"
"""Follows from a timer that is late: the law does not expect it any more."""


def without_lateness(outcomes: Iterable[Outcome]) -> list[Outcome]:
    """Returns the outcomes for an explored run: a law whose evidence is only that something is late does not apply."""
    return [_judged(outcome) for outcome in outcomes]


def _judged(outcome: Outcome) -> Outcome:
    if outcome.verdict is not Verdict.VIOLATED:
        return outcome
    found = {str(row["what"]) for row in outcome.evidence}
    late = {what for what in found if what in _LATE or what.endswith(_WAITS)}
    if not late or found - late - {_FIRED_LATE}:
        return outcome
    reason = "in an explored run time can pass before an event that is due"
    return replace(outcome, verdict=Verdict.NOT_APPLICABLE, violations=0, evidence=(), reason=reason)

"""The verdicts of one run, or of several, as one line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from flowsim.laws.law import Outcome, Verdict

_WORST_FIRST: Final = (Verdict.VIOLATED, Verdict.VACUOUS, Verdict.HOLDS, Verdict.NOT_APPLICABLE)
_MOST_NAMES: Final = 4


def verdict_line(outcomes: Iterable[Outcome]) -> str:
    """Names the violated and the vacuous laws, and counts those that hold and those that do not apply.

    A law of several recordings has its worst verdict: violated, then vacuous, holds, not applicable. Recomputations
    and SQL laws that hold are named.

    >>> line = [Outcome("valve", Verdict.HOLDS, 4, 0), Outcome("joins", Verdict.NOT_APPLICABLE, 0, 0)]
    >>> verdict_line(line)
    '1 law holds, 1 does not apply'
    >>> verdict_line([*line, Outcome("mails", Verdict.VACUOUS, 0, 0), Outcome("state", Verdict.VIOLATED, 9, 2)])
    'state is violated, mails is vacuous, 1 law holds, 1 does not apply'
    """
    worst: dict[str, Verdict] = {}
    for outcome in outcomes:
        known = worst.get(outcome.law, outcome.verdict)
        worst[outcome.law] = min(known, outcome.verdict, key=_WORST_FIRST.index)
    return line_of(worst)


def line_of(verdicts: Mapping[str, Verdict]) -> str:
    """Returns the line for the verdict of each law."""
    by_verdict: dict[Verdict, list[str]] = {verdict: [] for verdict in Verdict}
    for law, verdict in verdicts.items():
        by_verdict[verdict].append(law)
    parts = [
        f"{_names(laws)} {'is' if len(laws) == 1 else 'are'} {verdict.value}"
        for verdict in (Verdict.VIOLATED, Verdict.VACUOUS)
        if (laws := by_verdict[verdict])
    ]
    holding, others = by_verdict[Verdict.HOLDS], len(by_verdict[Verdict.NOT_APPLICABLE])
    # Recomputations and SQL laws are named: they check what the user asked for.
    named = [law for law in holding if ":" in law]
    counted = len(holding) - len(named)
    if holding:
        subjects = _joined([*([_laws(counted)] if counted else []), *named])
        parts.append(f"{subjects} {'holds' if len(holding) == 1 else 'hold'}")
    if others:
        subject = str(others) if counted else _laws(others)
        parts.append(f"{subject} {'does' if others == 1 else 'do'} not apply")
    return ", ".join(parts) or "no law was checked"


def _laws(number: int) -> str:
    return f"{number} {'law' if number == 1 else 'laws'}"


def _names(laws: Sequence[str]) -> str:
    if len(laws) <= _MOST_NAMES:
        return _joined(laws)
    return _joined([*laws[: _MOST_NAMES - 1], f"{len(laws) - _MOST_NAMES + 1} more laws"])


def _joined(words: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))

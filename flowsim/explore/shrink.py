"""Fewer choices that lead to the same finding."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from flowsim.sim.choice_token import ChoiceToken

REPLAYS: Final = 200
"""The most runs of one shrinking."""

Deviations = tuple[tuple[int, int], ...]


def shrunk(token: ChoiceToken, still_fails: Callable[[ChoiceToken], bool], replays: int = REPLAYS) -> ChoiceToken:
    """Returns a token with fewer choices that differ from the default, or with options nearer to it.

    ``still_fails`` runs a token; it returns False for one that does not fit the job. First parts of the choices are left
    out, from halves to single ones (delta debugging: Zeller and Hildebrandt, 2002), then options are lowered.
    """
    left = [replays]

    def fails(deviations: Sequence[tuple[int, int]]) -> bool:
        if left[0] <= 0:
            return False
        left[0] -= 1
        return still_fails(replace(token, deviations=tuple(deviations)))

    deviations = _lowered(_without_parts(token.deviations, fails), fails)
    return replace(token, deviations=deviations)


def shortest(
    token: ChoiceToken,
    recounted: Callable[[ChoiceToken], ChoiceToken | None],
    still_fails: Callable[[ChoiceToken], bool],
    replays: int = REPLAYS,
) -> ChoiceToken:
    """Returns the shorter of the shrunk tokens in both orders of turns, each after at most so many replays.

    ``recounted`` returns the same choices in the other order. If a choice is left out, all later turns are those of the default
    order: a bug in which one task waits for long needs few choices in one of the orders, and many in the other.
    """
    first = shrunk(token, still_fails, replays)
    other = recounted(token) if token.space == "runtime" and len(first.deviations) > 1 else None
    if other is None:
        return first
    return min(first, shrunk(other, still_fails, replays), key=lambda each: len(each.deviations))


def _without_parts(deviations: Deviations, fails: Callable[[Deviations], bool]) -> Deviations:
    size = len(deviations)
    while size:
        start = 0
        while start < len(deviations):
            fewer = deviations[:start] + deviations[start + size :]
            if fails(fewer):
                deviations = fewer
            else:
                start += size
        size = min(size // 2, len(deviations))
    return deviations


def _lowered(deviations: Deviations, fails: Callable[[Deviations], bool]) -> Deviations:
    for index, (number, option) in enumerate(deviations):
        for lower in range(1, option):
            changed = (*deviations[:index], (number, lower), *deviations[index + 1 :])
            if fails(changed):
                deviations = changed
                break
    return deviations

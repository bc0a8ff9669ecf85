"""Which parts of a large recording a report holds fact by fact."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from flowsim.report.overview import Overview, Point

Bools = npt.NDArray[np.bool_]

_MOST_POINTS: Final = 40
_LEAST_FACTS: Final = 400
"""Around each point; with less room the least important points are left out."""


@dataclass(frozen=True, slots=True)
class ExactPart:
    """All facts from step ``first`` (inclusive) to step ``end`` (exclusive); ``why``: what the part was chosen for."""

    first: int
    end: int
    why: tuple[str, ...]

    def __len__(self) -> int:
        return self.end - self.first


def parts_around(overview: Overview, facts: int) -> list[ExactPart]:
    """Returns parts of at most ``facts`` facts in total, around the points of interest, the begin and the end."""
    begin, end = Point(-1, 0, "begin of the run"), Point(-1, max(0, overview.steps - 1), "end of the run")
    points = sorted([begin, end, *overview.points])[: min(_MOST_POINTS, max(2, facts // _LEAST_FACTS))]
    low, high = 0, facts
    while low < high:
        middle = (low + high + 1) // 2
        if sum(map(len, _parts(points, middle, overview.steps))) <= facts:
            low = middle
        else:
            high = middle - 1
    return _parts(points, low, overview.steps)


def part_between(overview: Overview, from_ns: int | None, to_ns: int | None, facts: int) -> list[ExactPart]:
    """Returns the one part from a time to another, or its first ``facts`` facts."""
    first = 0 if from_ns is None else overview.step_at(from_ns)
    end = overview.steps if to_ns is None else min(overview.steps, overview.step_at(to_ns) + 128)
    return [ExactPart(first, max(first, min(end, first + facts)), ("asked for",))]


def _parts(points: Iterable[Point], width: int, steps: int) -> list[ExactPart]:
    """Parts of ``width`` facts around each point, joined where they overlap."""
    found: list[ExactPart] = []
    for point in sorted(points, key=lambda one: one.step):
        first = max(0, min(point.step - width // 2, steps - width))
        end = min(steps, first + width)
        if found and first <= found[-1].end:
            before = found.pop()
            found.append(ExactPart(before.first, max(before.end, end), (*before.why, point.why)))
        else:
            found.append(ExactPart(first, end, (point.why,)))
    return found


def is_inside(first_step: int, count: int, parts: Sequence[ExactPart]) -> Bools:
    """For ``count`` facts from ``first_step`` on: whether each one is in a part."""
    found = np.zeros(count, dtype=np.bool_)
    for part in parts:
        found[max(0, part.first - first_step) : max(0, part.end - first_step)] = True
    return found

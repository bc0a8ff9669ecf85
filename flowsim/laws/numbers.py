"""A set of numbers that arrive almost in order."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

_LOWEST: Final = -(2**63)


class Numbers:
    """All integers below ``top``, except those in some gaps; the memory depends only on the number of gaps."""

    __slots__ = ("top", "_gaps")

    def __init__(self) -> None:
        self.top = 0
        self._gaps = [(_LOWEST, 0)]
        """First number of each gap and the number after its last one, ascending."""

    def __contains__(self, number: int) -> bool:
        return number < self.top and self._gap(number) is None

    def _gap(self, number: int) -> int | None:
        place = bisect_right(self._gaps, number, key=lambda gap: gap[0]) - 1
        return place if place >= 0 and number < self._gaps[place][1] else None

    def add(self, number: int) -> bool:
        """Adds a number; returns whether it is new."""
        if number >= self.top:
            if number > self.top:
                self._gaps.append((self.top, number))
            self.top = number + 1
            return True
        place = self._gap(number)
        if place is None:
            return False
        first, end = self._gaps[place]
        self._gaps[place : place + 1] = [gap for gap in ((first, number), (number + 1, end)) if gap[0] < gap[1]]
        return True

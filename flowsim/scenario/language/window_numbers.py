"""Numbers that windows ask of records: distances of deltas, gaps of sessions."""

from __future__ import annotations

from collections.abc import Callable


class Distance:
    """A DeltaFunction: the difference of one number of both records, the later one's minus the earlier one's."""

    __slots__ = ("_number",)

    def __init__(self, number: Callable[[object], float]) -> None:
        self._number = number

    def __call__(self, old: object, new: object) -> float:
        return float(self._number(new) - self._number(old))


class Gap:
    """A SessionWindowTimeGapExtractor: the gap of a record's session in ms."""

    __slots__ = ("extract",)

    def __init__(self, gap: Callable[[object], int]) -> None:
        self.extract = gap

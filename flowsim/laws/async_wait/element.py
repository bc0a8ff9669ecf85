"""What the laws of async operators keep of one element, and which numbers of elements were used."""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

_LOWEST: Final = -(2**63)


class Element:
    """What happened to one element of an async operator so far; sequence numbers are -1 for what has not happened."""

    __slots__ = (
        "calls", "emitted", "fingerprint", "kind", "outcome", "put", "put_ns", "rank", "retries", "rows", "timed_out",
        "timestamp",
    )  # fmt: skip

    def __init__(self) -> None:
        self.put = -1
        """Sequence number of its PUT; ``put_ns``, ``kind`` and ``timestamp`` are of the same row."""
        self.put_ns = self.kind = self.timestamp = 0
        self.rank = 0
        """Its place in the order of emissions: an element of a lower rank must be emitted before."""
        self.outcome = -1
        """Sequence number of its first outcome; ``rows`` and ``fingerprint`` are of the same row."""
        self.rows = self.fingerprint = 0
        self.timed_out = False
        self.calls = 0
        self.retries: set[int] | None = None
        """The attempts after which it waited for a retry; None for none."""
        self.emitted = False


class Numbers:
    """The numbers of the elements that were put: all below ``top``, except those in some gaps.

    Elements are numbered from 0 without gaps, so that there are none but those of a wrong recording.
    """

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
        """Adds a number; answers whether it was not there."""
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

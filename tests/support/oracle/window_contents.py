"""The contents of a window as a law counts them: number of records, and their combined fingerprints (rules 10.30, 10.31)."""

from __future__ import annotations

from dataclasses import dataclass, field

from flowsim.units import NO_TIMESTAMP
from flowsim.values.java_long import wrapped
from tests.support.oracle.window_plan import Evictor

Account = tuple[int, int, int]
"""Records, sum of fingerprint >> 31, exclusive or of the fingerprints."""


@dataclass(slots=True)
class Contents:
    """The records of one key and window; each of them is kept where an evictor will choose among them, or ``keeps``."""

    evictor: Evictor | None
    keeps: bool = False
    rows: int = 0
    total: int = 0
    xor: int = 0
    records: list[tuple[int, int, bool]] = field(default_factory=list)
    """Timestamp, fingerprint, and whether it came from the right one of two streams; kept for an evictor or a join."""
    given: list[tuple[int, int, bool]] = field(default_factory=list)
    """What the last firing was with."""
    since: tuple[int, int] = (0, 0)
    """Of the first of these records: how many the operator had taken in with it, and when in ns."""

    def add(self, timestamp: int, fingerprint: int, is_right: bool, since: tuple[int, int]) -> None:
        if self.rows == 0:
            self.since = since
        self._count(fingerprint)
        if self.evictor is not None or self.keeps:
            self.records = [*self.records, (timestamp, fingerprint, is_right)]

    def absorb(self, other: Contents) -> None:
        if self.rows == 0:
            self.since = other.since
        self.rows += other.rows
        self.total += other.total
        self.xor ^= other.xor
        self.records = self.records + other.records

    def empty(self) -> None:
        self.rows = self.total = self.xor = 0
        self.records = []

    def account(self) -> Account:
        return self.rows, self.total, self.xor

    def fire(self) -> Account:
        """What the window function is given; what the evictor takes out is gone."""
        self.given = self.records
        if self.evictor is None:
            return self.account()
        if not self.evictor.after:
            self._evict(self.evictor)
        given = self.account()
        self.given = self.records
        if self.evictor.after:
            self._evict(self.evictor)
        return given

    def _evict(self, evictor: Evictor) -> None:
        kept = self.records
        if evictor.kind == "count":
            kept = kept[max(0, len(kept) - evictor.length) :]
        elif kept and kept[0][0] != NO_TIMESTAMP:
            oldest = wrapped(max(timestamp for timestamp, _, _ in kept) - evictor.length)
            kept = [record for record in kept if record[0] > oldest]
        self.rows = self.total = self.xor = 0
        self.records = kept
        for _, fingerprint, _ in kept:
            self._count(fingerprint)

    def _count(self, fingerprint: int) -> None:
        self.rows += 1
        self.total += fingerprint >> 31
        self.xor ^= fingerprint

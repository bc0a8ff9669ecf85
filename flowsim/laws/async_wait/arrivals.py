"""Part of law async-order: what arrives at an async operator is put into its queue before the next arrival (rules 11.1, 11.2)."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import ElementKind
from flowsim.laws.async_wait.places import NEVER, Check, Place, Step
from flowsim.laws.findings import Findings, named

_RECORD: Final = int(ElementKind.RECORD)
_Arrival = tuple[int, int, int, int]
"""Sequence number, kind, timestamp and fingerprint (of a record)."""


class Arrivals(Check):
    """Compares the records and watermarks that arrive at the head of a task with the elements that are put.

    An arrival owns the elements that are put before the next arrival.
    """

    __slots__ = ("_is_put", "_last", "_puts")

    def __init__(self, place: Place, found: Findings) -> None:
        super().__init__(place, found)
        self._last: _Arrival | None = None
        self._puts = 0
        """Number of elements put since."""
        self._is_put = False
        """Whether one of them matches its payload."""

    def arrive(self, arrival: _Arrival) -> None:
        """A record or watermark before the end of the input."""
        if arrival[0] < self.place.end:
            self._settle()
            self._last, self._puts, self._is_put = arrival, 0, False

    def put(self, step: Step) -> None:
        """An element that is not from a snapshot is put."""
        if self._last is None:
            self.broken("an element was put before any element arrived", step)
            return
        _, kind, timestamp, fingerprint = self._last
        same = (kind, timestamp) == (step.kind, step.timestamp) and (kind != _RECORD or fingerprint == step.fingerprint)
        self._puts += 1
        self._is_put |= same

    def _settle(self) -> None:
        if self._last is not None and (self._puts != 1 or not self._is_put):
            seq, kind, timestamp, fingerprint = self._last
            arrival = {"kind": named(ElementKind, kind), "timestamp": timestamp, "fingerprint": fingerprint}
            self.broken_at("an element was not put as it arrived", seq, **arrival, put=self._puts, expected=1)

    def end(self) -> None:
        """If the input has not ended, the last arrival may still wait for its place."""
        if self._puts or self.place.end != NEVER:
            self._settle()

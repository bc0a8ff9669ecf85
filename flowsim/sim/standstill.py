"""Notices that virtual time stands still while a run works."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flowsim.errors import FlowsimError

OnStandstill = Callable[[bool], object]
"""Called after each 100,000 turns of actors at one time; with True before a Livelock is raised."""
_STANDSTILL_TURNS: Final = 100_000


class Livelock(FlowsimError):
    """Callbacks schedule each other without end while the clock does not advance."""


class Standstill:
    """Counts the turns of actors at one time; a run whose clock advances makes no report."""

    __slots__ = ("_report", "_turns")

    def __init__(self, report: OnStandstill | None) -> None:
        self._report = report
        self._turns = 0

    def on_turn(self) -> None:
        self._turns += 1
        if self._turns >= _STANDSTILL_TURNS:
            self._turns = 0
            if self._report is not None:
                self._report(False)

    def time_advanced(self) -> None:
        self._turns = 0

    def livelock(self, callbacks: int, now_ns: int, following: object) -> Livelock:
        """Reports a livelock; returns its error."""
        if self._report is not None:
            self._report(True)
        return Livelock(
            f"{callbacks} callbacks ran while virtual time stood still at {now_ns} ns, the next of them {following}: "
            "something polls in a loop; let it wait for an event, or sleep above 0"
        )

"""Replays the timers of one service together with the watermarks of its operator (rules 9.2, 9.4, 9.10, 9.18)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final

import numpy as np

from flowsim.facts.kinds import TimeDomain, TimerAction
from flowsim.laws.event_time.paths import FREE, INPUTS
from flowsim.laws.findings import Findings, named
from flowsim.laws.free_moments import FreeMoments
from flowsim.laws.slices import Mask, Row, Rows, each_row
from flowsim.laws.timers.waiting import Due, Name, Waiting
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP, NS_PER_MS

COLUMNS: Final = (
    "seq", "time_ns", "action", "domain", "timestamp", "key", "window_start", "window_end", "watermark",
)  # fmt: skip
PLACE: Final = ("task", "operator", "service")
FORWARDED: Final = -3
"""Used as the origin of a watermark that the task sent."""

Step = tuple[int, int, int]
"""Sequence number, origin and time of a watermark that an operator received, or that the task sent."""

_EVENT_TIME: Final = int(TimeDomain.EVENT_TIME)
_REGISTER: Final = int(TimerAction.REGISTER)
_FIRE: Final = int(TimerAction.FIRE)
NEVER: Final = 2**63


class Service:
    """One timer service of an operator.

    ``origin``: the origin of the operator's event time, see ``event_time.paths``. ``is_head``: whether the operator is
    the head of its chain. ``spread``: whether the timers of one watermark fire in several actions (rule 9.18).
    """

    __slots__ = ("_event_time", "_found", "_is_head", "_moments", "_origin", "_place", "_processing_time",
                 "_received", "_removed", "_spread", "_watermark", "quiesced_at")  # fmt: skip

    def __init__(
        self, place: Sequence[int], origin: int, is_head: bool, spread: bool, moments: FreeMoments, found: Findings
    ) -> None:
        """``place``: as ``PLACE``."""
        self._moments = moments
        self.quiesced_at = NEVER
        """The row from which on no processing-time timer fires (rules 3.27, 4.20)."""
        self._removed = -1
        """The last row that removed a processing-time timer."""
        self._place = dict(zip(PLACE, place, strict=True))
        self._origin = origin
        self._is_head = is_head
        self._spread = spread
        self._found = found
        self._event_time = Waiting()
        self._processing_time = Waiting()
        self._watermark = NO_TIMESTAMP
        self._received = -1
        """Sequence number of the fact with the watermark."""

    def restore(self, domain: int, timestamp: int, name: Name) -> None:
        """Adds a timer of the snapshot from which the attempt starts."""
        if domain == _EVENT_TIME:
            self._event_time.register(timestamp, name, -1)
        else:
            self._processing_time.register(timestamp, name, -1)

    def feed(self, timers: Rows | None, mask: Mask | None, steps: Sequence[Step]) -> None:
        """Processes the selected rows of ``timers`` and the watermarks of all origins of one slice."""
        if timers is None:
            for step in steps:
                self.take(step)
            return
        rows, seqs = each_row(timers, COLUMNS, mask), timers.column("seq")
        stops = np.searchsorted(seqs if mask is None else seqs[mask], [step[0] for step in steps]).tolist()
        for start, stop, step in zip([0, *stops], stops, steps, strict=False):
            if stop > start:
                self._replay(islice(rows, stop - start))
            self.take(step)
        self._replay(rows)

    def take(self, step: Step) -> None:
        """Timers due at the previous watermark have fired before the next one arrives (rules 8.15, 9.4, 9.12)."""
        seq, origin, watermark = step
        if origin == self._origin:
            earliest = self._event_time.earliest()
            if earliest is not None and earliest <= self._watermark and not self._spread:
                self._due(self._watermark, self._received)
            self._watermark, self._received = watermark, seq
        elif origin == FORWARDED and self._is_head and self._origin == INPUTS:
            self._due(watermark, NEVER)

    def _due(self, watermark: int, before: int) -> None:
        self._left(self._event_time.take_due(watermark, before), watermark=watermark)

    def _left(self, due: Iterable[Due], **reached: int) -> None:
        for timestamp, (key, start, end), seq in due:
            self._found.broken(
                "a due timer did not fire", (self._place["task"], seq), **self._place, seq=seq, timestamp=timestamp, key=key,
                window_start=start, window_end=end, **reached,
            )  # fmt: skip

    def pass_moments(self, seq: int) -> None:
        """Processing-time timers that were due before a row have fired, as the task was free to run their mail."""
        earliest = self._processing_time.earliest()
        if earliest is None:
            return
        seq = min(seq, self.quiesced_at)
        waited, due_ms = self._moments.waited.before(seq)
        if earliest <= due_ms:
            self._left(self._processing_time.take_due(due_ms, waited), due_ms=due_ms)
        # Each timer has to wait for those before it (rule 9.9).
        worked, due_ms = self._moments.worked.before(seq)
        if earliest <= due_ms and worked > self._removed:
            self._left(self._processing_time.take_due(due_ms, worked), due_ms=due_ms)

    def _replay(self, rows: Iterable[Row]) -> None:
        received, spread, is_free = self._watermark, self._spread, self._origin == FREE
        event_time, processing_time = self._event_time, self._processing_time
        for row in rows:
            seq, _, action, domain, timestamp, key, start, end, watermark = row
            if domain == _EVENT_TIME:
                waiting = event_time
            else:
                waiting = processing_time
                self.pass_moments(seq)
                self._removed = self._removed if action == _REGISTER else seq
            if action == _REGISTER:
                if not waiting.register(timestamp, (key, start, end), seq):
                    self._broken("a timer is registered while an equal timer is registered", row)
                    continue
            elif not waiting.remove(timestamp, (key, start, end)):
                self._broken("a timer that is not registered is fired or deleted", row)
                continue
            elif action == _FIRE:
                wrong = self._untimely(waiting, row)
                if wrong:
                    self._broken(wrong, row)
                    continue
            if watermark != received and not is_free and not (spread and watermark < received):
                self._broken("the recorded watermark is not the watermark of the operator", row)

    def _untimely(self, waiting: Waiting, row: Row) -> str:
        _, time_ns, _, domain, timestamp, _, _, _, _ = row
        earliest = waiting.earliest()
        if earliest is not None and earliest < timestamp:
            return "a timer fired before a timer with an earlier time"
        if domain != _EVENT_TIME:
            return "a timer fired before its time" if time_ns // NS_PER_MS <= timestamp else ""
        is_due = timestamp <= self._watermark or self._origin == FREE
        return "" if is_due else "a timer fired before the watermark reached its time"

    def _broken(self, what: str, row: Row) -> None:
        seq, time_ns, action, domain, timestamp, key, start, end, watermark = row
        self._found.broken(
            what, (self._place["task"], seq), **self._place, seq=seq, action=named(TimerAction, action),
            domain=named(TimeDomain, domain), timestamp=timestamp, key=key, window_start=start, window_end=end,
            time_ns=time_ns, watermark=watermark, expected_watermark=None if self._origin == FREE else self._watermark,
        )  # fmt: skip

    def end(self) -> None:
        """The end of a whole run."""
        self._due(self._watermark, self._received)

    def waiting(self, domain: int) -> list[tuple[int, Name]]:
        """The timers of a time domain that wait: their times, keys and windows."""
        return self._event_time.all() if domain == _EVENT_TIME else self._processing_time.all()


class BatchService(Service):
    """A timer service in BATCH mode: all timers of a key fire at its end, those of event time first."""

    __slots__ = ()

    def take(self, step: Step) -> None:
        """Ignores the watermark: only the last one comes, after the last key."""

    def pass_moments(self, seq: int) -> None:
        """Ignores the clock."""

    def _untimely(self, waiting: Waiting, row: Row) -> str:
        earliest = waiting.earliest()
        if earliest is not None and earliest < row[4]:
            return "a timer fired before a timer with an earlier time"
        if row[-1] != MAX_WATERMARK:
            return "a timer fired before the end of its key"
        if waiting is self._processing_time and self._event_time.earliest() is not None:
            return "a timer of processing time fired before one of event time"
        return ""

    def end(self) -> None:
        for waiting in (self._event_time, self._processing_time):
            self._left(waiting.take_due(MAX_WATERMARK, NEVER))

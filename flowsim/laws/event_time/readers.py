"""Compares the event time of one channel or queue with the emissions of its origin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Final

from flowsim.laws.event_time.marks import Mark, statuses, watermarks
from flowsim.laws.event_time.paths import LAST, STATUS, WATERMARK, Emission, name_of
from flowsim.laws.findings import Findings
from flowsim.units import NO_TIMESTAMP

BEGINNING: Final = -1
"""The cause before all others."""
NOTHING: Final[Emission] = (-1, 0)
"""Begins a cause without an emission so far, and so ends the previous cause, even with the same sequence number."""

Place = Mapping[str, int]
"""The task, and the channel or the operator with the queue; for evidence."""


class Reader:
    """The marks between a cause and the next one must be the marks of that cause, in order.

    ``may_end``: the end of event time needs no cause (rule 4.10). ``takes_statuses`` is False if statuses are not
    judged: in the queue of an operator they overtake watermarks (rule 11.3).
    """

    __slots__ = ("_cause", "_found", "_marks", "_may_end", "_owed", "_place", "_takes_statuses")

    def __init__(self, found: Findings, place: Place, may_end: bool = False, takes_statuses: bool = True) -> None:
        self._found = found
        self._place = place
        self._may_end = may_end
        self._takes_statuses = takes_statuses
        self._cause = BEGINNING
        self._owed: list[Emission] = []
        """The cause's marks that are not read yet."""
        self._marks: list[Mark] = []
        """Marks read since the cause, without the first ones that are the marks of the cause."""

    def feed(self, causes: Sequence[Mark], marks: Sequence[Mark]) -> None:
        """Reads the marks of one epoch; the cause of the previous epoch may have more in this one."""
        following = iter(causes)
        cause, owed, waiting = next(following, None), self._owed, self._marks
        for mark in marks:
            while cause is not None and cause[0] <= mark[0]:
                self._take(*cause)
                cause = next(following, None)
            if owed and not waiting and owed[0] == mark[1]:
                del owed[0]
            else:
                waiting.append(mark)
        while cause is not None:
            self._take(*cause)
            cause = next(following, None)

    def _take(self, seq: int, emission: Emission) -> None:
        if seq != self._cause or emission is NOTHING:
            if self._marks or self._owed:
                self.settle()
                self._not_sent()
            self._cause = seq
        if emission[0] == WATERMARK or (self._takes_statuses and emission[0] == STATUS):
            self._owed.append(emission)

    def settle(self) -> None:
        """Compares the marks read with the marks of the cause so far."""
        owed, place = self._owed, 0
        for seq, emission in self._marks:
            if place < len(owed) and owed[place] == emission:
                place += 1
            elif not (self._may_end and emission == LAST):
                self._broken(
                    "a watermark or status has no cause",
                    seq,
                    expected=list(map(name_of, owed[place:])),
                    found=name_of(emission),
                )
        del owed[:place]
        self._marks.clear()

    def _not_sent(self) -> None:
        if self._owed:
            self._broken(
                "an expected watermark or status is not sent",
                max(self._cause, 0),
                expected=list(map(name_of, self._owed)),
            )
            self._owed.clear()

    def _broken(self, what: str, seq: int, **shown: object) -> None:
        self._found.broken(what, (self._place["task"], seq), **self._place, seq=seq, **shown)

    def end(self, whole: bool) -> None:
        """In a prefix the last cause may still emit more."""
        self.settle()
        if whole:
            self._not_sent()


class HeldBackReader:
    """Interruptible timers delay and merge watermarks (rule 9.18), but not statuses."""

    __slots__ = ("_called_for", "_found", "_place", "_reached", "_statuses")

    def __init__(self, found: Findings, place: Place, takes_statuses: bool = True) -> None:
        self._found = found
        self._place = place
        self._statuses = Reader(found, place) if takes_statuses else None
        self._called_for: set[int] = set()
        """Watermarks that may be read, among others."""
        self._reached = NO_TIMESTAMP

    def feed(self, causes: Sequence[Mark], marks: Sequence[Mark]) -> None:
        """Reads the marks of one epoch."""
        if self._statuses is not None:
            self._statuses.feed(statuses(causes), statuses(marks))
        steps = [(seq, False, value) for seq, (_, value) in watermarks(causes)]
        steps += [(seq, True, value) for seq, (_, value) in watermarks(marks)]
        for seq, is_mark, value in sorted(steps):
            if not is_mark:
                self._called_for.add(value)
                continue
            if value <= self._reached or value not in self._called_for:
                self._found.broken(
                    "a watermark or status has no cause", (self._place["task"], seq), **self._place, seq=seq,
                    found=name_of((WATERMARK, value)), before=self._reached,
                )  # fmt: skip
            self._reached = max(self._reached, value)
        self._called_for = {value for value in self._called_for if value > self._reached}

    def settle(self) -> None:
        """Compares the statuses that were read with those that were emitted up to now."""
        if self._statuses is not None:
            self._statuses.settle()

    def end(self, whole: bool) -> None:
        """Any watermark may be merged into the next one."""
        if self._statuses is not None:
            self._statuses.end(whole)


class AlikeChannels:
    """Rule 8.18: marks that a source generates itself are the same on every channel."""

    __slots__ = ("_compared", "_found", "_task", "_waiting")

    def __init__(self, found: Findings, task: int, channels: Sequence[int]) -> None:
        self._found = found
        self._task = task
        self._compared = 0
        self._waiting: dict[int, list[Emission]] = {channel: [] for channel in channels}
        """Marks that some channel does not have yet."""

    def feed(self, sent: Mapping[int, Sequence[Mark]]) -> None:
        """Examines the marks of one epoch."""
        for channel, waiting in self._waiting.items():
            waiting += [emission for _, emission in sent.get(channel, ())]
        self._compare(min(map(len, self._waiting.values())))

    def _compare(self, count: int) -> None:
        side_by_side = zip_longest(*(waiting[:count] for waiting in self._waiting.values()))
        for number, emissions in enumerate(side_by_side, self._compared):
            if any(emission != emissions[0] for emission in emissions):
                self._found.broken(
                    "the watermarks or statuses differ between channels", (self._task, number),
                    task=self._task, number=number, channels=list(self._waiting),
                )  # fmt: skip
        for waiting in self._waiting.values():
            del waiting[:count]
        self._compared += count

    def end(self, whole: bool) -> None:
        """In a prefix a channel may lag behind."""
        if whole:
            self._compare(max(map(len, self._waiting.values())))

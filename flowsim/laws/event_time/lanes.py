"""Of law task-watermark: what one channel, or one queue, gets is what its origin called for, cause by cause."""

from __future__ import annotations

from collections import deque
from typing import Final

import numpy as np

from flowsim.laws.event_time.marks import FEW, Marks
from flowsim.laws.event_time.paths import WATERMARK, Emission, name_of
from flowsim.laws.law import Findings
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP

LAST: Final[Emission] = (WATERMARK, MAX_WATERMARK)
_NEVER: Final = 2**63
_FEWEST: Final = 64

Place = dict[str, int]
"""The task, and the channel or the operator that has the queue; for evidence."""


class Lane:
    """The marks between a cause and the next one are those that it calls for, in order.

    ``may_end``: the last watermark of all needs no cause (rule 4.10). ``takes_statuses`` is false of the queue of an
    operator: statuses overtake it (rule 11.3).
    """

    __slots__ = ("_cause", "_found", "_may_end", "_owed", "_place", "_takes_statuses")

    def __init__(self, found: Findings, place: Place, may_end: bool = False, takes_statuses: bool = True) -> None:
        self._found = found
        self._place = place
        self._may_end = may_end
        self._takes_statuses = takes_statuses
        self._cause = -1
        self._owed: deque[Emission] = deque()

    def feed(self, causes: Marks, marks: Marks) -> None:
        """Examines the marks of one epoch."""
        if not len(marks) <= FEW and self._takes_statuses and len(causes) and self._agree(causes, marks):
            return
        owed, place, called_for = self._owed, 0, causes.rows
        count = len(called_for)
        begin = called_for[0][0] if count else _NEVER
        for seq, kind, value in marks.rows:
            while begin <= seq:
                self._owe(*called_for[place])
                place += 1
                begin = called_for[place][0] if place < count else _NEVER
            if owed and owed[0] == (kind, value):
                owed.popleft()
            elif not (self._may_end and (kind, value) == LAST):
                self._found.broken(
                    "no cause for this mark", (self._place["task"], seq), **self._place, seq=seq,
                    expected=[name_of(*one) for one in owed], found=name_of(kind, value),
                )  # fmt: skip
        for cause in called_for[place:]:
            self._owe(*cause)

    def _agree(self, causes: Marks, marks: Marks) -> bool:
        """Whether the marks are all those called for, each between its cause and the next; the last cause may owe some."""
        begins, called_kinds, called_values = causes.columns
        seqs, kinds, values = marks.columns
        left = len(self._owed)
        if left:
            first = list(zip(kinds[:left].tolist(), values[:left].tolist(), strict=True))
            if first != list(self._owed) or seqs[left - 1] >= begins[0]:
                return False
            seqs, kinds, values = seqs[left:], kinds[left:], values[left:]
        if self._may_end and len(seqs) == len(begins) + 1 and (kinds[-1], values[-1]) == LAST:
            seqs, kinds, values = seqs[:-1], kinds[:-1], values[:-1]
        count = len(seqs)
        if not 0 < count <= len(begins) or seqs[0] < begins[0] or begins[min(count, len(begins) - 1)] != begins[-1]:
            return False
        if (kinds != called_kinds[:count]).any() or (values != called_values[:count]).any():
            return False
        if (begins[np.searchsorted(begins, seqs, "right") - 1] != begins[:count]).any():
            return False
        self._cause = int(begins[-1])
        self._owed = deque(zip(called_kinds[count:].tolist(), called_values[count:].tolist(), strict=True))
        return True

    def _owe(self, cause: int, kind: int, value: int) -> None:
        if cause != self._cause:
            if self._owed:
                self._not_sent()
                self._owed.clear()
            self._cause = cause
        if kind == WATERMARK or self._takes_statuses:
            self._owed.append((kind, value))

    def _not_sent(self) -> None:
        self._found.broken(
            "not sent", (self._place["task"], self._cause), **self._place, seq=self._cause,
            expected=[name_of(*one) for one in self._owed],
        )  # fmt: skip

    def end(self, whole: bool) -> None:
        """In a prefix the last cause may still call for more."""
        if whole and self._owed:
            self._not_sent()


class HeldBackLane:
    """Interruptible timers hold watermarks back and merge them (rule 9.18), but no statuses."""

    __slots__ = ("_called_for", "_found", "_limit", "_place", "_reached", "_statuses")

    def __init__(self, found: Findings, place: Place, takes_statuses: bool = True) -> None:
        self._found = found
        self._place = place
        self._statuses = Lane(found, place) if takes_statuses else None
        self._called_for: set[int] = set()
        """Watermarks that may follow, among others."""
        self._limit = _FEWEST
        self._reached = NO_TIMESTAMP

    def feed(self, causes: Marks, marks: Marks) -> None:
        """Examines the marks of one epoch."""
        if self._statuses is not None:
            self._statuses.feed(Marks(causes.statuses()), Marks(marks.statuses()))
        called_for, reached = self._called_for, self._reached
        steps = [(seq, True, value) for seq, kind, value in marks.rows if kind == WATERMARK]
        steps += [(seq, False, value) for seq, kind, value in causes.rows if kind == WATERMARK]
        steps.sort()
        for seq, is_mark, value in steps:
            if not is_mark:
                called_for.add(value)
                continue
            if value <= reached or value not in called_for:
                self._found.broken(
                    "no cause for this mark", (self._place["task"], seq), **self._place, seq=seq,
                    found=name_of(WATERMARK, value), before=reached,
                )  # fmt: skip
            reached = max(reached, value)
        self._reached = reached
        if len(called_for) > self._limit:
            self._called_for = {value for value in called_for if value > reached}
            self._limit = max(_FEWEST, 2 * len(self._called_for))

    def end(self, whole: bool) -> None:
        """Of the watermarks any may be merged into the next."""
        if self._statuses is not None:
            self._statuses.end(whole)


class AlikeLanes:
    """Rule 8.18: the marks of a source that generates them itself are the same on every channel."""

    __slots__ = ("_base", "_channels", "_found", "_next", "_task", "_waiting")

    def __init__(self, found: Findings, task: int, channels: list[int]) -> None:
        self._found = found
        self._task = task
        self._channels = channels
        self._next = dict.fromkeys(channels, 0)
        """Per channel how many of ``_waiting`` it has."""
        self._base = 0
        self._waiting: deque[tuple[Emission, list[int]]] = deque()
        """Marks that not all channels have; and on how many, and on how many in another form."""

    def feed(self, by_channel: dict[int, Marks]) -> None:
        """Examines the marks of one epoch."""
        if self._all_equal(by_channel):
            return
        waiting = self._waiting
        for channel in self._channels:
            marks = by_channel.get(channel)
            place = self._next[channel]
            for mark in marks.rows if marks is not None else ():
                emission = mark[1:]
                if place == len(waiting):
                    waiting.append((emission, [0, 0]))
                first, counts = waiting[place]
                counts[0] += 1
                counts[1] += first != emission
                place += 1
            self._next[channel] = place
        done = min(self._next.values())
        for number in range(self._base, self._base + done):
            if waiting.popleft()[1][1]:
                self._differ(number)
        self._moved(done)

    def _all_equal(self, by_channel: dict[int, Marks]) -> bool:
        first = by_channel.get(self._channels[0])
        if first is None or len(first) <= FEW or self._waiting:
            return False
        _, kinds, values = first.columns
        for channel in self._channels[1:]:
            marks = by_channel.get(channel)
            if marks is None or not np.array_equal(marks.columns[1], kinds):
                return False
            if not np.array_equal(marks.columns[2], values):
                return False
        self._base += len(first)
        return True

    def _moved(self, done: int) -> None:
        self._base += done
        for channel in self._channels:
            self._next[channel] -= done

    def _differ(self, number: int) -> None:
        self._found.broken(
            "not the same on every channel", (self._task, number),
            task=self._task, number=number, channels=self._channels,
        )  # fmt: skip

    def end(self, whole: bool) -> None:
        """In a prefix a channel may lag behind."""
        for number in range(self._base, self._base + len(self._waiting) if whole else 0):
            self._differ(number)

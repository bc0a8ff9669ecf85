"""Of law async-order: what arrives at an async operator is put into its queue before the next arrival (rules 11.1, 11.2)."""

from __future__ import annotations

from typing import Final

import numpy as np

from flowsim.facts.kinds import ElementKind
from flowsim.laws.async_wait.places import NEVER, Place, Steps, broken_rows
from flowsim.laws.law import Findings
from flowsim.laws.slices import Ints, Mask, Slice

_RECORD: Final = int(ElementKind.RECORD)
_WATERMARK: Final = int(ElementKind.WATERMARK)
_PAYLOAD: Final = ("kind", "timestamp", "fingerprint")


class Arrivals:
    """Compares the records and watermarks that arrive at the head of a task with the elements that are put.

    The last arrival waits for the next one: until then elements that are put belong to it.
    """

    __slots__ = ("_found", "_last", "_last_is_put", "_place", "_puts")

    def __init__(self, place: Place, found: Findings) -> None:
        self._place = place
        self._found = found
        self._last: Ints | None = None
        """Sequence number, kind, timestamp and fingerprint of the last arrival."""
        self._puts = 0
        """How many elements were put since."""
        self._last_is_put = False
        """Whether the only one of them has its payload."""

    def feed(self, facts: Slice, steps: Steps | None) -> None:
        arrived = self._arrived(facts)
        known = self._last is not None
        if steps is None and not arrived.shape[1]:
            return
        if self._last is not None:
            arrived = np.concatenate((self._last[:, None], arrived), axis=1)
        counts, equal = self._puts_of(arrived, steps)
        if not arrived.shape[1]:
            return
        if known:
            equal[0] |= self._last_is_put and not counts[0]
            counts[0] += self._puts
        broken = (counts != 1) | ~equal
        self._last, self._puts, self._last_is_put = arrived[:, -1], int(counts[-1]), not broken[-1]
        for row in broken_rows(self._found, broken[:-1]):
            self._not_put(arrived[:, row], int(counts[row]))

    def _arrived(self, facts: Slice) -> Ints:
        """A row each for sequence number, kind, timestamp and fingerprint; a column for each arrival before the end."""
        parts = []
        rows = facts.of("received")
        if len(rows):
            mask = rows.column("kind") == _RECORD
            parts.append([rows.column(name)[mask] for name in ("seq", *_PAYLOAD)])
        rows = facts.of("task_watermark")
        if len(rows):
            mask = rows.column("kind") == _WATERMARK
            kept = [rows.column(name)[mask] for name in ("seq", "kind", "timestamp")]
            parts.append([*kept, np.zeros(len(kept[0]), dtype=np.int64)])
        if not parts:
            return np.empty((4, 0), dtype=np.int64)
        arrived = np.concatenate([np.array(part, dtype=np.int64) for part in parts], axis=1)
        if len(parts) > 1:
            arrived = arrived[:, np.argsort(arrived[0], kind="stable")]
        if self._place.end != NEVER:
            arrived = arrived[:, arrived[0] < self._place.end]
        return arrived

    def _puts_of(self, arrived: Ints, steps: Steps | None) -> tuple[Ints, Mask]:
        """For each arrival the number of elements put before the next one, and whether the first has its payload."""
        size = arrived.shape[1]
        if steps is None or not steps.puts.any():
            return np.zeros(size, dtype=np.int64), np.zeros(size, dtype=bool)
        puts = steps.puts & (steps.seq > self._place.opening)
        seqs = steps.seq[puts]
        owner = np.searchsorted(arrived[0], seqs, "right") - 1
        for place in broken_rows(self._found, owner < 0):
            row = int(np.flatnonzero(puts)[place])
            where = steps.where(self._place, row)
            self._found.broken("put before any arrival", (self._place.task, int(steps.seq[row])), **where)
        counts = np.bincount(owner[owner >= 0], minlength=size)
        kind, timestamp, fingerprint = (steps.column(name)[puts] for name in _PAYLOAD)
        of = arrived[:, owner] if size else np.zeros((4, len(seqs)), dtype=np.int64)
        same = (kind == of[1]) & (timestamp == of[2]) & ((fingerprint == of[3]) | (kind != _RECORD))
        equal = np.zeros(size, dtype=bool)
        equal[owner[same & (owner >= 0)]] = True
        return counts, equal

    def _not_put(self, arrival: Ints, puts: int) -> None:
        seq, kind, timestamp, fingerprint = arrival.tolist()
        self._found.broken(
            "not put as it arrived", (self._place.task, seq), task=self._place.task, operator=self._place.number,
            seq=seq, kind=ElementKind(kind), timestamp=timestamp, fingerprint=fingerprint, put=puts, expected=1,
        )  # fmt: skip

    def end(self) -> None:
        """Where the input has not ended, the last arrival may still wait for its place."""
        under_way = not self._puts and self._place.end == NEVER
        if self._last is not None and not self._last_is_put and not under_way:
            self._not_put(self._last, self._puts)

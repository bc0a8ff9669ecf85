"""A subpartition's queue, folded over what its sender recorded, channel by channel. Runs in Python workers: needs pyarrow.

A data buffer that left in part may vanish: when its writer finished it without another byte, no fact tells its going.
So the fold keeps every count of departed data buffers that the facts so far leave open: two at most after any row.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

_DATA = 0
_QUEUED = 2

COLUMNS = ("run", "channel", "seq", "side", "number", "kind", "backlog", "whole", "whole_run")
SCHEMA = "run int, channel int, seq bigint, side tinyint, number bigint, kind tinyint, backlog int, what string"

Wrong = tuple[int, int, int, int, int, int, int, str]


class Subpartition:
    """What is known of one queue. ``departed`` maps a possible count of data buffers gone to whether the next is cut."""

    def __init__(self, run: int, channel: int, whole_run: bool) -> None:
        self.run, self.channel, self.whole_run = run, channel, whole_run
        self.entries = self.departures = self.data = 0
        self.fences: list[int] = []
        """Per event added, how many data buffers were added before it."""
        self.fences_passed = 0
        self.last_is_data = False
        self.departed: list[tuple[int, bool]] = [(0, False)]

    def open_counts(self) -> list[tuple[int, bool]]:
        """All possibilities, with what may have vanished since."""
        found = list(self.departed)
        for count, cut in self.departed:
            if cut and (count + 1, False) not in found:
                found.append((count + 1, False))
        return found

    def added(self, number: int, kind: int, backlog: int) -> str:
        """A row of side QUEUED."""
        in_order = number == self.entries
        self.entries += 1
        self.last_is_data = kind == _DATA
        if self.last_is_data:
            self.data += 1
        else:
            self.fences.append(self.data)
        kept = [state for state in self.open_counts() if state[0] == self.data - backlog]
        if kept:
            self.departed = kept
        if not in_order:
            return "queued with a number out of order"
        return "" if kept else "queued, but the backlog is another"

    def departs(self, number: int, kind: int, backlog: int, ends: bool) -> str:
        """A row of side SENT."""
        in_order = number == self.departures
        self.departures += 1
        fence = self.fences[self.fences_passed] if self.fences_passed < len(self.fences) else None
        states = self.open_counts()
        after: list[tuple[int, bool]] = []
        if kind == _DATA:
            for count, _ in states:
                state = (count + 1, False) if ends else (count, True)
                if count < (self.data if fence is None else fence) and state not in after:
                    after.append(state)
        elif fence is not None:
            self.fences_passed += 1
            self.departed = [(fence, False)]
            after = [(fence, False)] if any(count == fence for count, _ in states) else []
        kept = [state for state in after if self.tells(backlog, self.data - state[0])]
        self.departed = kept or after or self.departed
        if not in_order:
            return "sent with a number out of order"
        if not after:
            return "sent, but something else is next in the queue"
        return "" if kept else "sent with another backlog than the queue has"

    def tells(self, backlog: int, waiting: int) -> bool:
        """Rule 5.26: a data buffer at the tail that nobody has flushed is not reported."""
        return backlog == waiting or (self.last_is_data and waiting > 0 and backlog == waiting - 1)

    def settle(self) -> list[Wrong]:
        """What a whole run must not leave behind."""
        gone = any(count == self.data for count, _ in self.open_counts())
        if not self.whole_run or (gone and self.fences_passed == len(self.fences)):
            return []
        return [(self.run, self.channel, -1, -1, -1, -1, -1, "something never left the queue")]


def fold_queues(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields one row per violation."""
    queue: Subpartition | None = None
    for batch in batches:
        wrong: list[Wrong] = []
        columns = [batch.column(name).to_pylist() for name in COLUMNS]
        for run, channel, seq, side, number, kind, backlog, ends, whole_run in zip(*columns, strict=True):
            if queue is None or queue.channel != channel or queue.run != run:
                wrong += queue.settle() if queue is not None else []
                queue = Subpartition(run, channel, whole_run)
            if side == _QUEUED:
                what = queue.added(number, kind, backlog)
            else:
                what = queue.departs(number, kind, backlog, ends == 1)
            if what:
                wrong.append((run, channel, seq, side, number, kind, backlog, what))
        yield _batch(wrong)
    yield _batch(queue.settle() if queue is not None else [])


def _batch(rows: list[Wrong]) -> pa.RecordBatch:
    import pyarrow as pa

    types = [pa.int32(), pa.int32(), pa.int64(), pa.int8(), pa.int64(), pa.int8(), pa.int32(), pa.string()]
    names = ["run", "channel", "seq", "side", "number", "kind", "backlog", "what"]
    return pa.RecordBatch.from_arrays([pa.array([r[i] for r in rows], t) for i, t in enumerate(types)], names)

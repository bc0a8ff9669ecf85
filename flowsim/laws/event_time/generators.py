"""Of law task-watermark: what a strategy generates follows from its records, and that of splits is merged (rules 8.1-8.7)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from flowsim.facts.kinds import ElementKind
from flowsim.laws.elements import sent_records
from flowsim.laws.event_time.marks import FEW
from flowsim.laws.event_time.paths import IDLE, WATERMARK
from flowsim.laws.job_graph import Operator
from flowsim.laws.law import EVIDENCE_ROWS, Findings
from flowsim.laws.slices import Ints, Mask, Rows, Slice
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP

_BOUNDED: Final = ("bounded", "monotonous")
_LEAST: Final = NO_TIMESTAMP
_NO_ROWS: Final[Ints] = np.empty(0, dtype=np.int64)

Generated = tuple[int, int, int, int, int, int]
"""Sequence number, split (-1: the whole operator), kind, timestamp, records seen and the highest timestamp among them."""
GENERATED: Final = ("seq", "split", "kind", "timestamp", "records", "max_timestamp")
Seen = tuple[Ints, Ints]
"""For each row how many records were sent before, and the highest timestamp among them."""


class SeenRecords:
    """What a strategy saw, where every record goes on to one edge: records sent on these channels."""

    __slots__ = ("_channels", "_count", "_highest", "_is_all")

    def __init__(self, channels: Iterable[int], of_task: Iterable[int]) -> None:
        """``of_task``: all channels of the task."""
        self._channels = sorted(channels)
        self._is_all = self._channels == sorted(of_task)
        self._count = 0
        self._highest = _LEAST

    def before(self, facts: Slice, seqs: Ints) -> Seen:
        """What was seen before these rows of one epoch."""
        rows = facts.of("sent")
        if not len(rows):
            return np.full(len(seqs), self._count), np.full(len(seqs), self._highest)
        mask = facts.once(sent_records)
        if not self._is_all:
            mask = mask & np.isin(rows.column("channel"), self._channels)
        timestamps = rows.column("timestamp")[mask]
        highest = np.maximum.accumulate(np.concatenate(([self._highest], timestamps)))
        places = np.searchsorted(rows.column("seq")[mask], seqs)
        seen = places + self._count, highest[places]
        self._count += len(timestamps)
        self._highest = int(highest[-1])
        return seen


class Wrong:
    """Rows that violate the law if the operator is what it turns out to be: all counted, the first kept."""

    __slots__ = ("_count", "_kept")

    def __init__(self) -> None:
        self._count = 0
        self._kept: list[tuple[str, Generated]] = []

    def add(self, what: str, row: Generated) -> None:
        """Adds a row."""
        self._count += 1
        if len(self._kept) < EVIDENCE_ROWS:
            self._kept.append((what, row))

    def add_all(self, what: str, rows: Sequence[Generated], others: int) -> None:
        """Adds rows, and how many more there are."""
        for row in rows:
            self.add(what, row)
        self._count += others

    def report(self, found: Findings, task: int, operator: int) -> None:
        """The operator is what was assumed."""
        for what, (seq, split, kind, timestamp, records, highest) in self._kept:
            found.broken(
                what, (task, seq), task=task, operator=operator, seq=seq, split=split, kind=ElementKind(kind),
                timestamp=timestamp, records=records, max_timestamp=highest,
            )  # fmt: skip
        found.violations += self._count - len(self._kept)


class Merged:
    """The watermarks and statuses of a whole operator, which grow.

    Whether it has splits may show late: then this is one of two that examine the same rows.
    """

    __slots__ = ("last", "pending", "wrong")

    def __init__(self) -> None:
        self.last = _LEAST
        self.pending: Generated | None = None
        """The row with the last watermark of all, which must not come before the end of the inputs."""
        self.wrong = Wrong()

    def grows(self, row: Generated) -> bool:
        """Takes a watermark; answers whether the law asks more of it."""
        timestamp = row[3]
        if timestamp <= self.last:
            self.wrong.add("does not grow", row)
            return False
        self.last = timestamp
        if timestamp == MAX_WATERMARK:
            self.pending = row
            return False
        return True

    def report(self, end_at: int, found: Findings, task: int, operator: int) -> None:
        """``end_at``: the row with which the end of event time reached the operator."""
        if self.pending is not None and self.pending[0] < end_at:
            self.wrong.add("the end of event time before the inputs reached it", self.pending)
        self.wrong.report(found, task, operator)


class Generator:
    """What one operator of one subtask generates."""

    __slots__ = ("_alone", "_delay", "_last_end", "_merged", "_overtaken", "_seen", "_splits")

    def __init__(self, operator: Operator, seen: SeenRecords | None) -> None:
        described = operator.params.get("watermarks")
        strategy = described if isinstance(described, Mapping) else {}
        kind, bound = strategy.get("kind"), strategy.get("bound_ms", 0)
        self._delay = bound + 1 if kind in _BOUNDED and isinstance(bound, int) else None
        self._seen = seen
        self._alone: Merged | None = Merged()
        """The operator without splits; None when it has some."""
        self._merged = Merged()
        """The operator with splits."""
        self._splits: dict[int, tuple[int, bool]] = {}
        """Per split its last watermark and whether it is idle."""
        self._overtaken: set[int] = set()
        self._last_end = -1
        """The last row with the last watermark of all."""

    def feed(self, facts: Slice, rows: Rows, mask: Mask | None) -> None:
        """Examines the rows of one epoch for which the mask holds, all without one: those of this operator."""
        seqs = rows.column("seq") if mask is None else rows.column("seq")[mask]
        seen: Seen | None = None
        if self._seen is not None and self._alone is not None:
            seen = self._seen.before(facts, seqs)
        if len(seqs) <= FEW:
            left = rows.tuples(GENERATED, mask)
        else:
            columns = [rows.column(name) if mask is None else rows.column(name)[mask] for name in GENERATED]
            # The last row may have the last watermark of all.
            taken = 0
            if self._alone is not None and self._take_together(self._alone, [column[:-1] for column in columns], seen):
                taken = len(seqs) - 1
            left = list(zip(*(column[taken:].tolist() for column in columns), strict=True))
        self._examine(
            left, [] if seen is None else list(zip(*(column[-len(left) :].tolist() for column in seen), strict=True))
        )

    def _examine(self, rows: Sequence[Generated], seen: Sequence[tuple[int, int]]) -> None:
        for place, row in enumerate(rows):
            if row[1] >= 0:
                self._alone = None
                self._split(row)
                continue
            if row[3] == MAX_WATERMARK and row[2] == WATERMARK:
                self._last_end = row[0]
            if self._alone is not None:
                self._without_splits(row, self._alone, bool(seen) and seen[place] != row[4:])
            self._with_splits(row)

    def _take_together(self, alone: Merged, columns: list[Ints], seen: Seen | None) -> bool:
        """Takes growing watermarks of an operator without splits if nothing is wrong with them."""
        _, splits, kinds, timestamps, records, highest = columns
        count = len(timestamps)
        if (splits != -1).any() or (kinds != WATERMARK).any() or timestamps[-1] == MAX_WATERMARK:
            return False
        if timestamps[0] <= alone.last or (timestamps[1:] <= timestamps[:-1]).any():
            return False
        if seen is not None and ((seen[0][:count] != records) | (seen[1][:count] != highest)).any():
            return False
        if self._delay is not None and ((highest < _LEAST // 2) | (highest - timestamps != self._delay)).any():
            return False
        alone.last = int(timestamps[-1])
        self._merged.last = max(self._merged.last, alone.last)
        first = list(zip(*(column[:EVIDENCE_ROWS].tolist() for column in columns), strict=True))
        self._merged.wrong.add_all("no split has reached it", first, count - len(first))
        return True

    def skip(self, facts: Slice) -> None:
        """Reads the records of an epoch in which it generates nothing."""
        if self._seen is not None and self._alone is not None:
            self._seen.before(facts, _NO_ROWS)

    def _without_splits(self, row: Generated, merged: Merged, saw_others: bool) -> None:
        if saw_others:
            merged.wrong.add("not the records that were sent", row)
        elif row[2] == WATERMARK and merged.grows(row) and not self._is_due(row):
            merged.wrong.add("not the highest timestamp less the bound", row)

    def _with_splits(self, row: Generated) -> None:
        if row[2] != WATERMARK or not self._merged.grows(row):
            return
        timestamp = row[3]
        if all(mark != timestamp for mark, _ in self._splits.values()):
            self._merged.wrong.add("no split has reached it", row)
            return
        behind = (split for split, (mark, is_idle) in self._splits.items() if not is_idle and mark < timestamp)
        self._overtaken.update(behind)

    def _split(self, row: Generated) -> None:
        _, split, kind, timestamp, _, _ = row
        last, _ = self._splits.get(split, (_LEAST, False))
        what = ""
        if kind == WATERMARK:
            self._splits[split] = max(last, timestamp), False
            if timestamp <= last:
                what = "does not grow"
            elif timestamp != MAX_WATERMARK and not self._is_due(row):
                what = "not the highest timestamp less the bound"
        else:
            self._splits[split] = last, timestamp == IDLE
        if split in self._overtaken:
            self._overtaken.remove(split)
            what = "was there, but did not hold back the others"
        if what:
            self._merged.wrong.add(what, row)

    def _is_due(self, row: Generated) -> bool:
        """Rule 8.1."""
        return self._delay is None or row[3] == row[5] - self._delay

    def emits_after(self, seq: int) -> bool:
        """Whether it emitted the last watermark of all after this row."""
        return self._last_end > seq

    def report(self, end_at: int, found: Findings, task: int, operator: int) -> None:
        """Reports what violates the law; ``end_at``: the row with which the end of event time reached the operator."""
        (self._alone or self._merged).report(end_at, found, task, operator)

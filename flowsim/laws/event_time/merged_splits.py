"""Part of law task-watermark: the watermark that the splits of one source subtask have together (rule 8.6)."""

from __future__ import annotations

from typing import Final, NamedTuple

from flowsim.facts.kinds import ElementKind
from flowsim.laws.event_time.paths import ACTIVE, IDLE, STATUS, WATERMARK
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP

ENDED: Final = int(ElementKind.END_OF_PARTITION)
RECORD: Final = int(ElementKind.RECORD)
WHOLE: Final = -1
"""The split of rows about the whole operator."""
NEVER: Final = 2**63
"""A sequence number or watermark after all others."""


class Generated(NamedTuple):
    """A row of ``generated_watermark`` of one operator."""

    seq: int
    split: int
    kind: int
    timestamp: int
    records: int
    max_timestamp: int
    time_ns: int


class Owed(NamedTuple):
    """The end of a split let the merged watermark grow: it is due at the next periodic call.

    ``until``: the row from which it was not due any more.
    """

    row: Generated
    until: int


class MergedSplits:
    """The merged watermark of the splits from the beginning to the end of each."""

    __slots__ = ("owed", "unknown_from", "_changed", "_counted", "_emitted", "_ended", "_splits")

    def __init__(self) -> None:
        self.unknown_from = NEVER
        """The row of a split without a recorded beginning, or of a record that belongs to no split."""
        self.owed: list[Owed] = []
        """What was due at a periodic call and is not examined yet."""
        self._splits: dict[int, tuple[int, bool]] = {}
        """Per split that counts its watermark and whether it is idle."""
        self._ended: set[int] = set()
        self._emitted = NO_TIMESTAMP
        """The highest watermark of the whole operator."""
        self._counted = NO_TIMESTAMP
        """The highest merged watermark that is known to be missing."""
        self._changed: Generated | None = None
        """The last row of a split, after which the merged watermark is due at once."""

    @property
    def is_known(self) -> bool:
        return self.unknown_from == NEVER

    @property
    def watermark(self) -> int:
        """``NO_TIMESTAMP`` without a split."""
        active = [watermark for watermark, is_idle in self._splits.values() if not is_idle]
        return min(active) if active else max((at for at, _ in self._splits.values()), default=NO_TIMESTAMP)

    @property
    def changed_at(self) -> int:
        """The row after which the merged watermark is due; NEVER if it is not due."""
        return NEVER if self._changed is None else self._changed.seq

    def add(self, row: Generated, is_later: bool) -> list[tuple[str, Generated]]:
        """Adds the next row, and returns the violations that it shows.

        ``is_later``: the row does not belong to the call in which the row before it was generated.
        """
        if self.is_known and (row.kind == RECORD or (row.split not in self._splits and self._is_unknown(row))):
            self.unknown_from = row.seq
            self._close_owed(row)
        if not self.is_known:
            return []
        is_end = row.split in self._splits and row.kind == ENDED
        begins_or_ends = is_end or (
            row.split not in self._splits and row.split != WHOLE and row.split not in self._ended
        )
        wrong = self.settle() if is_later or begins_or_ends else []
        if row.split == WHOLE:
            wrong += self._add_whole(row)
        elif row.split not in self._ended:
            self._add_split(row)
            self._changed = self._changed if begins_or_ends else row
        if is_end and self.watermark > self._emitted:
            self.owed.append(Owed(row, NEVER))
        elif self.owed and self.watermark <= self._emitted:
            self._close_owed(row)
        return wrong

    def _is_unknown(self, row: Generated) -> bool:
        is_beginning = row.kind == STATUS and row.timestamp == ACTIVE and row.records == 0
        return row.split != WHOLE and row.split not in self._ended and not is_beginning

    def _add_whole(self, row: Generated) -> list[tuple[str, Generated]]:
        if row.kind != WATERMARK:
            return []
        self._changed = None
        self._emitted = max(self._emitted, row.timestamp)
        is_wrong = bool(self._splits) and row.timestamp not in (self.watermark, MAX_WATERMARK)
        return [("not the merged watermark of the splits", row)] if is_wrong else []

    def _add_split(self, row: Generated) -> None:
        watermark, _ = self._splits.get(row.split, (NO_TIMESTAMP, False))
        if row.kind == ENDED:
            del self._splits[row.split]
            self._ended.add(row.split)
        elif row.kind == WATERMARK:
            self._splits[row.split] = max(watermark, row.timestamp), False
        else:
            self._splits[row.split] = watermark, row.timestamp == IDLE

    def settle(self) -> list[tuple[str, Generated]]:
        """The violation if a merged watermark was due before now, and is missing."""
        row, self._changed = self._changed, None
        merged = self.watermark
        if row is None or not self.is_known or merged <= max(self._emitted, self._counted):
            return []
        self._counted = merged
        return [("the merged watermark of the splits is missing", row)]

    def _close_owed(self, row: Generated) -> None:
        self.owed[:] = [owed._replace(until=min(owed.until, row.seq)) for owed in self.owed]

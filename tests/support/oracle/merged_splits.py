"""Part of law task-watermark: the outputs of splits are merged, at once and exactly (rule 8.6).

Slow and plain: for every question the rows are read again from the first one.
"""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.facts.kinds import ElementKind
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from tests.support.oracle.valve_model import ACTIVE, IDLE

Made = tuple[int, int, int, int, int, int, int]
"""Sequence number, split (-1: the whole operator), kind, timestamp, records seen, the highest timestamp among them, time."""


def is_known(rows: Sequence[Made]) -> bool:
    """Whether the beginning of every split is there, and no record belongs to no split."""
    begun = set()
    for _, split, kind, timestamp, records, _, _ in rows:
        if split != -1 and split not in begun:
            if (kind, timestamp, records) != (ElementKind.STATUS, ACTIVE, 0):
                return False
            begun.add(split)
        if kind == ElementKind.RECORD:
            return False
    return True


def merged(rows: Sequence[Made]) -> int:
    """What the splits have reached together after these rows; MIN without a split."""
    splits: dict[int, tuple[int, bool]] = {}
    over = set()
    for _, split, kind, timestamp, _, _, _ in rows:
        mark, _ = splits.get(split, (NO_TIMESTAMP, False))
        if split == -1 or split in over:
            continue
        if kind == ElementKind.END_OF_PARTITION and split in splits:
            del splits[split]
            over.add(split)
        elif kind == ElementKind.WATERMARK:
            splits[split] = max(mark, timestamp), False
        else:
            splits[split] = mark, timestamp == IDLE
    active = [mark for mark, idle in splits.values() if not idle]
    return min(active) if active else max((mark for mark, _ in splits.values()), default=NO_TIMESTAMP)


def has_split(rows: Sequence[Made]) -> bool:
    """Whether a split has begun and not ended."""
    return len({row[1] for row in rows} - {-1}) > len(ended(rows))


def ended(rows: Sequence[Made]) -> set[int]:
    begun, over = set(), set()
    for row in rows:
        if row[1] != -1 and row[2] == ElementKind.END_OF_PARTITION and row[1] in begun:
            over.add(row[1])
        begun.add(row[1])
    return over


def highest(rows: Sequence[Made]) -> int:
    """The highest watermark of the whole operator."""
    return max((row[3] for row in rows if row[1] == -1 and row[2] == ElementKind.WATERMARK), default=NO_TIMESTAMP)


def is_another(rows: Sequence[Made], place: int) -> bool:
    """A whole watermark that is not what the splits have reached together."""
    _, split, kind, timestamp, *_ = rows[place]
    before = rows[:place]
    return (
        split == -1
        and kind == ElementKind.WATERMARK
        and timestamp != MAX_WATERMARK
        and is_known(rows[: place + 1])
        and has_split(before)
        and timestamp != merged(before)
    )


def missing(rows: Sequence[Made], records: Sequence[int], whole: bool) -> list[Made]:
    """The last row of a split before each moment at which its merged watermark should have been there."""
    found: list[Made] = []
    counted, changed = NO_TIMESTAMP, None
    for place in range(len(rows) + 1):
        before, row = rows[:place], rows[place] if place < len(rows) else None
        if not is_known(rows[: place + 1]):
            break
        if changed is not None and _is_due(before, changed, row, records, whole):
            if merged(before) > max(highest(before), counted):
                counted = merged(before)
                found.append(changed)
            changed = None
        if row is None:
            continue
        if row[1] == -1:
            changed = None if row[2] == ElementKind.WATERMARK else changed
        elif row[1] in {other[1] for other in before} - ended(rows[: place + 1]):
            changed = row
    return found


def _is_due(before: Sequence[Made], changed: Made, row: Made | None, records: Sequence[int], whole: bool) -> bool:
    until = 2**63 if row is None else row[0]
    if any(changed[0] < seq < until for seq in records):
        return True
    if row is None:
        return whole
    begins = row[1] not in {other[1] for other in before}
    ends = row[2] == ElementKind.END_OF_PARTITION
    return row[6] > changed[6] or (row[1] != -1 and (begins or ends))

"""Watermarks and statuses of a slice as rows; use the functions with ``Slice.once``."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from flowsim.laws.event_time.paths import STATUS, WATERMARK, Emission
from flowsim.laws.machine import reads
from flowsim.laws.slices import Slice, each_row

Mark = tuple[int, Emission]
"""A sequence number, and the watermark or status that the row is about."""
_MARK: Final = ("seq", "kind", "timestamp")


@reads(sent=("channel", "kind", "timestamp"))
def sent_event_time(facts: Slice) -> dict[int, list[Mark]]:
    """The watermarks and statuses that the task sent, by channel."""
    rows = facts.of("sent")
    found: dict[int, list[Mark]] = {}
    if len(rows):
        kinds = rows.column("kind")
        mask = (kinds == WATERMARK) | (kinds == STATUS)
        for channel, seq, kind, value in each_row(rows, ("channel", *_MARK), mask) if mask.any() else ():
            found.setdefault(channel, []).append((seq, (kind, value)))
    return found


@reads(generated_watermark=("operator", "split", "kind", "timestamp"))
def generated_event_time(facts: Slice) -> dict[int, list[Mark]]:
    """The watermarks and statuses that operators generated, without those of single splits, by operator."""
    found: dict[int, list[Mark]] = {}
    for operator, split, seq, kind, value in facts.of("generated_watermark").tuples(("operator", "split", *_MARK)):
        if split == -1 and kind in (WATERMARK, STATUS):
            found.setdefault(operator, []).append((seq, (kind, value)))
    return found


@reads(task_watermark=("input", "kind", "timestamp"))
def arrived_event_time(facts: Slice) -> list[Mark]:
    """The output of all inputs of the task."""
    return [(seq, (kind, value)) for seq, kind, value in facts.of("task_watermark").tuples(_MARK)]


def statuses(marks: Iterable[Mark]) -> list[Mark]:
    """Only the statuses."""
    return [mark for mark in marks if mark[1][0] == STATUS]


def watermarks(marks: Iterable[Mark]) -> list[Mark]:
    """Only the watermarks."""
    return [mark for mark in marks if mark[1][0] == WATERMARK]

"""What several laws ask of the elements on channels; use with ``Slice.once``, so that a slice is searched once."""

from __future__ import annotations

import numpy as np

from flowsim.facts.kinds import ElementKind
from flowsim.laws.slices import Ints, Mask, Slice

Mark = tuple[int, int, int, int, int]
"""Sequence number, channel, position, kind and timestamp of what is no record and no latency marker."""
_MARK = ("seq", "channel", "position", "kind", "timestamp")


def sent_marks(facts: Slice) -> list[Mark]:
    """Watermarks, statuses and events that the task sent, in order."""
    return _marks(facts, "sent")


def received_marks(facts: Slice) -> list[Mark]:
    """Watermarks, statuses and events that the task received, in order."""
    return _marks(facts, "received")


def _marks(facts: Slice, table: str) -> list[Mark]:
    rows = facts.of(table)
    if not len(rows):
        return []
    kind = rows.column("kind")
    mask = (kind != ElementKind.RECORD) & (kind != ElementKind.LATENCY_MARKER)
    return rows.tuples(_MARK, mask) if mask.any() else []


def sent_records(facts: Slice) -> Mask:
    """Which rows of ``sent`` are records."""
    mask: Mask = facts.of("sent").column("kind") == ElementKind.RECORD
    return mask


def sent_by_channel(facts: Slice) -> list[tuple[int, int]]:
    """How many records the task sent on each channel, by channel."""
    rows = facts.of("sent")
    return counted(rows.column("channel")[facts.once(sent_records)]) if len(rows) else []


def counted(values: Ints) -> list[tuple[int, int]]:
    """How often each value is there, by value."""
    found, counts = np.unique(values, return_counts=True)
    return list(zip(found.tolist(), counts.tolist(), strict=True))

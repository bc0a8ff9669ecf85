"""The last elements of channels; use with ``Slice.once``."""

from __future__ import annotations

from flowsim.facts.kinds import ElementKind
from flowsim.laws.slices import Slice
from flowsim.units import MAX_WATERMARK

_STATUS, _END_OF_DATA = int(ElementKind.STATUS), int(ElementKind.END_OF_DATA)
Mark = tuple[int, int, int, int, int]
"""Sequence number, channel, position, kind and timestamp."""
_MARK = ("seq", "channel", "position", "kind", "timestamp")


def sent_ends_and_idleness(facts: Slice) -> list[Mark]:
    """The end of the task's channels as sent: the last watermark, statuses, END_OF_DATA and END_OF_PARTITION.

    Includes a record whose timestamp is that of the last watermark.
    """
    rows = facts.of("sent")
    if not len(rows):
        return []
    kind = rows.column("kind")
    mask = (kind == _STATUS) | (kind >= _END_OF_DATA) | (rows.column("timestamp") == MAX_WATERMARK)
    return rows.tuples(_MARK, mask) if mask.any() else []


def sent_ends(facts: Slice) -> list[Mark]:
    """END_OF_DATA and END_OF_PARTITION elements that the task sent, in order."""
    return [mark for mark in facts.once(sent_ends_and_idleness) if mark[3] >= _END_OF_DATA]


def received_ends(facts: Slice) -> list[Mark]:
    """END_OF_DATA and END_OF_PARTITION elements that the task received, in order."""
    rows = facts.of("received")
    if not len(rows):
        return []
    mask = rows.column("kind") >= _END_OF_DATA
    return rows.tuples(_MARK, mask) if mask.any() else []

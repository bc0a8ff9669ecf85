"""The last elements of channels; use with ``Slice.once``."""

from __future__ import annotations

from flowsim.facts.kinds import ElementKind
from flowsim.laws.machine import reads
from flowsim.laws.slices import Ints, Mask, Slice
from flowsim.units import MAX_WATERMARK

_STATUS, _END_OF_DATA = int(ElementKind.STATUS), int(ElementKind.END_OF_DATA)
_END_OF_PARTITION = int(ElementKind.END_OF_PARTITION)
Mark = tuple[int, int, int, int, int]
"""Sequence number, channel, position, kind and timestamp."""
_MARK = ("channel", "position", "kind", "timestamp")


@reads(sent=_MARK)
def sent_ends_and_idleness(facts: Slice) -> list[Mark]:
    """The end of the task's channels as sent: the last watermark, statuses, END_OF_DATA and END_OF_PARTITION.

    Includes a record whose timestamp is that of the last watermark.
    """
    rows = facts.of("sent")
    if not len(rows):
        return []
    kind = rows.column("kind")
    mask = (kind == _STATUS) | _is_end(kind) | (rows.column("timestamp") == MAX_WATERMARK)
    return rows.tuples(("seq", *_MARK), mask) if mask.any() else []


@reads(sent_ends_and_idleness)
def sent_ends(facts: Slice) -> list[Mark]:
    """END_OF_DATA and END_OF_PARTITION elements that the task sent, in order."""
    return [mark for mark in facts.once(sent_ends_and_idleness) if _END_OF_DATA <= mark[3] <= _END_OF_PARTITION]


@reads(received=_MARK)
def received_ends(facts: Slice) -> list[Mark]:
    """END_OF_DATA and END_OF_PARTITION elements that the task received, in order."""
    rows = facts.of("received")
    if not len(rows):
        return []
    mask = _is_end(rows.column("kind"))
    return rows.tuples(("seq", *_MARK), mask) if mask.any() else []


def _is_end(kinds: Ints) -> Mask:
    mask: Mask = (kinds == _END_OF_DATA) | (kinds == _END_OF_PARTITION)
    return mask

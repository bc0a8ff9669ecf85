"""Queries about channel elements that several laws share; use with ``Slice.once``, so that a slice is searched once."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from flowsim.facts.kinds import ElementKind
from flowsim.laws.job_graph import Channel
from flowsim.laws.machine import reads
from flowsim.laws.slices import Ints, Mask, Slice
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP

Mark = tuple[int, int, int, int, int]
"""Sequence number, channel, position, kind and timestamp."""
_MARK = ("channel", "position", "kind", "timestamp")


@reads(sent=("kind",))
def sent_records(facts: Slice) -> Mask:
    """Which rows of ``sent`` are records."""
    mask: Mask = facts.of("sent").column("kind") == ElementKind.RECORD
    return mask


class SentBefore:
    """Number of records a task sent over some edges before a row, and the highest value of one of their columns."""

    __slots__ = ("_channels", "_column", "_count", "_highest", "_is_all")

    def __init__(self, sent: Sequence[Channel], edges: Collection[int], column: str) -> None:
        """``sent``: all channels of the task."""
        self._channels = [channel.channel for channel in sent if channel.edge in edges]
        self._is_all = len(self._channels) == len(sent)
        self._column = column
        self._count = 0
        self._highest = NO_TIMESTAMP

    @reads(sent_records, sent=("channel",))
    def before(self, facts: Slice, seqs: Sequence[int]) -> list[tuple[int, int]]:
        """For each of these rows of one epoch the number of earlier records, and their highest value."""
        rows = facts.of("sent")
        if not len(rows):
            return [(self._count, self._highest)] * len(seqs)
        mask = facts.once(sent_records)
        if not self._is_all:
            mask = mask & np.isin(rows.column("channel"), self._channels)
        values = rows.column(self._column)[mask]
        highest = np.maximum.accumulate(np.concatenate(([self._highest], values)))
        places = np.searchsorted(rows.column("seq")[mask], seqs)
        found = list(zip((places + self._count).tolist(), highest[places].tolist(), strict=True))
        self._count += len(values)
        self._highest = int(highest[-1])
        return found


@reads(sent=("channel", "kind"))
def sent_by_channel(facts: Slice) -> list[tuple[int, int]]:
    """Number of records the task sent per channel."""
    rows = facts.of("sent")
    return counted(rows.column("channel")[facts.once(sent_records)]) if len(rows) else []


def counted(values: Ints) -> list[tuple[int, int]]:
    """Number of occurrences per value."""
    found, counts = np.unique(values, return_counts=True)
    return list(zip(found.tolist(), counts.tolist(), strict=True))


@reads(sent=_MARK)
def sent_ends_and_idleness(facts: Slice) -> list[Mark]:
    """The end of the task's channels as sent: the last watermark, statuses, END_OF_DATA and END_OF_PARTITION.

    Includes a record whose timestamp is that of the last watermark.
    """
    rows = facts.of("sent")
    if not len(rows):
        return []
    kind = rows.column("kind")
    mask = (kind == ElementKind.STATUS) | _is_end(kind) | (rows.column("timestamp") == MAX_WATERMARK)
    return rows.tuples(("seq", *_MARK), mask) if mask.any() else []


@reads(sent_ends_and_idleness)
def sent_ends(facts: Slice) -> list[Mark]:
    """END_OF_DATA and END_OF_PARTITION elements that the task sent, in order."""
    return [
        mark
        for mark in facts.once(sent_ends_and_idleness)
        if ElementKind.END_OF_DATA <= mark[3] <= ElementKind.END_OF_PARTITION
    ]


@reads(received=_MARK)
def received_ends(facts: Slice) -> list[Mark]:
    """END_OF_DATA and END_OF_PARTITION elements that the task received, in order."""
    rows = facts.of("received")
    if not len(rows):
        return []
    mask = _is_end(rows.column("kind"))
    return rows.tuples(("seq", *_MARK), mask) if mask.any() else []


def _is_end(kinds: Ints) -> Mask:
    mask: Mask = (kinds == ElementKind.END_OF_DATA) | (kinds == ElementKind.END_OF_PARTITION)
    return mask

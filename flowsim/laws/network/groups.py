"""The rows of a slice by channel or pool: sums that run within each, for laws that keep an account of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from flowsim.laws.job_graph import Channel, JobGraph
from flowsim.laws.law import EVIDENCE_ROWS, Findings
from flowsim.laws.slices import Ints, Mask


class Groups:
    """Rows by group (a channel, a pool); those of one group follow each other and stay in their order.

    ``order``: where each row was. ``ids``: the groups. ``starts``, ``lasts``, ``sizes``: where each begins, where its last row
    is, and how many rows it has.
    """

    __slots__ = ("ids", "lasts", "order", "sizes", "starts")

    def __init__(self, group: Ints) -> None:
        first = int(group.min()) if len(group) else 0
        small = len(group) > 0 and int(group.max()) - first < 2**15
        # Integers of 16 bits are sorted by their digits, in a time that does not depend on their order.
        self.order: Ints = np.argsort((group - first).astype(np.int16) if small else group, kind="stable")
        ordered = group[self.order]
        self.lasts: Ints = np.append(np.flatnonzero(ordered[1:] != ordered[:-1]), len(group) - 1)
        self.starts: Ints = np.concatenate(([0], self.lasts[:-1] + 1))
        self.sizes: Ints = self.lasts + 1 - self.starts
        self.ids: list[int] = ordered[self.starts].tolist()

    def spread(self, values: Sequence[int]) -> Ints:
        """A value per group, for each of its rows."""
        return np.repeat(np.array(values, dtype=np.int64), self.sizes)

    def running(self, changes: Ints, before: Sequence[int]) -> Ints:
        """The sum of the changes in each group up to each row, which begins with what was there before."""
        totals = np.cumsum(changes, dtype=np.int64)
        offsets = np.array(before, dtype=np.int64) - totals[self.starts] + changes[self.starts]
        return totals + np.repeat(offsets, self.sizes)

    def sums(self, values: Ints) -> list[int]:
        """The sum of each group."""
        found: list[int] = np.add.reduceat(values, self.starts, dtype=np.int64).tolist()
        return found


def first_broken(found: Findings, broken: Mask, seq: Ints) -> list[int]:
    """The first rows by ``seq`` that are broken, which go into the evidence; the others are counted here."""
    places = np.flatnonzero(broken)
    if len(places) > EVIDENCE_ROWS:
        found.violations += len(places) - EVIDENCE_ROWS
        places = places[np.argsort(seq[places], kind="stable")[:EVIDENCE_ROWS]]
    return places.tolist()


def channels_by_task(graph: JobGraph, is_judged: Callable[[Channel], bool]) -> dict[int, Ints | None]:
    """By task the channels of its inputs and outputs that are judged, None where all are; tasks without any are left out."""
    found: dict[int, list[tuple[int, bool]]] = {}
    for channel in graph.channels.values():
        for task in (channel.source_task, channel.target_task):
            found.setdefault(task, []).append((channel.channel, is_judged(channel)))
    return {
        task: None if all(judged for _, judged in channels) else np.array([one for one, judged in channels if judged])
        for task, channels in found.items()
        if any(judged for _, judged in channels)
    }

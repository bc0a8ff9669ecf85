"""The output pools of the model job: segments taken, handed out, recycled and returned."""

from __future__ import annotations

from random import Random

from flowsim.facts.kinds import Level, SegmentAction
from tests.support.facts.fact_builder import FactBuilder
from tests.support.facts.valid_graph import EDGE_OF, ENDS, POOLS, subpartition_of


class HonestPools:
    """Counts the segments of every pool and records each movement; a pool is identified by a channel that it feeds."""

    def __init__(self, facts: FactBuilder, random: Random) -> None:
        self.facts = facts
        self.random = random
        self.pools = {pool: [0, 0, 4] for pool in POOLS.values()}
        """Segments requested and free, and the size."""
        self.steps = [0, 0]

    def segment(self, channel: int, action: SegmentAction) -> None:
        """One movement in the output pool that feeds a channel."""
        task, edge = ENDS[channel][0], EDGE_OF[channel]
        books = self.pools[POOLS[task, edge]]
        moves = action in (SegmentAction.TAKEN, SegmentAction.RETURNED)
        books[0] += {SegmentAction.TAKEN: 1, SegmentAction.RETURNED: -1}.get(action, 0)
        books[1] += {SegmentAction.TAKEN: 1, SegmentAction.RECYCLED: 1}.get(
            action, -1 if action != SegmentAction.RESIZED else 0
        )
        step = self.steps[task % 2] if moves else -1
        self.steps[task % 2] += moves
        if self.facts.level >= Level.FULL:
            self.facts.add("segments", task=task, pool=POOLS[task, edge], action=action,
                           subpartition=-1 if moves else subpartition_of(channel), step=step, requested=books[0],
                           free=books[1], size=books[2])  # fmt: skip

    def hand_out(self, channel: int) -> None:
        books = self.pools[POOLS[ENDS[channel][0], EDGE_OF[channel]]]
        if self.random.random() < 0.05:
            books[2] = self.random.randrange(4, 12)
            self.segment(channel, SegmentAction.RESIZED)
        if not books[1]:
            self.segment(channel, SegmentAction.TAKEN)
        self.segment(channel, SegmentAction.HANDED_OUT)

    def recycle(self, channel: int) -> None:
        books = self.pools[POOLS[ENDS[channel][0], EDGE_OF[channel]]]
        self.segment(channel, SegmentAction.RECYCLED)
        if books[0] > books[2]:
            self.segment(channel, SegmentAction.RETURNED)

    def give_back(self) -> None:
        """Every free segment goes back to its task manager."""
        for channel in (0, 2, 4, 6, 5, 7):
            while self.pools[POOLS[ENDS[channel][0], EDGE_OF[channel]]][1]:
                self.segment(channel, SegmentAction.RETURNED)

"""The output pools of a task: free segments, and those in use by each subpartition (section 5.E)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flowsim.facts.kinds import PoolKind, SegmentAction
from flowsim.history.recorded_facts import RecordedFacts
from flowsim.laws.job_graph import Channel, Pool


@dataclass(frozen=True, slots=True)
class PoolState:
    """A local buffer pool at a moment (section 5.E)."""

    pool: Pool
    requested: int
    free: int
    size: int
    used: dict[int, int]
    """Segments in use by subpartition."""

    @property
    def full(self) -> list[int]:
        """The subpartitions that have reached their limit (rule 5.35)."""
        return [number for number, count in sorted(self.used.items()) if count >= self.pool.per_channel]

    @property
    def is_available(self) -> bool:
        return self.free > 0 and not self.full


def output_pools(facts: RecordedFacts, task: int, before: int | None = None) -> list[PoolState]:
    """The states of the output pools of a task, at the moment or before a fact of the task."""
    states = []
    segments = facts.rows("segments", task)
    segments = segments if before is None else segments.before(before)
    for pool in facts.graph.pools.values():
        if pool.task != task or pool.kind != PoolKind.OUTPUT:
            continue
        rows = segments.equal(pool=pool.pool)
        used: dict[int, int] = {}
        for action, sign in ((SegmentAction.HANDED_OUT, 1), (SegmentAction.RECYCLED, -1)):
            numbers, counts = np.unique(rows.equal(action=action)["subpartition"], return_counts=True)
            for number, count in zip(numbers.tolist(), counts.tolist(), strict=True):
                used[number] = used.get(number, 0) + sign * count
        last = rows.last()
        requested, free, size = (0, 0, 0) if last is None else (last["requested"], last["free"], last["size"])
        states.append(PoolState(pool, requested, free, size, used))
    return states


def channel_at(facts: RecordedFacts, pool: Pool, subpartition: int) -> Channel | None:
    """The channel of a subpartition."""
    return next(
        (
            channel
            for channel in facts.graph.sent_by(pool.task)
            if (channel.edge, channel.subpartition) == (pool.edge, subpartition)
        ),
        None,
    )

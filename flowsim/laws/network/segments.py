"""Law segments: the account of segments that each buffer pool keeps; ``segment_steps`` adds up those of task managers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from flowsim.facts.kinds import Level, SegmentAction
from flowsim.laws.job_graph import JobGraph, Pool, Task
from flowsim.laws.law import Findings, FoundByLaw, Law, SecondWalk
from flowsim.laws.network.groups import Groups, first_broken
from flowsim.laws.network.segment_steps import BLOCKS_A_WALK, Blocks, Steps, SuspectSteps, compare, suspects
from flowsim.laws.slices import Slice

ID: Final = "segments"
_COLUMNS: Final = ("action", "requested", "free", "size")
_AT_THE_END: Final = 2**63 - 1
_UNKNOWN: Final = Pool(*([0] * len(Pool._fields)))._replace(required=1)
"""A pool that no size fits, so that all its rows are broken."""


class _Account:
    """What one pool holds of its task manager, what writers or channels have of it, and its size."""

    __slots__ = ("handed_out", "held", "size")

    def __init__(self) -> None:
        self.held = self.handed_out = 0
        self.size: int | None = None


class PoolAccounts:
    """The accounts of the pools of one task."""

    def __init__(self, task: int, pools: Mapping[int, Pool], found: Findings) -> None:
        self._task = task
        self._pools = pools
        self._found = found
        self._accounts: dict[int, _Account] = {}
        self._steps = Steps(pools)

    def feed(self, facts: Slice) -> None:
        rows = facts.of("segments")
        self._found.examined += len(rows)
        self._steps.feed(rows)
        groups = Groups(rows.column("pool"))
        action, requested, free, size = (rows.column(name)[groups.order].astype(np.int64) for name in _COLUMNS)
        accounts = [self._accounts.setdefault(pool, _Account()) for pool in groups.ids]
        taken, handed = action == SegmentAction.TAKEN, action == SegmentAction.HANDED_OUT
        change = taken.astype(np.int64) - (action == SegmentAction.RETURNED)
        held = groups.running(change, [account.held for account in accounts])
        change = handed.astype(np.int64) - (action == SegmentAction.RECYCLED)
        handed_out = groups.running(change, [account.handed_out for account in accounts])
        before = np.roll(size, 1)
        for start, last, account in zip(groups.starts.tolist(), groups.lasts.tolist(), accounts, strict=True):
            before[start] = size[start] if account.size is None else account.size
            account.held, account.handed_out, account.size = int(held[last]), int(handed_out[last]), int(size[last])
        pools = [self._pools.get(pool, _UNKNOWN) for pool in groups.ids]
        limit = size + groups.spread([pool.overdraft for pool in pools])
        ways = (
            ("the segments recorded are not those moved", (requested != held) | (free != held - handed_out)),
            ("a segment that the pool did not have", (handed_out < 0) | (held < handed_out)),
            ("more than size and overdraft allow", (taken & (held > limit)) | (handed & (handed_out > limit))),
            (
                "a size that the pool must not have",
                (size < groups.spread([pool.required for pool in pools]))
                | (size > groups.spread([pool.maximum for pool in pools])),
            ),
            ("another size, but not resized", (size != before) & (action != SegmentAction.RESIZED)),
        )
        broken = np.logical_or.reduce([mask for _, mask in ways])
        if broken.any():
            seq, pool = rows.column("seq")[groups.order], groups.spread(groups.ids)
            for row in first_broken(self._found, broken, seq):
                at, of = int(seq[row]), int(pool[row])
                what = next(what for what, mask in ways if mask[row])
                self._found.broken(
                    what if of in self._pools else "a pool that the task does not have", (self._task, at), task=self._task,
                    seq=at, pool=of, action=SegmentAction(int(action[row])), size=int(size[row]),
                    expected={"requested": int(held[row]), "free": int(held[row] - handed_out[row])},
                    found={"requested": int(requested[row]), "free": int(free[row])},
                )  # fmt: skip

    def end(self, whole: bool) -> Blocks:
        for pool, account in self._accounts.items() if whole else ():
            for what, left in (("never returned", account.held), ("never recycled", account.handed_out)):
                if left and pool in self._pools:
                    self._found.broken(what, (self._task, _AT_THE_END, pool), task=self._task, pool=pool,
                                       expected=0, found=left)  # fmt: skip
        return self._steps.blocks


def _pools_by_task(graph: JobGraph) -> dict[int, dict[int, Pool]]:
    found: dict[int, dict[int, Pool]] = {}
    for pool in graph.pools.values():
        found.setdefault(pool.task, {})[pool.pool] = pool
    return found


def _make(graph: JobGraph, task: Task, found: FoundByLaw) -> PoolAccounts:
    return PoolAccounts(task.task, graph.once(_pools_by_task).get(task.task, {}), found[ID])


def _needs_pools(graph: JobGraph) -> str:
    return "" if graph.pools else "the job has no buffer pools"


LAWS: Final = (
    Law(
        ID,
        "No network buffer is made, lost or counted twice: every pool and every task manager accounts for all its segments.",
        ("5.33", "5.34", "5.36", "5.37", "5.39"),
        Level.FULL,
        {"segments": ("pool", *_COLUMNS, "step")},
        _make,
        _needs_pools,
        join=suspects,
        second=SecondWalk(SuspectSteps, compare, BLOCKS_A_WALK),
    ),
)  # fmt: skip

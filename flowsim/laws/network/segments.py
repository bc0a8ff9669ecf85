"""Law segments: the segments of each buffer pool; ``segment_steps`` summarizes those of task managers."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import Level, SegmentAction
from flowsim.laws.findings import FoundByLaw, named
from flowsim.laws.job_graph import JobGraph, Pool, Task
from flowsim.laws.law import Attempts, EachPass, Law, SecondWalk
from flowsim.laws.machine import Machine, on_row
from flowsim.laws.network.segment_steps import BLOCKS_A_WALK, Blocks, SuspectSteps, add_step, compare, suspects

ID: Final = "segments"
_TAKEN, _RETURNED, _HANDED_OUT, _RECYCLED, _RESIZED, _ = (int(action) for action in SegmentAction)
_AT_THE_END: Final = 2**63 - 1


class Account:
    """The segments of one pool, those handed out to writers or channels, and the pool's size."""

    __slots__ = ("about", "handed_out", "held", "size")

    def __init__(self, about: Pool) -> None:
        self.about = about
        self.held = self.handed_out = 0
        self.size: int | None = None

    def move(self, action: int, requested: int, free: int, size: int) -> str:
        """One row; returns its error, or ''."""
        before, self.size = self.size, size
        over = False
        if action == _HANDED_OUT:
            self.handed_out += 1
            over = self.handed_out > size + self.about.overdraft
        elif action == _RECYCLED:
            self.handed_out -= 1
        elif action == _TAKEN:
            self.held += 1
            over = self.held > size + self.about.overdraft
        elif action == _RETURNED:
            self.held -= 1
        if requested != self.held or free != self.held - self.handed_out:
            return "segment counters do not balance"
        if not 0 <= self.handed_out <= self.held:
            return "a segment that the pool did not have"
        if over:
            return "more than size and overdraft allow"
        if not self.about.required <= size <= self.about.maximum:
            return "a size below what is required or above the maximum"
        if size != before and before is not None and action != _RESIZED:
            return "another size, but not resized"
        return ""


class Pools(Machine):
    """The pools of one task."""

    def __init__(self, graph: JobGraph, task: Task, found: FoundByLaw) -> None:
        self._task = task.task
        self._found = found[ID]
        self._accounts = {pool.pool: Account(pool) for pool in graph.once(_pools_by_task).get(task.task, ())}
        self._steps: Blocks = {}

    def begin_attempt(self) -> None:
        for account in self._accounts.values():
            account.size = None

    @on_row("segments")
    def _move(self, seq: int, pool: int, action: int, step: int, requested: int, free: int, size: int) -> None:
        self._found.examined += 1
        account = self._accounts.get(pool)
        if account is None:
            what = "a pool that the task does not have"
            self._found.broken(what, (self._task, seq), task=self._task, seq=seq, pool=pool,
                               action=named(SegmentAction, action))  # fmt: skip
            return
        wrong = account.move(action, requested, free, size)
        if action in (_TAKEN, _RETURNED):
            add_step(self._steps, account.about.task_manager, step, 1 if action == _TAKEN else -1)
        if wrong:
            self._found.broken(
                wrong, (self._task, seq), task=self._task, seq=seq, pool=pool, action=named(SegmentAction, action),
                size=size, expected={"requested": account.held, "free": account.held - account.handed_out},
                found={"requested": requested, "free": free},
            )  # fmt: skip

    def end(self, whole: bool) -> Blocks:
        for pool, account in self._accounts.items() if whole else ():
            free = account.held - account.handed_out
            for what, left in (
                ("recycled segments were never returned", free),
                ("segments were never recycled", account.handed_out),
            ):
                if left:
                    self._found.broken(what, (self._task, _AT_THE_END, pool), task=self._task, pool=pool,
                                       expected=0, found=left)  # fmt: skip
        return self._steps


def _pools_by_task(graph: JobGraph) -> dict[int, list[Pool]]:
    by_task: dict[int, list[Pool]] = {}
    for pool in graph.pools.values():
        by_task.setdefault(pool.task, []).append(pool)
    return by_task


def _needs_pools(graph: JobGraph) -> str:
    return "" if graph.pools else "the job has no buffer pools"


_COUNTS: Final = """\
- Not applicable: no row in `pools`. Rows examined: rows of `segments`.
- Per pool, *held* is the number of TAKEN rows minus the number of RETURNED rows, up to and including a row. *Handed
  out* is the number of HANDED_OUT rows minus the number of RECYCLED rows. A row is a violation when
  - its pool does not belong to its task (such a row moves no segment of any pool);
  - `requested` is not held, or `free` is not held minus handed out;
  - handed out is negative or above held;
  - TAKEN: held is above `size` + `overdraft` of the pool; HANDED_OUT: handed out is above this sum (rule 5.36);
  - `size` is below `required` or above `maximum` of the pool;
  - not RESIZED: `size` differs from that of the row before of the same pool and attempt.
- Per task manager, its TAKEN and RETURNED rows are ordered by (`step`, pool, seq). A row is a violation when
  - its step is not that of the row before + 1 (first row: not 0);
  - the number of TAKEN rows minus the number of RETURNED rows so far is negative, or above the `segments` of the task
    manager. (Exclusive buffers return when their channels end. This is not recorded, so they are not subtracted.)
- In a whole run, per pool of `pools`: 1 if handed out is not 0 at the end, and 1 if held is not
  handed out at the end.
"""

LAWS: Final = (
    Law(
        ID,
        "No network buffer is created, lost or counted twice: the segment counters of every pool and every task manager balance.",
        ("5.33", "5.34", "5.36", "5.37", "5.39"),
        Level.FULL,
        Pools,
        _needs_pools,
        attempts=Attempts.ALL,
        join=suspects,
        second=SecondWalk(SuspectSteps, EachPass(compare), BLOCKS_A_WALK),
        counts=_COUNTS,
    ),
)  # fmt: skip

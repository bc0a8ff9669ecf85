"""Law segments: no network buffer is created, lost or counted twice (C.7, I5.c)."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from flowsim.facts.kinds import SegmentAction
from flowsim.laws.job_graph import JobGraph, Pool
from tests.support.oracle.catalogue import Outcome
from tests.support.oracle.facts import Facts, Findings, Row, not_applicable

_HELD = {SegmentAction.TAKEN: 1, SegmentAction.RETURNED: -1}
"""What an action does to the segments that the pool has of its task manager."""
_HANDED_OUT = {SegmentAction.HANDED_OUT: 1, SegmentAction.RECYCLED: -1}
"""What it does to those that writers or channels have of the pool."""


def segments(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Adds up every movement of a segment, per pool and per task manager."""
    if not graph.pools:
        return not_applicable("segments", "the job has no buffer pools")
    rows = facts.rows("segments")
    findings = Findings(len(rows))
    by_pool: dict[int, list[Row]] = {}
    for row in rows:
        seq, task, _, pool, action, *_ = row
        # The order of facts of different tasks is not known: what a task records of another's pool is not of its account.
        if pool in graph.pools and graph.pools[pool].task == task:
            by_pool.setdefault(pool, []).append(row)
        else:
            what = "a pool that the task does not have"
            findings.broken(what, pool=pool, task=task, seq=seq, action=SegmentAction(action))
    for pool in sorted(graph.pools):
        _judge_pool(findings, pool, graph.pools[pool], sorted(by_pool.get(pool, ())), facts.attempt, whole)
    for manager in sorted(graph.task_managers):
        pools = [pool for pool in graph.pools.values() if pool.task_manager == manager]
        # Exclusive buffers come back when their channels end, which is no fact: only the whole can be judged.
        limit = graph.task_managers[manager].segments
        moves = (row for pool in pools for row in by_pool.get(pool.pool, ()) if row[4] in _HELD)
        _judge_task_manager(findings, manager, limit, moves)
    return findings.outcome("segments")


def _judge_pool(
    findings: Findings, pool: int, about: Pool, rows: list[Row], attempt_of: Callable[[int, int], int], whole: bool
) -> None:
    held = handed_out = 0
    size: int | None = None
    attempt = 0
    for seq, task, _, _, action, _, _, requested, free, now in rows:
        if attempt_of(task, seq) != attempt:
            attempt, size = attempt_of(task, seq), None
        held += _HELD.get(SegmentAction(action), 0)
        handed_out += _HANDED_OUT.get(SegmentAction(action), 0)
        what = ""
        if (requested, free) != (held, held - handed_out):
            what = "wrong books"
        elif handed_out < 0 or held < handed_out:
            what = "a segment from nowhere"
        elif max(held if action == SegmentAction.TAKEN else 0,
                 handed_out if action == SegmentAction.HANDED_OUT else 0) > now + about.overdraft:  # fmt: skip
            what = "more than size and overdraft allow"
        elif not about.required <= now <= about.maximum:
            what = "a size that the pool must not have"
        elif size not in (None, now) and action != SegmentAction.RESIZED:
            what = "another size, but not resized"
        size = now
        if what:
            findings.broken(
                what, pool=pool, task=task, seq=seq, action=SegmentAction(action), requested=requested, free=free,
                size=now, held=held, handed_out=handed_out,
            )  # fmt: skip
    if whole:
        for what, left in (("never given back", held), ("never recycled", handed_out)):
            if left:
                findings.broken(what, pool=pool, segments=left)


def _judge_task_manager(findings: Findings, manager: int, limit: int, moves: Iterable[Row]) -> None:
    held, before = 0, -1
    for step, pool, seq, action in sorted((row[6], row[3], row[0], row[4]) for row in moves):
        held += _HELD[SegmentAction(action)]
        if step != before + 1 or not 0 <= held <= limit:
            findings.broken(
                "more segments than there are" if step == before + 1 else "a step is missing",
                task_manager=manager, pool=pool, seq=seq, step=step, held=held, limit=limit,
            )  # fmt: skip
        before = step

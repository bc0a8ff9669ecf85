"""Law backlog: the backlog that a sender reports is that of its queue (rules 5.18, 5.22, 5.23, 5.26)."""

from __future__ import annotations

from dataclasses import dataclass, field

from flowsim.facts.kinds import BufferKind, BufferSide, PoolKind
from flowsim.laws.job_graph import JobGraph
from tests.support.oracle.catalogue import Outcome
from tests.support.oracle.channels import compare_ends, falling_behind
from tests.support.oracle.facts import Facts, Findings, Row, not_applicable

DATA = BufferKind.DATA


@dataclass
class Queue:
    """One subpartition: the kinds of its entries, head first."""

    entries: list[tuple[int, int]] = field(default_factory=list)
    """Kind and number."""
    may_be_blocked: bool = False
    flush_requested: bool = False
    queued: int = 0
    sent: int = 0

    @property
    def data(self) -> int:
        return sum(kind == DATA for kind, _ in self.entries)

    def add(self, kind: int, number: int) -> None:
        """Behind the others, or behind the others with priority."""
        with_priority = [n for n, (each, _) in enumerate(self.entries) if each == BufferKind.PRIORITY_EVENT]
        self.entries.insert(
            len(with_priority) if kind == BufferKind.PRIORITY_EVENT else len(self.entries), (kind, number)
        )


def backlog(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Replays the queue of every remote subpartition of a pipelined edge."""
    judged = {
        channel.channel
        for channel in graph.channels.values()
        if not channel.local and graph.edges[channel.edge].exchange != "BLOCKING"
    }
    if not judged:
        return not_applicable("backlog", "the job has no remote channel of a pipelined edge")
    rows = [row for row in facts.rows("buffers") if row[3] in judged and row[4] != BufferSide.RECYCLED]
    findings = Findings(0)
    queues: dict[int, Queue] = {}
    may_block = bool(graph.history.checkpoints)
    for seq, task, *rest in sorted(rows, key=lambda row: (row[1], row[0])):
        row = (seq, task, *rest)
        channel, side = row[3], row[4]
        sends = graph.channels[channel].source_task == task
        if side == BufferSide.RECEIVED:
            findings.rows_examined += graph.channels[channel].target_task == task
        elif sends:
            findings.rows_examined += 1
            if not _fits(queues.setdefault(channel, Queue()), row, _has_exclusive_buffers(graph, channel), may_block):
                findings.broken("wrong", channel=channel, task=task, seq=seq, side=side, backlog=row[8])
    at_ends = {
        BufferSide.SENT: [
            row for row in rows if (row[4], row[1]) == (BufferSide.SENT, graph.channels[row[3]].source_task)
        ],
        BufferSide.RECEIVED: [
            row for row in rows if (row[4], row[1]) == (BufferSide.RECEIVED, graph.channels[row[3]].target_task)
        ],
    }
    for at_end in at_ends.values():
        falling_behind(findings, [(row[1], row[0], row[3], row[5]) for row in at_end])
    sent, received = ([((r[3], r[5]), (r[6], r[7], r[8])) for r in at_end] for at_end in at_ends.values())
    compare_ends(findings, sent, received, whole)
    for channel in sorted(queues) if whole else ():
        if queues[channel].entries:
            findings.broken("never left its queue", channel=channel)
    return findings.outcome("backlog")


def _has_exclusive_buffers(graph: JobGraph, channel: int) -> bool:
    about = graph.channels[channel]
    gate = (about.target_task, about.edge)
    return any((p.task, p.edge) == gate and p.kind == PoolKind.INPUT and p.exclusive for p in graph.pools.values())


def _fits(queue: Queue, row: Row, exclusive: bool, may_block: bool) -> bool:
    """Does to the queue what the row says, as far as it can; whether it could, and the row says what is then so."""
    _, _, _, _, side, number, kind, size, reported, _, whole = row
    if side == BufferSide.QUEUED:
        queue.add(kind, number)
        queue.queued += 1
        return (number, reported) == (queue.queued - 1, queue.data)
    if side == BufferSide.PRIORITIZED:
        is_queued = (BufferKind.EVENT, number) in queue.entries
        if is_queued:
            queue.entries.remove((BufferKind.EVENT, number))
            queue.add(BufferKind.PRIORITY_EVENT, number)
        return is_queued and reported == queue.data
    if side == BufferSide.FLUSHED:
        in_vain = not queue.entries or queue.flush_requested
        queue.flush_requested = True
        return not in_vain and reported == queue.data
    if side == BufferSide.SENT:
        queue.sent += 1
        if kind != BufferKind.PRIORITY_EVENT:
            queue.may_be_blocked = may_block and kind == BufferKind.EVENT
    head = [kind for kind, _ in queue.entries[:1]]
    if head != [kind] or (not whole and len(queue.entries) > 1) or (side != BufferSide.SENT and kind != DATA):
        return False
    if len(queue.entries) == 1:
        queue.flush_requested = False
    if whole:
        del queue.entries[0]
    if side == BufferSide.SKIPPED:
        return reported == queue.data
    tail_waits = [kind for kind, _ in queue.entries[-1:]] == [DATA] and not queue.flush_requested
    is_empty = kind == DATA and size <= 0
    # A barrier that blocks its channel reports no backlog (rule 5.27).
    is_reported = reported == queue.data - tail_waits or (queue.may_be_blocked and reported == 0)
    return number == queue.sent - 1 and is_reported and not (is_empty and (exclusive or not whole))

"""Law backlog: what a sender tells about its queue is what the queue holds (rules 5.18, 5.22, 5.23, 5.26)."""

from __future__ import annotations

from dataclasses import dataclass, field

from flowsim.facts.kinds import BufferKind, BufferSide, PoolKind
from flowsim.laws.job_graph import JobGraph
from tests.support.oracle.catalogue import Outcome
from tests.support.oracle.facts import Facts, Findings, Row, not_applicable

DATA = BufferKind.DATA


@dataclass
class Queue:
    """One subpartition: the kinds of its entries, head first."""

    entries: list[int] = field(default_factory=list)
    flush_requested: bool = False
    queued: int = 0
    sent: int = 0

    @property
    def data(self) -> int:
        return sum(kind == DATA for kind in self.entries)


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
    findings = Findings(len(rows))
    queues: dict[int, Queue] = {}
    arrived: dict[int, int] = {}
    left = {_told(row) for row in rows if row[4] == BufferSide.SENT}
    for row in sorted(rows, key=lambda row: (row[1], row[0])):
        seq, task, _, channel, side, number, *_ = row
        if side == BufferSide.RECEIVED:
            wrong = number != arrived.get(channel, 0) or _told(row) not in left
            arrived[channel] = arrived.get(channel, 0) + 1
        else:
            wrong = not _fits(queues.setdefault(channel, Queue()), row, _has_exclusive_buffers(graph, channel))
        if wrong:
            findings.broken("wrong", channel=channel, task=task, seq=seq, side=side, number=number, backlog=row[8])
    for channel in sorted(queues) if whole else ():
        if queues[channel].entries:
            findings.broken("never left its queue", channel=channel)
    return findings.outcome("backlog")


def _told(row: Row) -> tuple[int, ...]:
    """Channel, number, kind, bytes and backlog."""
    return row[3], row[5], row[6], row[7], row[8]


def _has_exclusive_buffers(graph: JobGraph, channel: int) -> bool:
    about = graph.channels[channel]
    gate = (about.target_task, about.edge)
    return any((p.task, p.edge) == gate and p.kind == PoolKind.INPUT and p.exclusive for p in graph.pools.values())


def _fits(queue: Queue, row: Row, exclusive: bool) -> bool:
    """Does to the queue what the row says, as far as it can; whether it could, and the row says what is then so."""
    _, _, _, _, side, number, kind, size, told, _, whole = row
    if side == BufferSide.QUEUED:
        queue.entries.append(kind)
        queue.queued += 1
        return (number, told) == (queue.queued - 1, queue.data)
    if side == BufferSide.FLUSHED:
        in_vain = not queue.entries or queue.flush_requested
        queue.flush_requested = True
        return not in_vain and told == queue.data
    if side == BufferSide.SENT:
        queue.sent += 1
    head = queue.entries[:1]
    if head != [kind] or (not whole and len(queue.entries) > 1) or (side != BufferSide.SENT and kind != DATA):
        return False
    if len(queue.entries) == 1:
        queue.flush_requested = False
    if whole:
        del queue.entries[0]
    if side == BufferSide.SKIPPED:
        return told == queue.data
    tail_waits = queue.entries[-1:] == [DATA] and not queue.flush_requested
    is_empty = kind == DATA and size <= 0
    return number == queue.sent - 1 and told == queue.data - tail_waits and not (is_empty and (exclusive or not whole))

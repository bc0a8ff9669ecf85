"""Law backlog: the queues of subpartitions, and whether buffers arrive unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from flowsim.facts.kinds import BufferKind, BufferSide, Level, PoolKind
from flowsim.laws.findings import FoundByLaw, named
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Law
from flowsim.laws.machine import Machine, on_row, reads
from flowsim.laws.network.buffer_rows import (
    FLUSHED,
    PRIORITIZED,
    QUEUED,
    RECEIVED,
    SENT,
    remote_pipelined,
)
from flowsim.laws.network.subpartition_queue import SubpartitionQueue
from flowsim.laws.slices import Slice
from flowsim.laws.two_ends import Columns, Sums, Words, second_walk, suspects

ID: Final = "backlog"
_PAYLOAD: Final = ("kind", "bytes", "backlog")
_AT_THE_END: Final = 2**63 - 1


@reads(buffers=("side", "channel", "number", *_PAYLOAD))
def _ends(facts: Slice) -> Iterator[tuple[int, Columns]]:
    rows = facts.of("buffers")
    for side in (SENT, RECEIVED) if len(rows) else ():
        mask = rows.column("side") == side
        if mask.any():
            yield side, tuple(rows.column(name)[mask] for name in ("channel", "number", *_PAYLOAD))


class Queues(Machine):
    """The queues of one task, and the sums of its sent and received buffers."""

    def __init__(self, graph: JobGraph, task: Task, found: FoundByLaw) -> None:
        judged, has_barriers = graph.once(remote_pipelined), bool(graph.history.checkpoints)
        sent, received = judged.sent.get(task.task, []), judged.received.get(task.task, [])
        self._task = task.task
        self._exclusive = graph.once(_exclusive_channels)
        self._found = found[ID]
        self._queues = {channel: SubpartitionQueue(has_barriers) for channel in sent}
        self._sides = np.array(sent), np.array(received)
        self._sums = Sums()

    @classmethod
    def make(cls, graph: JobGraph, task: Task, found: FoundByLaw) -> Queues | None:
        return cls(graph, task, found) if graph.once(remote_pipelined).has(task) else None

    @on_row(
        "buffers",
        side=(BufferSide.SENT, BufferSide.QUEUED, BufferSide.PRIORITIZED, BufferSide.FLUSHED, BufferSide.SKIPPED),
    )
    def _move(
        self, seq: int, side: int, channel: int, kind: int, number: int, bytes: int, backlog: int, whole: int
    ) -> None:
        queue = self._queues.get(channel)
        if queue is None:
            return
        self._found.examined += 1
        if side == SENT:
            wrong = queue.send(number, kind, backlog, whole != 0)
            if not wrong and bytes <= 0 and (not whole or channel in self._exclusive):
                wrong = "an empty buffer is sent"
        elif side == QUEUED:
            wrong = queue.add(number, kind, backlog)
        elif side == PRIORITIZED:
            wrong = queue.prioritize(number, backlog)
        elif side == FLUSHED:
            wrong = queue.flush(backlog)
        else:
            wrong = queue.skip(kind, backlog, whole != 0)
        if wrong:
            self._found.broken(wrong, (self._task, seq), task=self._task, seq=seq, channel=channel,
                               side=named(BufferSide, side), number=number, kind=named(BufferKind, kind),
                               backlog=backlog)  # fmt: skip

    @reads(_ends)
    def _add_sums(self, facts: Slice) -> None:
        for side, columns in _ends(facts):
            own = np.isin(columns[0], self._sides[side])
            if own.any():
                self._found.examined += int(np.count_nonzero(own)) if side == RECEIVED else 0
                self._sums.add(side, tuple(column[own] for column in columns))

    def end(self, whole: bool) -> Sums:
        for channel, queue in self._queues.items() if whole else ():
            if not queue.is_empty:
                what = "a buffer or event never left its queue"
                self._found.broken(what, (self._task, _AT_THE_END, channel), task=self._task, channel=channel)
        return self._sums


def _exclusive_channels(graph: JobGraph) -> frozenset[int]:
    """The channels whose receivers have exclusive buffers."""
    gates = {(pool.task, pool.edge) for pool in graph.pools.values() if pool.kind == PoolKind.INPUT and pool.exclusive}
    return frozenset(c.channel for c in graph.channels.values() if (c.target_task, c.edge) in gates)


def _needs_channels(graph: JobGraph) -> str:
    return "" if graph.once(remote_pipelined).sent else "the job has no remote channel of a pipelined edge"


_COUNTS: Final = """\
- A channel with `local` = 0 on an edge whose `exchange` is not BLOCKING is *judged*. Not applicable: no judged channel.
- Rows examined: rows of `buffers` on judged channels, except RECYCLED rows.
- The *queue* of a channel follows from the rows of its sender:
  - A QUEUED row adds an entry: behind the others, of kind PRIORITY_EVENT behind the first entries of that kind. A
    PRIORITIZED row moves the entry with this `number` there, as a PRIORITY_EVENT. The *data count* is the number of
    DATA entries in the queue.
  - A SENT or SKIPPED row is a poll of the first entry of the queue. The poll takes the entry if three conditions are
    true: both have the same kind; a SKIPPED row has kind DATA; and `whole` is 1 or the queue has no other entry. With
    `whole` 1 the entry leaves the queue. A poll that cannot take the entry changes nothing.
  - A flush *waits* from a FLUSHED row to the first poll that takes the only entry of the queue.
- A row of the sender is a violation when
  - QUEUED, SENT: its `number` is not the number of earlier rows of the same side;
  - QUEUED, PRIORITIZED, FLUSHED, SKIPPED: its `backlog` is not the data count after the row;
  - PRIORITIZED: no entry of kind EVENT has its `number`;
  - FLUSHED: the queue is empty, or a flush already waits (rule 5.22);
  - SENT, SKIPPED: the poll cannot take the entry;
  - SENT: its `backlog` is not the data count after the row, minus 1 if the last entry is DATA and no flush waits (rule
    5.26). In a finished partition, the last entry is an event. If the job has rows in `checkpoints`, an EVENT row may
    have 0, and the PRIORITY_EVENT rows that follow it: a barrier that blocks its channel reports no backlog (rule
    5.27);
  - SENT, of kind DATA with 0 `bytes`: `whole` is 0, or the input pool of the receiver's gate has `exclusive` buffers
    (rule 5.23).
- The SENT and RECEIVED rows are compared like `sent` and `received` in law channel-fifo. The position is `number`; a
  buffer is changed if its `kind`, `bytes` or `backlog` differs.
- In a whole run, 1 for each channel whose queue is not empty at the end.
"""

LAWS: Final = (
    Law(
        ID,
        "The backlog that a sender reports is the number of data buffers in its queue; a buffer that waits for a "
        "flush does not count. Buffers leave the queue in order and not empty, and arrive unchanged.",
        ("5.18", "5.22", "5.23", "5.26", "6.12", "6.14"),
        Level.FULL,
        Queues,
        _needs_channels,
        join=suspects,
        second=second_walk(_ends, Words("buffer with number", "buffers with numbers", "number", _PAYLOAD, BufferKind)),
        counts=_COUNTS,
    ),
)  # fmt: skip

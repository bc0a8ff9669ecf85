"""Law backlog: the queues of subpartitions, and whether buffers arrive as they left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from flowsim.facts.kinds import BufferKind, BufferSide, Level, PoolKind
from flowsim.laws.evidence import named
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Findings, FoundByLaw, Law, SecondWalk
from flowsim.laws.network.buffer_rows import (
    COLUMNS,
    DATA,
    FLUSHED,
    QUEUED,
    RECEIVED,
    RECYCLED,
    SENT,
    ChannelsByTask,
    buffer_rows,
    remote_pipelined,
)
from flowsim.laws.network.subpartition_queue import SubpartitionQueue
from flowsim.laws.slices import Slice

ID: Final = "backlog"
_ON_THE_WIRE: Final = (SENT, RECEIVED)
_ON_THE_WAY: Final = ("number", "kind", "bytes", "backlog")
"""What a buffer has in common where it leaves and where it arrives."""
_BLOCK_BITS: Final = 10
"""A block is 1,024 numbers of a channel."""
_PRIME: Final = (1 << 61) - 1
_32_BITS: Final = 0xFFFFFFFF
"""Makes numbers positive: those of -1 and -2 have the same hash."""
_BLOCKS_A_WALK: Final = 1024
_AT_THE_END: Final = 2**63 - 1

Block = tuple[int, int]
"""A channel, and the number of a block."""
Sums = dict[int, int]
"""By number of a block the sum of the hashes of its buffers; hashes of integers are the same in every process."""
Answer = tuple[dict[int, Sums], dict[int, Sums]]
"""By channel what a task sent, and what it received."""
Buffer = tuple[int, ...]
"""Channel, number, kind, bytes and backlog."""


class Queues:
    """The queues of one task, its arrivals, and the sums of both that the other ends are compared with."""

    def __init__(self, task: int, judged: ChannelsByTask, exclusive: frozenset[int], found: Findings) -> None:
        self._task = task
        self._exclusive = exclusive
        self._found = found
        self._queues = {channel: (SubpartitionQueue(), Sums()) for channel in judged.sent.get(task, ())}
        self._arrivals = {channel: (Arrivals(), Sums()) for channel in judged.received.get(task, ())}

    def feed(self, facts: Slice) -> None:
        queues, arrivals, examined = self._queues, self._arrivals, 0
        for seq, side, channel, kind, _, number, size, backlog, whole in facts.once(buffer_rows):
            if side == RECEIVED:
                if channel not in arrivals:
                    continue
                arrived, sums = arrivals[channel]
                wrong = "" if arrived.is_next(number) else "arrives out of order"
            elif channel not in queues or side == RECYCLED:
                continue
            else:
                queue, sums = queues[channel]
                if side == SENT:
                    wrong = queue.send(number, kind == DATA, backlog, whole != 0)
                    if not wrong and size <= 0 and (not whole or channel in self._exclusive):
                        wrong = "an empty buffer is sent"
                elif side == QUEUED:
                    wrong = queue.add(number, kind == DATA, backlog)
                elif side == FLUSHED:
                    wrong = queue.flush(backlog)
                else:
                    wrong = queue.skip(kind == DATA, backlog, whole != 0)
            examined += 1
            if side in _ON_THE_WIRE:
                block = number >> _BLOCK_BITS
                row = (number << 65 | kind << 64 | (size & _32_BITS) << 32 | backlog & _32_BITS) % _PRIME
                sums[block] = sums.get(block, 0) + row * row % _PRIME
            if wrong:
                self._found.broken(wrong, (self._task, seq), task=self._task, seq=seq, channel=channel,
                                   side=named(BufferSide, side), number=number, kind=named(BufferKind, kind),
                                   backlog=backlog)  # fmt: skip
        self._found.examined += examined

    def end(self, whole: bool) -> Answer:
        for channel, (queue, _) in self._queues.items() if whole else ():
            if not queue.is_empty:
                what = "a buffer or event never left its queue"
                self._found.broken(what, (self._task, _AT_THE_END, channel), task=self._task, channel=channel)
        sent, received = (
            {channel: sums for channel, (_, sums) in ends.items()} for ends in (self._queues, self._arrivals)
        )
        return sent, received


class Arrivals:
    """Counts what arrives on one channel."""

    __slots__ = ("_count",)

    def __init__(self) -> None:
        self._count = 0

    def is_next(self, number: int) -> bool:
        """Whether a buffer has the number of those that arrived before it; counts it."""
        self._count += 1
        return number == self._count - 1


def _make(graph: JobGraph, task: Task, found: FoundByLaw) -> Queues | None:
    judged = graph.once(remote_pipelined)
    if task.task not in judged.sent and task.task not in judged.received:
        return None
    return Queues(task.task, judged, graph.once(_exclusive_channels), found[ID])


def _exclusive_channels(graph: JobGraph) -> frozenset[int]:
    """The channels whose receivers have exclusive buffers."""
    gates = {(pool.task, pool.edge) for pool in graph.pools.values() if pool.kind == PoolKind.INPUT and pool.exclusive}
    return frozenset(c.channel for c in graph.channels.values() if (c.target_task, c.edge) in gates)


def _needs_channels(graph: JobGraph) -> str:
    return "" if graph.once(remote_pipelined).sent else "the job has no remote channel of a pipelined edge"


def _suspects(graph: JobGraph, answers: Mapping[int, object], whole: bool, found: Findings) -> Sequence[Block]:
    """The blocks of which not exactly that arrived which was sent."""
    sent: dict[int, Sums] = {}
    received: dict[int, Sums] = {}
    for answer in answers.values():
        assert isinstance(answer, tuple)
        sent |= answer[0]
        received |= answer[1]
    return [
        (channel, block)
        for channel, sums in sorted(received.items())
        for block, total in sorted(sums.items())
        if sent[channel].get(block) != total
    ]


class SuspectBuffers:
    """Collects the buffers of suspicious blocks: what was sent, and what arrived in order."""

    def __init__(self, suspects: Sequence[Block]) -> None:
        self._suspects = frozenset(suspects)
        self._channels = np.array(sorted({channel for channel, _ in suspects}))
        self._arrived = {channel: Arrivals() for channel, _ in suspects}
        self._sent: set[Buffer] = set()
        self._received: list[tuple[int, int, Buffer]] = []

    def feed(self, facts: Slice) -> None:
        rows = facts.of("buffers")
        mask = np.isin(rows.column("side"), _ON_THE_WIRE) & np.isin(rows.column("channel"), self._channels)
        for seq, side, *buffer in rows.tuples(("seq", "side", "channel", *_ON_THE_WAY), mask):
            channel, number, *_ = buffer
            is_suspect = (channel, number >> _BLOCK_BITS) in self._suspects
            if side == SENT:
                if is_suspect:
                    self._sent.add(tuple(buffer))
                continue
            # Those that arrive out of order are counted in the first walk.
            if self._arrived[channel].is_next(number) and is_suspect:
                self._received.append((facts.task, seq, tuple(buffer)))

    def end(self, whole: bool) -> tuple[set[Buffer], list[tuple[int, int, Buffer]]] | None:
        return (self._sent, self._received) if self._sent or self._received else None


def _compare(graph: JobGraph, answers: Mapping[int, object], whole: bool, found: Findings) -> None:
    """What arrives was sent, with the same number, kind, bytes and backlog."""
    sent: set[Buffer] = set()
    received: list[tuple[int, int, Buffer]] = []
    for answer in answers.values():
        assert isinstance(answer, tuple)
        sent |= answer[0]
        received += answer[1]
    for task, seq, buffer in received:
        if buffer not in sent:
            channel, number, kind, size, backlog = buffer
            found.broken("arrives as something else than was sent", (task, seq), task=task, seq=seq, channel=channel,
                         number=number, kind=named(BufferKind, kind), bytes=size, backlog=backlog)  # fmt: skip


_COUNTS: Final = """\
- *Judged channels*: those of `channels` with local = 0 on edges whose `exchange` is not BLOCKING. Not applicable:
  there is none.
- Rows examined: rows of `buffers` on judged channels, RECYCLED ones left out.
- Sender, per channel, its rows by seq. The queue holds what was QUEUED and has not left; *data* is the number of its
  DATA entries. A flush waits from a FLUSHED row to the first poll (SENT or SKIPPED) that finds one entry in the queue.
  A poll takes the entry at the head, which must be of its kind, and with `whole` 0 the only one; with `whole` 1 the
  entry leaves. A poll that cannot take it changes nothing. A row is a violation (once) when
  - it is QUEUED or SENT and its `number` is not the count of such rows before it; or
  - it is QUEUED, FLUSHED or SKIPPED and its `backlog` is not *data* afterwards; or
  - it is FLUSHED and the queue is empty, or a flush waits already (rule 5.22); or
  - it is SENT or SKIPPED and cannot take the entry, or SKIPPED and not DATA; or
  - it is SENT and its `backlog` is not *data* afterwards, less 1 when the last entry is DATA and no flush waits (rule
    5.26; a finished partition has an event there); or
  - it is SENT, DATA, of 0 `bytes`, and `whole` is 0 or the pool of the receiver's gate has `exclusive` buffers (5.23).
- Receiver: a RECEIVED row is a violation (once) when its `number` is not the count of the channel's RECEIVED rows
  before it, or when no SENT row of the channel has the same number, kind, bytes and backlog.
- In a whole run, 1 per channel whose queue is not empty at the end.
"""

LAWS: Final = (
    Law(
        ID,
        "The backlog that a sender reports is the number of data buffers in its queue, less one that waits for a flush; "
        "buffers leave the queue in order, none empty, and arrive as they left.",
        ("5.18", "5.22", "5.23", "5.26", "6.12", "6.14"),
        Level.FULL,
        {"buffers": COLUMNS},
        _make,
        _needs_channels,
        join=_suspects,
        second=SecondWalk(SuspectBuffers, _compare, _BLOCKS_A_WALK),
        counts=_COUNTS,
    ),
)  # fmt: skip

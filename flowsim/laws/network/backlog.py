"""Law backlog: the queues of subpartitions, and whether buffers arrive as they left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from flowsim.facts.kinds import BufferKind, BufferSide, Level
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Findings, FoundByLaw, Law, SecondWalk
from flowsim.laws.network.blocks import BLOCK_BITS, Block, Sums, Words, add_up, hashes
from flowsim.laws.network.groups import Groups, channels_by_task, first_broken
from flowsim.laws.network.subpartition_queue import SubpartitionQueue
from flowsim.laws.slices import Ints, Mask, Rows, Slice

ID: Final = "backlog"
_ON_THE_WAY: Final = ("number", "kind", "bytes", "backlog")
"""What a buffer has in common where it leaves and where it arrives."""
_COLUMNS: Final = ("channel", "side", *_ON_THE_WAY, "whole")
_QUEUED, _SENT = int(BufferSide.QUEUED), int(BufferSide.SENT)
_DATA: Final = int(BufferKind.DATA)
_BLOCKS_A_WALK: Final = 1024
_AT_THE_END: Final = 2**63 - 1

Answer = tuple[Sums, Sums]
"""What a task sent, and what it received."""
Buffer = tuple[int, ...]
"""Channel, number, kind, bytes and backlog."""


class Queues:
    """The queues of one task, its arrivals, and the sums of both that the other ends are compared with."""

    def __init__(self, task: int, judged: Ints | None, found: Findings) -> None:
        self._task = task
        self._judged = judged
        """The channels of the task that are judged; None when all are."""
        self._found = found
        self._queues: dict[int, SubpartitionQueue] = {}
        self._arrived: dict[int, int] = {}
        self._sent: Sums = {}
        self._received: Sums = {}

    def feed(self, facts: Slice) -> None:
        rows = facts.of("buffers")
        side = rows.column("side")
        judged = None if self._judged is None else np.isin(rows.column("channel"), self._judged)
        received = side == BufferSide.RECEIVED
        if judged is None:
            self._found.examined += len(rows)
        else:
            self._found.examined += int(np.count_nonzero(judged))
            received &= judged
        if received.any():
            self._arrive(rows, received)
        sent = side == _SENT if judged is None else judged & (side == _SENT)
        if sent.any():
            groups = Groups(rows.column("channel")[sent])
            number, hashed = _hashed(rows, sent, groups)
            add_up(self._sent, groups, number, hashed)
        queued = ~received if judged is None else judged & ~received
        if queued.any():
            self._queue(rows, queued)

    def _queue(self, rows: Rows, mask: Mask) -> None:
        queues = self._queues
        columns = ("channel", "side", "number", "kind", "backlog", "whole", "seq")
        for channel, side, number, kind, backlog, whole, seq in rows.tuples(columns, mask):
            queue = queues.get(channel)
            if queue is None:
                queue = queues[channel] = SubpartitionQueue()
            if side == _QUEUED:
                wrong = queue.add(number, kind == _DATA, backlog)
            else:
                wrong = queue.take(number, kind == _DATA, backlog, whole != 0)
            if wrong:
                self._found.broken(wrong, (self._task, seq), task=self._task, seq=seq, channel=channel,
                                   side=BufferSide(side), number=number, kind=BufferKind(kind),
                                   backlog=backlog)  # fmt: skip

    def _arrive(self, rows: Rows, mask: Mask) -> None:
        groups = Groups(rows.column("channel")[mask])
        number, hashed = _hashed(rows, mask, groups)
        add_up(self._received, groups, number, hashed)
        expected = _expected(groups, self._arrived)
        broken = number != expected
        if broken.any():
            seq = rows.column("seq")[mask][groups.order]
            channel = groups.spread(groups.ids)
            for row in first_broken(self._found, broken, seq):
                at = int(seq[row])
                self._found.broken("arrives out of order", (self._task, at), task=self._task, seq=at,
                                   channel=int(channel[row]), expected=int(expected[row]),
                                   found=int(number[row]))  # fmt: skip

    def end(self, whole: bool) -> Answer:
        for channel, queue in self._queues.items() if whole else ():
            if not queue.is_empty:
                what = "a buffer or event never left its queue"
                self._found.broken(what, (self._task, _AT_THE_END, channel), task=self._task, channel=channel)
        return self._sent, self._received


def _hashed(rows: Rows, mask: Mask, groups: Groups) -> tuple[Ints, Words]:
    """The numbers of some buffers, and hashes of all that they have in common at both ends, group by group."""
    number, *others = (rows.column(name)[mask][groups.order] for name in _ON_THE_WAY)
    return number, hashes(number, *others)


def _expected(groups: Groups, counts: dict[int, int]) -> Ints:
    """The numbers that rows should have by the count of those before; counts them."""
    before = [counts.get(group, 0) for group in groups.ids]
    for group, start, size in zip(groups.ids, before, groups.sizes.tolist(), strict=True):
        counts[group] = start + size
    return groups.running(np.ones(len(groups.order), dtype=np.int64), before) - 1


def _judged_channels(graph: JobGraph) -> dict[int, Ints | None]:
    """The remote channels of pipelined edges."""
    return channels_by_task(
        graph, lambda channel: not channel.local and graph.edges[channel.edge].exchange != "BLOCKING"
    )


def _make(graph: JobGraph, task: Task, found: FoundByLaw) -> Queues | None:
    judged = graph.once(_judged_channels)
    return Queues(task.task, judged[task.task], found[ID]) if task.task in judged else None


def _needs_channels(graph: JobGraph) -> str:
    return "" if graph.once(_judged_channels) else "the job has no remote channel of a pipelined edge"


def _suspects(graph: JobGraph, answers: Mapping[int, object], whole: bool, found: Findings) -> Sequence[Block]:
    """The blocks of which not exactly that arrived which was sent."""
    sent: Sums = {}
    received: Sums = {}
    for answer in answers.values():
        assert isinstance(answer, tuple)
        sent |= answer[0]
        received |= answer[1]
    return sorted(block for block, sums in received.items() if sent.get(block) != sums)


class SuspectBuffers:
    """Collects the buffers of suspicious blocks: what was sent, and what arrived in order."""

    def __init__(self, suspects: Sequence[Block]) -> None:
        self._suspects = frozenset(suspects)
        self._channels = np.array(sorted({channel for channel, _ in suspects}))
        self._arrived: dict[int, int] = {}
        self._sent: set[Buffer] = set()
        self._received: list[tuple[int, int, Buffer]] = []

    def feed(self, facts: Slice) -> None:
        rows = facts.of("buffers")
        mask = (rows.column("side") != _QUEUED) & np.isin(rows.column("channel"), self._channels)
        for seq, side, *buffer in rows.tuples(("seq", "side", "channel", *_ON_THE_WAY), mask):
            channel, number, *_ = buffer
            is_suspect = (channel, number >> BLOCK_BITS) in self._suspects
            if side == _SENT:
                if is_suspect:
                    self._sent.add(tuple(buffer))
                continue
            expected = self._arrived.get(channel, 0)
            self._arrived[channel] = expected + 1
            # Those that arrive out of order are counted in the first walk.
            if is_suspect and number == expected:
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
                         number=number, kind=BufferKind(kind), bytes=size, backlog=backlog)  # fmt: skip


LAWS: Final = (
    Law(
        ID,
        "The backlog that a sender reports is the number of data buffers in its queue, less one that waits for a flush; "
        "buffers leave the queue in order and arrive as they left.",
        ("5.18", "5.23", "5.26", "6.12", "6.14"),
        Level.FULL,
        {"buffers": _COLUMNS},
        _make,
        _needs_channels,
        join=_suspects,
        second=SecondWalk(SuspectBuffers, _compare, _BLOCKS_A_WALK),
    ),
)  # fmt: skip

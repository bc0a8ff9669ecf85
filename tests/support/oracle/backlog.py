"""Law backlog: what a sender tells about its queue is what the queue holds (rules 5.18, 5.26)."""

from __future__ import annotations

from flowsim.facts.kinds import BufferKind, BufferSide
from flowsim.laws.job_graph import JobGraph
from tests.support.oracle.catalogue import Outcome
from tests.support.oracle.facts import Facts, Findings, Row, not_applicable

_Told = tuple[int, int, int, int, int]
"""Channel, number, kind, bytes and backlog of a buffer on its way."""


def backlog(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Replays the queue of every remote subpartition of a pipelined edge."""
    judged = {
        channel.channel
        for channel in graph.channels.values()
        if not channel.local and graph.edges[channel.edge].exchange != "BLOCKING"
    }
    if not judged:
        return not_applicable("backlog", "the job has no remote channel of a pipelined edge")
    rows = [row for row in facts.rows("buffers") if row[3] in judged]
    findings = Findings(len(rows))
    queues: dict[int, _Queue] = {}
    arrived: dict[int, int] = {}
    left: set[_Told] = {_told(row) for row in rows if row[4] == BufferSide.SENT}
    for row in sorted(rows, key=lambda row: (row[1], row[0])):
        channel, side, number = row[3], row[4], row[5]
        if side == BufferSide.RECEIVED:
            expected = arrived.get(channel, 0)
            arrived[channel] = expected + 1
            wrong = "arrives out of order" if number != expected else ""
            wrong = wrong or ("arrives as something else than was sent" if _told(row) not in left else "")
        else:
            queue = queues.setdefault(channel, _Queue())
            wrong = queue.add(row) if side == BufferSide.QUEUED else queue.take(row)
        if wrong:
            findings.broken(
                wrong, channel=channel, task=row[1], seq=row[0], side=BufferSide(side), number=number,
                kind=BufferKind(row[6]), backlog=row[8],
            )  # fmt: skip
    for channel in sorted(queues) if whole else ():
        if not queues[channel].empty:
            findings.broken("never left its queue", channel=channel)
    return findings.outcome("backlog")


def _told(row: Row) -> _Told:
    return row[3], row[5], row[6], row[7], row[8]


class _Queue:
    """One subpartition's queue, as its facts tell it.

    A buffer that left in part and was finished without more bytes disappears from the queue without a fact. So what has
    left is known up to that: ``guesses`` are pairs of (data buffers gone, whether the next one left in part).
    """

    __slots__ = ("added", "data", "events_gone", "guesses", "taken", "tail_is_data", "up_to_event")

    def __init__(self) -> None:
        self.added = self.taken = self.data = self.events_gone = 0
        self.up_to_event: list[int] = []
        """Per queued event the data buffers queued before it."""
        self.tail_is_data = False
        self.guesses = {(0, False)}

    def add(self, row: Row) -> str:
        """A buffer or event is queued; says what is wrong, '' when nothing is."""
        number, kind, told = row[5], row[6], row[8]
        wrong = "queued out of order" if number != self.added else ""
        self.added += 1
        self.tail_is_data = kind == BufferKind.DATA
        if self.tail_is_data:
            self.data += 1
        else:
            self.up_to_event.append(self.data)
        fitting = {guess for guess in self._possible() if self.data - guess[0] == told}
        self.guesses = fitting or self.guesses
        return wrong if fitting or wrong else "queued with a wrong backlog"

    def take(self, row: Row) -> str:
        """A buffer, part of one, or an event leaves."""
        number, kind, told, ends = row[5], row[6], row[8], row[10]
        wrong = "leaves out of order" if number != self.taken else ""
        self.taken += 1
        possible = self._leaving(kind == BufferKind.DATA, bool(ends))
        if not possible:
            return wrong or "leaves, but is not the next in the queue"
        fitting = {guess for guess in possible if self._may_tell(told, guess[0])}
        self.guesses = fitting or possible
        return wrong if fitting or wrong else "carries a wrong backlog"

    @property
    def empty(self) -> bool:
        gone = any(data == self.data for data, _ in self._possible())
        return gone and self.events_gone == len(self.up_to_event)

    def _possible(self) -> set[tuple[int, bool]]:
        return self.guesses | {(gone + 1, False) for gone, in_part in self.guesses if in_part}

    def _leaving(self, is_data: bool, ends: bool) -> set[tuple[int, bool]]:
        event_waits = self.events_gone < len(self.up_to_event)
        if is_data:
            limit = self.up_to_event[self.events_gone] if event_waits else self.data
            return {((gone + 1, False) if ends else (gone, True)) for gone, _ in self._possible() if gone < limit}
        if not event_waits:
            return set()
        before = self.up_to_event[self.events_gone]
        found = {(gone, False) for gone, _ in self._possible() if gone == before}
        self.events_gone += 1
        self.guesses = {(before, False)}
        return found

    def _may_tell(self, told: int, gone: int) -> bool:
        waiting = self.data - gone
        return told == waiting or (told == waiting - 1 and waiting > 0 and self.tail_is_data)

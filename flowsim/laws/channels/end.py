"""Law channel-end: the highest positions show which channels continue after their end; only those are examined again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from flowsim.facts.kinds import ElementKind, Level
from flowsim.laws.elements import received_ends, sent_ends
from flowsim.laws.event_time.paths import held_back
from flowsim.laws.findings import EVIDENCE_ROWS, Findings, FoundByLaw, named
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import EachPass, Law, SecondWalk, needs_channels
from flowsim.laws.machine import Machine, reads
from flowsim.laws.slices import Rows, Slice
from flowsim.units import MAX_WATERMARK

ID: Final = "channel-end"
SIDES: Final = (("sent", sent_ends), ("received", received_ends))
_COLUMNS: Final = ("channel", "position", "kind", "timestamp")
_NEVER: Final = 2**63
_NOWHERE: Final = -(2**63)
_FEW: Final = 100
WRITER: Final = "writer"
COMMITTER: Final = "committer"
_CHANNELS_A_WALK: Final = 1024

Place = tuple[int, int]
"""Index in ``SIDES``, and channel."""
Suspect = tuple[int, int, int, int]
"""A place, and the positions of its first END_OF_PARTITION and of its first END_OF_DATA."""
_Broken = tuple[int, int, int, int, bool]
"""Side, channel, position and kind of an element, and whether it is after END_OF_PARTITION, otherwise after END_OF_DATA."""


class Ends:
    """The positions that show whether one channel continues after its end, on the sender's or the receiver's side."""

    __slots__ = ("end_of_data", "end_of_partition", "highest", "highest_open", "maximum")

    def __init__(self) -> None:
        self.end_of_partition = _NEVER
        """The lowest position of such an element."""
        self.end_of_data = (_NEVER, 0)
        """The lowest position of such an element, and whether it drains."""
        self.highest = _NOWHERE
        """The highest position of an END_OF_PARTITION, a barrier or another event of a checkpoint."""
        self.highest_open = _NOWHERE
        """The highest position of any other element."""
        self.maximum = _NEVER
        """The lowest position of MAX_WATERMARK; only looked for if timers of the sender can be interrupted."""

    def add(self, other: Ends) -> None:
        """Adds the ends that another task recorded."""
        self.end_of_partition = min(self.end_of_partition, other.end_of_partition)
        self.end_of_data = min(self.end_of_data, other.end_of_data)
        self.highest = max(self.highest, other.highest)
        self.highest_open = max(self.highest_open, other.highest_open)
        self.maximum = min(self.maximum, other.maximum)


class ChannelEnds(Machine):
    """The ends of the channels of one task."""

    def __init__(self, graph: JobGraph, task: Task, found: FoundByLaw) -> None:
        self._found = found[ID]
        self._held_back = graph.once(held_back)
        self._places: dict[Place, Ends] = {}

    @reads(sent_ends, received_ends)
    def _elements(self, facts: Slice) -> None:
        for side, (table, ends) in enumerate(SIDES):
            rows = facts.of(table)
            if not len(rows):
                continue
            self._found.examined += len(rows)
            for _, channel, position, kind, timestamp in facts.once(ends):
                place = self._place(side, channel)
                if kind == ElementKind.END_OF_PARTITION:
                    place.end_of_partition = min(place.end_of_partition, position)
                    place.highest = max(place.highest, position)
                else:
                    place.end_of_data = min(place.end_of_data, (position, timestamp))
            kinds = rows.column("kind")
            events = kinds > ElementKind.END_OF_PARTITION
            for channel, position in rows.tuples(("channel", "position"), events) if events.any() else ():
                place = self._place(side, channel)
                place.highest = max(place.highest, position)
            if self._held_back:
                is_maximum = (kinds == ElementKind.WATERMARK) & (rows.column("timestamp") == MAX_WATERMARK)
                for channel, position in rows.tuples(("channel", "position"), is_maximum):
                    place = self._place(side, channel)
                    place.maximum = min(place.maximum, position)
            for channel, position in (_highest_of_few if len(rows) <= _FEW else _highest)(rows):
                place = self._place(side, channel)
                place.highest_open = max(place.highest_open, position)

    def _place(self, side: int, channel: int) -> Ends:
        found = self._places.get((side, channel))
        if found is None:
            found = self._places[side, channel] = Ends()
        return found

    def end(self, whole: bool) -> dict[Place, Ends]:
        return self._places


def _highest(rows: Rows) -> Iterable[tuple[int, int]]:
    """The channels, each with the highest position of an element, END_OF_DATA included."""
    is_open = rows.column("kind") < ElementKind.END_OF_PARTITION
    channel, position = rows.column("channel"), rows.column("position")
    if not is_open.all():
        channel, position = channel[is_open], position[is_open]
    if not len(channel):
        return ()
    first = int(channel.min())
    channels = int(channel.max()) - first + 1
    if channels > 1024 + 4 * len(channel):
        order = np.lexsort((position, channel))
        last = order[np.append(channel[order][1:] != channel[order][:-1], True)]
        return zip(channel[last].tolist(), position[last].tolist(), strict=True)
    highest = np.full(channels, _NOWHERE, dtype=np.int64)
    np.maximum.at(highest, channel - first, position)
    there = np.flatnonzero(highest != _NOWHERE)
    return zip((there + first).tolist(), highest[there].tolist(), strict=True)


def _highest_of_few(rows: Rows) -> Iterable[tuple[int, int]]:
    """The same without arrays, which are only worthwhile for many rows."""
    highest: dict[int, int] = {}
    for channel, position, kind in rows.tuples(("channel", "position", "kind")):
        if kind < ElementKind.END_OF_PARTITION and position > highest.get(channel, _NOWHERE):
            highest[channel] = position
    return highest.items()


def senders_of_committables(graph: JobGraph) -> dict[int, str]:
    """The channels to committers, each with ``WRITER`` or ``COMMITTER``."""
    kinds = {(each.vertex, each.operator): each.kind for each in graph.operators}
    found = {}
    for channel in graph.channels.values():
        edge = graph.edges[channel.edge]
        if kinds.get((edge.target_vertex, 0)) == COMMITTER:
            sender = kinds.get((edge.source_vertex, edge.source_operator))
            found[channel.channel] = COMMITTER if sender == COMMITTER else WRITER
    return found


def _suspects(graph: JobGraph, answers: Mapping[int, object], whole: bool, found: Findings) -> Sequence[Suspect]:
    """The channels with an element after their end; counts those without an END_OF_PARTITION."""
    places: dict[Place, Ends] = {}
    for answer in answers.values():
        assert isinstance(answer, dict)
        for place, ends in answer.items():
            places.setdefault(place, Ends()).add(ends)
    # Without drain, calls that complete before their operator is closed still emit (rules 4.9, 11.19).
    goes_on = any(operator.kind == "async_wait" for operator in graph.operators)
    late = graph.once(held_back)
    committing = graph.once(senders_of_committables)
    suspects = []
    for place, ends in places.items():
        end_of_data, drain = ends.end_of_data
        # Writers prepare a savepoint after an end without drain, and committers emit when they have committed.
        sender = committing.get(place[1])
        if (not drain and (goes_on or sender == WRITER)) or sender == COMMITTER:
            end_of_data = _NEVER
        # FLINK-39481: the timers that are left emit after EndOfData, and send MAX_WATERMARK last.
        elif drain and place[1] in late:
            end_of_data = max(end_of_data, ends.maximum)
        if max(ends.highest, ends.highest_open) > ends.end_of_partition or ends.highest_open > end_of_data:
            suspects.append((*place, ends.end_of_partition, end_of_data))
    if whole:
        for side, (table, _) in enumerate(SIDES):
            for channel in graph.channels:
                if (side, channel) not in places or places[side, channel].end_of_partition == _NEVER:
                    found.broken("no END_OF_PARTITION", (channel, _NEVER, side), side=table, channel=channel)
    return sorted(suspects)


class ElementsBehindEnds(Machine):
    """Counts the elements that some channels have after their END_OF_PARTITION or END_OF_DATA."""

    def __init__(self, suspects: Sequence[Suspect]) -> None:
        self._ends = {(side, channel): ends for side, channel, *ends in suspects}
        self._channels = np.array(sorted({channel for _, channel in self._ends}))
        self._count = 0
        self._first: list[_Broken] = []

    @reads(sent=_COLUMNS, received=_COLUMNS)
    def _compare(self, facts: Slice) -> None:
        for side, (table, _) in enumerate(SIDES):
            rows = facts.of(table)
            if not len(rows):
                continue
            mask = np.isin(rows.column("channel"), self._channels)
            for channel, position, kind in rows.tuples(("channel", "position", "kind"), mask):
                end_of_partition, end_of_data = self._ends.get((side, channel), (_NEVER, _NEVER))
                closed = position > end_of_partition
                if closed or (position > end_of_data and kind < ElementKind.END_OF_PARTITION):
                    self._count += 1
                    self._first.append((side, channel, position, kind, closed))
            self._first = sorted(self._first, key=_at)[:EVIDENCE_ROWS]

    def end(self, whole: bool) -> tuple[int, list[_Broken]]:
        return self._count, self._first


def _at(broken: _Broken) -> tuple[int, ...]:
    side, channel, position, *_ = broken
    return channel, position, side


def _count(graph: JobGraph, answers: Mapping[int, object], whole: bool, found: Findings) -> None:
    for answer in answers.values():
        assert isinstance(answer, tuple)
        count, first = answer
        for broken in first:
            side, channel, position, kind, closed = broken
            what = "after END_OF_PARTITION" if closed else "after END_OF_DATA"
            found.broken(what, _at(broken), side=SIDES[side][0], channel=channel, position=position,
                         kind=named(ElementKind, kind))  # fmt: skip
        found.violations += count - len(first)


_COUNTS: Final = """\
- Not applicable: no row in `channels`. Rows examined: all rows of `sent` and of `received`.
- Each channel is judged twice, by its rows in `sent` and by its rows in `received`. Let P be the lowest position of an
  END_OF_PARTITION row there, and D the lowest position of an END_OF_DATA row. A row is a violation when
  - its position is above P (for example, a second END_OF_PARTITION);
  - its position is above D, and it is not END_OF_PARTITION, CHECKPOINT_BARRIER, UNALIGNED_BARRIER,
    CANCEL_CHECKPOINT_MARKER or EVENT. (A task answers checkpoints until it ends, rules 12.58 and 12.94.)
- Exception: the second condition does not apply if the END_OF_DATA at D is without drain and the job has an operator of
  kind `async_wait`. (If several END_OF_DATA rows are at D, the lowest timestamp counts.) Reason: without drain, this
  operator does not wait for its calls. Calls that complete before it is closed still emit (rules 4.9, 11.19), and so do
  downstream operators.
- Exception: the second condition does not apply to a channel to an operator of kind `committer` if the END_OF_DATA at D is
  without drain, or if the sender is a `committer` too. Reason: a writer that was not drained emits its committables before
  the barrier of the savepoint, which comes after END_OF_DATA (rule 12.30), and a committer emits what it has committed when
  a checkpoint is complete, also the last one (rule 12.31).
- Exception: if the END_OF_DATA at D is with drain, and the head of the channel's source task has
  `params.interruptible_timers`, D is instead the lowest position of a WATERMARK of `MAX` there, if that is higher; without
  one, the second condition does not apply. Reason: Flink 2.3.0 finishes the operators while timers that were interrupted
  are left. They fire after EndOfData, and what they emit is lost (FLINK-39481, rules 4.11, 9.18).
- In a whole run, 1 for each channel and each of the two tables without END_OF_PARTITION.
"""

LAWS: Final = (
    Law(
        ID,
        "EndOfPartition closes every channel exactly once, as its last event. No element follows EndOfData.",
        ("4.9", "4.18", "7.6", "7.7"),
        Level.ELEMENTS,
        ChannelEnds,
        needs_channels,
        join=_suspects,
        second=SecondWalk(ElementsBehindEnds, EachPass(_count), _CHANNELS_A_WALK),
        counts=_COUNTS,
    ),
)  # fmt: skip

"""Law distribution: the channel of every record that is not distributed by key."""

from __future__ import annotations

from typing import Final

import numpy as np

from flowsim.facts.kinds import Level
from flowsim.laws.channels.adaptive_selection import SEGMENT_COLUMNS, AdaptiveWriters
from flowsim.laws.elements import sent_records
from flowsim.laws.job_graph import Channel, Edge, JobGraph, Task
from flowsim.laws.law import Findings, FoundByLaw, Law
from flowsim.laws.slices import Ints, Mask, Slice

ID: Final = "distribution"
_POINTWISE: Final = ("FORWARD", "RESCALE")
_IN_TURN: Final = ("REBALANCE", "RESCALE", "BROADCAST")
_JUDGED: Final = ("FORWARD", "GLOBAL", "CUSTOM", *_IN_TURN)
_ROW: Final = ("timestamp", "fingerprint", "key_hash", "seq")


class Writer:
    """The records of one task on one edge; ``before`` is the place of its last record, None if any may follow."""

    def __init__(self, edge: Edge, targets: list[int]) -> None:
        self.partitioner = edge.partitioner_name
        self.edge = edge.edge
        self.width = len(targets)
        self.before: int | None = None if self.partitioner == "REBALANCE" else self.width - 1
        self._payload: tuple[Ints, Ints] = (np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))

    def expected(self, place: Ints, key_hash: Ints) -> Ints:
        """The expected places of consecutive records; ``place`` is where they were sent."""
        if self.partitioner == "CUSTOM":
            return key_hash
        if self.partitioner not in _IN_TURN:
            return np.zeros_like(place)
        first = place[:1] if self.before is None else (self.before + 1) % self.width
        self.before = int(place[-1])
        return np.append(first, (place[:-1] + 1) % self.width)

    def is_another(self, timestamp: Ints, fingerprint: Ints) -> Mask:
        """Which records differ from the previous one."""
        before = [np.append(last, now[:-1]) for last, now in zip(self._payload, (timestamp, fingerprint), strict=True)]
        self._payload = timestamp[-1:], fingerprint[-1:]
        other: Mask = (before[0] != timestamp) | (before[1] != fingerprint)
        return other


class Distribution:
    """The writers of one task."""

    def __init__(self, task: Task, graph: JobGraph, channels: list[Channel], found: Findings) -> None:
        self._task = task.task
        self._found = found
        self._writers: list[Writer] = []
        self._adaptive = AdaptiveWriters(task.task, graph, found)
        self._channels = np.array(sorted(channel.channel for channel in channels))
        self._writer, self._place = np.full((2, len(channels)), -1)
        for edge in sorted({channel.edge for channel in channels}):
            about = graph.edges[edge]
            if about.partitioner_name not in _JUDGED:
                continue
            own = [channel for channel in channels if channel.edge == edge]
            targets = targets_of(task, about, graph.tasks[own[0].target_task].parallelism)
            subtasks = {channel.channel: graph.tasks[channel.target_task].subtask for channel in own}
            places = {
                channel: targets.index(subtask) if subtask in targets else -1 for channel, subtask in subtasks.items()
            }
            if about.max_traverse_size is not None and len(targets) > 1:
                self._adaptive.add(about, len(targets), about.max_traverse_size, places)
                continue
            for channel, place in places.items():
                at = np.searchsorted(self._channels, channel)
                self._writer[at] = len(self._writers)
                self._place[at] = place
            self._writers.append(Writer(about, targets))

    def feed(self, facts: Slice) -> None:
        self._adaptive.feed(facts)
        rows = facts.of("sent")
        if not len(rows):
            return
        channel = rows.column("channel")
        at = np.minimum(np.searchsorted(self._channels, channel), len(self._channels) - 1)
        is_own = self._channels[at] == channel
        for seq, other in rows.tuples(("seq", "channel"), ~is_own) if not is_own.all() else ():
            self._found.examined += 1
            self._found.broken("a task sends on a channel of another task", (self._task, seq), task=self._task, seq=seq,
                               channel=other)  # fmt: skip
        writer = np.where(is_own & facts.once(sent_records), self._writer[at], -1)
        for number, about in enumerate(self._writers):
            chosen = np.flatnonzero(writer == number)
            if len(chosen):
                self._judge(about, self._place[at[chosen]], channel[chosen],
                            *(rows.column(name)[chosen] for name in _ROW))  # fmt: skip

    def _judge(
        self, writer: Writer, place: Ints, channel: Ints, timestamp: Ints, fingerprint: Ints, key_hash: Ints, seq: Ints
    ) -> None:
        self._found.examined += len(place)
        expected = writer.expected(place, key_hash)
        wrong = place != expected
        if writer.partitioner == "BROADCAST":
            wrong = wrong | (writer.is_another(timestamp, fingerprint) & (place > 0))
        for row in np.flatnonzero(wrong).tolist():
            what = (
                "the channel is not the one that the partitioner selects"
                if place[row] != expected[row]
                else "another record"
            )
            self._found.broken(what, (self._task, int(seq[row])), task=self._task, seq=int(seq[row]), edge=writer.edge,
                               partitioner=writer.partitioner, channel=int(channel[row]),
                               expected=int(expected[row]), found=int(place[row]))  # fmt: skip

    def end(self, whole: bool) -> None:
        for writer in self._writers if whole else ():
            if writer.partitioner == "BROADCAST" and writer.before != writer.width - 1:
                self._found.broken("the last record is not on all channels", (self._task, 2**63, writer.edge),
                                   task=self._task, edge=writer.edge)  # fmt: skip


def targets_of(task: Task, edge: Edge, targets: int) -> list[int]:
    """The subtasks that read subpartitions 0, 1, ... of a task (rules 1.15 to 1.17); ``targets``: how many there are."""
    if edge.partitioner_name not in _POINTWISE:
        return list(range(targets))
    sources = task.parallelism
    if sources >= targets:
        return [((task.subtask + 1) * targets - 1) // sources]
    group = range(-(-task.subtask * targets // sources), -(-(task.subtask + 1) * targets // sources))
    return sorted(group, key=lambda target: target % len(group))


def _make(graph: JobGraph, task: Task, found: FoundByLaw) -> Distribution | None:
    channels = [channel for channel in graph.sent_by(task.task) if channel.target_task in graph.tasks]
    return Distribution(task, graph, channels, found[ID]) if channels else None


def _needs_judged_edges(graph: JobGraph) -> str:
    judged = any(edge.partitioner_name in _JUDGED for edge in graph.edges.values())
    return "" if judged else "every edge is keyed or shuffled"


def _shuffled(graph: JobGraph) -> str:
    edges = sorted(edge.edge for edge in graph.edges.values() if edge.partitioner == "SHUFFLE")
    return f"not checked: shuffled edges {', '.join(map(str, edges))}" if edges else ""


_COUNTS: Final = """\
- The edges with partitioner FORWARD, GLOBAL, CUSTOM, REBALANCE, RESCALE or BROADCAST are *judged*. Not applicable: no
  judged edge. (Law key-routing judges HASH edges. A SHUFFLE edge sends a record to a random channel.)
- Rows examined: RECORD rows of `sent` on judged edges. In a task that sends on channels, also rows of any kind on a
  channel of another task; each of these is a violation.
- Rules 1.15 to 1.17 give the list of target subtasks for subpartitions 0 to n - 1 of the source task. The *place* of a
  channel is the index of its target subtask in this list; it is -1 if the list does not contain the subtask.
- For the RECORD rows of one task and judged edge, a row is a violation when
  - FORWARD, GLOBAL: its place is not 0;
  - CUSTOM: its place is not `key_hash`, the recorded result of the user's partitioner;
  - RESCALE, BROADCAST: its place is not (place of the row before + 1) mod n; first row: its place is not 0;
  - REBALANCE: the same, but the first row may have any place;
  - REBALANCE or RESCALE with `adaptive(N)` in `edges.partitioner`, n above 1: the writer compares the channels at the
    places that follow the place of the row before (first row: those from 0 on), at most min(N, n) of them. At level
    elements the place is none of theirs. At level full the COMPARED rows of the writer's pool since the row before are
    not for these channels in this order, up to and including the first that uses no segment (HANDED_OUT minus RECYCLED
    rows so far), or all of them; or the place is not that of the channel without segments or, if all use some, of the
    first one with the fewest segments, and with the fewest bytes (`step`) among equals;
  - BROADCAST: its place is above 0, and its `timestamp` or `fingerprint` differs from the row before.
- In a whole run, 1 for each (task, BROADCAST edge) whose last row is not at place n - 1.
"""

LAWS: Final = (
    Law(
        ID,
        "Every record is sent to the channel that the partitioner of its edge selects: the first, the next "
        "in turn, all, the idlest, or the one that the user's partitioner returned.",
        ("1.15", "1.16", "1.17", "2.1", "2.2", "2.3", "2.4"),
        Level.ELEMENTS,
        {"sent": ("channel", "kind", *_ROW[:-1]), "segments": SEGMENT_COLUMNS},
        _make,
        _needs_judged_edges,
        unjudged=_shuffled,
        counts=_COUNTS,
    ),
)  # fmt: skip

"""Law distribution: the channel of every record that is not distributed by key."""

from __future__ import annotations

from typing import Final

import numpy as np

from flowsim.facts.kinds import Level
from flowsim.laws.channels.adaptive_selection import AdaptiveWriters
from flowsim.laws.channels.expansion import check_channels, output_edges, parallelism_of_target, targets_of
from flowsim.laws.elements import sent_records
from flowsim.laws.findings import FoundByLaw
from flowsim.laws.job_graph import Edge, JobGraph, Task
from flowsim.laws.law import Law
from flowsim.laws.machine import Machine, reads
from flowsim.laws.slices import Ints, Mask, Slice

ID: Final = "distribution"
_IN_TURN: Final = ("REBALANCE", "RESCALE", "BROADCAST")
_JUDGED: Final = ("FORWARD", "GLOBAL", "CUSTOM", "SHUFFLE", *_IN_TURN)
_MANY: Final = 64
"""A random choice among channels repeats no pattern for so many records; the chance is below 1 to 2^60."""
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
            return np.zeros_like(place)  # The only channel, or that of subtask 0.
        first = place[:1] if self.before is None else (self.before + 1) % self.width
        self.before = int(place[-1])
        return np.append(first, (place[:-1] + 1) % self.width)

    def is_another(self, timestamp: Ints, fingerprint: Ints) -> Mask:
        """Which records differ from the previous one."""
        before = [np.append(last, now[:-1]) for last, now in zip(self._payload, (timestamp, fingerprint), strict=True)]
        self._payload = timestamp[-1:], fingerprint[-1:]
        other: Mask = (before[0] != timestamp) | (before[1] != fingerprint)
        return other


class RandomWriter(Writer):
    """The records of one task on one shuffled edge: any channel may follow, but not always by the same pattern."""

    def __init__(self, edge: Edge, targets: list[int]) -> None:
        super().__init__(edge, targets)
        self.before = None
        self._records: Ints = np.zeros(self.width, dtype=np.int64)
        """By place."""
        self._steps: set[int] = set()
        """The distances from the place of a record to that of the next one."""

    def expected(self, place: Ints, key_hash: Ints) -> Ints:
        known = place[place >= 0]
        self._records += np.bincount(known, minlength=self.width)
        if len(self._steps) < 2:
            before = known if self.before is None else np.append(self.before, known)
            self._steps.update(np.unique(np.diff(before) % self.width).tolist())
            self.before = int(known[-1]) if len(known) else self.before
        return np.maximum(place, 0)

    def patterns(self) -> list[str]:
        """What is not random in many records."""
        total, found = int(self._records.sum()), []
        if self.width > 1 and total > _MANY and len(self._steps) == 1:
            found.append("the places of a random choice follow each other in always the same distance")
        if total > _MANY * self.width and not self._records.all():
            found.append("a random choice never selects a channel")
        return found


class Distribution(Machine):
    """The writers of one task."""

    def __init__(self, graph: JobGraph, task: Task, found: FoundByLaw) -> None:
        channels = [channel for channel in graph.sent_by(task.task) if channel.target_task in graph.tasks]
        self._task = task.task
        self._graph = graph
        self._described = task
        self._found = found[ID]
        self._writers: list[Writer] = []
        self._adaptive = AdaptiveWriters(task.task, graph, self._found)
        self._channels = np.array(sorted(channel.channel for channel in channels))
        self._writer, self._place = np.full((2, len(channels)), -1)
        for edge in sorted({channel.edge for channel in channels}):
            about = graph.edges[edge]
            if about.partitioner_name not in _JUDGED:
                continue
            own = [channel for channel in channels if channel.edge == edge]
            targets = targets_of(task, about, parallelism_of_target(graph, about))
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
            kind = RandomWriter if about.partitioner_name == "SHUFFLE" else Writer
            self._writers.append(kind(about, targets))

    @classmethod
    def make(cls, graph: JobGraph, task: Task, found: FoundByLaw) -> Distribution | None:
        return cls(graph, task, found) if output_edges(graph, task) else None

    @reads(AdaptiveWriters)
    def _adaptive_records(self, facts: Slice) -> None:
        if self._adaptive.of_edge:
            self._adaptive.feed(facts)

    @reads(sent_records, sent=("channel", *_ROW))
    def _sent(self, facts: Slice) -> None:
        rows = facts.of("sent")
        if not len(rows) or not len(self._channels):
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
        for edge in output_edges(self._graph, self._described):
            if edge.partitioner_name in _JUDGED:
                check_channels(self._graph, self._described, edge, self._found)
        for writer in self._writers:
            wrong = writer.patterns() if isinstance(writer, RandomWriter) else []
            if whole and writer.partitioner == "BROADCAST" and writer.before != writer.width - 1:
                wrong.append("the last record is not on all channels")
            for what in wrong:
                at = self._task, 2**63, writer.edge
                self._found.broken(what, at, task=self._task, edge=writer.edge, partitioner=writer.partitioner)


def _needs_judged_edges(graph: JobGraph) -> str:
    judged = any(edge.partitioner_name in _JUDGED for edge in graph.edges.values())
    return "" if judged else "every edge is keyed"


_COUNTS: Final = """\
- The edges with a partitioner other than HASH are *judged* (law key-routing judges HASH edges). Not applicable: no
  judged edge.
- Rows examined: RECORD rows of `sent` on judged edges. In a task that sends on channels, also rows of any kind on a
  channel of another task; each of these is a violation.
- *Targets*: the list of target subtasks for subpartitions 0 to n - 1 of the source task. FORWARD: only the subtask with
  the index of the source task (rules 1.1, 1.2). RESCALE: rules 1.16 and 1.17. Others: all subtasks (rule 1.15). The
  *place* of a channel is the index of its target subtask in this list; it is -1 if the list does not contain the subtask.
- For each task and judged edge that leaves its chain, a row of `channels` is a violation when the list does not have its
  target subtask at its `subpartition`, or another row before it has both. Also 1 for each subpartition 0 to n - 1 without
  such a row. (A forward edge has one channel: an edge over several channels, or to another subtask, is not forward.)
- For the RECORD rows of one task and judged edge, a row is a violation when
  - FORWARD, GLOBAL: its place is not 0;
  - CUSTOM: its place is not `key_hash`, the recorded result of the user's partitioner;
  - SHUFFLE: its place is -1;
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
- SHUFFLE is a random choice, so many records have no pattern (the chance is below 1 to 2^60). 1 for each (task, SHUFFLE
  edge) with n above 1 and more than 64 rows at places from 0 on, if the place of each row minus that of the row before,
  modulo n, is always the same; and 1 for each with more than 64 n such rows, if a place has none.
"""

LAWS: Final = (
    Law(
        ID,
        "Every record is sent to the channel that the partitioner of its edge selects: the first, the next "
        "in turn, all, a random one, the idlest, or the one that the user's partitioner returned. The sender has exactly "
        "the channels that the partitioner reaches.",
        ("1.1", "1.2", "1.14", "1.15", "1.16", "1.17", "2.1", "2.2", "2.3", "2.4"),
        Level.ELEMENTS,
        Distribution,
        _needs_judged_edges,
        counts=_COUNTS,
    ),
)  # fmt: skip

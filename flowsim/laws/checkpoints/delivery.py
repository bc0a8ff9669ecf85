"""Laws exactly-once and at-least-once: after a restore every record has its effect, once or at least once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from flowsim.facts.kinds import AlignmentType, ElementKind, Level, LifeEvent
from flowsim.laws.checkpoints.checkpoint_cut import compare
from flowsim.laws.checkpoints.cuts import Cuts, CutsOfTask
from flowsim.laws.checkpoints.needs import alignments, needs_restore, restored_checkpoints
from flowsim.laws.checkpoints.positions import (
    Positions,
    PositionsOfTask,
    all_records_are_sent,
    compare_positions,
    writers_of_all_records,
)
from flowsim.laws.findings import Findings, FoundByLaw
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.job_history import NO_CHECKPOINT
from flowsim.laws.law import Attempts, Law
from flowsim.laws.machine import Machine, on_row, reads
from flowsim.laws.slices import Ints, Slice

EXACTLY_ONCE: Final = "exactly-once"
AT_LEAST_ONCE: Final = "at-least-once"
_BARRIERS: Final = (ElementKind.CHECKPOINT_BARRIER, ElementKind.UNALIGNED_BARRIER)
_MOST_RECORDS: Final = 1 << 20
"""A source subtask with more records is not compared with its attempts: they would need too much memory."""
_EMPTY: Final[Ints] = np.empty(0, dtype=np.int64)


@dataclass(slots=True)
class Delivered:
    """What one task did in its attempts."""

    cuts: dict[int, Cuts] = field(default_factory=dict)
    """By attempt, of checkpoints that were restored."""
    records: dict[int, Ints] = field(default_factory=dict)
    """Of a source, by attempt: the fingerprints of the records that it sent, in order."""
    barriers: dict[tuple[int, int], int] = field(default_factory=dict)
    """Of a source, by attempt and checkpoint: the number of records before the barrier."""
    finished: set[int] = field(default_factory=set)
    """The attempts that reached the state FINISHED."""
    stopped: set[int] = field(default_factory=set)
    """The attempts that were stopped before the end of their input."""
    restored_as_finished: set[int] = field(default_factory=set)
    """The attempts whose operators did not run, because the task had finished before the checkpoint."""
    is_complete: bool = True
    positions: Positions = field(default_factory=Positions)


class DeliveryOfTask(Machine):
    """Follows one task through all its attempts."""

    def __init__(self, graph: JobGraph, task: Task, found: FoundByLaw) -> None:
        sent, restored = _record_channels(graph, task), restored_checkpoints(graph)
        is_counted = bool(sent) and all_records_are_sent(graph, task, graph.channels[sent[0]].edge)
        self._graph, self._task, self._found = graph, task, found
        self._restored = restored
        self._sent = np.array(sent, dtype=np.int64)
        """Of a source the channels of one edge, which have each of its records once."""
        self._positions = PositionsOfTask(restored, is_counted, writers_of_all_records(graph, task))
        self._attempts: dict[int, CutsOfTask] = {}
        self._parts: dict[int, list[Ints]] = {}
        self._counts: dict[int, int] = {}
        self._delivered = Delivered()

    @reads(CutsOfTask)
    def _add_cuts(self, facts: Slice) -> None:
        cuts = self._attempts.get(facts.attempt)
        if cuts is None:
            cuts = CutsOfTask(self._graph, self._task, self._found, self._restored.__contains__)
            self._attempts[facts.attempt] = cuts
        cuts.feed(facts)

    @on_row("lifecycle", event=LifeEvent.FINISHED)
    def _finish(self, seq: int) -> None:
        self._delivered.finished.add(self.attempt)

    @on_row("lifecycle", event=LifeEvent.RESTORED_AS_FINISHED)
    def _restore_as_finished(self, seq: int) -> None:
        self._delivered.restored_as_finished.add(self.attempt)

    @on_row("lifecycle", event=(LifeEvent.STOP_WITH_DRAIN, LifeEvent.STOP_NO_DRAIN))
    def _stop(self, seq: int) -> None:
        self._delivered.stopped.add(self.attempt)

    @reads(PositionsOfTask.feed, sent=("channel", "kind", "timestamp", "fingerprint"))
    def _add_positions(self, facts: Slice) -> None:
        before, seqs = self._counts.get(facts.attempt, 0), _EMPTY
        if len(self._sent) and facts.has("sent"):
            seqs = self._add_records(facts, before)
        self._positions.feed(facts, before, seqs)

    def _add_records(self, facts: Slice, before: int) -> Ints:
        """Returns the sequence numbers of the records."""
        rows, attempt = facts.of("sent"), facts.attempt
        kinds = rows.column("kind")
        is_record = (kinds == ElementKind.RECORD) & np.isin(rows.column("channel"), self._sent)
        seqs: Ints = rows.column("seq")[is_record]
        for seq, checkpoint in rows.tuples(("seq", "timestamp"), np.isin(kinds, _BARRIERS)):
            if checkpoint in self._restored:
                count = before + int(np.searchsorted(seqs, seq))
                self._delivered.barriers.setdefault((attempt, checkpoint), count)
        self._counts[attempt] = before + len(seqs)
        if self._counts[attempt] <= _MOST_RECORDS:
            self._parts.setdefault(attempt, []).append(rows.column("fingerprint")[is_record].astype(np.int64))
        else:
            self._delivered.is_complete = False
        return seqs

    def end(self, whole: bool) -> Delivered:
        delivered = self._delivered
        delivered.cuts = {attempt: cuts.end(whole) for attempt, cuts in self._attempts.items()}
        delivered.positions = self._positions.end()
        delivered.records = {attempt: np.concatenate(parts) for attempt, parts in self._parts.items()}
        return delivered


def _record_channels(graph: JobGraph, task: Task) -> list[int]:
    """The channels of the first edge of a source; of a broadcast only one."""
    sent = graph.sent_by(task.task)
    if task.inputs or not sent:
        return []
    edge = min(channel.edge for channel in sent)
    of_edge = [channel for channel in sent if channel.edge == edge]
    if graph.edges[edge].partitioner == "BROADCAST":
        of_edge = of_edge[:1]
    return [channel.channel for channel in of_edge]


def _compare(graph: JobGraph, answers: Mapping[int, object], whole: bool, found: Findings) -> None:
    delivered = {task: answer for task, answer in answers.items() if isinstance(answer, Delivered)}
    attempts = 1 + max((graph.last_attempt(task) for task in graph.tasks), default=0)
    for attempt in range(attempts):
        cuts = {task: each.cuts[attempt] for task, each in delivered.items() if attempt in each.cuts}
        compare(graph, cuts, whole, found)
    compare_positions(graph, {task: each.positions for task, each in delivered.items()}, found)
    for vertex in sorted({task.vertex for task in graph.tasks.values() if not task.inputs}):
        tasks = [task.task for task in graph.tasks_of(vertex)]
        sources = [delivered[task] for task in tasks if task in delivered]
        if whole and all(source.is_complete for source in sources):
            _compare_source(graph, vertex, tasks, sources, found)


def _compare_source(
    graph: JobGraph, vertex: int, tasks: Sequence[int], sources: Sequence[Delivered], found: Findings
) -> None:
    """Every record that an attempt sent is in the history that counts in the end."""
    lasts = {graph.last_attempt(task) for task in tasks}
    if len(lasts) > 1:
        return
    last = max(lasts)
    if any(last in source.stopped for source in sources):
        return
    history = _History(graph, tasks[0], sources)
    final = history.of(last)
    for attempt in range(last):
        earlier = history.of(attempt)
        view, times = np.unique(np.concatenate(earlier), return_counts=True)
        found.examined += len(view)
        # A source may contain a record again, behind those that the earlier attempt sent.
        as_far = [records[: len(before)] for records, before in zip(final, earlier, strict=True)]
        counts, counts_as_far = _counts_of(view, final), _counts_of(view, as_far)
        is_distinct = bool((times == 1).all())
        for what, mask, found_counts in (
            ("a record was sent before a failure, and is lost after it", counts < times, counts),
            (
                "a record was sent once before a failure, and counts twice after it",
                (counts_as_far > times) & is_distinct, counts_as_far,
            ),
        ):  # fmt: skip
            for place in np.flatnonzero(mask).tolist():
                found.broken(
                    what, (tasks[0], attempt, place), vertex=vertex, attempt=attempt, fingerprint=int(view[place]),
                    expected=int(times[place]), found=int(found_counts[place]),
                )  # fmt: skip


def _counts_of(records: Ints, parts: Sequence[Ints]) -> Ints:
    """Returns how often each of the sorted ``records`` is in the parts."""
    values, counts = np.unique(np.concatenate(parts), return_counts=True)
    if not len(values):
        return np.zeros_like(records)
    places = np.searchsorted(values, records)
    places[places == len(values)] = 0
    return np.where(values[places] == records, counts[places], 0)


class _History:
    """The records of each subtask that count up to the end of an attempt: before each restore only those before the cut."""

    def __init__(self, graph: JobGraph, task: int, sources: Sequence[Delivered]) -> None:
        self._graph = graph
        self._task = task
        self._sources = sources

    def of(self, attempt: int) -> list[Ints]:
        parts = (source.records.get(attempt, _EMPTY) for source in self._sources)
        return _joined(self._before(attempt), parts)

    def _before(self, attempt: int) -> list[Ints]:
        nothing = [_EMPTY] * len(self._sources)
        checkpoint = self._graph.history.restored(self._task, attempt)
        if checkpoint == NO_CHECKPOINT:
            return nothing
        if all(self._had_finished(source, attempt) for source in self._sources):
            # Rule 12.100: a finished source sent no barrier of the checkpoint, and all its records are before the cut.
            return self.of(attempt - 1)
        for earlier in range(attempt - 1, -1, -1):
            if any((earlier, checkpoint) in source.barriers for source in self._sources):
                parts = (
                    source.records.get(earlier, _EMPTY)[: source.barriers.get((earlier, checkpoint))]
                    for source in self._sources
                )
                return _joined(self._before(earlier), parts)
        return nothing

    def _had_finished(self, source: Delivered, attempt: int) -> bool:
        """A task that was restored as finished may fail again before it ends."""
        restored = source.restored_as_finished
        return attempt in restored and (attempt - 1 in source.finished or attempt - 1 in restored)


def _joined(before: Sequence[Ints], parts: Iterable[Ints]) -> list[Ints]:
    return [np.concatenate(both) for both in zip(before, parts, strict=True)]


def _mode(graph: JobGraph) -> bool:
    return AlignmentType.AT_LEAST_ONCE in alignments(graph).values()


def _exactly_once(graph: JobGraph) -> str:
    return needs_restore(graph) or ("the mode of checkpoints is at-least-once" if _mode(graph) else "")


def _at_least_once(graph: JobGraph) -> str:
    return needs_restore(graph) or ("" if _mode(graph) else "the mode of checkpoints is exactly-once")


_COUNTS: Final = """\
- Not applicable: no attempt was restored, or the mode is {other} (by the `alignment` of the checkpoints).
- *Channels*: law checkpoint-cut, for the checkpoints from which an attempt was restored.
- *Sources*, in a whole run, per vertex without inputs: the *history* of an attempt are the RECORD rows of `sent` on its
  first edge that count in it: those of the attempt itself, and before them the history of the attempt that stored the
  restored checkpoint, up to its barrier. For a vertex whose tasks have RESTORED_AS_FINISHED in `lifecycle`, and FINISHED
  or RESTORED_AS_FINISHED in the attempt before, it is the whole history of that attempt. Rows examined: the distinct
  records (by `fingerprint`) in the histories of all attempts but the last one. A record is a violation when the last
  history has it less often{twice}.
- *Positions*. Rows examined: RESTORED rows of `source_positions` whose split has a STORED row of the same checkpoint in
  the vertex. A row is a violation when no such row has its position. Also examined: 1 for each checkpoint of an attempt
  of a task without inputs that has STORED rows of all splits for which the attempt has a row before. It is a violation
  when the sum of `records` is not the number of RECORD rows of `sent` before it on the first edge. This is counted if
  - `params.source` of the source is `collection`, `generator` or `csv` (with `file`, without `split_by`), not legacy;
  - there are only operators of the kinds `map` and `watermarks` between it and the first edge, which has no `side_output`;
  - `missing_timestamp` of the source and of these operators is empty.
  In the same way, for each `sink` of the task with `params.commits` that has PREPARED rows of the checkpoint in
  `committables`: it is a violation when the sum of `records` is not the sum of `rows` of its PREPARED rows so far. So a
  chain of a source and its sinks is judged without a channel.

  So a reader that skips or repeats records is found even if the job is stopped, or has no records twice.
- What this proves: with law restored-state the state of every task is that of its cut, and with the channels no element
  is between two cuts; the sources send the rest again. So every record of a source has its effect {effect} in
  the final state and, with law committed-once, in the committed output. What it does not: the results of a user function
  are not computed again, and a source whose records depend on the time at which they are read violates the law, as does
  one that contains records twice and then reads its splits in another order.
- Not compared: a vertex of which a task was stopped (STOP_WITH_DRAIN or STOP_NO_DRAIN in `lifecycle`); sources with more
  than {most:,} records in an attempt of a subtask; subtasks of a vertex with different numbers of attempts.
"""


_TWICE: Final = """, or, if all records of the earlier history are distinct, more
  often: there the last history has as many records of each subtask as the earlier one, because behind them the source
  may contain a record again"""


def _counts(other: str, twice: str, effect: str) -> str:
    return _COUNTS.format(other=other, twice=twice, effect=effect, most=_MOST_RECORDS)


LAWS: Final = (
    Law(
        EXACTLY_ONCE,
        "After a restore, the effect of every record of a source is in the state once.",
        ("12.6", "12.11", "12.29", "12.114"),
        Level.ELEMENTS,
        DeliveryOfTask,
        _exactly_once,
        join=_compare,
        attempts=Attempts.ALL,
        counts=_counts(
            "at-least-once", _TWICE, "once"
        ),
    ),
    Law(
        AT_LEAST_ONCE,
        "After a restore, the effect of every record of a source is in the state at least once.",
        ("12.16", "12.29", "12.114"),
        Level.ELEMENTS,
        DeliveryOfTask,
        _at_least_once,
        join=_compare,
        attempts=Attempts.ALL,
        counts=_counts("exactly-once", "", "at least once"),
    ),
)  # fmt: skip

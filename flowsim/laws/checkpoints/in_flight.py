"""Laws in-flight-cut and in-flight-restored: an unaligned checkpoint contains exactly the elements between its cuts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np

from flowsim.facts.element_numbers import FACTOR
from flowsim.facts.kinds import AlignmentType, ElementKind, Level, LifeEvent, StoredAction
from flowsim.facts.schema import RECOVERED_FIRST
from flowsim.laws.checkpoints.needs import SYNC_START, alignments
from flowsim.laws.findings import Findings, FoundByLaw, compared
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.job_history import NO_CHECKPOINT, StoredChannelEvent
from flowsim.laws.law import Law, needs_channels
from flowsim.laws.machine import Machine, on_row, reads
from flowsim.laws.slices import Ints, Rows, Slice
from flowsim.values.java_long import wrapped

CUT: Final = "in-flight-cut"
RESTORED: Final = "in-flight-restored"
"""The first kind of events, which are never stored."""
_BARRIERS: Final = (ElementKind.CHECKPOINT_BARRIER, ElementKind.UNALIGNED_BARRIER)
_COLUMNS: Final = ("channel", "position", "kind", "timestamp", "fingerprint")


class Sums(NamedTuple):
    """Some elements of a channel: how many, the sum of their numbers, and that of each times its place."""

    elements: int = 0
    total: int = 0
    weighted: int = 0

    def plus(self, elements: int, total: int, weighted: int) -> Sums:
        """Adds elements whose places are counted in ``weighted``."""
        return Sums(self.elements + elements, wrapped(self.total + total), wrapped(self.weighted + weighted))

    def without(self, prefix: Sums) -> Sums:
        """The elements after a prefix, with places from 0."""
        total = wrapped(self.total - prefix.total)
        weighted = self.weighted - prefix.weighted - prefix.elements * total
        return Sums(self.elements - prefix.elements, total, wrapped(weighted))

    def followed_by(self, after: Sums) -> Sums:
        """Both, one behind the other."""
        return self.plus(after.elements, after.total, after.weighted + self.elements * after.total)


_NOTHING: Final = Sums()


@dataclass(slots=True)
class Flow:
    """What went through one end of a channel so far."""

    live: Sums = _NOTHING
    events: int = 0
    """Events among the live positions."""
    recovered: Sums = _NOTHING
    records: Sums = _NOTHING
    """The records among the recovered elements."""


@dataclass(slots=True)
class InFlight:
    """The flows of one attempt of a task at the cuts of its checkpoints."""

    attempt: int = 0
    is_finished: bool = False
    """True if the attempt was restored as finished."""
    sent: dict[tuple[int, int], Sums] = field(default_factory=dict)
    """By channel and checkpoint: before the barrier."""
    overtaking: set[tuple[int, int]] = field(default_factory=set)
    sent_in_all: dict[int, Sums] = field(default_factory=dict)
    received: dict[int, dict[int, tuple[Sums, Sums]]] = field(default_factory=dict)
    """By checkpoint with a snapshot and by channel: recovered and live elements before the snapshot."""


class InFlightOfTask(Machine):
    """Sums what one attempt of a task sends and receives."""

    def __init__(self, graph: JobGraph, task: Task, found: FoundByLaw) -> None:
        self._graph = graph
        self._task = task.task
        self._restored = found[RESTORED]
        self._flows = InFlight()
        self._sent: dict[int, Flow] = {}
        self._received: dict[int, Flow] = {}
        self._is_fed = False

    def feed(self, facts: Slice) -> None:
        self._flows.attempt, self._is_fed = facts.attempt, True
        super().feed(facts)

    @on_row("lifecycle", event=LifeEvent.RESTORED_AS_FINISHED)
    def _restore_as_finished(self, seq: int) -> None:
        self._flows.is_finished = True

    @reads(checkpoint_steps=("checkpoint", "step"), received=_COLUMNS)
    def _feed_all_received(self, facts: Slice) -> None:
        received, start = facts.of("received"), 0
        seqs = received.column("seq")
        for seq, checkpoint, step in facts.of("checkpoint_steps").tuples(("seq", "checkpoint", "step")):
            if step == SYNC_START:
                end = int(np.searchsorted(seqs, seq))
                self._feed_received(received, start, end)
                start = end
                self._flows.received[checkpoint] = {
                    channel: (flow.recovered, flow.live) for channel, flow in self._received.items()
                }
        self._feed_received(received, start, len(received))

    @reads(sent=_COLUMNS)
    def _feed_sent(self, facts: Slice) -> None:
        rows = facts.of("sent")
        kinds, start = rows.column("kind"), 0
        for end in [*np.flatnonzero(kinds >= ElementKind.END_OF_DATA).tolist(), len(rows)]:
            _add(rows, start, end, self._sent)
            start = end + 1
            if end == len(rows):
                break
            channel, kind, checkpoint = (int(rows.column(name)[end]) for name in ("channel", "kind", "timestamp"))
            flow = self._sent.setdefault(channel, Flow())
            if kind in _BARRIERS:
                self._flows.sent.setdefault((channel, checkpoint), flow.live)
            if kind == ElementKind.UNALIGNED_BARRIER:
                self._flows.overtaking.add((channel, checkpoint))
            else:
                flow.events += 1

    def _feed_received(self, rows: Rows, start: int, end: int) -> None:
        if start >= end:
            return
        kinds, positions = rows.column("kind"), rows.column("position")
        live_before: set[int] = set()
        recovered = np.flatnonzero(positions[start:end] < 0) + start
        if len(recovered):
            # Rare: only at the beginning of a restored attempt.
            self._check_order(rows, start, end, live_before)
        for boundary in [*(np.flatnonzero(kinds[start:end] >= ElementKind.END_OF_DATA) + start).tolist(), end]:
            _add(rows, start, boundary, self._received)
            start = boundary + 1
            if boundary < end and int(kinds[boundary]) not in (ElementKind.UNALIGNED_BARRIER, ElementKind.EVENT):
                self._received.setdefault(int(rows.column("channel")[boundary]), Flow()).events += 1

    def _check_order(self, rows: Rows, start: int, end: int, live: set[int]) -> None:
        live |= {channel for channel, flow in self._received.items() if flow.live.elements}
        names = ("seq", "channel", "position", "kind")
        for seq, channel, position, kind in zip(
            *(rows.column(name)[start:end].tolist() for name in names), strict=True
        ):
            if kind >= ElementKind.END_OF_DATA:
                continue
            if position >= 0:
                live.add(channel)
            elif channel in live:
                self._restored.broken(
                    "a restored element was received after a new one of its channel", (self._task, seq),
                    task=self._task, seq=seq, channel=channel,
                )  # fmt: skip

    def end(self, whole: bool) -> InFlight:
        self._flows.sent_in_all = {channel: flow.live for channel, flow in self._sent.items()}
        if self._is_fed:
            self._compare_restored(whole)
        return self._flows

    def _compare_restored(self, whole: bool) -> None:
        """Compares the recovered elements of each channel, or after rescaling of each edge, with the stored ones."""
        graph, checkpoint = self._graph, self._graph.history.restored(self._task, self._flows.attempt)
        events = graph.once(_restored_events).get((checkpoint, self._task), []) if checkpoint != NO_CHECKPOINT else []
        expected: dict[tuple[str, int], Sums] = {}
        for event in events:
            key = ("edge", event.edge) if event.channel < 0 else ("channel", event.channel)
            before = expected.get(key, _NOTHING)
            expected[key] = before.plus(event.elements, event.element_sum, event.weighted_sum)
        rescaled = {edge for what, edge in expected if what == "edge"}
        found: dict[tuple[str, int], Sums] = {}
        for channel, flow in self._received.items():
            edge = graph.channels[channel].edge if channel in graph.channels else -1
            if edge in rescaled:
                before, records = found.get(("edge", edge), _NOTHING), flow.records
                found["edge", edge] = before.plus(records.elements, records.total, 0)
            elif flow.recovered.elements:
                found["channel", channel] = flow.recovered
        for key in sorted({*expected, *found}):
            self._restored.examined += 1
            stored, received = expected.get(key, _NOTHING), found.get(key, _NOTHING)
            # An attempt that failed may have received only some of them.
            if received != stored and (whole or received.elements >= stored.elements):
                what = "the restored elements are not the stored ones"
                if received.elements != stored.elements:
                    what = compared(received.elements, stored.elements, "elements were restored than were stored")
                self._restored.broken(
                    what, (self._task, key[1]), task=self._task, **{key[0]: key[1]}, checkpoint=checkpoint,
                    expected=stored.elements, found=received.elements,
                )  # fmt: skip


def _add(rows: Rows, start: int, end: int, flows: dict[int, Flow]) -> None:
    """Adds data elements; the events between them are counted already."""
    if start >= end:
        return
    channels, positions, kinds, timestamps, fingerprints = (rows.column(name)[start:end] for name in _COLUMNS)
    numbers = _numbers(kinds, timestamps, fingerprints)
    for channel in np.unique(channels).tolist():
        own = channels == channel
        flow = flows.setdefault(channel, Flow())
        is_recovered = own & (positions < 0)
        if is_recovered.any():
            places = (positions[is_recovered].astype(np.int64) - RECOVERED_FIRST).astype(np.uint64)
            flow.recovered = flow.recovered.plus(*_sums(numbers[is_recovered], places))
            is_record = is_recovered & (kinds == ElementKind.RECORD)
            flow.records = flow.records.plus(int(np.count_nonzero(is_record)), _wrapped(numbers[is_record].sum()), 0)
            own &= ~is_recovered
        if own.any():
            places = (positions[own].astype(np.int64) - flow.events).astype(np.uint64)
            flow.live = flow.live.plus(*_sums(numbers[own], places))


def _numbers(kinds: Ints, timestamps: Ints, fingerprints: Ints) -> Ints:
    others = timestamps.astype(np.uint64) * np.uint64(FACTOR) + kinds.astype(np.uint64)
    return np.where(kinds == ElementKind.RECORD, fingerprints.astype(np.uint64), others)


def _sums(numbers: Ints, places: Ints) -> tuple[int, int, int]:
    return len(numbers), _wrapped(numbers.sum()), _wrapped((numbers * places).sum())


def _wrapped(number: object) -> int:
    return wrapped(int(number))  # type: ignore[call-overload]


def _restored_events(graph: JobGraph) -> dict[tuple[int, int], list[StoredChannelEvent]]:
    """By checkpoint and receiving task; a checkpoint that was restored several times has its rows once."""
    found: dict[tuple[int, int], dict[tuple[int, int, int], StoredChannelEvent]] = {}
    for event in graph.history.stored_channels:
        if event.action == StoredAction.RESTORED:
            place = (event.edge, event.source, event.target)
            found.setdefault((event.checkpoint, event.task_id), {})[place] = event
    return {key: list(events.values()) for key, events in found.items()}


def _stored_events(graph: JobGraph) -> dict[tuple[int, int], StoredChannelEvent]:
    """By checkpoint and channel."""
    return {
        (event.checkpoint, event.channel): event
        for event in graph.history.stored_channels
        if event.action == StoredAction.STORED
    }


def compare(graph: JobGraph, answers: Mapping[int, object], whole: bool, found: Findings) -> None:
    """Compares what is between the cuts of each channel with what the checkpoint contains."""
    stored = graph.once(_stored_events)
    for channel in graph.channels.values():
        sender, receiver = answers.get(channel.source_task), answers.get(channel.target_task)
        if not isinstance(sender, InFlight) or not isinstance(receiver, InFlight):
            continue
        error = 0
        for checkpoint, flows in receiver.received.items():
            if checkpoint not in graph.history.completed:
                continue
            cut = (channel.channel, checkpoint)
            overtakes = cut in sender.overtaking
            sent = sender.sent.get(cut, sender.sent_in_all.get(channel.channel, _NOTHING))
            recovered, live = flows.get(channel.channel, (_NOTHING, _NOTHING))
            restored = _restored_sums(graph, receiver.attempt, channel.target_task, channel.channel, recovered)
            between = restored.without(recovered).followed_by(sent.without(live))
            event = stored.get((checkpoint, channel.channel))
            contained = _NOTHING if event is None else Sums(event.elements, event.element_sum, event.weighted_sum)
            found.examined += 1
            before, error = error, 0
            if event is not None and event.rest_bytes:
                what = "the stored buffers do not end with an element"
            elif contained == between:
                continue
            elif not overtakes and contained.elements:
                what = "elements of a channel were stored whose barrier overtakes nothing"
            elif not overtakes:
                continue  # Law checkpoint-cut examines these channels.
            elif sender.is_finished and not contained.elements:
                continue  # Rule 12.100: the sender has no state. It sends its last watermark again after a restore.
            elif contained.elements != between.elements:
                error = contained.elements - between.elements
                if error == before:
                    continue  # What one checkpoint lost, the next ones do not contain either.
                what = compared(contained.elements, between.elements, "elements were stored than are between the cuts")
            else:
                what = "the stored elements are not those between the cuts, in their order"
            found.broken(
                what, cut, channel=channel.channel, checkpoint=checkpoint, expected=between.elements,
                found=contained.elements, task=channel.target_task,
            )  # fmt: skip


def _restored_sums(graph: JobGraph, attempt: int, task: int, channel: int, recovered: Sums) -> Sums:
    """What an attempt had to restore on a channel; after rescaling it restored all before its first checkpoint."""
    checkpoint = graph.history.restored(task, attempt)
    events = graph.once(_restored_events).get((checkpoint, task), [])
    if any(event.channel < 0 for event in events):
        return recovered
    for event in events:
        if event.channel == channel:
            return Sums(event.elements, event.element_sum, event.weighted_sum)
    return _NOTHING


def _cut_applies(graph: JobGraph) -> str:
    is_unaligned = AlignmentType.UNALIGNED in alignments(graph).values()
    has_data = is_unaligned or bool(graph.history.stored_channels)
    return needs_channels(graph) or ("" if has_data else "no checkpoint is unaligned")


def _restored_applies(graph: JobGraph) -> str:
    restored = any(event.action == StoredAction.RESTORED for event in graph.history.stored_channels)
    return needs_channels(graph) or ("" if restored else "no in-flight data was restored")


_TERMS: Final = """\
- The *number* of a record is its `fingerprint`, that of another element `timestamp` times 0x1E3779B97F4A7C15 plus `kind`.
  Elements are rows of a lower kind than END_OF_DATA. Two sequences are *equal* if they have as many elements, and
  equal sums of their numbers and of their numbers times their places (modulo 2^64).
"""
_CUT_COUNTS: Final = f"""\
- Not applicable: no row in `channels`; or no row in `checkpoints` with alignment UNALIGNED and no row in
  `stored_channels`.
- Rows examined: 1 for each snapshot of an attempt for a complete checkpoint, and each channel that the task receives.
{_TERMS}\
- The elements of a channel are those that the attempt restores, which are those of its RESTORED row in
  `stored_channels`, then those that the sender sends. *Between the cuts* are those before the barrier in `sent` (all, if
  there is none) without those that were received before the snapshot.
- A violation: there is an UNALIGNED_BARRIER in `sent`, and the elements of the STORED row (none without a row) are not
  equal to those between the cuts; or there is none, and a STORED row has elements; or its `rest_bytes` are not 0. If the
  attempt of the sender has a RESTORED_AS_FINISHED row in `lifecycle`, a channel may be stored without elements: such a
  task has no state, and sends its last watermark again after a restore (rule 12.100). A difference in the number of
  elements that is the same at several snapshots of an attempt in succession counts once.
"""
_RESTORED_COUNTS: Final = f"""\
- Not applicable: no row in `channels`, or no RESTORED row in `stored_channels`.
- Rows examined: 1 for each channel of an attempt that has a RESTORED row in `stored_channels`, or elements with positions
  below 0; after rescaling (`channel` -1) 1 for each edge.
{_TERMS}\
- A violation: in a whole run the received elements with positions below 0 are not equal to those of the RESTORED row of
  the checkpoint from which the attempt started; after rescaling only the number and the sum of records are compared, over
  all channels of the edge and all rows with this `task_id`. In an attempt that is not the last one there may be fewer.
- A violation: a row with a position below 0 behind one of its channel with a position from 0.
"""

LAWS: Final = (
    Law(
        CUT,
        "An unaligned checkpoint stores exactly the elements that were sent before the sender's barrier and not received "
        "before the receiver's snapshot, in their order; channels whose barriers overtake nothing have none.",
        ("12.18", "12.83", "12.84", "12.86", "12.88", "12.100"),
        Level.ELEMENTS,
        InFlightOfTask,
        _cut_applies,
        join=compare,
        counts=_CUT_COUNTS,
    ),
    Law(
        RESTORED,
        "A restored task receives the stored elements of each channel once, in their order, before new ones; after "
        "rescaling each record reaches the task that owns its key group.",
        ("12.85", "12.92", "12.102", "12.104"),
        Level.ELEMENTS,
        InFlightOfTask,
        _restored_applies,
        counts=_RESTORED_COUNTS,
    ),
)  # fmt: skip

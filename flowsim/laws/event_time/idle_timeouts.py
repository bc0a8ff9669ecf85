"""Part of law idle: a strategy, and each split of a source, is idle when its timeout has passed (rule 8.4)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

import numpy as np

from flowsim.facts.kinds import LifeEvent
from flowsim.facts.schema import PARAMS_OF_SPLITS
from flowsim.laws.elements import sent_records
from flowsim.laws.event_time.idle_clock import Calls, Event, IdleClock, TaskActivity, calls_of
from flowsim.laws.event_time.merged_splits import ENDED, RECORD
from flowsim.laws.event_time.paths import ACTIVE, IDLE, STATUS, WATERMARK, EventTimePaths, strategy_of
from flowsim.laws.findings import Findings
from flowsim.laws.free_moments import QUIESCED, STOPPED
from flowsim.laws.job_graph import JobGraph, Operator, Task
from flowsim.laws.machine import Machine, on_row, reads
from flowsim.laws.slices import Ints, Slice
from flowsim.units import NS_PER_MS

_STRAIGHT: Final = ("map", "filter", "flat_map")
"""Kinds of operators that emit only while they process a record."""
_TIMED: Final = ("bounded", "monotonous", "none")
"""Kinds of strategies that become idle only by their timeout."""
_WHOLE: Final = -1
_END: Final = 2**63 - 1


class Generated(NamedTuple):
    """A row of ``generated_watermark``."""

    seq: int
    kind: int
    value: int
    time_ns: int
    records: int


class _Sent:
    """The records that a task sent over some edges."""

    def __init__(self, channels: list[int]) -> None:
        self._channels = channels
        self._seqs: list[Ints] = []
        self._times: list[Ints] = []
        self.seqs: Ints = np.empty(0, dtype=np.int64)
        self.times: Ints = np.empty(0, dtype=np.int64)

    @reads(sent_records, sent=("time_ns", "channel"))
    def feed(self, facts: Slice) -> None:
        rows = facts.of("sent")
        if len(rows):
            mask = facts.once(sent_records) & np.isin(rows.column("channel"), self._channels)
            self._seqs.append(rows.column("seq")[mask])
            self._times.append(rows.column("time_ns")[mask])

    def end(self) -> None:
        if self._seqs:
            self.seqs, self.times = np.concatenate(self._seqs), np.concatenate(self._times)

    def before(self, seq: int) -> int:
        """The number of records before a row."""
        return int(np.searchsorted(self.seqs, seq))

    def event(self, number: int) -> Event:
        return Event(int(self.seqs[number]), int(self.times[number]))


class Timeout:
    """The timeout of one strategy, the rows of its operator, and the records that show its activity."""

    def __init__(self, graph: JobGraph, task: Task, operator: Operator, paths: EventTimePaths) -> None:
        strategy = strategy_of(operator) or {}
        idle_ms, interval_ms = strategy.get("idle_ms"), strategy.get("auto_watermark_interval_ms")
        self.timeout_ns = idle_ms * NS_PER_MS if isinstance(idle_ms, int) else 0
        self._interval_ms = interval_ms if isinstance(interval_ms, int) else 0
        self._is_source = operator.kind == "source"
        self.opened_ns: int | None = None
        self.has_splits = _has_splits(operator, task.subtask)
        sent = graph.sent_by(task.task)

        def over(edges: set[int]) -> list[int]:
            return [channel.channel for channel in sent if channel.edge in edges]

        straight = paths.edges_of(operator, lambda behind: behind.kind in _STRAIGHT and not behind.input_tag)
        self.records = _Sent(over({edge.edge for edge in straight if not edge.side_output}))
        """Some of the records that the strategy saw."""
        mapped = paths.edges_of(operator, lambda behind: behind.kind == "map" and not behind.input_tag)
        exact = [edge.edge for edge in mapped if not edge.side_output and edge.partitioner != "BROADCAST"][:1]
        self.all_records = _Sent(over(set(exact))) if exact and over(set(exact)) else None
        """All of them, once and in order; None: no edge has them."""
        self.rows: dict[int, list[Generated]] = {}
        """By split; -1: the whole operator."""
        self.pauses: dict[int, list[tuple[int, int]]] = {}
        """The times for which alignment paused the source, or a split of it."""
        self._paused: dict[int, int] = {}
        self.stopped = _END
        """The row from which no periodic call runs."""

    def feed(self, facts: Slice) -> None:
        self.records.feed(facts)
        if self.all_records is not None:
            self.all_records.feed(facts)

    def on_alignment(self, split: int, paused: int, time_ns: int) -> None:
        if paused:
            self._paused.setdefault(split, time_ns)
        elif split in self._paused:
            self.pauses.setdefault(split, []).append((self._paused.pop(split), time_ns))

    @property
    def calls(self) -> Calls | None:
        """None: it is not known when the strategy is called."""
        return calls_of(self._interval_ms, self.opened_ns, self._is_source)

    def end(self) -> None:
        self.records.end()
        if self.all_records is not None:
            self.all_records.end()
        for split, since in self._paused.items():
            self.pauses.setdefault(split, []).append((since, _END))

    @property
    def first_split_row(self) -> int:
        """The first row of a split."""
        return min((rows[0].seq for split, rows in self.rows.items() if split != _WHOLE), default=_END)


class IdleTimeouts(Machine):
    """Examines the idle timeouts of one task at its end."""

    def __init__(self, graph: JobGraph, task: Task, found: Findings) -> None:
        self._found = found
        self._task = task.task
        paths = graph.once(EventTimePaths)
        self._timeouts = {
            operator.operator: Timeout(graph, task, operator, paths)
            for operator in graph.operators_of(task.vertex)
            if (strategy_of(operator) or {}).get("kind") in _TIMED
            and isinstance((strategy_of(operator) or {}).get("idle_ms"), int)
        }
        self._activity = TaskActivity()
        self._started: list[Event] = []

    def feed(self, facts: Slice) -> None:
        if self._timeouts:
            super().feed(facts)

    @reads(_Sent.feed)
    def _add_records(self, facts: Slice) -> None:
        for timeout in self._timeouts.values():
            timeout.feed(facts)

    @on_row("generated_watermark")
    def _generated(
        self, seq: int, operator: int, split: int, kind: int, timestamp: int, time_ns: int, records: int
    ) -> None:
        if operator in self._timeouts:
            row = Generated(seq, kind, timestamp, time_ns, records)
            self._timeouts[operator].rows.setdefault(split, []).append(row)

    @on_row("alignment")
    def _align(self, seq: int, operator: int, split: int, paused: int, time_ns: int) -> None:
        if operator in self._timeouts:
            self._timeouts[operator].on_alignment(split, paused, time_ns)

    @on_row("lifecycle", event=LifeEvent.RUNNING)
    def _run(self, seq: int, time_ns: int) -> None:
        self._started.append(Event(seq, time_ns))

    @on_row("lifecycle", event=LifeEvent.OPEN)
    def _open(self, seq: int, operator: int, time_ns: int) -> None:
        if operator in self._timeouts:
            self._timeouts[operator].opened_ns = time_ns

    @on_row("lifecycle", event=(*STOPPED, *QUIESCED))
    def _stop(self, seq: int, operator: int) -> None:
        for number, timeout in self._timeouts.items():
            if operator in (number, -1):
                timeout.stopped = min(timeout.stopped, seq)

    @reads(TaskActivity.feed)
    def _act(self, facts: Slice) -> None:
        self._activity.feed(facts)

    def end(self, whole: bool) -> None:
        for operator, timeout in self._timeouts.items():
            timeout.end()
            self._examine(operator, timeout)

    def _examine(self, operator: int, timeout: Timeout) -> None:
        for split, rows in sorted(timeout.rows.items()):
            if split == _WHOLE and timeout.has_splits:
                continue
            for row in _became_idle(rows):
                if split != _WHOLE or row.seq < timeout.first_split_row:
                    self._examine_early(operator, timeout, split, row)
        for row in _idle_too_early(timeout.rows):
            self._broken("idle although a split is not", row.seq, operator=operator, split=_WHOLE, time_ns=row.time_ns)
        if self._activity.is_known and timeout.all_records is not None and timeout.calls is not None:
            if not timeout.has_splits:
                self._examine_late(operator, timeout, timeout.all_records, timeout.calls)
            self._examine_late_splits(operator, timeout, timeout.all_records, timeout.calls)
        if self._activity.is_known and timeout.calls is not None:
            self._examine_merged_splits(operator, timeout, timeout.calls)

    def _clock(self, timeout: Timeout, split: int) -> IdleClock:
        return IdleClock([*self._activity.full, *timeout.pauses.get(split, ())])

    # Too early.

    def _examine_early(self, operator: int, timeout: Timeout, split: int, row: Generated) -> None:
        event = self._last_event(timeout, split, row)
        if event is None:
            return
        last_ns, now_ns = event.time_ns, row.time_ns
        if self._activity.is_known:
            clock = self._clock(timeout, split)
            stored = self._activity.stored_ns(event, row.records > 0, timeout.calls, row.seq)
            now_ns = clock.at(row.time_ns)
            last_ns = now_ns if stored is None else clock.at(stored)
        if now_ns - last_ns <= timeout.timeout_ns:
            shown = {
                "split": split,
                "time_ns": row.time_ns,
                "last_record_ns": event.time_ns,
                "timeout_ns": timeout.timeout_ns,
            }
            self._broken("idle before the timeout has passed", row.seq, operator=operator, **shown)

    def _last_event(self, timeout: Timeout, split: int, row: Generated) -> Event | None:
        """The last record of a stream before a row, or one that is not after it; or the beginning of the task."""
        events = [event for event in self._started if event.seq < row.seq]
        if split == _WHOLE:
            number = timeout.records.before(row.seq)
            if number:
                last = timeout.records.event(number - 1)
                events.append(Event(last.seq, int(timeout.records.times[:number].max())))
        else:
            before = [other for other in timeout.rows[split] if other.seq < row.seq and other.records < row.records]
            events += [Event(other.seq, other.time_ns) for other in before[-1:]]
            events += [Event(first.seq, first.time_ns) for first in timeout.rows[split][:1] if _is_beginning(first)]
            sent = timeout.all_records
            if sent is not None and row.records:
                first = sent.before(before[-1].seq) if before else 0
                number = first + row.records - (before[-1].records if before else 0) - 1
                if number < sent.before(row.seq):
                    events.append(sent.event(number))
        if not events:
            return None
        return Event(max(event.seq for event in events), max(event.time_ns for event in events))

    # Too late, or never.

    def _examine_late(self, operator: int, timeout: Timeout, sent: _Sent, calls: Calls) -> None:
        until = min(timeout.stopped, timeout.first_split_row)
        times = np.concatenate(([event.time_ns for event in self._started[:1]], sent.times)).astype(np.int64)
        seqs = np.concatenate(([event.seq for event in self._started[:1]], sent.seqs)).astype(np.int64)
        gaps = np.flatnonzero(np.append(np.diff(times), timeout.timeout_ns + 1) > timeout.timeout_ns)
        clock, rows = self._clock(timeout, _WHOLE), timeout.rows.get(_WHOLE, [])
        for place in gaps.tolist() if len(times) else ():
            event = Event(int(seqs[place]), int(times[place]))
            following = int(seqs[place + 1]) if place + 1 < len(seqs) else _END
            known = self._activity.idle_by(clock, event, timeout.timeout_ns, calls)
            if known is not None and known[1].seq < min(until, following) and not _was_idle(rows, event, known[1].seq):
                self._broken("not idle although the timeout has passed", known[1].seq, operator=operator, split=_WHOLE,
                             time_ns=known[1].now_ns, last_record_ns=event.time_ns, timeout_ns=timeout.timeout_ns)  # fmt: skip

    def _examine_late_splits(self, operator: int, timeout: Timeout, sent: _Sent, calls: Calls) -> None:
        silent = _silences(timeout.rows, sent)
        for split, rows in sorted(timeout.rows.items()):
            if split == _WHOLE or not _is_beginning(rows[0]):
                continue
            clock, released = self._clock(timeout, split), rows[-1].seq if rows[-1].kind == ENDED else _END
            for event, until in silent.get(split, ()):
                known = self._activity.idle_by(clock, event, timeout.timeout_ns, calls)
                if known is None or known[1].seq >= min(until, timeout.stopped, released):
                    continue
                if not _was_idle(rows, event, known[1].seq):
                    self._broken("not idle although the timeout has passed", known[1].seq, operator=operator, split=split,
                                 time_ns=known[1].now_ns, last_record_ns=event.time_ns,
                                 timeout_ns=timeout.timeout_ns)  # fmt: skip

    def _examine_merged_splits(self, operator: int, timeout: Timeout, calls: Calls) -> None:
        """Rule 8.6: the source is idle when all its splits are, and so is the generator of records without a split."""
        whole = timeout.rows.get(_WHOLE, [])
        if not self._started or any(row.kind == RECORD for row in whole):
            return
        own = self._activity.idle_by(self._clock(timeout, _WHOLE), self._started[0], timeout.timeout_ns, calls)
        if own is None:
            return
        for event, until in _all_idle(timeout.rows):
            moment = self._activity.called_by(event, calls.interval_ns, own[1].seq)
            if moment is not None and moment.seq < min(until, timeout.stopped) and not _is_idle(whole, moment.seq):
                self._broken("not idle although all its splits are", moment.seq, operator=operator, split=_WHOLE,
                             time_ns=moment.now_ns)  # fmt: skip

    def _broken(self, what: str, seq: int, **shown: int) -> None:
        self._found.broken(what, (self._task, seq), task=self._task, seq=seq, **shown)


def _has_splits(operator: Operator, subtask: int) -> bool:
    splits = operator.params.get("splits")
    if operator.params.get("source") == "script" and isinstance(splits, list) and subtask < len(splits):
        return bool(splits[subtask])
    return bool(PARAMS_OF_SPLITS & operator.params.keys())


def _became_idle(rows: list[Generated]) -> Iterator[Generated]:
    is_idle = False
    for row in rows:
        if row.kind == STATUS:
            if row.value == IDLE and not is_idle:
                yield row
            is_idle = row.value == IDLE


def _is_idle(rows: list[Generated], seq: int) -> bool:
    """Whether a stream is idle before a row."""
    place = bisect_left(rows, (seq,))
    status = next((row.value for row in reversed(rows[:place]) if row.kind == STATUS), 0)
    return status == IDLE


def _was_idle(rows: list[Generated], event: Event, seq: int) -> bool:
    """Whether a stream is idle before a row, or was after an event."""
    return _is_idle(rows, seq) or any(
        row.kind == STATUS and row.value == IDLE
        for row in rows[bisect_left(rows, (event.seq,)) : bisect_left(rows, (seq,))]
    )


def _is_beginning(row: Generated) -> bool:
    """Whether a split is created with its first row; it is not in older recordings."""
    return (row.kind, row.value, row.records) == (STATUS, ACTIVE, 0)


def _all_idle(rows: Mapping[int, list[Generated]]) -> Iterator[tuple[Event, int]]:
    """The times in which all splits that have begun and not ended are idle: the row from which on, and the row after."""
    statuses: dict[int, bool] = {}
    since: Event | None = None
    for row, split in sorted((row, split) for split, of_split in rows.items() for row in of_split):
        if split == _WHOLE:
            continue
        if split not in statuses and not _is_beginning(row):
            return
        statuses[split] = row.kind == STATUS and row.value == IDLE
        if row.kind == ENDED:
            del statuses[split]
        is_idle = bool(statuses) and all(statuses.values())
        if since is not None and not is_idle:
            yield since, row.seq
        since = (since or Event(row.seq, row.time_ns)) if is_idle else None
    if since is not None:
        yield since, _END


def _idle_too_early(rows: Mapping[int, list[Generated]]) -> Iterator[Generated]:
    """The rows in which a source becomes idle although the last update of its splits found one that is not."""
    statuses: dict[int, bool] = {}
    is_idle = True
    for row, split in sorted((row, split) for split, of_split in rows.items() for row in of_split):
        if split != _WHOLE:
            if split not in statuses and not _is_beginning(row):
                return
            statuses[split] = row.kind == STATUS and row.value == IDLE
            if row.kind == ENDED:
                del statuses[split]
            is_idle |= bool(statuses) and all(statuses.values())
        elif row.kind == WATERMARK:
            is_idle = not statuses or all(statuses.values())
        elif row.kind == RECORD:
            return
        elif row.value == IDLE and not is_idle:
            yield row


def _silences(rows: Mapping[int, list[Generated]], sent: _Sent) -> dict[int, list[tuple[Event, int]]]:
    """Per split the times without a record: a row after the last record, and the last row that shows that none followed.

    If the rows of all splits count as many records as were sent before a row, each split has as many as its last row says.
    """
    found: dict[int, list[tuple[Event, int]]] = {}
    counts: dict[int, int] = {}
    merged = sorted((row, split) for split, of_split in rows.items() for row in of_split)
    total = len(sent.seqs)
    for row, split in merged:
        if split != _WHOLE and (counts.get(split) != row.records or split not in found):
            counts[split] = row.records
            found.setdefault(split, []).append((Event(row.seq, row.time_ns), row.seq))
        before = sent.before(row.seq)
        if sum(counts.values()) == before:
            until = int(sent.seqs[before]) if before < total else _END
            for periods in found.values():
                periods[-1] = (periods[-1][0], until)
    return found

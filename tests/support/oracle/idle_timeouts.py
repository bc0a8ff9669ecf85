"""Part of law idle: a strategy or split is idle when its timeout has passed, not before (rule 8.4).

Slow and plain: every question goes through all rows of the task again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from flowsim.facts.kinds import ActionKind, ActionPhase, ElementKind, LifeEvent, WaitKind
from flowsim.facts.schema import OUTPUT_FULL
from flowsim.laws.job_graph import JobGraph, Operator, Task
from flowsim.units import NS_PER_MS
from tests.support.oracle.event_time_paths import EventTimePaths
from tests.support.oracle.facts import Facts, Findings, Row
from tests.support.oracle.valve_model import ACTIVE, IDLE

_STRAIGHT: Final = ("map", "filter", "flat_map")
_TIMED: Final = ("bounded", "monotonous", "none")
_OF_SPLITS: Final = {"splits", "assignment", "files", "split_by", "partitions"}
ENDS: Final = (
    LifeEvent.FINISH, LifeEvent.CLOSE, LifeEvent.STOP_NO_DRAIN, LifeEvent.CANCELING, LifeEvent.CANCELED, LifeEvent.FAILED,
)  # fmt: skip
_BUSY: Final = 8
_REAL_TIME_NS: Final = 10**18
LAST: Final = 2**63 - 1
Event = tuple[int, int]
"""Sequence number and time."""
Moment = tuple[int, int, int]
"""Sequence number, the time until which every mail has run, and its own time."""


def judge_timeouts(findings: Findings, facts: Facts, graph: JobGraph) -> None:
    """Every operator of every task whose strategy has a timeout."""
    for task in graph.tasks.values():
        for operator in graph.operators_of(task.vertex):
            strategy = operator.params.get("watermarks")
            if (
                isinstance(strategy, Mapping)
                and strategy.get("kind") in _TIMED
                and isinstance(strategy.get("idle_ms"), int)
            ):
                _Strategy(findings, facts, graph, task, operator, strategy).judge()


@dataclass
class Activity:
    """What the rows of ``actions`` of one task say."""

    rows: list[Row]
    mails: list[Event] = field(default_factory=list)
    works: list[Event] = field(default_factory=list)
    ends: list[Event] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=list)
    full: list[tuple[int, int]] = field(default_factory=list)

    @property
    def is_known(self) -> bool:
        for _, _, _, phase, kind, *_ in self.rows:
            is_action = phase in (ActionPhase.BEGIN, ActionPhase.END)
            if kind == (ActionKind.LOCK_HOLDER if is_action else WaitKind.LOCK):
                return False
        return bool(self.rows) and self.rows[0][2] < _REAL_TIME_NS

    def read(self) -> None:
        depth, open_waits = 0, dict[int, Event]()
        for seq, _, time_ns, phase, kind, _, priority, _ in self.rows:
            if phase == ActionPhase.BEGIN:
                depth += 1
                if kind == ActionKind.MAIL:
                    self.mails.append((seq, time_ns))
                if kind == ActionKind.DEFAULT_ACTION:
                    self.works.append((seq, time_ns))
                    if len(self.works) >= _BUSY:
                        self.moments.append((seq, self.works[-_BUSY][1] - 1, time_ns))
            elif phase == ActionPhase.END:
                depth -= 1
                self.ends += [(seq, time_ns)] if not depth else []
            elif phase == ActionPhase.WAIT:
                open_waits[kind] = (seq, time_ns)
            else:
                since = open_waits.pop(kind, (seq, time_ns))
                if time_ns > since[1] and kind in (WaitKind.MAIL, WaitKind.BUFFER):
                    if kind == WaitKind.BUFFER or priority == OUTPUT_FULL:
                        self.full.append((since[1], time_ns))
                    if kind == WaitKind.MAIL and not depth:
                        self.moments.append((since[0], since[1], since[1]))

    def first(self, after: int, due_ns: int) -> Moment | None:
        return next((moment for moment in self.moments if moment[0] > after and moment[1] >= due_ns), None)


def _reading(pauses: list[tuple[int, int]], time_ns: int) -> int:
    """A clock that stands still during the pauses, which may overlap."""
    paused, until = 0, 0
    for start, end in sorted(pauses):
        paused += max(0, min(end, time_ns) - max(start, until)) if start < time_ns else 0
        until = max(until, end)
    return time_ns - paused


class _Strategy:
    def __init__(
        self,
        findings: Findings,
        facts: Facts,
        graph: JobGraph,
        task: Task,
        operator: Operator,
        strategy: Mapping[str, object],
    ) -> None:
        self.findings, self.task, self.operator = findings, task.task, operator.operator
        self.has_splits = bool(_OF_SPLITS & operator.params.keys())
        if self.has_splits and operator.params.get("source") == "script":
            splits = operator.params["splits"]
            self.has_splits = not isinstance(splits, list) or bool(splits[task.subtask])
        self.timeout_ns = int(str(strategy["idle_ms"])) * NS_PER_MS
        interval_ms = strategy.get("auto_watermark_interval_ms")
        interval_ms = interval_ms if isinstance(interval_ms, int) else 0
        self.is_source = operator.kind == "source"
        self.between_ns = interval_ms * NS_PER_MS
        self.interval_ns = self.between_ns + (0 if self.is_source else 2 * NS_PER_MS)
        self.opened_ns: int | None = None
        self.rows: dict[int, list[Row]] = {}
        for row in facts.rows("generated_watermark"):
            if (row[1], row[2]) == (task.task, operator.operator):
                self.rows.setdefault(row[4], []).append(row)
        some, every = self._channels(graph, task, operator)
        sent = [row for row in facts.rows("sent") if row[1] == task.task and row[5] == ElementKind.RECORD]
        self.some = [(row[0], row[2]) for row in sent if row[3] in some]
        self.every = None if every is None else [(row[0], row[2]) for row in sent if row[3] in every]
        self.started: list[Event] = []
        self.stopped = LAST
        for seq, of, of_operator, time_ns, event in facts.rows("lifecycle"):
            if of == task.task and event == LifeEvent.RUNNING:
                self.started.append((seq, time_ns))
            if of == task.task and event == LifeEvent.OPEN and of_operator == operator.operator:
                self.opened_ns = time_ns
            if of == task.task and event in ENDS and of_operator in (operator.operator, -1):
                self.stopped = min(self.stopped, seq)
        self.pauses: dict[int, list[tuple[int, int]]] = {}
        paused: dict[int, int] = {}
        for _, of, of_operator, time_ns, split, is_paused, *_ in facts.rows("alignment"):
            if (of, of_operator) == (task.task, operator.operator):
                if is_paused:
                    paused.setdefault(split, time_ns)
                elif split in paused:
                    self.pauses.setdefault(split, []).append((paused.pop(split), time_ns))
        for split, since in paused.items():
            self.pauses.setdefault(split, []).append((since, LAST))
        self.activity = Activity([row for row in facts.rows("actions") if row[1] == task.task])
        self.activity.read()

    def _channels(self, graph: JobGraph, task: Task, operator: Operator) -> tuple[set[int], set[int] | None]:
        """Those with some of the records that the strategy saw, and those of one edge with all of them."""
        paths, some, every = EventTimePaths(graph), set[int](), dict[int, set[int]]()
        for channel in graph.channels.values():
            edge = graph.edges[channel.edge]
            if channel.source_task != task.task or edge.side_output:
                continue
            behind, kinds, is_main = paths.operator(edge.source_vertex, edge.source_operator), set[str](), True
            while behind is not None and behind.operator != operator.operator:
                kinds.add(behind.kind)
                is_main &= not behind.input_tag
                behind = paths.feeder(behind)
            if behind is not None and is_main and kinds <= set(_STRAIGHT):
                some.add(channel.channel)
                if kinds <= {"map"} and edge.partitioner != "BROADCAST":
                    every.setdefault(channel.edge, set()).add(channel.channel)
        return some, every[min(every)] if every else None

    def judge(self) -> None:
        first_split_row = min((rows[0][0] for split, rows in self.rows.items() if split != -1), default=LAST)
        for split, rows in sorted(self.rows.items()):
            status = ACTIVE
            for row in rows:
                if row[5] != ElementKind.STATUS:
                    continue
                if row[6] == IDLE and status != IDLE:
                    judged = row[0] < first_split_row and not self.has_splits if split == -1 else True
                    if judged and self._is_early(split, row):
                        self._broken("idle too early", split, row[0])
                status = row[6]
        self._judge_merge()
        if not self._has_calls or not self.activity.is_known or self.every is None:
            return
        if not self.has_splits:
            events = [*self.started[:1], *self.every]
            for number, event in enumerate(events):
                after = events[number + 1] if number + 1 < len(events) else (LAST, LAST)
                is_long = after[0] == LAST or after[1] - event[1] > self.timeout_ns
                self._judge_late(-1, event, min(after[0], first_split_row), is_long)
        for split, periods in self._silences(self.every).items():
            for event, until in periods:
                self._judge_late(split, event, until, True)

    @property
    def _has_calls(self) -> bool:
        return self.between_ns > 0 and (self.opened_ns is not None or not self.is_source)

    def _clock(self, split: int) -> list[tuple[int, int]]:
        return [*self.activity.full, *self.pauses.get(split, [])]

    def _is_early(self, split: int, row: Row) -> bool:
        seq, _, _, time_ns, _, _, _, records, _ = row
        events = [event for event in self.started if event[0] < seq]
        if split == -1:
            events += [event for event in self.some if event[0] < seq]
        else:
            before = [other for other in self.rows[split] if other[0] < seq and other[7] < records]
            known = before[-1] if before else None
            events += [(known[0], known[3])] if known else []
            events += [(first[0], first[3]) for first in self.rows[split][:1] if _is_beginning(first)]
            if self.every is not None and records:
                sent = [event for event in self.every if event[0] < seq]
                first = len([event for event in sent if known and event[0] < known[0]])
                number = first + records - (known[7] if known else 0) - 1
                events += sent[number : number + 1]
        if not events:
            return False
        last = max(event[0] for event in events), max(event[1] for event in events)
        if not self.activity.is_known:
            return time_ns - last[1] <= self.timeout_ns
        mails = [mail for mail in self.activity.mails if mail[0] > last[0] and mail[0] < seq]
        stored = mails[records > 0 :][:1]
        if not stored:
            return True
        earliest = stored[0][1]
        if records and self._has_calls:
            second = mails[0][1] + self.between_ns
            if self.is_source and self.opened_ns is not None:
                second -= (mails[0][1] - self.opened_ns) % self.between_ns
            earliest = max(earliest, second)
        clock = self._clock(split)
        return _reading(clock, time_ns) - _reading(clock, earliest) <= self.timeout_ns

    def _silences(self, sent: list[Event]) -> dict[int, list[tuple[Event, int]]]:
        found: dict[int, list[tuple[Event, int]]] = {}
        counts: dict[int, int] = {}
        for row in sorted(row for rows in self.rows.values() for row in rows):
            seq, _, _, time_ns, split, _, _, records, _ = row
            if split != -1 and counts.get(split) != records:
                counts[split] = records
                found.setdefault(split, []).append(((seq, time_ns), seq))
            if sum(counts.values()) == len([event for event in sent if event[0] < seq]):
                until = min((event[0] for event in sent if event[0] >= seq), default=LAST)
                for periods in found.values():
                    periods[-1] = (periods[-1][0], until)
        return found

    def _by(self, split: int, event: Event, timeout_ns: int) -> tuple[Moment, Moment] | None:
        activity, clock = self.activity, self._clock(split)
        end = next((end for end in activity.ends if end[0] > event[0]), None)
        noticed = activity.first(event[0], end[1] + self.interval_ns) if end else None
        stored = activity.first(noticed[0], noticed[2] + self.interval_ns) if noticed else None
        if stored is None:
            return None
        reading = _reading(clock, stored[2]) + timeout_ns
        for moment in activity.moments:
            if _reading(clock, moment[1] - self.interval_ns) > reading:
                return stored, moment
        return None

    def _judge_late(self, split: int, event: Event, until: int, is_long: bool) -> None:
        by = self._by(split, event, self.timeout_ns) if is_long else None
        rows = self.rows.get(split, [])
        if by is None or by[1][0] >= min(until, self.stopped):
            return
        seq = by[1][0]
        before = [row for row in rows if row[0] < seq and row[5] == ElementKind.STATUS]
        if (before and before[-1][6] == IDLE) or any(row[0] >= event[0] and row[6] == IDLE for row in before):
            return
        if split == -1:
            self._broken("not idle", split, seq)
        elif _is_beginning(rows[0]) and (rows[-1][5] != ElementKind.END_OF_PARTITION or seq < rows[-1][0]):
            self._broken("a split is not idle", split, seq)

    def _judge_merge(self) -> None:
        """The source is idle when its splits are, and was not idle while one of them was not."""
        whole = self.rows.get(-1, [])
        every = sorted(row for rows in self.rows.values() for row in rows)
        own = self._by(-1, self.started[0], self.timeout_ns) if self._has_calls and self.started else None
        if not self.activity.is_known or any(row[5] == ElementKind.RECORD for row in whole):
            own = None
        for place, row in enumerate(every):
            if row[4] == -1 and row[5] == ElementKind.STATUS and row[6] == IDLE and not _may_be_idle(every[:place]):
                self._broken("idle although a split is not", -1, row[0])
            if own is None or not _are_idle(every[: place + 1]) or _are_idle(every[:place]):
                continue
            ends = [number for number in range(place + 1, len(every) + 1) if not _are_idle(every[:number])]
            if ends and not _are_known(every[: ends[0]]):
                continue
            until = every[ends[0] - 1][0] if ends else LAST
            end = next((end for end in self.activity.ends if end[0] > row[0]), None)
            moment = self.activity.first(own[1][0], end[1] + self.interval_ns) if end else None
            if moment is None or moment[0] >= min(until, self.stopped):
                continue
            statuses = [one[6] for one in whole if one[0] < moment[0] and one[5] == ElementKind.STATUS]
            if statuses[-1:] != [IDLE]:
                self._broken("not idle although its splits are", -1, moment[0])

    def _broken(self, what: str, split: int, seq: int) -> None:
        self.findings.broken(what, task=self.task, operator=self.operator, split=split, seq=seq)


def _is_beginning(row: Row) -> bool:
    return tuple(row[5:8]) == (ElementKind.STATUS, ACTIVE, 0)


def _are_known(rows: list[Row]) -> bool:
    """Whether the beginning of every split is there, also of one that begins again after its end."""
    begun = set()
    for row in rows:
        if row[4] != -1:
            if row[4] not in begun and not _is_beginning(row):
                return False
            begun.add(row[4])
            if row[5] == ElementKind.END_OF_PARTITION:
                begun.remove(row[4])
    return True


def _statuses(rows: list[Row]) -> dict[int, bool]:
    """Per split that has begun and not ended, whether it is idle."""
    found = {}
    for row in rows:
        if row[4] != -1:
            found[row[4]] = row[5] == ElementKind.STATUS and row[6] == IDLE
            if row[5] == ElementKind.END_OF_PARTITION:
                del found[row[4]]
    return found


def _are_idle(rows: list[Row]) -> bool:
    statuses = _statuses(rows)
    return _are_known(rows) and bool(statuses) and all(statuses.values())


def _may_be_idle(rows: list[Row]) -> bool:
    """Whether the splits were all idle at a row after the last watermark of the whole source, or there was none."""
    if not _are_known(rows) or any(row[4] == -1 and row[5] == ElementKind.RECORD for row in rows):
        return True
    marks = [place for place, row in enumerate(rows) if row[4] == -1 and row[5] == ElementKind.WATERMARK]
    if not marks or all(_statuses(rows[: marks[-1]]).values()):
        return True
    return any(_are_idle(rows[:place]) for place in range(marks[-1] + 1, len(rows) + 1))

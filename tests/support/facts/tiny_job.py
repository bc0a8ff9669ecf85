"""The facts of a small keyed window job, written by hand, to be changed one at a time.

source -> map -> filter (task 0)  ==HASH==>  window (tasks 1, 2)  --REBALANCE-->  sink (task 3)
                                                                  late rows --REBALANCE-->  async -> sink (task 4)

Tumbling windows of 10 ms, lateness 3 ms, late side output; parallelism 2 of 8 key groups. Every element is delivered as soon
as it is sent, and every call is answered at once. The player knows nothing of the laws: what a window does is written down
here a second time, step by step.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from flowsim.facts import schema
from flowsim.facts.kinds import (
    ActionKind,
    ActionPhase,
    AsyncAction,
    BufferKind,
    BufferSide,
    CreditKind,
    ElementKind,
    FireCause,
    Level,
    LifeEvent,
    MailAction,
    PoolKind,
    SegmentAction,
    TimeDomain,
    TimerAction,
    WaitKind,
    WindowResult,
)  # fmt: skip
from flowsim.facts.tracer import TaskTrace
from flowsim.recording.memory import MemoryRecorder
from flowsim.task_clock import TaskClock
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP

KEYS = {"a": (97, 1000, 0), "b": (98, 1001, 1), "c": (99, 1002, 1)}
"""Java hash code, fingerprint and owning subtask of each key: key groups 1, 6 and 7 of 8, as the real Flink answers."""
EXCHANGE = "PIPELINED_BOUNDED"
CHANNELS = {0: (0, 1), 1: (0, 2), 2: (1, 3), 3: (2, 3), 4: (1, 4), 5: (2, 4)}
POOL_OF = {0: 0, 1: 0, 2: 1, 3: 2, 4: 3, 5: 4}
"""Output pool by channel: one per task and edge."""
SIZE_MS, LATENESS_MS = 10, 3
ASYNC = {"mode": "unordered", "capacity": 2, "timeout_ms": 0, "design": "mailbox", "retry": None}

# (timestamp, key), a watermark, or None for a record that the filter drops.
SCRIPT: tuple[tuple[int, str] | int | None, ...] = (
    (1, "a"), (3, "a"), 2, (9, "a"), (4, "b"), None, 9, (4, "a"), (11, "b"), 11, (2, "a"), 12, (6, "a"), (15, "c"), 24,
    (8, "b"), (25, "c"),
)  # fmt: skip


class TickingTrace:
    """Advances the clock before each fact, so that no two facts have the same time."""

    def __init__(self, trace: TaskTrace) -> None:
        self._trace = trace

    def __getattr__(self, name: str) -> Any:
        self._trace.clock.now_ns += 1
        return getattr(self._trace, name)


class FactSet:
    """Recorded facts that tests may change. Implements ``laws.slices.Facts``."""

    def __init__(self, recorder: MemoryRecorder) -> None:
        self.level = recorder.level
        names = schema.TABLES
        static = {t.name for t in schema.STATIC_TABLES}
        self.tables: dict[str, list[dict[str, int | str]]] = {
            name: [
                dict(zip(t.names, row, strict=True))
                for row in (recorder.static_rows if name in static else recorder.rows)(name)
            ]
            for name, t in names.items()
        }

    def rows(self, table: str) -> list[tuple[int, ...]]:
        """Rows as they are recorded: those of a task in the order of ``seq``, those of the job as they are."""
        rows = sorted(self.tables[table], key=lambda row: int(row.get("seq", 0)))
        return [tuple(int(v) for v in row.values()) for row in rows]

    def static_rows(self, table: str) -> list[tuple[int | str, ...]]:
        return [tuple(row.values()) for row in self.tables[table]]

    def find(self, table: str, **where: int | str) -> dict[str, int | str]:
        """The first row with these values; change it in place."""
        return self.all(table, **where)[0]

    def all(self, table: str, **where: int | str) -> list[dict[str, int | str]]:
        return [row for row in self.tables[table] if all(row[name] == value for name, value in where.items())]

    def drop(self, table: str, **where: int | str) -> dict[str, int | str]:
        """Takes the first row with these values out."""
        row = self.find(table, **where)
        self.tables[table].remove(row)
        return row

    def add(self, table: str, like: dict[str, int | str], **changed: int | str) -> None:
        """Adds a row like another one."""
        self.tables[table].append({**like, **changed})

    def cut(self, keep: Callable[[dict[str, int | str]], bool]) -> None:
        """Keeps only the facts of tasks for which ``keep`` holds: a prefix, when it asks for a time."""
        for name, rows in self.tables.items():
            if schema.TABLES[name] not in schema.STATIC_TABLES and name != "choices":
                self.tables[name] = [row for row in rows if keep(row)]


class TinyJob:
    """Plays the job and records it."""

    def __init__(self, level: Level, lateness_ms: int = LATENESS_MS) -> None:
        self.recorder = MemoryRecorder(level)
        clock = TaskClock(0)
        self.traces = [TickingTrace(TaskTrace(task, clock, self.recorder)) for task in range(5)]
        self.lateness_ms = lateness_ms
        self.sent = dict.fromkeys(CHANNELS, 0)
        self.balance = dict.fromkeys(CHANNELS, 0)
        self.received = dict.fromkeys(CHANNELS, 0)
        self.waters: dict[int, dict[int, int]] = {
            3: {2: NO_TIMESTAMP, 3: NO_TIMESTAMP},
            4: {4: NO_TIMESTAMP, 5: NO_TIMESTAMP},
        }
        self.watermark = dict.fromkeys(range(5), NO_TIMESTAMP)
        self.panes: dict[tuple[int, str, int], list[int]] = {}
        self.timers: set[tuple[int, tuple[int, str, int]]] = set()
        """Times and panes of those that wait."""
        self.counts = {
            place: [0, 0, 0, 0] for place in [(0, 0), (0, 1), (0, 2), (1, 0), (2, 0), (3, 0), (4, 0), (4, 1)]
        }
        self.ends = dict.fromkeys(range(5), 0)
        self.actions = dict.fromkeys(range(5), 0)
        self.keys_of: dict[int, str] = {}
        self.steps = dict.fromkeys(range(5), 0)
        self.entries = 0

    def describe(self) -> None:
        for task, (vertex, subtask, parallelism) in enumerate([(0, 0, 1), (1, 0, 2), (1, 1, 2), (2, 0, 1), (3, 0, 1)]):
            row = (
                task,
                vertex,
                task,
                f"vertex {vertex} ({subtask + 1}/{parallelism})",
                subtask,
                parallelism,
                8,
                int(vertex > 0),
            )
            self.recorder.static(schema.TASKS, [row])
        window = {
            "assigner": "tumbling_event_time", "trigger": {"kind": "event_time"}, "size_ms": SIZE_MS, "offset_ms": 0,
            "lateness_ms": self.lateness_ms, "late_output": True, "late_tags": ["late"],
        }  # fmt: skip
        for vertex, operator, kind, params in [
            (0, 0, "source", {}), (0, 1, "map", {}), (0, 2, "filter", {}), (1, 0, "window", window),
            (2, 0, "sink", {}), (3, 0, "async_wait", ASYNC), (3, 1, "sink", {}),
        ]:  # fmt: skip
            self.recorder.static(
                schema.OPERATORS, [(vertex, operator, kind, kind, json.dumps(params), operator - 1, "")]
            )
        self.recorder.static(schema.EDGES, [
            (0, 0, 2, 1, 0, "HASH", "STRING", "", EXCHANGE), (1, 1, 0, 2, 0, "REBALANCE", "", "", EXCHANGE),
            (2, 1, 0, 3, 0, "REBALANCE", "", "late", EXCHANGE),
        ])  # fmt: skip
        self.recorder.static(schema.TASK_MANAGERS, [(task, f"tm{task}", 10, 64) for task in range(5)])
        self.recorder.static(schema.POOLS, [
            (pool, task, task, edge, PoolKind.OUTPUT, 1, 2, 1, 10, 0)
            for pool, task, edge in ((0, 0, 0), (1, 1, 1), (2, 2, 1), (3, 1, 2), (4, 2, 2))
        ])  # fmt: skip
        self.recorder.static(schema.POOLS, [
            (5 + number, task, task, edge, PoolKind.INPUT, 1, 8, 0, 0, 4)
            for number, (task, edge) in enumerate(((1, 0), (2, 0), (3, 1), (4, 2)))
        ])  # fmt: skip
        for task in range(5):
            self.traces[task].lifecycle(-1, LifeEvent.RUNNING)
            for operator in reversed(range(self.operators(task))):
                self.traces[task].lifecycle(operator, LifeEvent.OPEN)
        for channel, (source, target) in CHANNELS.items():
            edge, subpartition, input_channel = (
                channel // 2,
                channel % 2 if channel < 2 else 0,
                channel % 2 if channel >= 2 else 0,
            )
            self.recorder.static(
                schema.CHANNELS, [(channel, edge, source, subpartition, target, 0, input_channel, 0, 0)]
            )
            if self.recorder.level is Level.FULL:
                self.traces[target].credit(channel, CreditKind.INITIAL_GRANTED, 2, -1)
                self.traces[source].credit(channel, CreditKind.INITIAL_GOT, 2, 2)
            self.balance[channel] = 2

    def operators(self, task: int) -> int:
        return {0: 3, 4: 2}.get(task, 1)

    def end_input(self, task: int) -> None:
        for operator in range(self.operators(task)):
            if task or operator:
                self.traces[task].lifecycle(operator, LifeEvent.END_INPUT)
            self.traces[task].lifecycle(operator, LifeEvent.FINISH)

    def segment(self, channel: int, action: SegmentAction, requested: int, free: int) -> None:
        """One movement of the only segment that the channel's pool ever holds."""
        task = CHANNELS[channel][0]
        if (trace := self.traces[task].full) is not None:
            step = self.steps[task] if action in (SegmentAction.TAKEN, SegmentAction.RETURNED) else -1
            self.steps[task] += step >= 0
            trace.segment(POOL_OF[channel], action, -1, step, requested, free, 1)

    def play(self) -> FactSet:
        self.describe()
        for number, step in enumerate(SCRIPT):
            with_action = self.begin(0)
            self.source_step(number, step)
            self.end(0, with_action)
        self.forward(0, ElementKind.WATERMARK, MAX_WATERMARK)
        self.end_input(0)
        self.forward(0, ElementKind.END_OF_DATA, 1)
        self.finish(0)
        return FactSet(self.recorder)

    def source_step(self, number: int, step: tuple[int, str] | int | None) -> None:
        if isinstance(step, int):
            self.forward(0, ElementKind.WATERMARK, step)
            return
        for operator in (0, 1):
            self.counts[0, operator][0] += 1
            self.counts[0, operator][1] += 1
        self.counts[0, 2][0] += 1
        if step is None:
            self.counts[0, 2][3] += 1
            return
        self.counts[0, 2][1] += 1
        timestamp, key = step
        key_hash, fingerprint, owner = KEYS[key]
        self.traces[0].key(fingerprint, key_hash, "STRING", json.dumps(key))
        record = (number + 1 << 40) + 77 * number
        self.keys_of[record] = key
        self.send(owner, ElementKind.RECORD, timestamp, record, key_hash, fingerprint)

    def begin(self, task: int) -> int:
        number = self.actions[task]
        self.actions[task] += 1
        if (trace := self.traces[task].full) is not None:
            trace.action(ActionPhase.BEGIN, ActionKind.DEFAULT_ACTION, number)
        return number

    def end(self, task: int, number: int) -> None:
        """Ends an action; before, the task yields once and runs a mail inside, and pays its costs."""
        if (trace := self.traces[task].full) is not None:
            wait, mail, cost = number + 10_000, number + 20_000, number + 30_000
            trace.mail(MailAction.PUT, number, 1, False)
            trace.action(ActionPhase.WAIT, WaitKind.YIELD, wait, 1)
            trace.mail(MailAction.RUN, number, 1, False)
            trace.action(ActionPhase.BEGIN, ActionKind.MAIL, mail)
            trace.action(ActionPhase.END, ActionKind.MAIL, mail)
            trace.action(ActionPhase.RESUME, WaitKind.YIELD, wait)
            trace.action(ActionPhase.WAIT, WaitKind.COST, cost)
            trace.action(ActionPhase.RESUME, WaitKind.COST, cost)
            trace.action(ActionPhase.END, ActionKind.DEFAULT_ACTION, number)

    def forward(self, task: int, kind: ElementKind, timestamp: int) -> None:
        for channel, (source, _) in CHANNELS.items():
            if source == task:
                self.send(channel, kind, timestamp)

    def send(
        self, channel: int, kind: ElementKind, timestamp: int, record: int = 0, key_hash: int = 0, key: int = 0
    ) -> None:
        source, target = CHANNELS[channel]
        data = kind < ElementKind.END_OF_DATA
        self.traces[source].sent(channel, self.sent[channel], kind, timestamp, record, key_hash, key)
        self.balance[channel] -= data
        buffer = BufferKind.DATA if data else BufferKind.EVENT
        number = self.sent[channel]
        if (trace := self.traces[source].full) is not None:
            if data:
                for action, requested, free in ((SegmentAction.TAKEN, 1, 1), (SegmentAction.HANDED_OUT, 1, 0)):
                    self.segment(channel, action, requested, free)
            trace.buffer(channel, BufferSide.QUEUED, number, buffer, -1, int(data), -1)
            trace.buffer(channel, BufferSide.SENT, number, buffer, 20, 0, self.balance[channel])
            if data:
                for action, requested, free in ((SegmentAction.RECYCLED, 1, 1), (SegmentAction.RETURNED, 0, 0)):
                    self.segment(channel, action, requested, free)
        self.sent[channel] += 1
        number_of_action = self.begin(target)
        if (trace := self.traces[target].full) is not None:
            trace.buffer(channel, BufferSide.RECEIVED, number, buffer, 20, 0, 2 - data)
            if data:
                trace.buffer(channel, BufferSide.RECYCLED, number, buffer, 20, -1, -1)
        self.traces[target].received(channel, self.received[channel], kind, timestamp, record, 0)
        self.received[channel] += 1
        self.take(target, channel, kind, timestamp, record)
        self.end(target, number_of_action)
        self.balance[channel] += data
        if data and self.recorder.level is Level.FULL:
            self.traces[target].credit(channel, CreditKind.ANNOUNCED, 1, -1)
            self.traces[source].credit(channel, CreditKind.GOT, 1, self.balance[channel])

    def take(self, task: int, channel: int, kind: ElementKind, timestamp: int, record: int) -> None:
        match kind:
            case ElementKind.RECORD:
                self.counts[task, 0][0] += 1
                if task in (1, 2):
                    self.window(task, timestamp, record)
                elif task == 4:
                    self.counts[4, 0][1] += 1
                    self.counts[4, 1][0] += 1
                    self.ask(kind, timestamp, record)
            case ElementKind.WATERMARK:
                waters = self.waters.get(task, {})
                waters[channel] = timestamp
                if (lowest := min(waters.values(), default=timestamp)) > self.watermark[task]:
                    self.watermark[task] = lowest
                    self.traces[task].task_watermark(0, ElementKind.WATERMARK, lowest)
                    if task == 4:
                        self.ask(kind, lowest)
                    self.advance(task, lowest)
            case ElementKind.END_OF_DATA:
                self.ends[task] += 1
                if self.ends[task] == (1 if task < 3 else 2):
                    self.end_input(task)
                    self.forward(task, ElementKind.END_OF_DATA, 1)
            case _:
                self.ends[task] += 1
                if self.ends[task] == (2 if task < 3 else 4):
                    self.finish(task)

    def ask(self, kind: ElementKind, timestamp: int, record: int = 0) -> None:
        """Into the queue of the async operator, and out of it with one result."""
        entry, rows, trace = self.entries, int(kind == ElementKind.RECORD), self.traces[4]
        self.entries += 1
        trace.async_element(0, entry, AsyncAction.PUT, kind, timestamp, record, 0, 0, 1)
        if rows:
            trace.async_element(0, entry, AsyncAction.INVOKE, kind, timestamp, record, 1, 0, 1)
            trace.async_element(0, entry, AsyncAction.COMPLETE, kind, timestamp, record + 1, 0, 1, 1)
        trace.async_element(0, entry, AsyncAction.EMIT, kind, timestamp, record + rows, 0, rows, 0)

    def finish(self, task: int) -> None:
        for (owner, operator), counts in self.counts.items():
            if owner == task:
                self.traces[task].operator_counts(operator, *counts)
        for operator in reversed(range(self.operators(task))):
            self.traces[task].lifecycle(operator, LifeEvent.CLOSE)
        self.forward(task, ElementKind.END_OF_PARTITION, 0)
        self.traces[task].lifecycle(-1, LifeEvent.FINISHED)

    def window(self, task: int, timestamp: int, record: int) -> None:
        key = self.keys_of[record]
        key_hash, fingerprint, _ = KEYS[key]
        trace, now = self.traces[task], self.watermark[task]
        trace.key(fingerprint, key_hash, "STRING", json.dumps(key))
        trace.window_intake(0, key_hash, fingerprint, timestamp, record, now, 0, 0)
        last = timestamp // SIZE_MS * SIZE_MS + SIZE_MS - 1
        if last + self.lateness_ms <= now:
            trace.late_drop(0, key_hash, fingerprint, timestamp, record, now, True)
            self.counts[task, 0][2] += 1
            self.send(task + 3, ElementKind.RECORD, timestamp, record)
            return
        pane = (task, key, last)
        self.panes.setdefault(pane, []).append(record)
        if last <= now:
            self.fire(pane, FireCause.ELEMENT, timestamp)
        for at in (last, last + self.lateness_ms):
            if at > now and (at, pane) not in self.timers:
                self.timers.add((at, pane))
                self.timer(pane, TimerAction.REGISTER, at)

    def advance(self, task: int, watermark: int) -> None:
        for at, pane in sorted(self.timers):
            if pane[0] == task and at <= watermark:
                self.timers.remove((at, pane))
                self.timer(pane, TimerAction.FIRE, at)
                if at == pane[2]:
                    self.fire(pane, FireCause.EVENT_TIME_TIMER, at)
        if task in (1, 2):
            self.forward(task, ElementKind.WATERMARK, watermark)

    def timer(self, pane: tuple[int, str, int], action: TimerAction, at: int) -> None:
        task, key, last = pane
        key_hash, fingerprint, _ = KEYS[key]
        window = (last + 1 - SIZE_MS, last + 1)
        now = self.watermark[task]
        if (trace := self.traces[task].full) is not None:
            trace.timer(0, action, TimeDomain.EVENT_TIME, at, key_hash, fingerprint, window, now, 0)

    def fire(self, pane: tuple[int, str, int], cause: FireCause, at: int) -> None:
        task, key, last = pane
        key_hash, fingerprint, _ = KEYS[key]
        total = xor = 0
        for record in self.panes[pane]:
            total += record >> 31
            xor ^= record
        self.traces[task].window_fire(
            0,
            key_hash,
            fingerprint,
            last + 1 - SIZE_MS,
            last + 1,
            self.watermark[task],
            len(self.panes[pane]),
            total,
            xor,
            WindowResult.FIRE,
            cause,
            at,
        )
        self.counts[task, 0][1] += 1
        self.send(task + 1, ElementKind.RECORD, last, 5 + last)


def tiny_job(level: Level = Level.FULL) -> FactSet:
    """The facts of one whole run."""
    return TinyJob(level).play()

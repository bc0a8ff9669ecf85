"""A model of one small job and the facts it records: two sources, keyed tumbling windows on two subtasks, two sinks."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from random import Random

from flowsim.facts.kinds import (
    ActionKind,
    ActionPhase,
    BufferKind,
    BufferSide,
    CreditKind,
    ElementKind,
    FireCause,
    Level,
    LifeEvent,
    WindowResult,
)  # fmt: skip
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from tests.support.facts.fact_builder import FactBuilder
from tests.support.facts.valid_actions import HonestActions
from tests.support.facts.valid_async import ORDERED, UNORDERED, HonestAsync
from tests.support.facts.valid_graph import (
    DISORDER_MS,
    ENDS,
    KEYS,
    LATENESS_MS,
    SINK,
    SIZE_MS,
    SOURCES,
    WINDOWS,
    describe_graph,
    operators_of,
)
from tests.support.facts.valid_pools import HonestPools
from tests.support.facts.valid_timers import HonestTimers
from tests.support.facts.valid_valve import Valve

PART, LAST_PART = -1, -2
"""In place of an element: part of a buffer that comes to its end later; the second of them vanishes in its queue."""
SIZES = {BufferSide.QUEUED: -1, BufferSide.FLUSHED: -1, BufferSide.SKIPPED: 0}
RECORD, WATERMARK, STATUS = ElementKind.RECORD, ElementKind.WATERMARK, ElementKind.STATUS


class HonestJob:
    """Runs the job, one element at a time, and records it."""

    def __init__(self, level: Level, seed: int, records: int, pace_ms: int) -> None:
        self.facts = FactBuilder(level)
        self.random = Random(seed)
        self.pools = HonestPools(self.facts, self.random)
        self.tasks = HonestActions(self.facts, Random(seed + 3))
        self.timers = HonestTimers(self.facts, Random(seed))
        self.records = records
        self.pace_ms = pace_ms
        self.queues: dict[int, deque[tuple[int, int, int, int, bool]]] = {}
        self.sent_count: dict[int, int] = {}
        self.received_count: dict[int, int] = {}
        self.counts: dict[tuple[int, int], list[int]] = {}
        self.epoch: dict[int, int] = {}
        self.valves: dict[int, Valve] = {}
        self.ended: dict[tuple[int, int], int] = {}
        self.credits: dict[int, int] = {}
        self.numbers: dict[tuple[int, int], int] = {}
        self.flushed: set[int] = set()
        """Channels with a flush that no poll has answered."""
        self.current: dict[int, int] = {}
        self.waiting: dict[int, deque[list[int]]] = {}
        """Per channel what is queued at the sender: [kind, timestamp, fingerprint, 1 once it left in part]."""
        self.open_credits: dict[int, int] = {}
        self.panes: dict[tuple[int, str, int], list[tuple[int, int]]] = {}
        self.pending: set[tuple[int, str, int]] = set()
        self.names: dict[int, str] = {}
        self.second = self.asynchronous(1, UNORDERED, Random(seed + 1), self.sink)
        self.first = self.asynchronous(0, ORDERED, Random(seed + 2), self.second.take)
        self.begin()

    def asynchronous(
        self, operator: int, params: dict[str, object], random: Random, output: Callable[[ElementKind, int, int], None]
    ) -> HonestAsync:
        """An async operator of the sink's chain."""
        retry, capacity, timeout_ms = params["retry"], params["capacity"], params["timeout_ms"]
        assert isinstance(capacity, int)
        assert isinstance(timeout_ms, int)
        attempts = 1 + retry["max_attempts"] if isinstance(retry, dict) else 1
        ordered = params["mode"] == "ordered"
        about = (SINK, operator, ordered, capacity, attempts, timeout_ms)
        return HonestAsync(self.facts, random, *about, self.count, output)

    def sink(self, kind: ElementKind, timestamp: int, fingerprint: int) -> None:
        """Behind both async operators."""
        if kind == RECORD:
            self.count(SINK, 2, 0)

    def begin(self) -> None:
        """Describes the graph, opens the channels and the operators."""
        describe_graph(self.facts)
        for channel, (source, target, _) in enumerate(ENDS):
            self.queues[channel] = deque()
            self.waiting[channel] = deque()
            self.open_channel(channel, source, target)
        for task in range(6):
            self.live(task, -1, LifeEvent.RUNNING)
            for operator in reversed(range(operators_of(task))):
                self.live(task, operator, LifeEvent.OPEN)

    def live(self, task: int, operator: int, event: LifeEvent) -> None:
        self.facts.add("lifecycle", task=task, operator=operator, event=event)

    def end_input(self, task: int) -> None:
        """Ends the input of and finishes every operator, head to tail."""
        for operator in range(operators_of(task)):
            if task == SINK and operator < 2:
                (self.first, self.second)[operator].drain()
            if operator or task not in SOURCES:
                self.live(task, operator, LifeEvent.END_INPUT)
            self.live(task, operator, LifeEvent.FINISH)

    def open_channel(self, channel: int, source: int, target: int) -> None:
        self.credits[channel] = self.open_credits[channel] = 2
        if self.facts.level >= Level.FULL:
            self.facts.add(
                "credits", task=target, channel=channel, kind=CreditKind.INITIAL_GRANTED, credits=2, balance=-1
            )
            self.facts.add("credits", task=source, channel=channel, kind=CreditKind.INITIAL_GOT, credits=2, balance=2)

    def count(self, task: int, operator: int, column: int) -> None:
        self.counts.setdefault((task, operator), [0, 0, 0, 0])[column] += 1

    def send(self, channel: int, kind: ElementKind, timestamp: int, fingerprint: int = 0, key: str = "") -> None:
        source = ENDS[channel][0]
        position = self.sent_count.get(channel, 0)
        self.sent_count[channel] = position + 1
        key_hash, key_id = (KEYS[key][0], KEYS[key][0] + 1000) if key and channel < 4 else (0, 0)
        self.facts.add("sent", task=source, channel=channel, position=position, kind=kind, timestamp=timestamp,
                       fingerprint=fingerprint, key_hash=key_hash, key=key_id)  # fmt: skip
        data = kind < ElementKind.END_OF_DATA
        if key:
            self.names[fingerprint] = key
        if data:
            self.pools.hand_out(channel)
        self.waiting[channel].append([kind, timestamp, fingerprint, 0])
        self.buffer(source, channel, BufferSide.QUEUED, data, -1, self.backlog(channel))
        if not data or self.random.random() < 0.6:
            self.pump(channel)

    def flush(self, channel: int) -> None:
        """What waits may be read, unless it may already."""
        if self.waiting[channel] and channel not in self.flushed:
            self.flushed.add(channel)
            self.buffer(ENDS[channel][0], channel, BufferSide.FLUSHED, True, -1, self.backlog(channel))

    def backlog(self, channel: int) -> int:
        """Data buffers in the sender's queue."""
        return sum(element[0] < ElementKind.END_OF_DATA for element in self.waiting[channel])

    def pump(self, channel: int) -> None:
        """Sends what the credits allow; now and then a buffer in two parts, or one that vanishes after its first part."""
        waiting, source = self.waiting[channel], ENDS[channel][0]
        while waiting:
            kind, timestamp, fingerprint, in_part = waiting[0]
            data = kind < ElementKind.END_OF_DATA
            if data and not self.credits[channel] and not (in_part and kind == LAST_PART):
                return
            if len(waiting) == 1:
                self.flushed.discard(channel)
            if in_part and kind == LAST_PART:
                waiting.popleft()
                self.pools.recycle(channel)
                self.buffer(source, channel, BufferSide.SKIPPED, True, -1, self.backlog(channel))
                continue
            self.credits[channel] -= data
            parts = self.random.random() if data and not in_part else 1.0
            if len(waiting) > 1:
                parts = 1.0
            element = (kind, timestamp, fingerprint)
            if parts < 0.1:
                waiting[0][3], element = 1, (PART, 0, 0)
            elif parts < 0.15:
                waiting[0] = [LAST_PART, 0, 0, 1]
            else:
                waiting.popleft()
            reported = self.backlog(channel)
            tail_is_data = bool(waiting) and waiting[-1][0] < ElementKind.END_OF_DATA
            reported -= tail_is_data and channel not in self.flushed
            flushes = tail_is_data and self.random.random() < 0.5
            self.buffer(
                source, channel, BufferSide.SENT, data, self.credits[channel], reported, whole=int(parts >= 0.15)
            )
            self.queues[channel].append((*element, reported, parts >= 0.15))
            if flushes:
                self.flush(channel)

    def buffer(
        self, task: int, channel: int, side: BufferSide, data: bool, credits: int, backlog: int, whole: int = 1
    ) -> None:
        number = self.numbers.get((channel, side), 0)
        self.numbers[channel, side] = number + 1
        if side in (BufferSide.FLUSHED, BufferSide.SKIPPED):
            number = -1
        if self.facts.level >= Level.FULL:
            self.facts.add("buffers", task=task, channel=channel, side=side, number=number, whole=whole,
                           kind=BufferKind.DATA if data else BufferKind.EVENT, backlog=backlog,
                           bytes=SIZES.get(side, 40), credits=credits)  # fmt: skip

    def deliver(self, channel: int) -> bool:
        """Takes one element off a channel and processes it; False when there is none."""
        if not self.queues[channel]:
            self.pump(channel)
        if not self.queues[channel]:
            return False
        source, task, input_channel = ENDS[channel]
        kind, timestamp, fingerprint, reported, frees = self.queues[channel].popleft()
        self.tasks.mail_round(task)
        action = self.tasks.act(ActionPhase.BEGIN, task, ActionKind.DEFAULT_ACTION)
        data = kind < ElementKind.END_OF_DATA
        self.open_credits[channel] -= data
        reserved = self.open_credits[channel] + self.random.randrange(3)
        self.buffer(task, channel, BufferSide.RECEIVED, data, reserved, reported)
        if data:
            received = self.numbers[channel, BufferSide.RECEIVED] - 1
            self.numbers[channel, BufferSide.RECYCLED] = received
            self.buffer(task, channel, BufferSide.RECYCLED, True, -1, -1)
            if frees:
                self.pools.recycle(channel)
            self.credits[channel] += 1
            self.open_credits[channel] += 1
            if self.facts.level >= Level.FULL:
                self.facts.add("credits", task=task, channel=channel, kind=CreditKind.ANNOUNCED, credits=1, balance=-1)
                self.facts.add("credits", task=source, channel=channel, kind=CreditKind.GOT, credits=1,
                               balance=self.credits[channel])  # fmt: skip
        if kind == PART:
            self.tasks.act(ActionPhase.END, task, ActionKind.DEFAULT_ACTION, action)
            return True
        position = self.received_count.get(channel, 0)
        self.received_count[channel] = position + 1
        self.facts.add("received", task=task, channel=channel, position=position, kind=kind, timestamp=timestamp,
                       fingerprint=fingerprint, epoch=self.epoch.get(task, 0))  # fmt: skip
        if self.random.random() < 0.2:
            self.tasks.nest(task)
        self.process(task, input_channel, kind, timestamp, fingerprint)
        if task == SINK:
            self.first.work()
            self.second.work()
        self.tasks.act(ActionPhase.END, task, ActionKind.DEFAULT_ACTION, action)
        if kind == ElementKind.END_OF_PARTITION and self.all_channels(task, kind):
            self.finish(task)
        return True

    def process(self, task: int, input_channel: int, kind: int, timestamp: int, fingerprint: int) -> None:
        valve = self.valves.setdefault(task, Valve(2))
        if kind == RECORD and task == SINK:
            self.first.take(RECORD, timestamp, fingerprint)
        elif kind == RECORD:
            self.count(task, 0, 0)
            if task in WINDOWS:
                self.intake(task, timestamp, fingerprint)
        elif kind in (WATERMARK, STATUS):
            method = valve.on_watermark if kind == WATERMARK else valve.on_status
            for out, value in method(input_channel, timestamp):
                self.facts.add("task_watermark", task=task, input=0, kind=out, timestamp=value)
                self.epoch[task] = self.epoch.get(task, 0) + (out == WATERMARK)
                if out == WATERMARK and task in WINDOWS:
                    self.current[task] = value
                    self.advance(task, value)
                if out == WATERMARK and task == SINK:
                    self.first.take(WATERMARK, value, 0)
                self.forward(task, out, value)
        elif kind == ElementKind.END_OF_DATA and self.all_channels(task, kind):
            self.end_input(task)
            self.forward(task, ElementKind.END_OF_DATA, 1)

    def all_channels(self, task: int, event: int) -> bool:
        """Counts an event; whether it came from both channels by now."""
        self.ended[task, event] = self.ended.get((task, event), 0) + 1
        return self.ended[task, event] == 2

    def forward(self, task: int, kind: ElementKind, timestamp: int) -> None:
        for channel in range(8):
            if ENDS[channel][0] == task:
                self.send(channel, kind, timestamp)

    def finish(self, task: int) -> None:
        self.tasks.drain(task)
        for operator in range(operators_of(task)):
            counts = self.counts.get((task, operator), [0, 0, 0, 0])
            self.facts.add("operator_counts", task=task, operator=operator, records_in=counts[0], records_out=counts[1],
                           records_side=counts[2], records_dropped=counts[3])  # fmt: skip
        for operator in reversed(range(operators_of(task))):
            self.live(task, operator, LifeEvent.CLOSE)
        self.forward(task, ElementKind.END_OF_PARTITION, 0)

    def keyed(self, task: int, timestamp: int, fingerprint: int) -> dict[str, int]:
        key_hash = KEYS[self.names[fingerprint]][0]
        return {"task": task, "operator": 0, "key_hash": key_hash, "key": key_hash + 1000}

    def intake(self, task: int, timestamp: int, fingerprint: int) -> None:
        watermark = self.current.get(task, NO_TIMESTAMP)
        columns = self.keyed(task, timestamp, fingerprint)
        key = self.names[fingerprint]
        if not self.facts.rows("keys", lambda r: r["task"] == task and r["key"] == columns["key"]):
            self.facts.add("keys", task=task, key=columns["key"], key_hash=columns["key_hash"], key_type="STRING",
                           key_json=json.dumps(key))  # fmt: skip
        self.facts.add("window_intake", **columns, timestamp=timestamp, fingerprint=fingerprint, watermark=watermark)
        start = timestamp // SIZE_MS * SIZE_MS
        last = start + SIZE_MS - 1
        if last + LATENESS_MS <= watermark:
            self.facts.add("late_drop", **columns, timestamp=timestamp, fingerprint=fingerprint, watermark=watermark,
                           side_output=1)  # fmt: skip
            self.count(task, 0, 2)
            self.send(4 + task, RECORD, timestamp, fingerprint)
            return
        pane = (task, key, start)
        self.timers.on_element(columns, (start, start + SIZE_MS), LATENESS_MS, watermark)
        self.panes.setdefault(pane, []).append((timestamp, fingerprint))
        if last <= watermark:
            self.fire(pane, FireCause.ELEMENT, timestamp)
        else:
            self.pending.add(pane)

    def advance(self, task: int, watermark: int) -> None:
        due = sorted(
            (p for p in self.pending if p[0] == task and p[2] + SIZE_MS - 1 <= watermark), key=lambda p: (p[2], p[1])
        )
        fires = {(pane[2] + SIZE_MS - 1, KEYS[pane[1]][0] + 1000): pane for pane in due}
        for timestamp, key in self.timers.due(task, watermark):
            self.timers.fire(task, timestamp, key, watermark)
            if (timestamp, key) in fires:
                pane = fires[timestamp, key]
                self.pending.discard(pane)
                self.fire(pane, FireCause.EVENT_TIME_TIMER, timestamp)

    def fire(self, pane: tuple[int, str, int], cause: FireCause, at: int) -> None:
        task, key, start = pane
        contents = self.panes[pane]
        xor = 0
        for _, fingerprint in contents:
            xor ^= fingerprint
        self.facts.add("window_fire", task=task, key_hash=KEYS[key][0], key=KEYS[key][0] + 1000, window_start=start,
                       window_end=start + SIZE_MS, watermark=self.current[task], rows=len(contents),
                       fingerprint_sum=sum(fp >> 31 for _, fp in contents), fingerprint_xor=xor,
                       result=WindowResult.FIRE, cause=cause, at=at)  # fmt: skip
        self.count(task, 0, 1)
        self.send(2 + task, RECORD, start + SIZE_MS - 1, self.random.getrandbits(62) | 1)

    def source_step(self, task: int, now: int, state: list[int]) -> None:
        """One record, then a watermark if it grew; now and then the source goes idle and comes back."""
        key = self.random.choice(sorted(KEYS))
        timestamp = now + self.random.randrange(-60, 60)
        if not any(r["key"] == KEYS[key][0] + 1000 for r in self.facts.rows("keys", lambda r: r["task"] == task)):
            self.facts.add("keys", task=task, key=KEYS[key][0] + 1000, key_hash=KEYS[key][0], key_type="STRING",
                           key_json=json.dumps(key))  # fmt: skip
        for operator in (0, 1):
            self.count(task, operator, 0)
            self.count(task, operator, 1)
        self.count(task, 2, 0)
        if self.random.random() < 0.1:
            self.count(task, 2, 3)
            return
        self.count(task, 2, 1)
        self.send(2 * task + KEYS[key][1], RECORD, timestamp, self.random.getrandbits(62) | 1, key)
        state[0] = max(state[0], timestamp)
        watermark = state[0] - DISORDER_MS - 1
        if watermark > state[1]:
            state[1] = watermark
            self.generate(task, WATERMARK, watermark, state)

    def generate(self, task: int, kind: ElementKind, timestamp: int, state: list[int]) -> None:
        """What the strategy of a source makes goes to all its channels."""
        self.facts.add("generated_watermark", task=task, operator=0, split=-1, kind=kind, timestamp=timestamp,
                       records=self.counts[task, 0][0], max_timestamp=state[0])  # fmt: skip
        self.forward(task, kind, timestamp)

    def run(self) -> FactBuilder:
        states = {task: [0, NO_TIMESTAMP] for task in SOURCES}
        for step in range(self.records):
            for task in SOURCES:
                self.tasks.mail_round(task)
                action = self.tasks.act(ActionPhase.BEGIN, task, ActionKind.DEFAULT_ACTION)
                self.source_step(task, step * self.pace_ms, states[task])
                self.tasks.act(ActionPhase.END, task, ActionKind.DEFAULT_ACTION, action)
                if step % 20 == 10 + task * 5:
                    self.generate(task, STATUS, -1, states[task])
                    self.generate(task, STATUS, 0, states[task])
            for channel in range(8):
                while self.random.random() < 0.7 and self.deliver(channel):
                    pass
        for task in SOURCES:
            self.forward(task, WATERMARK, MAX_WATERMARK)
            self.end_input(task)
            self.forward(task, ElementKind.END_OF_DATA, 1)
            self.finish(task)
        while any(self.queues.values()) or any(self.waiting.values()):
            for channel in range(8):
                self.deliver(channel)
        self.pools.give_back()
        for task in range(6):
            self.live(task, -1, LifeEvent.FINISHED)
        return self.facts


def honest_job(level: Level = Level.FULL, seed: int = 4, records: int = 60, pace_ms: int = 8) -> FactBuilder:
    """The facts of one whole run; each source reads so many records, that far apart in event time."""
    return HonestJob(level, seed, records, pace_ms).run()

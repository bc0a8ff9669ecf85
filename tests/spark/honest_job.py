"""A model of one small job and the facts it records: two sources, keyed tumbling windows on two subtasks, two sinks.

source -> map -> filter (2 subtasks)  ==HASH==>  window (2, max_parallelism 8)  --REBALANCE-->  sink, and late rows -> sink
"""

from __future__ import annotations

import json
from collections import deque
from random import Random

from flowsim.facts.kinds import (
    ActionKind,
    ActionPhase,
    BufferKind,
    BufferSide,
    CreditKind,
    ElementKind,
    Level,
    LifeEvent,
    WaitKind,
)  # fmt: skip
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from tests.spark.fact_builder import FactBuilder

SIZE_MS, LATENESS_MS, DISORDER_MS = 100, 50, 30
KEYS = {"EWR": (69088, 0), "JFK": (73359, 1), "LGA": (75302, 1)}
"""Java hash code, and the subtask that owns the key at parallelism 2 and max_parallelism 8."""
SOURCES, WINDOWS, SINK, LATE = (0, 1), (2, 3), 4, 5
RECORD, WATERMARK, STATUS = ElementKind.RECORD, ElementKind.WATERMARK, ElementKind.STATUS


class Valve:
    """Rules 8.9-8.12, word by word, with lists."""

    def __init__(self, channels: int) -> None:
        self.watermark = [NO_TIMESTAMP] * channels
        self.active = [True] * channels
        self.aligned = [True] * channels
        self.last, self.last_active = NO_TIMESTAMP, True

    def _advance(self, to: int) -> list[tuple[ElementKind, int]]:
        if to <= self.last:
            return []
        self.last = to
        return [(WATERMARK, to)]

    def _minimum(self) -> list[tuple[ElementKind, int]]:
        held = [w for w, a in zip(self.watermark, self.aligned, strict=True) if a]
        return self._advance(min(held)) if held else []

    def on_watermark(self, channel: int, timestamp: int) -> list[tuple[ElementKind, int]]:
        if not (self.last_active and self.active[channel]) or timestamp <= self.watermark[channel]:
            return []
        self.watermark[channel] = timestamp
        if not self.aligned[channel] and timestamp >= self.last:
            self.aligned[channel] = True
        return self._minimum()

    def on_status(self, channel: int, status: int) -> list[tuple[ElementKind, int]]:
        if (status == 0) == self.active[channel]:
            return []
        self.active[channel] = status == 0
        if status == 0:
            self.aligned[channel] = self.watermark[channel] >= self.last
            if self.last_active:
                return []
            self.last_active = True
            return [(STATUS, 0)]
        self.aligned[channel] = False
        held_back = self.watermark[channel] == self.last
        if any(self.active):
            return self._minimum() if held_back else []
        out = self._advance(max(self.watermark)) if held_back else []
        self.last_active = False
        return [*out, (STATUS, -1)]


class HonestJob:
    """Runs the job, one element at a time, and records it."""

    def __init__(self, level: Level, seed: int, records: int) -> None:
        self.facts = FactBuilder(level)
        self.random = Random(seed)
        self.records = records
        self.queues: dict[int, deque[tuple[int, ...]]] = {}
        self.sent_count: dict[int, int] = {}
        self.received_count: dict[int, int] = {}
        self.counts: dict[tuple[int, int], list[int]] = {}
        self.epoch: dict[int, int] = {}
        self.valves: dict[int, Valve] = {}
        self.ended: dict[tuple[int, int], int] = {}
        self.actions: dict[int, int] = {}
        self.credits: dict[int, int] = {}
        self.numbers: dict[tuple[int, int], int] = {}
        self.current: dict[int, int] = {}
        self.panes: dict[tuple[int, str, int], list[tuple[int, int]]] = {}
        self.pending: set[tuple[int, str, int]] = set()
        self.names: dict[int, str] = {}
        self.describe()

    def describe(self) -> None:
        f = self.facts
        for task, (vertex, name, subtask, parallelism) in enumerate([
            (0, "source -> map -> filter", 0, 2), (0, "source -> map -> filter", 1, 2), (1, "window", 0, 2),
            (1, "window", 1, 2), (2, "sink", 0, 1), (3, "late", 0, 1),
        ]):  # fmt: skip
            f.add("tasks", task=task, vertex=vertex, name=f"{name} ({subtask + 1}/{parallelism})", subtask=subtask,
                  parallelism=parallelism, max_parallelism=8, inputs=int(vertex > 0))  # fmt: skip
        window = {
            "assigner": "tumbling_event_time", "trigger": "event_time", "size_ms": SIZE_MS, "offset_ms": 0,
            "lateness_ms": LATENESS_MS, "late_output": True,
        }  # fmt: skip
        for vertex, operator, kind, params in [
            (0, 0, "source", {}), (0, 1, "map", {}), (0, 2, "filter", {}), (1, 0, "window", window), (2, 0, "sink", {}),
            (3, 0, "sink", {}),
        ]:  # fmt: skip
            f.add("operators", vertex=vertex, operator=operator, name=kind, kind=kind, params=json.dumps(params),
                  input_operator=operator - 1)  # fmt: skip
        f.add(
            "edges", edge=0, source_vertex=0, source_operator=2, target_vertex=1, partitioner="HASH", key_type="STRING"
        )
        f.add("edges", edge=1, source_vertex=1, target_vertex=2, partitioner="REBALANCE")
        f.add("edges", edge=2, source_vertex=1, target_vertex=3, partitioner="REBALANCE", side_output="late")
        channel = 0
        for edge, sources, targets in ((0, SOURCES, WINDOWS), (1, WINDOWS, (SINK,)), (2, WINDOWS, (LATE,))):
            for input_channel, source in enumerate(sources):
                for subpartition, target in enumerate(targets):
                    f.add("channels", channel=channel, edge=edge, source_task=source, subpartition=subpartition,
                          target_task=target, input_channel=input_channel)  # fmt: skip
                    self.queues[channel] = deque()
                    self.open_channel(channel, source, target)
                    channel += 1

    def ends(self, channel: int) -> tuple[int, int, int]:
        """Source task, target task and input channel of a channel."""
        return [(0, 2, 0), (0, 3, 0), (1, 2, 1), (1, 3, 1), (2, 4, 0), (3, 4, 1), (2, 5, 0), (3, 5, 1)][channel]

    def open_channel(self, channel: int, source: int, target: int) -> None:
        self.credits[channel] = 2
        if self.facts.level >= Level.FULL:
            self.facts.add(
                "credits", task=target, channel=channel, kind=CreditKind.INITIAL_GRANTED, credits=2, balance=-1
            )
            self.facts.add("credits", task=source, channel=channel, kind=CreditKind.INITIAL_GOT, credits=2, balance=2)

    def count(self, task: int, operator: int, column: int) -> None:
        self.counts.setdefault((task, operator), [0, 0, 0, 0])[column] += 1

    def act(self, phase: ActionPhase, task: int, kind: int, action: int | None = None) -> int:
        number = self.actions.get(task, 0) if action is None else action
        if action is None:
            self.actions[task] = number + 1
        if self.facts.level >= Level.FULL:
            self.facts.add("actions", task=task, phase=phase, kind=kind, action=number)
        return number

    def send(self, channel: int, kind: ElementKind, timestamp: int, fingerprint: int = 0, key: str = "") -> None:
        source = self.ends(channel)[0]
        position = self.sent_count.get(channel, 0)
        self.sent_count[channel] = position + 1
        key_hash, key_id = (KEYS[key][0], KEYS[key][0] + 1000) if key and channel < 4 else (0, 0)
        self.facts.add("sent", task=source, channel=channel, position=position, kind=kind, timestamp=timestamp,
                       fingerprint=fingerprint, key_hash=key_hash, key=key_id)  # fmt: skip
        data = kind < ElementKind.END_OF_DATA
        if data and not self.credits[channel]:
            self.deliver(channel)
        self.credits[channel] -= data
        self.buffer(source, channel, BufferSide.SENT, data, self.credits[channel])
        if key:
            self.names[fingerprint] = key
        self.queues[channel].append((kind, timestamp, fingerprint))

    def buffer(self, task: int, channel: int, side: BufferSide, data: bool, credits: int) -> None:
        number = self.numbers.get((channel, side), 0)
        self.numbers[channel, side] = number + 1
        if self.facts.level >= Level.FULL:
            self.facts.add("buffers", task=task, channel=channel, side=side, number=number,
                           kind=BufferKind.DATA if data else BufferKind.EVENT, bytes=40, credits=credits)  # fmt: skip

    def deliver(self, channel: int) -> bool:
        """Takes one element off a channel and processes it; False when there is none."""
        if not self.queues[channel]:
            return False
        source, task, input_channel = self.ends(channel)
        kind, timestamp, fingerprint = self.queues[channel].popleft()
        action = self.act(ActionPhase.BEGIN, task, ActionKind.DEFAULT_ACTION)
        data = kind < ElementKind.END_OF_DATA
        self.buffer(task, channel, BufferSide.RECEIVED, data, -1)
        if data:
            self.credits[channel] += 1
            if self.facts.level >= Level.FULL:
                self.facts.add("credits", task=task, channel=channel, kind=CreditKind.ANNOUNCED, credits=1, balance=-1)
                self.facts.add("credits", task=source, channel=channel, kind=CreditKind.GOT, credits=1,
                               balance=self.credits[channel])  # fmt: skip
        position = self.received_count.get(channel, 0)
        self.received_count[channel] = position + 1
        self.facts.add("received", task=task, channel=channel, position=position, kind=kind, timestamp=timestamp,
                       fingerprint=fingerprint, epoch=self.epoch.get(task, 0))  # fmt: skip
        if self.random.random() < 0.2:
            self.nest(task)
        self.process(task, input_channel, kind, timestamp, fingerprint)
        self.act(ActionPhase.END, task, ActionKind.DEFAULT_ACTION, action)
        return True

    def nest(self, task: int) -> None:
        """An operator waits inside its element and runs one mail meanwhile."""
        wait = self.act(ActionPhase.WAIT, task, WaitKind.YIELD)
        mail = self.act(ActionPhase.BEGIN, task, ActionKind.MAIL)
        cost = self.act(ActionPhase.WAIT, task, WaitKind.COST)
        self.act(ActionPhase.RESUME, task, WaitKind.COST, cost)
        self.act(ActionPhase.END, task, ActionKind.MAIL, mail)
        self.act(ActionPhase.RESUME, task, WaitKind.YIELD, wait)

    def process(self, task: int, input_channel: int, kind: int, timestamp: int, fingerprint: int) -> None:
        valve = self.valves.setdefault(task, Valve(2))
        if kind == RECORD:
            self.count(task, 0, 0)
            if task in WINDOWS:
                self.intake(task, timestamp, fingerprint)
        elif kind in (WATERMARK, STATUS):
            door = valve.on_watermark if kind == WATERMARK else valve.on_status
            for out, value in door(input_channel, timestamp):
                self.facts.add("task_watermark", task=task, input=0, kind=out, timestamp=value)
                self.epoch[task] = self.epoch.get(task, 0) + (out == WATERMARK)
                if out == WATERMARK and task in WINDOWS:
                    self.current[task] = value
                    self.advance(task, value)
                self.forward(task, out, value)
        elif kind == ElementKind.END_OF_DATA:
            if self.all_channels(task, kind):
                self.forward(task, ElementKind.END_OF_DATA, 1)
        elif self.all_channels(task, kind):
            self.finish(task)

    def all_channels(self, task: int, event: int) -> bool:
        """Counts an event; whether it came from both channels by now."""
        self.ended[task, event] = self.ended.get((task, event), 0) + 1
        return self.ended[task, event] == 2

    def forward(self, task: int, kind: ElementKind, timestamp: int) -> None:
        for channel in range(8):
            if self.ends(channel)[0] == task:
                self.send(channel, kind, timestamp)

    def finish(self, task: int) -> None:
        operators = 3 if task in SOURCES else 1
        for operator in range(operators):
            counts = self.counts.get((task, operator), [0, 0, 0, 0])
            self.facts.add("operator_counts", task=task, operator=operator, records_in=counts[0], records_out=counts[1],
                           records_side=counts[2], records_dropped=counts[3])  # fmt: skip
        self.facts.add("lifecycle", task=task, operator=-1, event=LifeEvent.FINISHED)
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
        self.panes.setdefault(pane, []).append((timestamp, fingerprint))
        if last <= watermark:
            self.fire(pane)
        else:
            self.pending.add(pane)

    def advance(self, task: int, watermark: int) -> None:
        due = sorted(
            (p for p in self.pending if p[0] == task and p[2] + SIZE_MS - 1 <= watermark), key=lambda p: (p[2], p[1])
        )
        for pane in due:
            self.pending.discard(pane)
            self.fire(pane)

    def fire(self, pane: tuple[int, str, int]) -> None:
        task, key, start = pane
        contents = self.panes[pane]
        xor = 0
        for _, fingerprint in contents:
            xor ^= fingerprint
        self.facts.add("window_fire", task=task, key_hash=KEYS[key][0], key=KEYS[key][0] + 1000, window_start=start,
                       window_end=start + SIZE_MS, watermark=self.current[task], rows=len(contents),
                       fingerprint_sum=sum(fp >> 31 for _, fp in contents), fingerprint_xor=xor)  # fmt: skip
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
            self.forward(task, WATERMARK, watermark)

    def run(self) -> FactBuilder:
        states = {task: [0, NO_TIMESTAMP] for task in SOURCES}
        for step in range(self.records):
            for task in SOURCES:
                action = self.act(ActionPhase.BEGIN, task, ActionKind.DEFAULT_ACTION)
                self.source_step(task, step * 8, states[task])
                self.act(ActionPhase.END, task, ActionKind.DEFAULT_ACTION, action)
                if step % 20 == 10 + task * 5:
                    self.forward(task, STATUS, -1)
                    self.forward(task, STATUS, 0)
            for channel in range(8):
                while self.random.random() < 0.7 and self.deliver(channel):
                    pass
        for task in SOURCES:
            self.forward(task, WATERMARK, MAX_WATERMARK)
            self.forward(task, ElementKind.END_OF_DATA, 1)
            self.finish(task)
        while any(self.queues.values()):
            for channel in range(8):
                self.deliver(channel)
        return self.facts


def honest_job(level: Level = Level.FULL, seed: int = 1, records: int = 60) -> FactBuilder:
    """The facts of one whole run."""
    return HonestJob(level, seed, records).run()

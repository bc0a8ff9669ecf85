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
    MailAction,
    PoolKind,
    SegmentAction,
    WaitKind,
)  # fmt: skip
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from tests.spark.fact_builder import FactBuilder

SIZE_MS, LATENESS_MS, DISORDER_MS = 100, 50, 30
KEYS = {"EWR": (69088, 0), "JFK": (73359, 1), "LGA": (75302, 1)}
"""Java hash code, and the subtask that owns the key at parallelism 2 and max_parallelism 8."""
SOURCES, WINDOWS, SINK, LATE = (0, 1), (2, 3), 4, 5
POOLS = {(0, 0): 0, (1, 0): 1, (2, 1): 2, (2, 2): 3, (3, 1): 4, (3, 2): 5}
"""Output pool by task and edge; task manager 0 has the even tasks, 1 the odd ones."""
EDGE_OF = (0, 0, 0, 0, 1, 1, 2, 2)
PART, LAST_PART = -1, -2
"""In place of an element: part of a buffer that comes to its end later; the second of them vanishes in its queue."""
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

    def __init__(self, level: Level, seed: int, records: int, pace_ms: int) -> None:
        self.facts = FactBuilder(level)
        self.random = Random(seed)
        self.records = records
        self.pace_ms = pace_ms
        self.queues: dict[int, deque[tuple[int, int, int, int, bool]]] = {}
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
        self.waiting: dict[int, deque[list[int]]] = {}
        """Per channel what is queued at the sender: [kind, timestamp, fingerprint, 1 once it left in part]."""
        self.open_credits: dict[int, int] = {}
        self.pools = {pool: [0, 0, 4] for pool in POOLS.values()}
        """Segments requested and free, and the size."""
        self.steps = [0, 0]
        self.mailboxes: dict[int, list[tuple[int, int, int]]] = {}
        """Waiting mails of a task: (number, priority, urgent)."""
        self.mail_numbers: dict[int, int] = {}
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
                  parallelism=parallelism, max_parallelism=8, inputs=int(vertex > 0), task_manager=task % 2)  # fmt: skip
        for manager in (0, 1):
            f.add("task_managers", task_manager=manager, name=f"tm{manager}", segments=100, segment_bytes=64)
        for (task, edge), pool in POOLS.items():
            f.add("pools", pool=pool, task_manager=task % 2, task=task, edge=edge, kind=PoolKind.OUTPUT, required=3,
                  maximum=12, overdraft=20, per_channel=10)  # fmt: skip
        for task, edge in ((2, 0), (3, 0), (4, 1), (5, 2)):
            f.add("pools", pool=4 + task + 4, task_manager=task % 2, task=task, edge=edge, kind=PoolKind.INPUT, required=1,
                  maximum=8, exclusive=4)  # fmt: skip
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
            "edges",
            edge=0,
            exchange="PIPELINED_BOUNDED",
            source_vertex=0,
            source_operator=2,
            target_vertex=1,
            partitioner="HASH",
            key_type="STRING",
        )
        f.add("edges", edge=1, exchange="PIPELINED_BOUNDED", source_vertex=1, target_vertex=2, partitioner="REBALANCE")
        f.add(
            "edges",
            edge=2,
            exchange="PIPELINED_BOUNDED",
            source_vertex=1,
            target_vertex=3,
            partitioner="REBALANCE",
            side_output="late",
        )
        channel = 0
        for edge, sources, targets in ((0, SOURCES, WINDOWS), (1, WINDOWS, (SINK,)), (2, WINDOWS, (LATE,))):
            for input_channel, source in enumerate(sources):
                for subpartition, target in enumerate(targets):
                    f.add("channels", channel=channel, edge=edge, source_task=source, subpartition=subpartition,
                          target_task=target, input_channel=input_channel)  # fmt: skip
                    self.queues[channel] = deque()
                    self.waiting[channel] = deque()
                    self.open_channel(channel, source, target)
                    channel += 1
        for task in range(6):
            self.live(task, -1, LifeEvent.RUNNING)
            for operator in reversed(range(self.operators(task))):
                self.live(task, operator, LifeEvent.OPEN)

    def operators(self, task: int) -> int:
        return 3 if task in SOURCES else 1

    def live(self, task: int, operator: int, event: LifeEvent) -> None:
        self.facts.add("lifecycle", task=task, operator=operator, event=event)

    def end_input(self, task: int) -> None:
        """Ends the input of and finishes every operator, head to tail."""
        for operator in range(self.operators(task)):
            if operator or task not in SOURCES:
                self.live(task, operator, LifeEvent.END_INPUT)
            self.live(task, operator, LifeEvent.FINISH)

    def segment(self, channel: int, action: SegmentAction) -> None:
        """One movement in the output pool that feeds a channel."""
        task, edge = self.ends(channel)[0], EDGE_OF[channel]
        books = self.pools[POOLS[task, edge]]
        moves = action in (SegmentAction.TAKEN, SegmentAction.RETURNED)
        books[0] += {SegmentAction.TAKEN: 1, SegmentAction.RETURNED: -1}.get(action, 0)
        books[1] += {SegmentAction.TAKEN: 1, SegmentAction.RECYCLED: 1}.get(
            action, -1 if action != SegmentAction.RESIZED else 0
        )
        step = self.steps[task % 2] if moves else -1
        self.steps[task % 2] += moves
        if self.facts.level >= Level.FULL:
            self.facts.add("segments", task=task, pool=POOLS[task, edge], action=action,
                           subpartition=-1 if moves else self.subpartition(channel), step=step, requested=books[0],
                           free=books[1], size=books[2])  # fmt: skip

    def subpartition(self, channel: int) -> int:
        return channel % 2 if channel < 4 else 0

    def hand_out(self, channel: int) -> None:
        books = self.pools[POOLS[self.ends(channel)[0], EDGE_OF[channel]]]
        if self.random.random() < 0.05:
            books[2] = self.random.randrange(4, 12)
            self.segment(channel, SegmentAction.RESIZED)
        if not books[1]:
            self.segment(channel, SegmentAction.TAKEN)
        self.segment(channel, SegmentAction.HANDED_OUT)

    def recycle(self, channel: int) -> None:
        books = self.pools[POOLS[self.ends(channel)[0], EDGE_OF[channel]]]
        self.segment(channel, SegmentAction.RECYCLED)
        if books[0] > books[2]:
            self.segment(channel, SegmentAction.RETURNED)

    def put_mail(self, task: int, priority: int, urgent: int) -> None:
        number = self.mail_numbers.get(task, 0)
        self.mail_numbers[task] = number + 1
        self.mailboxes.setdefault(task, []).append((number, priority, urgent))
        if self.facts.level >= Level.FULL:
            self.facts.add("mails", task=task, action=MailAction.PUT, mail=number, priority=priority, urgent=urgent)

    def run_mail(self, task: int, least: int) -> bool:
        """Takes the first mail of at least that priority, urgent ones first, and runs it; False when there is none."""
        fitting = [mail for mail in self.mailboxes.get(task, ()) if mail[1] >= least]
        if not fitting:
            return False
        mail = next((m for m in fitting if m[2]), fitting[0])
        self.mailboxes[task].remove(mail)
        if self.facts.level >= Level.FULL:
            self.facts.add("mails", task=task, action=MailAction.RUN, mail=mail[0], priority=mail[1], urgent=mail[2])
        action = self.act(ActionPhase.BEGIN, task, ActionKind.MAIL)
        cost = self.act(ActionPhase.WAIT, task, WaitKind.COST)
        self.act(ActionPhase.RESUME, task, WaitKind.COST, cost)
        self.act(ActionPhase.END, task, ActionKind.MAIL, action)
        return True

    def ends(self, channel: int) -> tuple[int, int, int]:
        """Source task, target task and input channel of a channel."""
        return [(0, 2, 0), (0, 3, 0), (1, 2, 1), (1, 3, 1), (2, 4, 0), (3, 4, 1), (2, 5, 0), (3, 5, 1)][channel]

    def open_channel(self, channel: int, source: int, target: int) -> None:
        self.credits[channel] = self.open_credits[channel] = 2
        if self.facts.level >= Level.FULL:
            self.facts.add(
                "credits", task=target, channel=channel, kind=CreditKind.INITIAL_GRANTED, credits=2, balance=-1
            )
            self.facts.add("credits", task=source, channel=channel, kind=CreditKind.INITIAL_GOT, credits=2, balance=2)

    def count(self, task: int, operator: int, column: int) -> None:
        self.counts.setdefault((task, operator), [0, 0, 0, 0])[column] += 1

    def act(self, phase: ActionPhase, task: int, kind: int, action: int | None = None, priority: int = -1) -> int:
        number = self.actions.get(task, 0) if action is None else action
        if action is None:
            self.actions[task] = number + 1
        if self.facts.level >= Level.FULL:
            self.facts.add("actions", task=task, phase=phase, kind=kind, action=number, priority=priority)
        return number

    def send(self, channel: int, kind: ElementKind, timestamp: int, fingerprint: int = 0, key: str = "") -> None:
        source = self.ends(channel)[0]
        position = self.sent_count.get(channel, 0)
        self.sent_count[channel] = position + 1
        key_hash, key_id = (KEYS[key][0], KEYS[key][0] + 1000) if key and channel < 4 else (0, 0)
        self.facts.add("sent", task=source, channel=channel, position=position, kind=kind, timestamp=timestamp,
                       fingerprint=fingerprint, key_hash=key_hash, key=key_id)  # fmt: skip
        data = kind < ElementKind.END_OF_DATA
        if key:
            self.names[fingerprint] = key
        if data:
            self.hand_out(channel)
        self.waiting[channel].append([kind, timestamp, fingerprint, 0])
        self.buffer(source, channel, BufferSide.QUEUED, data, -1, self.backlog(channel))
        if not data or self.random.random() < 0.6:
            self.pump(channel)

    def backlog(self, channel: int) -> int:
        """Data buffers in the sender's queue."""
        return sum(element[0] < ElementKind.END_OF_DATA for element in self.waiting[channel])

    def pump(self, channel: int) -> None:
        """Sends what the credits allow; now and then a buffer in two parts, or one that vanishes after its first part."""
        waiting, source = self.waiting[channel], self.ends(channel)[0]
        while waiting:
            kind, timestamp, fingerprint, in_part = waiting[0]
            data = kind < ElementKind.END_OF_DATA
            if in_part and kind == LAST_PART:
                waiting.popleft()
                self.recycle(channel)
                continue
            if data and not self.credits[channel]:
                return
            self.credits[channel] -= data
            parts = self.random.random() if data and not in_part else 1.0
            element = (kind, timestamp, fingerprint)
            if parts < 0.1:
                waiting[0][3], element = 1, (PART, 0, 0)
            elif parts < 0.15:
                waiting[0] = [LAST_PART, 0, 0, 1]
            else:
                waiting.popleft()
            told = self.backlog(channel)
            tail_is_data = bool(waiting) and waiting[-1][0] < ElementKind.END_OF_DATA
            told -= tail_is_data and self.random.random() < 0.5
            self.buffer(source, channel, BufferSide.SENT, data, self.credits[channel], told, whole=int(parts >= 0.15))
            self.queues[channel].append((*element, told, parts >= 0.15))

    def buffer(
        self, task: int, channel: int, side: BufferSide, data: bool, credits: int, backlog: int, whole: int = 1
    ) -> None:
        number = self.numbers.get((channel, side), 0)
        self.numbers[channel, side] = number + 1
        if self.facts.level >= Level.FULL:
            self.facts.add("buffers", task=task, channel=channel, side=side, number=number, whole=whole,
                           kind=BufferKind.DATA if data else BufferKind.EVENT, backlog=backlog,
                           bytes=-1 if side == BufferSide.QUEUED else 40, credits=credits)  # fmt: skip

    def deliver(self, channel: int) -> bool:
        """Takes one element off a channel and processes it; False when there is none."""
        if not self.queues[channel]:
            self.pump(channel)
        if not self.queues[channel]:
            return False
        source, task, input_channel = self.ends(channel)
        kind, timestamp, fingerprint, told, frees = self.queues[channel].popleft()
        self.mail_round(task)
        action = self.act(ActionPhase.BEGIN, task, ActionKind.DEFAULT_ACTION)
        data = kind < ElementKind.END_OF_DATA
        self.open_credits[channel] -= data
        reserved = self.open_credits[channel] + self.random.randrange(3)
        self.buffer(task, channel, BufferSide.RECEIVED, data, reserved, told)
        if data:
            if frees:
                self.recycle(channel)
            self.credits[channel] += 1
            self.open_credits[channel] += 1
            if self.facts.level >= Level.FULL:
                self.facts.add("credits", task=task, channel=channel, kind=CreditKind.ANNOUNCED, credits=1, balance=-1)
                self.facts.add("credits", task=source, channel=channel, kind=CreditKind.GOT, credits=1,
                               balance=self.credits[channel])  # fmt: skip
        if kind == PART:
            self.act(ActionPhase.END, task, ActionKind.DEFAULT_ACTION, action)
            return True
        position = self.received_count.get(channel, 0)
        self.received_count[channel] = position + 1
        self.facts.add("received", task=task, channel=channel, position=position, kind=kind, timestamp=timestamp,
                       fingerprint=fingerprint, epoch=self.epoch.get(task, 0))  # fmt: skip
        if self.random.random() < 0.2:
            self.nest(task)
        self.process(task, input_channel, kind, timestamp, fingerprint)
        self.act(ActionPhase.END, task, ActionKind.DEFAULT_ACTION, action)
        if kind == ElementKind.END_OF_PARTITION and self.all_channels(task, kind):
            self.finish(task)
        return True

    def mail_round(self, task: int) -> None:
        """Between two elements: mails come, and some of those that wait run."""
        while self.random.random() < 0.3:
            self.put_mail(task, self.random.choice((-1, 0, 1)), int(self.random.random() < 0.2))
        while self.random.random() < 0.6 and self.run_mail(task, -1):
            pass

    def nest(self, task: int) -> None:
        """An operator waits inside its element and runs one mail meanwhile."""
        self.put_mail(task, self.random.choice((1, 2)), 0)
        wait = self.act(ActionPhase.WAIT, task, WaitKind.YIELD, priority=1)
        self.run_mail(task, 1)
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
        elif kind == ElementKind.END_OF_DATA and self.all_channels(task, kind):
            self.end_input(task)
            self.forward(task, ElementKind.END_OF_DATA, 1)

    def all_channels(self, task: int, event: int) -> bool:
        """Counts an event; whether it came from both channels by now."""
        self.ended[task, event] = self.ended.get((task, event), 0) + 1
        return self.ended[task, event] == 2

    def forward(self, task: int, kind: ElementKind, timestamp: int) -> None:
        for channel in range(8):
            if self.ends(channel)[0] == task:
                self.send(channel, kind, timestamp)

    def finish(self, task: int) -> None:
        while self.run_mail(task, -1):
            pass
        for operator in range(self.operators(task)):
            counts = self.counts.get((task, operator), [0, 0, 0, 0])
            self.facts.add("operator_counts", task=task, operator=operator, records_in=counts[0], records_out=counts[1],
                           records_side=counts[2], records_dropped=counts[3])  # fmt: skip
        for operator in reversed(range(self.operators(task))):
            self.live(task, operator, LifeEvent.CLOSE)
        self.forward(task, ElementKind.END_OF_PARTITION, 0)
        self.live(task, -1, LifeEvent.FINISHED)

    def give_back(self) -> None:
        """Every free segment goes back to its task manager."""
        for channel in (0, 2, 4, 6, 5, 7):
            while self.pools[POOLS[self.ends(channel)[0], EDGE_OF[channel]]][1]:
                self.segment(channel, SegmentAction.RETURNED)

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
                self.mail_round(task)
                action = self.act(ActionPhase.BEGIN, task, ActionKind.DEFAULT_ACTION)
                self.source_step(task, step * self.pace_ms, states[task])
                self.act(ActionPhase.END, task, ActionKind.DEFAULT_ACTION, action)
                if step % 20 == 10 + task * 5:
                    self.forward(task, STATUS, -1)
                    self.forward(task, STATUS, 0)
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
        self.give_back()
        return self.facts


def honest_job(level: Level = Level.FULL, seed: int = 1, records: int = 60, pace_ms: int = 8) -> FactBuilder:
    """The facts of one whole run; each source reads so many records, that far apart in event time."""
    return HonestJob(level, seed, records, pace_ms).run()

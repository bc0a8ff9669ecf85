"""The facts of a big recording outside its rounds: the description of the job, the starts and ends of its tasks."""

from __future__ import annotations

import json
from collections.abc import Iterator

from flowsim.facts.kinds import BufferKind, BufferSide, CreditKind, ElementKind, LifeEvent, PoolKind, SegmentAction
from flowsim.units import MAX_WATERMARK
from tests.benchmarks import big_recording_async
from tests.benchmarks.big_recording import KEYS, SIZE_MS, BigJob

Row = tuple[str, dict[str, int | str]]
"""Table and columns; what is not given is 0 or ''."""
OPERATORS = (2, 1, 3)
"""Per vertex."""


def described(job: BigJob) -> Iterator[Row]:
    """The description tables."""
    p = job.parallelism
    for vertex, name in enumerate(("source", "window", "sink")):
        for subtask in range(p):
            yield "tasks", {
                "task": vertex * p + subtask, "vertex": vertex, "task_manager": vertex * p + subtask, "name": f"{name} {subtask}",
                "subtask": subtask, "parallelism": p, "max_parallelism": 128, "inputs": int(vertex > 0),
            }  # fmt: skip
    window = {"assigner": "tumbling_event_time", "trigger": {"kind": "event_time"}, "size_ms": SIZE_MS}
    if job.sliding:
        window |= {"assigner": "sliding_event_time", "slide_ms": SIZE_MS}
    for vertex, operator, kind, params in (
        (0, 0, "source", {}), (0, 1, "map", {}), (1, 0, "window", window),
        (2, 0, "async_wait", big_recording_async.params(0, KEYS)), (2, 1, "async_wait", big_recording_async.params(1, KEYS)),
        (2, 2, "sink", {}),
    ):  # fmt: skip
        yield "operators", {"vertex": vertex, "operator": operator, "name": kind, "kind": kind, "params": json.dumps(params),
                            "input_operator": operator - 1}  # fmt: skip
    yield "edges", {"source_operator": 1, "target_vertex": 1, "partitioner": "HASH", "key_type": "STRING",
                    "exchange": "PIPELINED_BOUNDED"}  # fmt: skip
    yield (
        "edges",
        {"edge": 1, "source_vertex": 1, "target_vertex": 2, "partitioner": "FORWARD", "exchange": "PIPELINED_BOUNDED"},
    )
    for channel, source, target in channels(job):
        keyed = channel < p * p
        yield "channels", {"channel": channel, "edge": int(not keyed), "source_task": source, "target_task": target,
                           "subpartition": target - p if keyed else 0, "input_channel": source if keyed else 0}  # fmt: skip
    for task in range(3 * p):
        yield (
            "task_managers",
            {"task_manager": task, "name": f"tm {task}", "segments": 2 + 2 * p, "segment_bytes": 4096},
        )
    for task in range(2 * p):
        yield "pools", {"pool": task, "task_manager": task, "task": task, "edge": task // p, "kind": PoolKind.OUTPUT,
                        "required": 2, "maximum": 2, "per_channel": 10}  # fmt: skip
    for task in range(p, 3 * p):
        exclusive = 2 * p if task < 2 * p else 2
        yield "pools", {"pool": task + p, "task_manager": task, "task": task, "edge": task // p - 1, "kind": PoolKind.INPUT,
                        "required": 1, "maximum": 8, "exclusive": exclusive}  # fmt: skip
    for w, keys in enumerate(job.keys()):
        for text, code, number in keys:
            for task in (*range(p), p + w):
                yield (
                    "keys",
                    {"task": task, "key": number, "key_hash": code, "key_type": "STRING", "key_json": json.dumps(text)},
                )


def channels(job: BigJob) -> Iterator[tuple[int, int, int]]:
    """Channel, sender and receiver."""
    p = job.parallelism
    for s in range(p):
        for w in range(p):
            yield s * p + w, s, p + w
    for w in range(p):
        yield p * p + w, p + w, 2 * p + w


class TaskFacts:
    """Facts of one task, numbered from ``seq`` on."""

    def __init__(self, task: int, seq: int) -> None:
        self.task, self.seq = task, seq
        self.rows: list[Row] = []

    def add(self, table: str, **columns: int) -> None:
        self.rows.append((table, {"seq": self.seq, "task": self.task, **columns}))
        self.seq += 1


def begun(job: BigJob) -> Iterator[Row]:
    """Before the first round: life, memory and credits. Sources and windows leave room up to 5 + P, sinks up to 6."""
    p = job.parallelism
    for task in range(3 * p):
        facts = TaskFacts(task, 0)
        facts.add("lifecycle", operator=-1, event=LifeEvent.RUNNING)
        for operator in reversed(range(OPERATORS[task // p])):
            facts.add("lifecycle", operator=operator, event=LifeEvent.OPEN)
        for step in (0, 1) if task < 2 * p else ():
            facts.add("segments", pool=task, action=SegmentAction.TAKEN, subpartition=-1, step=step, requested=step + 1,
                      free=step + 1, size=2)  # fmt: skip
        mine = [(channel, source) for channel, source, target in channels(job) if task in (source, target)]
        outgoing = [channel for channel, source in mine if source == task]
        incoming = [channel for channel, source in mine if source != task]
        for channel in outgoing:
            facts.add("credits", channel=channel, kind=CreditKind.INITIAL_GOT, credits=2, balance=2)
        for channel in incoming:
            facts.add("credits", channel=channel, kind=CreditKind.INITIAL_GRANTED, credits=2, balance=-1)
        yield from facts.rows


def ended(job: BigJob) -> Iterator[Row]:
    """After the last round: MAX_WATERMARK in a last buffer, EndOfData, EndOfPartition, and what every task says of itself."""
    for task in range(3 * job.parallelism):
        facts = _TaskEnd(job, task)
        facts.last_watermark()
        facts.end_of_data()
        facts.end_of_partition()
        yield from facts.rows


class _TaskEnd(TaskFacts):
    """The end of one task."""

    def __init__(self, job: BigJob, task: int) -> None:
        p = job.parallelism
        self.job, self.vertex = job, task // p
        each = (job.source_facts, job.window_facts, job.sink_facts)[self.vertex]
        super().__init__(task, (6 if self.vertex == 2 else 5 + p) + job.rounds * each)
        self.incoming = [channel for channel, _, target in channels(job) if target == task]
        self.outgoing = [channel for channel, source, _ in channels(job) if source == task]
        self.came = job.rounds * (job.records + 2 if self.vertex == 1 else KEYS + 1)
        self.went = job.rounds * (job.records + 2 if self.vertex == 0 else KEYS + 1)
        self.operators = OPERATORS[self.vertex]

    def last_watermark(self) -> None:
        rounds, pool = self.job.rounds, {"pool": self.task, "step": -1, "requested": 2, "size": 2}
        for channel in self.incoming:
            self._arrive(channel, rounds, BufferKind.DATA, 10, 1)
            self._receive(channel, 0, ElementKind.WATERMARK, MAX_WATERMARK)
        if self.incoming:
            self.add("task_watermark", kind=ElementKind.WATERMARK, timestamp=MAX_WATERMARK)
        for columns in big_recording_async.last(rounds * (KEYS + 1), MAX_WATERMARK) if self.vertex == 2 else ():
            self.add("async_elements", **columns)
        for channel in self.outgoing:
            self._send(channel, 0, ElementKind.WATERMARK, MAX_WATERMARK)
            sent = {"channel": channel, "number": rounds, "kind": BufferKind.DATA, "whole": 1}
            self.add("segments", action=SegmentAction.HANDED_OUT, free=1, **pool)
            self.add("buffers", side=BufferSide.QUEUED, bytes=-1, backlog=1, credits=-1, **sent)
            self.add("buffers", side=BufferSide.SENT, bytes=10, credits=1, **sent)
            self.add("segments", action=SegmentAction.RECYCLED, free=2, **pool)

    def end_of_data(self) -> None:
        for channel in self.incoming:
            self._arrive(channel, self.job.rounds + 1, BufferKind.EVENT, 8, 1)
            self._receive(channel, 1, ElementKind.END_OF_DATA, 1)
        for operator in range(self.operators):
            if self.vertex or operator:
                self.add("lifecycle", operator=operator, event=LifeEvent.END_INPUT)
            self.add("lifecycle", operator=operator, event=LifeEvent.FINISH)
        for channel in self.outgoing:
            self._send(channel, 1, ElementKind.END_OF_DATA, 1)
            self._event(channel, self.job.rounds + 1)

    def end_of_partition(self) -> None:
        job = self.job
        for channel in self.incoming:
            self._arrive(channel, job.rounds + 2, BufferKind.EVENT, 8, 1)
            self._receive(channel, 2, ElementKind.END_OF_PARTITION, 0)
        rows, fires = job.parallelism * (job.records + 1) * job.rounds, job.rounds * KEYS
        late = job.parallelism * max(job.rounds - 2, 0)
        of_sink = [(fires, fires, 0), (fires, fires, 0), (fires, 0, 0)]
        counts = ([(rows, rows, 0)] * 2, [(rows, fires, late)], of_sink)[self.vertex]
        for operator, (came, went, dropped) in enumerate(counts):
            self.add("operator_counts", operator=operator, records_in=came, records_out=went, records_dropped=dropped)
        for operator in reversed(range(self.operators)):
            self.add("lifecycle", operator=operator, event=LifeEvent.CLOSE)
        for channel in self.outgoing:
            self._send(channel, 2, ElementKind.END_OF_PARTITION, 0)
            self._event(channel, job.rounds + 2)
        for left in (1, 0) if self.outgoing else ():
            self.add("segments", pool=self.task, action=SegmentAction.RETURNED, subpartition=-1, step=3 - left, requested=left,
                     free=left, size=2)  # fmt: skip
        self.add("lifecycle", operator=-1, event=LifeEvent.FINISHED)

    def _send(self, channel: int, nth: int, kind: ElementKind, timestamp: int) -> None:
        self.add("sent", channel=channel, position=self.went + nth, kind=kind, timestamp=timestamp)

    def _receive(self, channel: int, nth: int, kind: ElementKind, timestamp: int) -> None:
        self.add(
            "received", channel=channel, position=self.came + nth, kind=kind, timestamp=timestamp, epoch=self.job.rounds
        )

    def _event(self, channel: int, number: int) -> None:
        for side, size, credits in ((BufferSide.QUEUED, -1, -1), (BufferSide.SENT, 8, 1)):
            self.add("buffers", channel=channel, side=side, number=number, kind=BufferKind.EVENT, bytes=size, credits=credits,
                     whole=1)  # fmt: skip

    def _arrive(self, channel: int, number: int, kind: BufferKind, size: int, reserved: int) -> None:
        arrived = {"channel": channel, "number": number, "kind": kind, "bytes": size, "whole": 1}
        self.add("buffers", side=BufferSide.RECEIVED, credits=reserved, **arrived)
        if kind == BufferKind.DATA:
            self.add("buffers", side=BufferSide.RECYCLED, credits=-1, backlog=-1, **arrived)

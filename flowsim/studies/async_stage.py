"""Computes figures of an async operator from the facts: latencies of its records, their parts, and queue usage.

One record's time in the queue has two parts: until its call completed, and from there until it was emitted. The second
is the cost of order: in ordered mode the record waits for all earlier ones, in unordered mode for those before the last
watermark (rules 11.5, 11.10).
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np

from flowsim.facts.kinds import AsyncAction, ElementKind
from flowsim.recording.reader import Recording
from flowsim.studies.columns import Columns, Distribution, Ints, columns, where

ASYNC_KIND = "async_wait"
_COLUMNS = ("task", "operator", "time_ns", "entry", "action", "kind", "queued")


@dataclass(frozen=True, slots=True)
class AsyncStage:
    """The figures of one async operator, for all its subtasks together; shares and means are per queue.

    Time counts from the first element put to the last one emitted. Over that time the mean number of records in the
    queues is their rate times their mean latency (Little's law). ``held_share`` is the part of the records' total
    latency between outcome and emission.
    """

    operator: str
    mode: str
    capacity: int
    records: int
    """Number of records that were put into a queue and emitted."""
    unfinished: int
    """Number of records that were put into a queue but never emitted."""
    watermarks: int
    calls: int
    timeouts: int
    records_per_s: float
    latency: Distribution | None
    """The times from entering the queue to the emission of the results."""
    answer: Distribution | None
    """The times from entering the queue to the accepted outcome."""
    held: Distribution | None
    """The times from the accepted outcome to the emission: waiting for slower earlier records, and in the mailbox."""
    held_share: float
    full_share: float
    """The share of time with a full queue, during which a new element, and the task with it, had to wait."""
    peak_queued: int
    mean_queued: float
    """The mean number of elements in a queue, including watermarks, which also use positions (rule 11.2)."""
    mean_records: float


def async_stages(recording: Recording) -> tuple[AsyncStage, ...]:
    """Returns the figures of the async operators of a recording, in the order of the job."""
    facts = columns(recording, "async_elements", _COLUMNS)
    vertex_of = {int(row[0]): int(row[1]) for row in recording.static_rows("tasks")}
    stages = []
    for row in recording.static_rows("operators"):
        vertex, index, name, kind, params = int(row[0]), int(row[1]), str(row[2]), row[3], str(row[4])
        if kind == ASYNC_KIND:
            tasks = [task for task, task_vertex in vertex_of.items() if task_vertex == vertex]
            own = where(facts, np.isin(facts["task"], tasks) & (facts["operator"] == index))
            stages.append(_stage(name, json.loads(params), own, tasks))
    return tuple(stages)


@dataclass(frozen=True, slots=True)
class _Subtask:
    """The sums of one subtask, in ns and elements times ns."""

    span_ns: int
    full_ns: int
    queued_ns: int
    latency: Ints
    answer: Ints
    held: Ints
    unfinished: int


def _stage(name: str, params: dict[str, object], facts: Columns, tasks: list[int]) -> AsyncStage:
    capacity = params["capacity"]
    assert isinstance(capacity, int)
    parts = [_subtask(where(facts, facts["task"] == task), capacity) for task in tasks]
    latency, answer, held = (
        np.concatenate([getattr(part, what) for part in parts]) for what in ("latency", "answer", "held")
    )
    span_ns, records = sum(part.span_ns for part in parts), len(latency)
    is_record, action = facts["kind"] == ElementKind.RECORD, facts["action"]

    def of_time(amount: int) -> float:
        return round(amount / span_ns, 6) if span_ns else 0.0

    return AsyncStage(
        operator=name,
        mode=str(params["mode"]),
        capacity=capacity,
        records=records,
        unfinished=sum(part.unfinished for part in parts),
        watermarks=int(np.count_nonzero((action == AsyncAction.EMIT) & ~is_record)),
        calls=int(np.count_nonzero(action == AsyncAction.INVOKE)),
        timeouts=int(np.count_nonzero(action == AsyncAction.TIMEOUT)),
        records_per_s=round(records * 1e9 * len(parts) / span_ns, 3) if span_ns else 0.0,
        latency=Distribution.of(latency),
        answer=Distribution.of(answer),
        held=Distribution.of(held),
        held_share=round(int(held.sum()) / int(latency.sum()), 6) if latency.any() else 0.0,
        full_share=of_time(sum(part.full_ns for part in parts)),
        peak_queued=int(facts["queued"].max(initial=0)),
        mean_queued=of_time(sum(part.queued_ns for part in parts)),
        mean_records=of_time(int(latency.sum())),
    )


def _subtask(facts: Columns, capacity: int) -> _Subtask:
    time, queued = facts["time_ns"], facts["queued"]
    # Outcomes may be recorded with another clock than the task's, slightly behind it; queue sizes are recorded in
    # order.
    lasted = np.diff(np.maximum.accumulate(time)) if len(time) else np.empty(0, dtype=np.int64)
    before = queued[:-1]
    records = where(facts, facts["kind"] == ElementKind.RECORD)
    count = int(records["entry"].max(initial=-1)) + 1
    put, done, emitted = (
        _times(records, actions, count)
        for actions in ((AsyncAction.PUT,), (AsyncAction.COMPLETE, AsyncAction.FAIL), (AsyncAction.EMIT,))
    )
    whole = (put >= 0) & (done >= 0) & (emitted >= 0)
    put_count = int(np.count_nonzero(put >= 0))
    put, done, emitted = put[whole], done[whole], emitted[whole]
    done = np.clip(done, put, emitted)
    return _Subtask(
        span_ns=int(lasted.sum()),
        full_ns=int(lasted[before >= capacity].sum()),
        queued_ns=int((lasted * before).sum()),
        latency=emitted - put,
        answer=done - put,
        held=emitted - done,
        unfinished=put_count - len(put),
    )


def _times(records: Columns, actions: tuple[AsyncAction, ...], count: int) -> Ints:
    """Returns the time of a step for each element, by the element's number; -1 if the step never happened."""
    happened = np.isin(records["action"], actions)
    entries, times = records["entry"][happened], records["time_ns"][happened]
    time_of: Ints = np.full(count, -1, dtype=np.int64)
    time_of[entries] = times
    return time_of

"""Computes figures of an async operator from the facts: latencies of its records, their parts, and queue usage.

One record's time in the queue has two parts: until its call completed, and from there until it was emitted. The second
is the cost of order: in ordered mode the record waits for all earlier ones, in unordered mode for those before the last
watermark (rules 11.5, 11.10).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flowsim.facts.kinds import AsyncAction, ElementKind
from flowsim.history.async_elements import QueueUse, async_operators, step_times
from flowsim.history.rows import Ints, Rows, recorded_rows
from flowsim.laws.graph_check import checked_job_graph
from flowsim.laws.job_graph import Operator
from flowsim.recording.reader import Recording
from flowsim.studies.distribution import Distribution

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
    facts = recorded_rows(recording, "async_elements", _COLUMNS)
    stages = []
    for operator, tasks in async_operators(checked_job_graph(recording)):
        own = facts.where(np.isin(facts["task"], tasks) & (facts["operator"] == operator.operator))
        stages.append(_stage(operator, own, tasks))
    return tuple(stages)


@dataclass(frozen=True, slots=True)
class _Subtask:
    """How full the queue of one subtask was, and the times of its records in ns."""

    queue: QueueUse
    latency: Ints
    answer: Ints
    held: Ints
    unfinished: int


def _stage(operator: Operator, facts: Rows, tasks: list[int]) -> AsyncStage:
    capacity = operator.params["capacity"]
    assert isinstance(capacity, int)
    parts = [_subtask(facts.where(facts["task"] == task), capacity) for task in tasks]
    latency, answer, held = (
        np.concatenate([getattr(part, what) for part in parts]) for what in ("latency", "answer", "held")
    )
    span_ns, records = sum(part.queue.span_ns for part in parts), len(latency)
    is_record, action = facts["kind"] == ElementKind.RECORD, facts["action"]

    def of_time(amount: int) -> float:
        return round(amount / span_ns, 6) if span_ns else 0.0

    return AsyncStage(
        operator=operator.name,
        mode=str(operator.params["mode"]),
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
        full_share=of_time(sum(part.queue.full_ns for part in parts)),
        peak_queued=max((part.queue.peak for part in parts), default=0),
        mean_queued=of_time(sum(part.queue.element_ns for part in parts)),
        mean_records=of_time(int(latency.sum())),
    )


def _subtask(facts: Rows, capacity: int) -> _Subtask:
    put, done, emitted = step_times(facts.where(facts["kind"] == ElementKind.RECORD))
    whole = (put >= 0) & (done >= 0) & (emitted >= 0)
    put_count = int(np.count_nonzero(put >= 0))
    put, done, emitted = put[whole], done[whole], emitted[whole]
    done = np.clip(done, put, emitted)
    return _Subtask(
        QueueUse.of(facts, capacity),
        latency=emitted - put,
        answer=done - put,
        held=emitted - done,
        unfinished=put_count - len(put),
    )

"""How full the queue of an async operator was (rule 11.2)."""

from __future__ import annotations

import numpy as np

from flowsim.history.async_elements import QueueUse
from flowsim.history.rows import Rows


def queue_of(*steps: tuple[int, int]) -> Rows:
    times, queued = zip(*steps, strict=True) if steps else ((), ())
    return Rows({"time_ns": np.array(times, dtype=np.int64), "queued": np.array(queued, dtype=np.int64)})


def test_use_ends_with_the_last_fact_of_an_empty_queue() -> None:
    rows = queue_of((10, 1), (20, 2), (50, 1), (60, 0))
    assert QueueUse.of(rows, 2, ended_ns=900) == QueueUse(span_ns=50, full_ns=30, used_ns=50, element_ns=80, peak=2)


def test_use_ends_with_the_run_if_elements_are_left() -> None:
    rows = queue_of((10, 1), (20, 2))
    assert QueueUse.of(rows, 2, ended_ns=100) == QueueUse(span_ns=90, full_ns=80, used_ns=90, element_ns=170, peak=2)
    assert QueueUse.of(rows, 2).span_ns == 10


def test_fact_behind_the_clock_of_the_task_takes_no_time_back() -> None:
    assert QueueUse.of(queue_of((10, 1), (8, 2), (30, 0)), 5) == QueueUse(20, 0, 20, 40, 2)


def test_queue_that_was_never_used_has_no_span() -> None:
    assert QueueUse.of(queue_of(), 5) == QueueUse(0, 0, 0, 0, 0)

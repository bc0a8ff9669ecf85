"""Bugs of the async operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from flowsim.operators.async_wait.async_wait_operator import AsyncWaitOperator
from flowsim.operators.async_wait.stream_element_queue import StreamRecordQueueEntry
from tests.support.faults import Fault
from tests.support.jobs.historical_bugs.bug import Bug, replaced


def _nothing_is_emitted_while_opening(patch: pytest.MonkeyPatch) -> None:
    opened, output = AsyncWaitOperator.open, AsyncWaitOperator._output_completed_element
    opening: set[int] = set()

    def open_(self: AsyncWaitOperator) -> None:
        opening.add(id(self))
        opened(self)
        opening.discard(id(self))

    def output_unless_opening(self: AsyncWaitOperator) -> None:
        if id(self) not in opening:
            output(self)

    patch.setattr(AsyncWaitOperator, "open", open_)
    patch.setattr(AsyncWaitOperator, "_output_completed_element", output_unless_opening)


def _timeouts_emit_nothing(patch: pytest.MonkeyPatch) -> None:
    complete = AsyncWaitOperator.complete_entry

    def complete_entry(self: AsyncWaitOperator, entry: StreamRecordQueueEntry, results: Sequence[Any]) -> None:
        if entry.timed_out:
            self.queue.complete(entry, results)
        else:
            complete(self, entry, results)

    patch.setattr(AsyncWaitOperator, "complete_entry", complete_entry)


def _process_without_copy(self: AsyncWaitOperator, value: Any, timestamp: int | None) -> None:
    self.clock.now_ns += self.cost_ns
    self.records_in += 1
    self.take(value, timestamp)


def _snapshots_drain_the_queue(patch: pytest.MonkeyPatch) -> None:
    snapshot = AsyncWaitOperator.snapshot_state

    def snapshot_state(self: AsyncWaitOperator, context: Any) -> None:
        while self.queue.has_completed_elements:
            self.queue.emit_completed_element(self.output)
        while len(self.queue) > 0:
            self.ctx.mailbox_executor.yield_()
        snapshot(self, context)

    patch.setattr(AsyncWaitOperator, "snapshot_state", snapshot_state)


BUGS_OF_ASYNC_CALLS = (
    Bug(
        "FLINK-7949",
        "A queue emits nothing while it is restored: with more elements than its capacity the operator waits for ever.",
        _nothing_is_emitted_while_opening,
    ),
    Bug(
        "FLINK-6435",
        "An element that timed out is only emitted when another element completes.",
        _timeouts_emit_nothing,
    ),
    Bug(
        "FLINK-12351",
        "With object reuse the queue keeps records that the operators before it overwrite.",
        replaced(AsyncWaitOperator, "process_element", _process_without_copy),
    ),
    Bug(
        "FLINK-5652", "The timer of an element's timeout is never cancelled.", Fault("async_timer_kept"), is_cheap=True
    ),
    Bug(
        "FLINK-14230",
        "The operators behind end their input before the queue is empty.",
        Fault("async_emits_after_end"),
        is_cheap=True,
    ),
    Bug(
        "flink-agents#178",
        "A watermark overtakes records that wait for their answers.",
        Fault("async_watermark_overtakes"),
        is_cheap=True,
    ),
    Bug(
        "FLINK-35027",
        "The queue is emptied when the barrier has left: the snapshot lacks elements that are emitted behind the barrier.",
        _snapshots_drain_the_queue,
    ),
)

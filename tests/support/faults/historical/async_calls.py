"""Bugs of the async operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowsim.faults.catalogue import Fault
from flowsim.faults.historical.bug import Bug, Patch, Repair, replaced
from flowsim.legacy.async_wait_operator import LegacyAsyncWaitOperator
from flowsim.operators.async_wait.async_wait_operator import AsyncWaitOperator
from flowsim.operators.async_wait.stream_element_queue import StreamRecordQueueEntry


def _emitter_starts_first(patch: Patch) -> None:
    opened = LegacyAsyncWaitOperator.open

    def open_(self: LegacyAsyncWaitOperator) -> None:
        start = self._threads.start_emitter
        self._threads.start_emitter(lambda: self._queue.has_completed_element, self._emit)
        patch.setattr(self._threads, "start_emitter", lambda has_completed_element, emit: None)
        opened(self)
        patch.setattr(self._threads, "start_emitter", start)

    patch.setattr(LegacyAsyncWaitOperator, "open", open_)


def _timeouts_emit_nothing(patch: Patch) -> None:
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


def _snapshots_drain_the_queue(patch: Patch) -> None:
    snapshot = AsyncWaitOperator.snapshot_state

    def snapshot_state(self: AsyncWaitOperator, context: Any) -> None:
        while self.queue.has_completed_elements:
            self.queue.emit_completed_element(self.output)
        while len(self.queue) > 0:
            self.ctx.mailbox_executor.yield_()
        snapshot(self, context)

    patch.setattr(AsyncWaitOperator, "snapshot_state", snapshot_state)


def _output_into_closed_mailbox(self: AsyncWaitOperator) -> None:
    if self.queue.has_completed_elements:
        entry = self.queue.emit_completed_element(self.output)
        if self._facts is not None and entry is not None:
            self._facts.emit(entry, len(self.queue))
        if self.queue.has_completed_elements:
            self.execute(self._output_completed_element, "AsyncWaitOperator#outputCompletedElement")


BUGS_OF_ASYNC_CALLS = (
    Bug(
        "FLINK-7949",
        "#4924",
        "Restored elements are put into the queue before the emitter starts: with one more than its capacity the task hangs.",
        Repair(_emitter_starts_first),
        """\
settings:
  buffer_timeout: 0
  checkpointing: {interval: 1 h, min_pause: 1 h}
  restart_strategy: {fixed_delay: {}}
sources:
  asks: {legacy: true, generator: {count: 3, pace: 1 ms, fields: {n: {sequence: {}}}}}
operators:
  asked: {input: asks, async: {design: legacy, mode: ordered, capacity: 1, latency: 100 ms, select: {n: n}}}
sinks:
  out: {input: asked, partition: rebalance, collect: {}}
actions: [{checkpoint: {at: 50 ms}}]
failures: [{fail_task: {task: asked, at: 60 ms}}]
""",
        "deadlocked",
        "runtime",
    ),
    Bug(
        "FLINK-6435",
        "#3814",
        "An element that timed out is only emitted when another element completes.",
        _timeouts_emit_nothing,
        """\
sources:
  asks: {collection: {fields: {n: long}, rows: [[1]]}}
operators:
  asked: {input: asks, async: {mode: ordered, timeout: 20 ms, latency: 10 ms, select: {n: n}, on_timeout: {select: {n: "0"}}}}
sinks:
  out: {input: asked, collect: {}}
expect: {every_schedule: {rows: {out: 1}}}
""",
        "deadlocked",
        "order",
    ),
    Bug(
        "FLINK-12351",
        "by its title",
        "With object reuse the queue keeps records that the operators before it overwrite.",
        replaced(AsyncWaitOperator, "process_element", _process_without_copy),
        """\
settings: {object_reuse: true}
sources:
  asks: {script: {fields: {n: long}, subtasks: [[{record: [1]}, {sleep: 20 ms}, {record: [2]}]]}}
operators:
  kept: {input: asks, map: {python: "flowsim.testing.functions:OneRecord", fields: {n: long}}}
  asked: {input: kept, async: {mode: ordered, latency: 10 ms, select: {n: n}}}
sinks:
  out: {input: asked, collect: {}}
expect: {every_schedule: {results: {out: [[1], [2]]}}}
""",
        "claim",
        "order",
    ),
    Bug(
        "FLINK-5652",
        "by its title",
        "The timer of an element's timeout is never cancelled.",
        Fault("async_timer_kept"),
        """\
sources:
  asks: {collection: {fields: {n: long}, rows: [[1]]}}
operators:
  asked: {input: asks, async: {mode: ordered, timeout: 1 s, latency: 10 ms, select: {n: n}}}
sinks:
  out: {input: asked, collect: {}}
""",
        "law async-timers",
        is_cheap=True,
    ),
    Bug(
        "FLINK-14230",
        "#9854",
        "The operators behind end their input before the queue is empty.",
        Fault("async_emits_after_end"),
        """\
sources:
  asks: {script: {fields: {n: long}, subtasks: [[{record: [1]}, {sleep: 20 ms}]]}}
operators:
  asked: {input: asks, async: {mode: ordered, latency: 10 ms, select: {n: n}}}
sinks:
  out: {input: asked, collect: {}}
""",
        "law async-end",
        "order",
        is_cheap=True,
    ),
    Bug(
        "flink-agents#178",
        "flink-agents#178",
        "A watermark overtakes records that wait for their answers.",
        Fault("async_watermark_overtakes"),
        """\
sources:
  asks:
    script: {fields: {n: long}, subtasks: [[{record: [1], timestamp: 5}, {sleep: 20 ms}, {watermark: 9}]]}
operators:
  asked: {input: asks, async: {mode: unordered, latency: 10 ms, select: {n: n}}}
  counts: {input: asked, window: {tumbling: 10 ms}, aggregate: {n: count()}}
sinks:
  out: {input: counts, collect: {}}
expect: {every_schedule: {rows: {out: 1}}}
""",
        "law async-order",
        "order",
        is_cheap=True,
    ),
    Bug(
        "FLINK-35027",
        "#25317",
        "The queue is emptied when the barrier has left: the snapshot lacks elements that are emitted behind the barrier.",
        _snapshots_drain_the_queue,
        """\
settings:
  buffer_timeout: 0
  checkpointing: {interval: 1 h, min_pause: 1 h}
  restart_strategy: {fixed_delay: {delay: 10 ms}}
sources:
  asks: {generator: {count: 12, pace: 10 ms, fields: {n: {sequence: {}}}}}
operators:
  asked: {input: asks, async: {mode: ordered, latency: {uniform: {low: 1 ms, high: 9 ms}}, select: {n: n}}}
sinks:
  out: {input: asked, partition: rebalance, collect: {}}
actions: [{checkpoint: {at: 25 ms}}]
failures: [{fail_task: {task: out, at: 100 ms}}]
expect: {every_schedule: {rows: {out: 12}}}
""",
        "claim",
    ),
    Bug(
        "FLINK-24846",
        "#17796",
        "When completed elements are left as the mailbox closes, the mail that emits the next one fails the task.",
        replaced(AsyncWaitOperator, "_output_completed_element", _output_into_closed_mailbox),
        """\
settings:
  buffer_timeout: 0
  checkpointing: {interval: 1 h, min_pause: 1 h, async_duration: 5 ms}
  links: [{from: slow, to: out, latency: 10 ms}]
sources:
  asks: {script: {fields: {ms: int}, subtasks: [[{record: [106]}, {record: [118]}, {record: [9]}, {record: [9]}, {sleep: 1 h}]]}}
operators:
  asked: {input: asks, partition: rebalance, async: {mode: ordered, latency: {each: ms}, select: {ms: ms}}}
  slow: {input: asked, cost: {each: "10 if ms == 106 else 0"}, map: {select: {ms: ms}}}
sinks:
  out: {input: slow, partition: rebalance, collect: {}}
actions: [{stop: {at: 100 ms, savepoint: {}}}]
""",
        "failed",
        "runtime",
    ),
)

"""Bugs of watermarks, idleness and watermark alignment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flowsim.faults.catalogue import Fault
from flowsim.faults.historical.bug import Bug, Patch, replaced
from flowsim.network.writers.record_writer import RecordWriter
from flowsim.operators.sources.source import SourceOperator
from flowsim.operators.sources.source_alignment import SourceAlignment
from flowsim.operators.sources.split_local_outputs import SplitLocalOutputs
from flowsim.operators.timestamps_and_watermarks import TimestampsAndWatermarksOperator
from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.units import MAX_WATERMARK
from flowsim.watermark.combined_watermark_status import CombinedWatermarkStatus, IndexedCombinedWatermarkStatus
from flowsim.watermark.idleness import WatermarksWithIdleness
from flowsim.watermark.status_watermark_valve import StatusWatermarkValve


def _combine_without_maximum(self: CombinedWatermarkStatus) -> tuple[int, bool]:
    active = [partial.watermark for partial in self.partials if not partial.idle]
    return (min(active), False) if active else (self.combined_watermark, True)


def _become_active_without_alignment(self: StatusWatermarkValve, channel: int) -> None:
    self._idle[channel] = False
    self._active_count += 1
    if self.last_output_status is WatermarkStatus.IDLE:
        self.last_output_status = WatermarkStatus.ACTIVE
        self._output.emit_watermark_status(WatermarkStatus.ACTIVE)


def _only_several_splits_are_paused(patch: Patch) -> None:
    pause = SplitLocalOutputs.pause_or_resume_splits

    def pause_or_resume(
        self: SplitLocalOutputs, splits_to_pause: Sequence[str], splits_to_resume: Sequence[str]
    ) -> None:
        if len(self._splits) > 1:
            pause(self, splits_to_pause, splits_to_resume)

    patch.setattr(SplitLocalOutputs, "pause_or_resume_splits", pause_or_resume)


def _check_if_idle_since_first_record(self: WatermarksWithIdleness) -> bool:
    if self._inactive_since_ns == 0:
        self._inactive_since_ns = self._clock_ns()
        self._events_seen = self._events
        return False
    idle = self._clock_ns() - self._inactive_since_ns > self._timeout_ns
    if idle and self._events != self._events_seen:
        self._events_seen = self._events
        self._inactive_since_ns = 0
    return idle


def _nothing_combines_to_the_highest(patch: Patch) -> None:
    update = CombinedWatermarkStatus.update_combined_watermark

    def update_combined_watermark(self: CombinedWatermarkStatus) -> bool:
        if self.partials or self.combined_watermark == MAX_WATERMARK:
            return update(self)
        self.combined_watermark = MAX_WATERMARK
        return True

    patch.setattr(CombinedWatermarkStatus, "update_combined_watermark", update_combined_watermark)


def _sample_and_report_without_watermark(self: SourceAlignment) -> None:
    for sampler in self._splits.values():
        sampler.sample()
    self._latest.sample()
    self._check()
    self._check_splits()
    self._reported = self._to_report()
    self.report(self._reported)


def _forward_status(self: TimestampsAndWatermarksOperator, status: WatermarkStatus) -> None:
    self.output.emit_watermark_status(status)


def _status_of_each_record(patch: Patch) -> None:
    collect = RecordWriter.collect

    def collect_as_active(self: RecordWriter, value: Any, timestamp: int | None) -> None:
        is_idle = self._status is WatermarkStatus.IDLE
        if is_idle:
            self.emit_watermark_status(WatermarkStatus.ACTIVE)
        collect(self, value, timestamp)
        if is_idle:
            self.emit_watermark_status(WatermarkStatus.IDLE)

    patch.setattr(RecordWriter, "collect", collect_as_active)


def _sources_emit_before_their_snapshot(patch: Patch) -> None:
    snapshot = SourceOperator.snapshot_state

    def snapshot_state(self: SourceOperator, context: Any) -> None:
        self.poll_next()
        snapshot(self, context)

    patch.setattr(SourceOperator, "snapshot_state", snapshot_state)


BUGS_OF_EVENT_TIME = (
    Bug(
        "FLINK-7728",
        "#4747",
        "When the last active channel becomes idle, the valve does not emit the maximum of all channels.",
        Fault("idle_valve_not_flushed"),
        """\
sources:
  left: {script: {fields: {n: long}, subtasks: [[{watermark: 10}, {idle: true}]]}}
  right: {script: {fields: {n: long}, subtasks: [[{record: [1], timestamp: 5}, {watermark: 20}, {idle: true}]]}}
operators:
  counts: {input: [left, right], window: {tumbling: 10 ms}, aggregate: {n: count()}}
sinks:
  out: {input: counts, collect: {}}
""",
        "law valve",
        "order",
    ),
    Bug(
        "FLINK-38454",
        "#27066",
        "When all splits are idle, their source does not emit the maximum of their watermarks.",
        Fault("idle_splits_not_flushed"),
        """\
sources:
  topic:
    script:
      fields: {at_ms: long}
      subtasks:
        - [{record: [20], split: a}, {record: [10], split: b}, {idle: true, split: a}, {idle: true, split: b}]
    watermarks: {timestamp: at_ms, emit: every_record}
operators:
  counts: {input: topic, window: {tumbling: 10 ms}, aggregate: {n: count()}}
sinks:
  out: {input: counts, collect: {}}
""",
        "law task-watermark",
    ),
    Bug(
        "FLINK-40475",
        "#29024",
        "A channel that becomes active is not aligned again when it has caught up (the effect only).",
        replaced(StatusWatermarkValve, "_become_active", _become_active_without_alignment),
        """\
sources:
  left: {script: {fields: {n: long}, subtasks: [[{watermark: 10}, {idle: true}, {record: [1], timestamp: 15}]]}}
  right: {script: {fields: {n: long}, subtasks: [[{watermark: 5}, {watermark: 20}]]}}
operators:
  counts: {input: [left, right], window: {tumbling: 10 ms}, aggregate: {n: count()}}
sinks:
  out: {input: counts, collect: {}}
""",
        "law valve",
        "order",
    ),
    Bug(
        "FLINK-18934",
        "#15771",
        "An operator with two inputs ignores that one of them is idle.",
        replaced(IndexedCombinedWatermarkStatus, "update_status", lambda self, index, idle: False),
        """\
sources:
  left:
    script: {fields: {n: long}, subtasks: [[{record: [1], timestamp: 5}, {watermark: 20}, {sleep: 1 h}]]}
  right: {script: {fields: {n: long}, subtasks: [[{idle: true}, {sleep: 1 h}]]}}
operators:
  both: {input: left, connect: {to: right, map: [{select: {n: n}}, {select: {n: n}}]}}
  counts: {input: both, window: {tumbling: 10 ms}, aggregate: {n: count()}}
sinks:
  out: {input: counts, collect: {}}
actions: [{stop: {at: 1 s}}]
expect: {every_schedule: {rows: {out: 1}}}
""",
        "claim",
        is_cheap=True,
    ),
    Bug(
        "FLINK-35886",
        "#25167",
        "The idle timeout of a source goes on under back pressure.",
        Fault("idle_under_back_pressure"),
        """\
settings: {segment_size: 64 B, max_buffers_per_channel: 2, overdraft_buffers: 0, floating_buffers_per_gate: 1}
sources:
  busy:
    generator: {count: 60, fields: {at_ms: {event_time: {step: 10 ms}}}}
    watermarks: {timestamp: at_ms, idle_after: 300 ms}
operators:
  slow: {input: busy, partition: rebalance, cost: 50 ms, map: {select: {at_ms: at_ms}}}
sinks:
  out: {input: slow, collect: {}}
""",
        "law idle",
        "runtime",
    ),
    Bug(
        "FLINK-36751",
        "#25678",
        "The idle timeout of a subtask's only split goes on while alignment pauses the split.",
        _only_several_splits_are_paused,
        """\
sources:
  slow:
    generator: {count: 4, pace: 1 s, fields: {at_ms: {event_time: {step: 1 s}}}}
    watermarks: {timestamp: at_ms, alignment: {group: day, max_drift: 1 s, interval: 200 ms}}
  fast:
    script:
      fields: {at_ms: long}
      subtasks: [[{record: [0], split: a}, {record: [9000], split: a}, {sleep: 1 s}, {record: [9001], split: a}]]
    watermarks: {timestamp: at_ms, idle_after: 500 ms, alignment: {group: day, max_drift: 1 s, interval: 200 ms}}
operators:
  counts: {input: [slow, fast], window: {tumbling: 1 s}, aggregate: {n: count()}}
sinks:
  out: {input: counts, collect: {}}
""",
        "law idle",
        "runtime",
    ),
    Bug(
        "FLINK-34252",
        "#24211",
        "The idle timeout is measured from the first record instead of the last one (in Flink, in the table runtime only).",
        replaced(WatermarksWithIdleness, "_check_if_idle", _check_if_idle_since_first_record),
        """\
sources:
  ticks:
    generator: {count: 20, pace: 100 ms, fields: {at_ms: {event_time: {step: 100 ms}}}}
    watermarks: {timestamp: at_ms, idle_after: 300 ms}
operators:
  counts: {input: ticks, window: {tumbling: 500 ms}, aggregate: {n: count()}}
sinks:
  out: {input: counts, collect: {}}
""",
        "law idle",
        "runtime",
    ),
    Bug(
        "FLINK-8001",
        "#4967",
        "A subtask without a split emits the highest watermark.",
        _nothing_combines_to_the_highest,
        """\
sources:
  topic:
    partitioned_generator: {partitions: [{rate: 10}], fields: {n: {sequence: {}}}, timestamp_field: at_ms}
    parallelism: 2
    watermarks: {timestamp: at_ms}
operators:
  counts: {input: topic, window: {tumbling: 200 ms}, aggregate: {n: count()}}
sinks:
  out: {input: counts, collect: {}}
actions: [{stop: {at: 1 s}}]
expect: {every_schedule: {rows: {out: 0}}}
""",
        "claim",
        "runtime",
    ),
    Bug(
        "FLINK-2577",
        "#1060",
        "A source ends without its last watermark.",
        Fault("drain_without_max_watermark"),
        """\
sources:
  rows: {collection: {fields: {at_ms: long}, rows: [[5]]}, watermarks: {timestamp: at_ms}}
operators:
  counts: {input: rows, window: {tumbling: 10 ms}, aggregate: {n: count()}}
sinks:
  out: {input: counts, collect: {}}
""",
        "law end",
        is_cheap=True,
    ),
    Bug(
        "FLINK-32496",
        "#22925",
        "Other sources of a group wait for a source that has ended.",
        replaced(SourceAlignment, "finished", lambda self: None),
        """\
sources:
  short:
    script: {fields: {at_ms: long}, subtasks: [[{record: [0]}, {sleep: 300 ms}]]}
    watermarks: {timestamp: at_ms, alignment: {group: day, max_drift: 1 s, interval: 100 ms}}
  long:
    script: {fields: {at_ms: long}, subtasks: [[{record: [0]}, {record: [9000]}, {sleep: 1 s}, {record: [9001]}]]}
    watermarks: {timestamp: at_ms, alignment: {group: day, max_drift: 1 s, interval: 100 ms}}
sinks:
  out: {input: [short, long], collect: {}}
""",
        "deadlocked",
        "runtime",
    ),
    Bug(
        "FLINK-35157",
        "#24942",
        "Other sources of a group wait for a source that is idle.",
        replaced(SourceAlignment, "_to_report", lambda self: self._latest.latest),
        """\
sources:
  silent:
    script: {fields: {at_ms: long}, subtasks: [[{record: [0]}, {sleep: 1 h}]]}
    watermarks: {timestamp: at_ms, idle_after: 300 ms, alignment: {group: day, max_drift: 1 s, interval: 100 ms}}
  ahead:
    script: {fields: {at_ms: long}, subtasks: [[{record: [0]}, {record: [9000]}, {sleep: 1 s}, {record: [9001]}, {sleep: 1 h}]]}
    watermarks: {timestamp: at_ms, alignment: {group: day, max_drift: 1 s, interval: 100 ms}}
sinks:
  out: {input: [silent, ahead], collect: {}}
actions: [{stop: {at: 3 s}}]
expect: {every_schedule: {rows: {out: 4}}}
""",
        "claim",
        "runtime",
    ),
    Bug(
        "FLINK-32414",
        "by its title",
        "Other sources of a group wait for a source that has no watermark yet.",
        replaced(SourceAlignment, "sample_and_report", _sample_and_report_without_watermark),
        """\
sources:
  rows:
    script:
      fields: {at_ms: long}
      subtasks: [[{sleep: 1 h}], [{record: [0]}, {record: [9000]}, {sleep: 1 s}, {record: [9001]}, {sleep: 1 h}]]
    watermarks: {timestamp: at_ms, alignment: {group: day, max_drift: 1 s, interval: 100 ms}}
sinks:
  out: {input: rows, collect: {}}
actions: [{stop: {at: 3 s}}]
expect: {every_schedule: {rows: {out: 3}}}
""",
        "claim",
        "runtime",
    ),
    Bug(
        "FLINK-19109",
        "by its title",
        "The periodic timer of an operator behind a source never fires (the effect only: the source ran its timers itself).",
        replaced(TimestampsAndWatermarksOperator, "_schedule_periodic_emit", lambda self: None),
        """\
sources:
  rows: {generator: {count: 20, pace: 100 ms, fields: {at_ms: {event_time: {step: 100 ms}}}}}
operators:
  stamped: {input: rows, watermarks: {timestamp: at_ms}}
  counts: {input: stamped, window: {tumbling: 200 ms}, aggregate: {n: count()}}
sinks:
  out: {input: counts, collect: {}}
actions: [{stop: {at: 900 ms}}]
expect: {every_schedule: {rows: {out: 4}}}
""",
        "claim",
        "runtime",
    ),
    Bug(
        "FLINK-26708",
        "by its title",
        "An operator that generates watermarks forwards the idleness of its input.",
        replaced(TimestampsAndWatermarksOperator, "process_watermark_status", _forward_status),
        """\
sources:
  rows: {script: {fields: {at_ms: long}, subtasks: [[{record: [5]}, {idle: true}, {sleep: 1 s}]]}}
operators:
  stamped: {input: rows, watermarks: {timestamp: at_ms}}
  counts: {input: stamped, window: {tumbling: 5 ms}, aggregate: {n: count()}}
sinks:
  out: {input: counts, collect: {}}
""",
        "law idle",
    ),
    Bug(
        "FLINK-22881",
        "#16221",
        "An idle output becomes active for each record, and idle again behind it.",
        _status_of_each_record,
        """\
settings: {buffer_timeout: 0}
sources:
  rows:
    script: {fields: {at_ms: long}, subtasks: [[{record: [100]}, {idle: true}, {record: [50]}, {record: [51]}, {record: [52]}]]}
    watermarks: {timestamp: at_ms, emit: every_record}
sinks:
  out: {input: rows, partition: rebalance, collect: {}}
""",
        "law idle",
    ),
    Bug(
        "FLINK-2098",
        "by its title",
        "A source emits records between the barrier of a checkpoint and its snapshot.",
        _sources_emit_before_their_snapshot,
        """\
settings:
  buffer_timeout: 0
  budget_records: 1
  cost: 1 ms
  checkpointing: {interval: 1 h, min_pause: 1 h}
  restart_strategy: {fixed_delay: {}}
sources:
  rows: {generator: {count: 20, fields: {n: {sequence: {}}}}}
sinks:
  out: {input: rows, partition: rebalance, collect: {}}
actions: [{checkpoint: {at: 8 ms}}]
failures: [{fail_task: {task: out, at: 15 ms}}]
expect: {every_schedule: {rows: {out: 20}}}
""",
        "claim",
        "runtime",
    ),
)

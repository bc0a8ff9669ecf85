"""Bugs of timers and of session windows."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from flowsim.faults.catalogue import Fault
from flowsim.faults.historical.bug import Bug, replaced
from flowsim.operators.windowing.merging_window_set import MergingWindowSet
from flowsim.operators.windowing.merging_windows import MergingWindows
from flowsim.operators.windowing.windows import Window


def _add_late_records(self: MergingWindows, windows: Collection[Window], value: Any, timestamp: int | None) -> bool:
    operator = self._operator
    windows_of_key = MergingWindowSet(self._assigner, self)
    for window in windows:
        actual = windows_of_key.add_window(window, self._merge)
        operator.add_to_window(actual, windows_of_key.state_window(actual), value, timestamp)
    windows_of_key.persist()
    return False


def _add_and_keep_late_windows(
    self: MergingWindows, windows: Collection[Window], value: Any, timestamp: int | None
) -> bool:
    operator = self._operator
    windows_of_key = MergingWindowSet(self._assigner, self)
    all_late = True
    for window in windows:
        actual = windows_of_key.add_window(window, self._merge)
        if not operator.lifetime.is_window_late(actual, operator.timers.current_watermark):
            all_late = False
            operator.add_to_window(actual, windows_of_key.state_window(actual), value, timestamp)
    windows_of_key.persist()
    return all_late


BUGS_OF_TIMERS = (
    Bug(
        "FLINK-5713",
        "#3535",
        "A session that is late after its merge is kept among the windows of its key.",
        replaced(MergingWindows, "add", _add_and_keep_late_windows),
        """\
sources:
  rows:
    script:
      fields: {key: string}
      subtasks: [[{watermark: 14}, {record: [a], timestamp: 1}, {record: [a], timestamp: 5}, {record: [a], timestamp: 13}]]
operators:
  sessions: {input: rows, key_by: key, window: {session: 5 ms, late_output: late}, aggregate: {n: count()}}
sinks:
  out: {input: sessions, collect: {}}
  late: {input: sessions.late, collect: {}}
""",
        "failed",
    ),
    Bug(
        "FLINK-4134",
        "#2196",
        "A late record makes a session, which fires and is never cleaned up.",
        replaced(MergingWindows, "add", _add_late_records),
        """\
sources:
  left: {script: {fields: {key: string}, subtasks: [[{record: [a], timestamp: 10}, {watermark: 30}]]}}
  right: {script: {fields: {key: string}, subtasks: [[{idle: true}, {record: [a], timestamp: 1}]]}}
operators:
  sessions: {input: [right, left], key_by: key, window: {session: 5 ms}, aggregate: {n: count()}}
sinks:
  out: {input: sessions, collect: {}}
""",
        "law late-rows",
    ),
    Bug(
        "FLINK-4651",
        "#2602",
        "Restored processing-time timers are not registered: they fire when another timer is registered.",
        Fault("timers_not_armed_at_restore"),
        """\
settings:
  buffer_timeout: 0
  checkpointing: {interval: 1 h, min_pause: 1 h}
  restart_strategy: {fixed_delay: {delay: 10 ms}}
sources:
  rows: {script: {fields: {key: string}, subtasks: [[{record: [a]}, {sleep: 1 s}]]}}
operators:
  alarms: {input: rows, key_by: key, alarm: {after: 300 ms, time: processing, emit: {key: key}}}
sinks:
  out: {input: alarms, collect: {}}
actions: [{checkpoint: {at: 100 ms}}]
failures: [{fail_task: {task: alarms, at: 200 ms}}]
expect: {every_schedule: {rows: {out: 1}}}
""",
        "law restored-timers",
        "runtime",
    ),
    Bug(
        "FLINK-19300",
        "by its title",
        "A timer is lost at a restore.",
        Fault("timer_lost_at_restore"),
        """\
settings:
  buffer_timeout: 0
  checkpointing: {interval: 1 h, min_pause: 1 h}
  restart_strategy: {fixed_delay: {delay: 10 ms}}
sources:
  rows: {script: {fields: {key: string}, subtasks: [[{record: [a], timestamp: 5}, {sleep: 1 s}, {watermark: 20}]]}}
operators:
  alarms: {input: rows, key_by: key, alarm: {after: 10 ms, emit: {key: key}}}
sinks:
  out: {input: alarms, collect: {}}
actions: [{checkpoint: {at: 100 ms}}]
failures: [{fail_task: {task: alarms, at: 200 ms}}]
expect: {every_schedule: {rows: {out: 1}}}
""",
        "law restored-timers",
        "runtime",
    ),
    Bug(
        "FLINK-26063",
        "#19096",
        "A timer fires under the key of another one.",
        Fault("timer_under_wrong_key"),
        """\
sources:
  rows:
    script:
      fields: {key: string}
      subtasks: [[{record: [a], timestamp: 5}, {record: [b], timestamp: 6}, {watermark: 30}]]
operators:
  alarms: {input: rows, key_by: key, alarm: {after: 10 ms, emit: {key: key}}}
sinks:
  out: {input: alarms, collect: {}}
""",
        "law timers",
        is_cheap=True,
    ),
)

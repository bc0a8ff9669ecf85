"""On the real Flink as here: what happens at one instant, at the end of an operator's input, and over phases."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.conform.conformer import FlinkRunner
from flowsim.testing import DrawnScenario
from tests.support.conform.drawn_comparison import conform, differences

ORDERS = """\
    key_by: k
    process:
      python: flowsim.testing.functions:Orders
      fields: {what: string, key: string, record: string, timestamp: long, watermark: long, state: string}
"""

TIMER_OF_THE_PAST = f"""\
flowsim: 1
name: timer-of-the-past
settings: {{cost: 0, buffer_timeout: 0, operator_chaining: false}}
sources:
  s:
    script:
      fields: {{id: long, k: string, orders: string}}
      gap: 97 ms
      subtasks:
        - - {{record: [0, a, processing 1200], timestamp: 1, step: 2}}
          - {{watermark: 1, step: 3}}
          - {{record: [1, a, ""], timestamp: 5, step: 8}}
operators:
  ordered:
    input: s
{ORDERS}sinks:
  out: {{input: ordered, collect: {{}}}}
pauses: [{{task: s, subtask: 0, from: 250 ms, to: 650 ms}}]
"""
"""The record comes so late that its timer is due already, and a watermark follows at once (rule 9.10)."""

TIMER_OF_THE_PAST_RESTORED = f"""\
flowsim: 1
name: timer-of-the-past-restored
settings:
  {{cost: 0, buffer_timeout: 0, checkpointing: {{interval: 1 h}}, restart_strategy: {{fixed_delay: {{attempts: 1, delay: 0}}}}}}
sources:
  s:
    script:
      fields: {{id: long, k: string, orders: string}}
      gap: 97 ms
      subtasks:
        - - {{record: [0, a, processing 1200], timestamp: 1, step: 0}}
          - {{end: true, step: 1}}
  long:
    script:
      fields: {{id: long, k: string, orders: string}}
      gap: 97 ms
      subtasks:
        - - {{end: true, step: 8}}
operators:
  ordered:
    input: s
{ORDERS}sinks:
  out: {{input: ordered, collect: {{}}}}
  other: {{input: long, collect: {{}}}}
failures: [{{fail_task: {{task: ordered, subtask: 0, in_notification: 1}}}}]
"""
"""The function ends before its timer is due, and is restored with it from the last checkpoint after it was due (rule 3.27)."""

WINDOW_AFTER_THE_END = """\
flowsim: 1
name: window-after-the-end
settings: {cost: 0, buffer_timeout: 0, checkpointing: {interval: 1 h}}
sources:
  s:
    script:
      fields: {id: long, k: string}
      gap: 97 ms
      subtasks:
        - - {record: [0, a], timestamp: 1, step: 0}
          - {record: [1, a], timestamp: 2, step: 4}
          - {end: true, step: 5}
  long:
    script:
      fields: {id: long, k: string}
      gap: 97 ms
      subtasks:
        - - {end: true, step: 12}
operators:
  counted:
    input: s
    key_by: [k]
    window: {tumbling: 700 ms, time: processing}
    aggregate: {n: count()}
sinks:
  out: {input: counted, collect: {}}
  other: {input: long, collect: {}}
"""
"""The operator waits for the last checkpoint of the job when its second window would end: its timers have stopped (rule 4.12)."""

TWO_FAILURES_AT_ONCE = """\
flowsim: 1
name: two-failures-at-once
settings: {cost: 0, buffer_timeout: 0, restart_strategy: {fixed_delay: {attempts: 3, delay: 0}}}
sources:
  s:
    script:
      fields: {id: long, k: string}
      gap: 97 ms
      subtasks:
        - - {record: [0, a], timestamp: 1, step: 0}
          - {record: [1, a], timestamp: 2, step: 4}
operators:
  mapped: {input: s, parallelism: 2, partition: rebalance, map: {add: {n: id + 1}}}
sinks:
  out: {input: mapped, collect: {}}
failures:
  - {fail_task: {task: mapped, subtask: 0, at: 159 ms}}
  - {fail_task: {task: mapped, subtask: 1, at: 159 ms, attempt: 1}}
  - {fail_task: {task: mapped, subtask: 1, at: 256 ms, attempt: 1}}
"""
"""The second one is for an attempt that has not begun, and has no effect."""

FAILURE_IN_A_PAUSE = """\
flowsim: 1
name: failure-in-a-pause
settings:
  {cost: 0, buffer_timeout: 0, checkpointing: {interval: 1 h}, restart_strategy: {fixed_delay: {attempts: 3, delay: 0}}}
sources:
  s:
    script:
      fields: {id: long, k: string}
      gap: 97 ms
      subtasks:
        - - {record: [0, a], timestamp: 1, step: 0}
          - {record: [1, a], timestamp: 2, step: 4}
          - {record: [2, a], timestamp: 3, step: 9}
          - {record: [3, a], timestamp: 4, step: 10}
operators:
  mapped: {input: s, parallelism: 1, chaining: never, map: {add: {n: id + 1}}}
sinks:
  out: {input: mapped, collect: {}}
actions: [{checkpoint: {at: 1200 ms}}]
failures: [{fail_task: {task: s, subtask: 0, at_record: 1}}]
pauses: [{task: s, subtask: 0, from: 250 ms, to: 650 ms}]
"""
"""The pause comes before the failure, so that the checkpoint is taken before the third record."""

PHASES_OF_A_DYNAMIC_SOURCE = """\
flowsim: 1
name: phases-of-a-dynamic-source
settings: {cost: 0, buffer_timeout: 0, checkpointing: {interval: 1 h}}
sources:
  s:
    script:
      fields: {id: long, k: string}
      gap: 97 ms
      assignment: dynamic
      subtasks:
        - - {record: [0, a], timestamp: 1, step: 0}
          - {record: [1, a], timestamp: 2, step: 8}
          - {record: [2, a], timestamp: 3, step: 12}
          - {end: true, step: 13}
operators:
  mapped: {input: s, map: {add: {n: id + 1}}}
sinks:
  out: {input: mapped, collect: {}}
actions: [{stop: {at: 930 ms, savepoint: {directory: savepoints}}}]
phases: [{}]
"""
"""The second phase is shorter than the first one, at whose end the source goes on."""


STOP_OF_A_FULL_OPERATOR = """\
flowsim: 1
name: stop-of-a-full-operator
settings: {cost: 0, buffer_timeout: 0, checkpointing: {interval: 1 h}}
sources:
  s:
    script:
      fields: {id: long, k: string}
      gap: 97 ms
      subtasks:
        - - {record: [0, a], timestamp: 1, step: 0}
          - {record: [1, a], timestamp: 2, step: 1}
          - {record: [2, a], timestamp: 3, step: 2}
    watermarks: {timestamp: timestamp, emit: periodic}
operators:
  asked: {input: s, async: {mode: unordered, latency: {each: "400 + id * 10"}, timeout: 5 s, capacity: 2, add: {n: id}}}
sinks:
  out: {input: asked, collect: {}}
actions: [{savepoint: {at: 300 ms}}, {stop: {at: 350 ms, savepoint: {directory: savepoints}}}]
phases: [{}]
"""
"""The task waits for a place in its queue when both savepoints are requested, and ends before the next answer."""


STOP_THAT_FAILS = """\
flowsim: 1
name: stop-that-fails
settings: {cost: 0, buffer_timeout: 0, checkpointing: {interval: 1 h, min_pause: 1 h}}
sources:
  s:
    script:
      fields: {id: long, k: string}
      gap: 97 ms
      subtasks:
        - - {record: [0, a], timestamp: 1, step: 0}
          - {record: [1, a], timestamp: 2, step: 20}
operators:
  mapped: {input: s, map: {add: {n: id + 1}}}
sinks:
  out: {input: mapped, collect: {}}
actions: [{stop: {at: 350 ms, savepoint: {directory: savepoints}}}]
failures: [{fail_task: {task: out, subtask: 0, in_notification: 1}}]
"""
"""The savepoint is complete when a task fails: the job fails, and no task is its cause."""

SAVEPOINT_IN_A_PAUSE = """\
flowsim: 1
name: savepoint-in-a-pause
settings: {cost: 0, buffer_timeout: 0, checkpointing: {interval: 1 h}}
sources:
  s:
    script:
      fields: {id: long, k: string}
      gap: 97 ms
      subtasks:
        - - {record: [0, a], timestamp: 1, step: 0}
          - {record: [1, a], timestamp: 2, step: 4}
          - {record: [2, a], timestamp: 3, step: 5}
          - {end: true, step: 6}
operators:
  mapped: {input: s, chaining: never, map: {add: {n: id + 1}}}
sinks:
  out: {input: mapped, collect: {}}
actions: [{savepoint: {at: 500 ms, directory: savepoints}}]
pauses: [{task: s, subtask: 0, from: 450 ms, to: 800 ms}]
"""
"""The third record is due in the pause, and comes behind the savepoint that waits for its end."""

PHASE_AFTER_THE_END_OF_A_CHAIN = """\
flowsim: 1
name: phase-after-the-end-of-a-chain
settings: {cost: 0, buffer_timeout: 0, checkpointing: {interval: 1 h}}
sources:
  s:
    script:
      fields: {id: long, k: string}
      gap: 97 ms
      subtasks:
        - - {record: [0, a], timestamp: 1, step: 0}
          - {end: true, step: 1}
  long:
    script:
      fields: {id: long, k: string}
      gap: 97 ms
      subtasks:
        - - {record: [1, a], timestamp: 2, step: 4}
          - {record: [2, a], timestamp: 3, step: 12}
          - {end: true, step: 13}
operators:
  mapped: {input: s, map: {add: {n: id + 1}}}
sinks:
  out: {input: mapped, collect: {}, parallelism: 1}
  other: {input: long, collect: {}, parallelism: 1}
actions:
  - {checkpoint: {at: 400 ms}}
  - {savepoint: {at: 700 ms, directory: savepoints}}
  - {cancel: {at: 710 ms}}
phases: [{}]
"""
"""The second phase starts with a source function and its chain that have finished."""


SOURCE_WITHOUT_BUFFERS = """\
flowsim: 1
name: source-without-buffers
settings:
  cost: 0
  buffer_timeout: 0
  auto_watermark_interval: 0
  exclusive_buffers_per_channel: 0
  floating_buffers_per_gate: 2
  checkpointing: {interval: 1 h}
sources:
  s:
    script:
      fields: {id: long, k: string}
      gap: 97 ms
      subtasks:
        - - {record: [0, a], timestamp: 1, step: 0}
          - {record: [1, a], timestamp: 2, step: 1}
          - {record: [2, a], timestamp: 3, step: 4}
          - {record: [3, a], timestamp: 4, step: 6}
          - {end: true, step: 40}
    watermarks: {timestamp: timestamp, emit: periodic}
operators:
  asked: {input: s, chaining: never, async: {mode: ordered, latency: 800 ms, timeout: 5 s, capacity: 1, add: {n: id}}}
  counted: {input: s, key_by: [k], window: {tumbling: 100 ms, time: processing}, aggregate: {n: count()}}
sinks:
  answers: {input: asked, collect: {}}
  out: {input: counted, collect: {}}
actions: [{checkpoint: {at: 250 ms}}]
"""
"""A barrier ends the first buffer, and the second one is the last that the source has while the operator waits."""

STOP_OF_A_SOURCE_FUNCTION = """\
flowsim: 1
name: stop-of-a-source-function
settings: {cost: 0, buffer_timeout: 0, checkpointing: {interval: 1 h}}
sources:
  s:
    legacy: true
    script:
      fields: {id: long, k: string}
      gap: 97 ms
      subtasks:
        - - {record: [0, a], timestamp: 1, step: 0}
          - {record: [1, a], timestamp: 2, step: 8}
operators:
  counted: {input: s, key_by: [k], window: {tumbling: 500 ms, time: processing}, aggregate: {n: count()}}
sinks:
  out: {input: counted, collect: {}}
actions: [{stop: {at: 350 ms, savepoint: {directory: savepoints}}}]
"""
"""The function returns when it is stopped, not with its next record: no window ends before the savepoint."""


@pytest.mark.parametrize(
    ("scenario", "records"),
    [
        (TIMER_OF_THE_PAST, [4]),
        (TIMER_OF_THE_PAST_RESTORED, [1, 2]),
        (WINDOW_AFTER_THE_END, [1]),
        (TWO_FAILURES_AT_ONCE, [1, 0, 2]),
        (FAILURE_IN_A_PAUSE, [1, 4]),
        (PHASES_OF_A_DYNAMIC_SOURCE, [2, 1]),
        (STOP_OF_A_FULL_OPERATOR, [2, 1]),
        (STOP_THAT_FAILS, [1]),
        (SAVEPOINT_IN_A_PAUSE, [3]),
        (PHASE_AFTER_THE_END_OF_A_CHAIN, [1]),
        (SOURCE_WITHOUT_BUFFERS, [4]),
        (STOP_OF_A_SOURCE_FUNCTION, []),
    ],
    ids=[
        "timer",
        "restored timer",
        "window",
        "failures",
        "pause",
        "phases",
        "stop",
        "failed stop",
        "savepoint",
        "end",
        "buffers",
        "stopped function",
    ],
)
def test_instants_are_as_on_flink(scenario: str, records: list[int], flink_runner: FlinkRunner, tmp_path: Path) -> None:
    found = conform(flink_runner, DrawnScenario.of(scenario), tmp_path, repeats=False)
    assert found.agrees, differences(found)
    assert not found.is_open
    places = [place for phase in found.phases for place in phase.places if place.place == "Sink: out/0"]
    assert [place.records for place in places] == records

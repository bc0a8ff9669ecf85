"""On the real Flink as here: what depends on the clock alone, as timeouts of alignments, periodic emission, and pauses."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.conform.conformer import FlinkRunner
from flowsim.testing import DrawnScenario
from tests.support.conform.drawn_comparison import conform, differences

FAILURE_WHILE_A_SOURCE_PAUSES = """\
flowsim: 1
name: failure-while-a-source-pauses
settings:
  cost: 0
  buffer_timeout: 0
  operator_chaining: false
  checkpointing: {interval: 1 h, min_pause: 1 h}
  restart_strategy: {fixed_delay: {attempts: 3, delay: 0}}
sources:
  s:
    script:
      fields: {id: long, k: string}
      gap: 97 ms
      assignment: dynamic
      subtasks:
        - - {record: [0, a], timestamp: 1, step: 0}
          - {record: [1, a], timestamp: 2, step: 2}
          - {record: [2, a], timestamp: 3, step: 3}
          - {end: true, step: 4}
operators:
  slow: {input: s, async: {mode: unordered, latency: {each: "400 - id * 100"}, timeout: 5 s, add: {n: id}}}
sinks:
  out: {input: slow, collect: {}}
failures: [{fail_task: {task: out, subtask: 0, at: 450 ms}}]
pauses: [{task: s, subtask: 0, from: 250 ms, to: 850 ms}]
"""
"""The first attempt reads the third record when the pause ends, the second one when it is due."""

IDLE_BEHIND_A_FULL_OPERATOR = """\
flowsim: 1
name: idle-behind-a-full-operator
settings: {cost: 0, buffer_timeout: 0, auto_watermark_interval: 100 ms}
sources:
  s:
    script:
      fields: {id: long}
      gap: 97 ms
      subtasks:
        - - {record: [0], timestamp: 10, split: a, step: 0}
          - {record: [1], timestamp: 10, split: a, step: 1}
          - {record: [2], timestamp: 20, split: b, step: 2}
          - {record: [3], timestamp: 30, split: b, step: 3}
          - {record: [4], timestamp: 40, split: a, step: 4}
          - {end: true, step: 5}
    watermarks: {timestamp: timestamp, emit: periodic, idle_after: 150 ms}
operators:
  asked: {input: s, async: {mode: unordered, latency: {each: "600 + id * 0.001"}, timeout: 5 s, capacity: 1, add: {n: id}}}
sinks:
  out: {input: asked, collect: {}}
"""
"""Periodic emission comes behind a record for each interval that the task has waited: a split is idle in time (rule 8.4)."""

TIMER_AT_THE_END_OF_A_PAUSE = """\
flowsim: 1
name: timer-at-the-end-of-a-pause
settings: {cost: 0, buffer_timeout: 0, auto_watermark_interval: 100 ms}
sources:
  s:
    script:
      fields: {id: long}
      gap: 97 ms
      subtasks:
        - - {record: [0], timestamp: 10, split: a, step: 0}
          - {record: [1], timestamp: 20, split: a, step: 1}
          - {record: [2], timestamp: 30, split: a, step: 2}
          - {record: [3], timestamp: 40, split: a, step: 4}
          - {end: true, step: 6}
    watermarks: {timestamp: timestamp, emit: periodic}
operators:
  direct: {input: s, map: {add: {n: id}}}
  apart: {input: s, partition: rebalance, parallelism: 1, map: {add: {n: id}}}
sinks:
  out: {input: direct, collect: {}}
  other: {input: apart, collect: {}}
pauses: [{task: direct, subtask: 0, from: 150 ms, to: 400 ms}]
"""
"""The second record has left for another task before its chain pauses; four watermarks are due before the third record."""
ALIGNMENT = """\
flowsim: 1
name: alignment
settings:
  cost: 0
  buffer_timeout: 0
  operator_chaining: false
  exclusive_buffers_per_channel: 4
  checkpointing: {{interval: 1 h, unaligned: true, aligned_timeout: {timeout}}}
sources:
  s:
    script:
      fields: {{id: long, k: string}}
      gap: 97 ms
      subtasks:
        - - {{record: [0, a], timestamp: 1, step: 3}}
          - {{record: [1, a], timestamp: 2, step: 4}}
          - {{record: [2, a], timestamp: 3, step: 5}}
          - {{end: true, step: 12}}
        - - {{end: true, step: 13}}
operators:
  mapped: {{input: s, map: {{add: {{id: id + 1}}}}, partition: rebalance, parallelism: 1}}
sinks:
  out: {{input: mapped, collect: {{}}, parallelism: 1}}
actions: [{{checkpoint: {{at: 600 ms}}}}]
pauses: [{{task: {paused}, subtask: 0, from: 450 ms, to: 1500 ms}}]
"""
INPUT_IS_ALIGNED, INPUT_IS_UNALIGNED = (
    ALIGNMENT.format(timeout=timeout, paused="s") for timeout in ("950 ms", "850 ms")
)
"""The barrier of a paused source comes 900 ms behind that of the other one (rules 12.73 and 12.76)."""
OUTPUT_IS_ALIGNED, OUTPUT_IS_UNALIGNED = (
    ALIGNMENT.format(timeout=timeout, paused="mapped") for timeout in ("950 ms", "850 ms")
)
"""A barrier waits for 900 ms in the queue before a paused task (rule 12.90)."""


OUTPUT_IS_READ_WHEN_IT_TIMES_OUT = ALIGNMENT.format(timeout="900 ms", paused="mapped")
"""The timer of the alignment fires 1 ms after the timeout (rule 9.10)."""

FAILURE_OF_A_PAUSED_TASK = """\
flowsim: 1
name: failure-of-a-paused-task
settings:
  cost: 0
  buffer_timeout: 0
  checkpointing: {interval: 1 h, min_pause: 1 h}
  restart_strategy: {fixed_delay: {attempts: 3, delay: 0}}
sources:
  paused:
    script:
      fields: {id: long}
      gap: 100 ms
      subtasks: [[{record: [0], step: 0}, {record: [1], step: 2}, {record: [2], step: 3}]]
  other:
    script:
      fields: {id: long}
      gap: 97 ms
      subtasks: [[{record: [10], step: 1}, {record: [11], step: 4}, {record: [12], step: 5}, {record: [13], step: 9}]]
operators:
  both: {input: [paused, other], parallelism: 1, map: {add: {id: id + 1}}}
sinks:
  out: {input: both, collect: {}, parallelism: 1}
failures: [{fail_task: {task: paused, subtask: 0, at: 450 ms}}]
pauses: [{task: paused, subtask: 0, from: 250 ms, to: 850 ms}]
"""
"""It ends the pause: the records of the other source come to the second attempts."""

PAUSE_OF_AN_IDLE_SOURCE_FUNCTION = """\
flowsim: 1
name: pause-of-an-idle-source-function
settings: {cost: 0, buffer_timeout: 0}
sources:
  s:
    legacy: true
    script:
      fields: {id: long}
      gap: 97 ms
      subtasks: [[{idle: true, step: 3}, {record: [4], timestamp: 17, step: 4}], [{idle: true, step: 9}]]
operators:
  mapped: {input: s, parallelism: 1, map: {add: {id: id + 1}}}
sinks:
  out: {input: mapped, collect: {}}
pauses: [{task: s, subtask: 0, from: 311 ms, to: 1331 ms}]
"""
"""It is idle until the end of the pause."""


@pytest.mark.parametrize(
    "scenario",
    [
        FAILURE_WHILE_A_SOURCE_PAUSES,
        FAILURE_OF_A_PAUSED_TASK,
        PAUSE_OF_AN_IDLE_SOURCE_FUNCTION,
        IDLE_BEHIND_A_FULL_OPERATOR,
        TIMER_AT_THE_END_OF_A_PAUSE,
    ],
    ids=["pause of an attempt", "failure in a pause", "idleness before a pause", "idle", "timers in a pause"],
)
def test_clocks_are_as_on_flink(scenario: str, flink_runner: FlinkRunner, tmp_path: Path) -> None:
    found = conform(flink_runner, DrawnScenario.of(scenario), tmp_path, repeats=False)
    assert found.agrees, differences(found)
    assert not found.is_open


@pytest.mark.parametrize(
    ("scenario", "commits"),
    [
        (INPUT_IS_ALIGNED, ('[[1,"a"],[2,"a"]]', '[[3,"a"]]')),
        (INPUT_IS_UNALIGNED, ('[[1,"a"]]', '[[2,"a"],[3,"a"]]')),
        (OUTPUT_IS_ALIGNED, ('[[1,"a"],[2,"a"],[3,"a"]]',)),
        (OUTPUT_IS_UNALIGNED, ('[[1,"a"],[2,"a"]]', '[[3,"a"]]')),
        (OUTPUT_IS_READ_WHEN_IT_TIMES_OUT, ('[[1,"a"],[2,"a"],[3,"a"]]',)),
    ],
    ids=["input aligned", "input unaligned", "output aligned", "output unaligned", "output read in time"],
)
def test_alignments_time_out_by_the_clock_of_the_job(
    scenario: str, commits: tuple[str, ...], flink_runner: FlinkRunner, tmp_path: Path
) -> None:
    found = conform(flink_runner, DrawnScenario.of(scenario), tmp_path, repeats=False)
    assert found.agrees, differences(found)
    ((run,),) = found.flink
    assert run.commits == {"Sink: out": commits}

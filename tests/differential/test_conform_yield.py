"""On the real Flink, an async operator that waits for space runs no mail of the operators before it (rules 3.21, 11.1)."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.conform.conformer import FlinkRunner
from flowsim.testing import DrawnScenario
from tests.support.conform.drawn_comparison import conform, differences

TIMERS_WAIT = """\
flowsim: 1
name: timers-wait
settings: {cost: 0, buffer_timeout: 0}
sources:
  s:
    script:
      fields: {id: long, k: string, orders: string}
      gap: 97 ms
      subtasks:
        - - {record: [0, a, processing 1260; processing 1375], timestamp: 1, step: 0}
          - {record: [1, a, event 4; processing 1530], timestamp: 3, step: 1}
          - {record: [2, b, ""], timestamp: 6, step: 2}
          - {watermark: 4, step: 3}
          - {record: [3, b, event 7], timestamp: 8, step: 4}
          - {record: [4, a, ""], timestamp: 9, step: 5}
          - {watermark: 13, step: 6}
operators:
  ordered:
    input: s
    key_by: k
    process:
      python: flowsim.testing.functions:Orders
      fields: {what: string, key: string, record: string, timestamp: long, watermark: long, state: string}
  asked:
    input: ordered
    async: {mode: ordered, capacity: 1, latency: {each: 210 + len(what) * 3}, add: {n: len(what)}}
sinks:
  out: {input: asked, collect: {}}
"""
"""Timers of the function before are due while a record waits for space."""

ANSWERS_WAIT = """\
flowsim: 1
name: answers-wait
settings: {cost: 0, buffer_timeout: 0}
sources:
  s:
    script:
      fields: {id: long, k: string}
      gap: 97 ms
      subtasks:
        - - {record: [0, a], timestamp: 1, step: 0}
          - {record: [1, a], timestamp: 3, step: 1}
          - {watermark: 2, step: 2}
          - {record: [2, b], timestamp: 6, step: 3}
          - {record: [3, b], timestamp: 8, step: 4}
          - {watermark: 7, step: 5}
          - {record: [4, a], timestamp: 9, step: 6}
operators:
  first:
    input: s
    async: {mode: ordered, capacity: 20, latency: {each: 170 - id * 31}, add: {n: id * 2}}
  second:
    input: first
    async: {mode: ordered, capacity: 1, latency: {each: 251 + n * 3}, add: {m: n + 1}}
sinks:
  out: {input: second, collect: {}}
"""
"""Calls of the first operator complete while the second one waits for space."""


@pytest.mark.parametrize("scenario", [TIMERS_WAIT, ANSWERS_WAIT], ids=["timers", "answers"])
def test_mails_of_upstream_operators_wait_as_on_flink(scenario: str, flink_runner: FlinkRunner, tmp_path: Path) -> None:
    found = conform(flink_runner, DrawnScenario.of(scenario), tmp_path, repeats=False)
    assert found.agrees, differences(found)
    assert not found.is_open

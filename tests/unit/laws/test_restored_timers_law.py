"""Law restored-timers in jobs whose event time does not end."""

from __future__ import annotations

import pytest

from flowsim.laws.law import Verdict
from flowsim.testing import DrawnScenario, run_job

SCENARIO = """\
flowsim: 1
name: idle-at-its-end
settings:
  checkpointing: {interval: 40 s}
  restart_strategy: {fixed_delay: {attempts: 1, delay: 0}}
sources:
  s0:
    script:
      fields: {k: string, n: long}
      gap: 97 ms
      subtasks:
        - - {record: [a, 1], timestamp: 5, step: 0}
          - {record: [b, 2], timestamp: 6, step: 3}
          - {idle: true, step: 4}
          - {end: true, step: 5}
operators:
  o0: {input: s0, key_by: k, window: {tumbling: 10 ms}, aggregate: {n: sum(n)}}
sinks:
  out0: {input: o0, collect: {}}
ACTIONS
failures: [{fail_task: {task: o0, at: 250 ms}}]
"""


@pytest.mark.parametrize("actions", ["", "actions: [{checkpoint: {at: 150 ms}}]"])
def test_timers_may_wait_if_event_time_does_not_end(actions: str) -> None:
    run = run_job(DrawnScenario.of(SCENARIO.replace("ACTIONS", actions)))
    (outcome,) = (each for each in run.outcomes if each.law == "restored-timers")
    assert run.values("Sink: out0") == []
    assert outcome.verdict is not Verdict.VIOLATED
    assert outcome.rows_examined > 0 or not actions

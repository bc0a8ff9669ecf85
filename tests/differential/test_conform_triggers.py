"""Triggers in Python on the real Flink: one of the user, and ``any_of``, which Flink does not have."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from flowsim.conform.conformer import FlinkRunner
from flowsim.testing import DrawnScenario
from tests.support.conform.drawn_comparison import conform, differences

OWN: Final = "{python: 'flowsim.testing.functions:OrderedTrigger'}"
SCENARIO: Final = """\
flowsim: 1
name: triggers
settings: {{cost: 0, buffer_timeout: 0}}
sources:
  s:
    script:
      fields: {{id: long, k: string, orders: string}}
      gap: 97 ms
      subtasks:
        - - {{record: [0, a, fire], timestamp: 1}}
          - {{record: [1, b, ""], timestamp: 3}}
          - {{record: [2, a, event 9], timestamp: 6}}
          - {{watermark: 4}}
          - {{record: [3, b, purge], timestamp: 8}}
          - {{record: [4, a, event 14], timestamp: 12}}
          - {{record: [5, b, fire; purge], timestamp: 15}}
          - {{watermark: 13}}
          - {{record: [6, a, ""], timestamp: 9}}
          - {{record: [7, b, ""], timestamp: 19}}
          - {{record: [8, b, fire], timestamp: 21}}
operators:
  windows: {{input: s, key_by: k, window: {{{window}}}, aggregate: {{n: count(), last: max(id)}}}}
sinks:
  out: {{input: windows, collect: {{}}}}
"""


@pytest.mark.parametrize(
    ("window", "firings"),
    [
        (f"session: 5 ms, trigger: {OWN}", 7),
        ("session: 5 ms, trigger: {any_of: [{count: 2}, event_time]}", 8),
        (f"tumbling: 10 ms, trigger: {{purging: {OWN}}}", 6),
        ("sliding: {size: 10 ms, slide: 5 ms}, allowed_lateness: 5 ms, trigger: {any_of: [{count: 2}, event_time]}", 16),
        ("global_window: true, trigger: {any_of: [{count: 3}, {timeout: {of: {count: 2}, after: 250 ms}}]}", 6),
    ],
)  # fmt: skip
def test_trigger_in_python_conforms(window: str, firings: int, flink_runner: FlinkRunner, tmp_path: Path) -> None:
    found = conform(flink_runner, DrawnScenario.of(SCENARIO.format(window=window)), tmp_path)
    assert found.agrees, differences(found)
    (sink,) = (place for place in found.phases[0].places if place.place == "Sink: out/0")
    assert sink.records == firings

"""A small job with hand-computed times: five records, each with the latency of its call, behind a source."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from flowsim.studies.run import StudyPlan

SCENARIO = """\
flowsim: 1
name: asked
settings: {seed: 1, auto_watermark_interval: 0}
sources:
  questions:
    collection:
      fields: {at_ms: long, takes_ms: long}
      rows: [[0, 30], [10, 10], [20, 10], [5, 10], [40, 10]]
    cost: 0
    watermarks: {timestamp: at_ms, emit: every_record}
operators:
  ask:
    input: questions
    cost: 0
    async: {mode: ordered, capacity: 4, latency: {each: takes_ms}, add: {answer: takes_ms + 1}}
  counted:
    input: ask
    key_by: takes_ms % 1
    cost: 0
    window: {tumbling: 10 ms}
    aggregate: {n: count()}
sinks:
  kept: {input: counted, jsonl: {}}
"""

WritePlan = Callable[..., StudyPlan]


@pytest.fixture
def plan(tmp_path: Path) -> WritePlan:
    """The scenario in a file, with texts replaced, as the plan of a study."""

    def write(*changes: tuple[str, str], **options: object) -> StudyPlan:
        text = SCENARIO
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "asked.yaml").write_text(text)
        return StudyPlan(tmp_path / "asked.yaml", **options)  # type: ignore[arg-type]

    return write

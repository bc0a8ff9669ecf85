"""The channel view says how long data waits without credit: until the next credit, or the end of the sender's attempt."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.facts.kinds import LifeEvent
from flowsim.facts.schema import TABLES
from flowsim.history.run_span import start_of
from flowsim.recording.merged_facts import Selection, merged_facts
from flowsim.trace.time import moment_text
from tests.report.conftest import OpenReport
from tests.report.test_watermark_labels import recorded

pytestmark = [pytest.mark.browser, pytest.mark.slow]

FAILS = """
flowsim: 1
name: fails
settings:
  record: full
  segment_size: 64 B
  restart_strategy: {fixed_delay: {delay: 5 ms, attempts: 1}}
sources:
  numbers: {generator: {count: 300, pace: 100 us, fields: {n: {sequence: {}}}}}
operators:
  slow: {input: numbers, partition: rebalance, parallelism: 1, map: {add: {twice: n * 2}}, cost: 2 ms}
sinks:
  out: {input: slow, collect: {}}
failures:
  - fail_task: {task: slow, at: 40 ms}
"""


def test_note_names_the_next_credit_or_the_end_of_the_attempt(open_report: OpenReport, tmp_path: Path) -> None:
    recording = recorded(FAILS, tmp_path)
    facts = list(merged_facts(recording, Selection()))
    rows = [dict(zip(TABLES[fact.table].names, fact.row, strict=True)) for fact in facts]
    ended = next(
        place
        for place, fact in enumerate(facts)
        if (fact.table, fact.task) == ("lifecycle", 0)
        and rows[place]["event"] in (LifeEvent.CANCELED, LifeEvent.FAILED)
    )
    balances = {
        place: rows[place]["credits"]
        for place, fact in enumerate(facts)
        if fact.table == "buffers" and fact.task == 0 and rows[place]["credits"] >= 0
    }
    last = max(place for place in balances if place < ended)
    assert balances[last] == 0, "the sender has no credit when the attempt ends"

    page = open_report(recording, f"#view=channel&channel=0&step={ended - 1}")
    note = page.inner_text("p.note")
    assert "No credit:" in note
    assert "until its task ends at" in note

    first = next(place for place in balances if balances[place] == 0 and rows[place]["backlog"] > 0)
    granted = next(
        facts[place].time_ns
        for place in range(first + 1, ended)
        if (facts[place].table, facts[place].task) == ("credits", 0) and rows[place]["balance"] > 0
    )
    note = open_report(recording, f"#view=channel&channel=0&step={first}").inner_text("p.note")
    assert f"until it gets credits at {moment_text(granted - start_of(recording))}" in note

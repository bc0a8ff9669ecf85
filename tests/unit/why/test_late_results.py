"""``flowsim why ... late``: results that their task emitted behind the watermark, and what they belong to."""

from __future__ import annotations

from pathlib import Path

import flowsim
from flowsim.why.questions import Asked, answer
from flowsim.why.run_facts import RunFacts
from tests.unit.why.conftest import Ask, text_of

LATE_FIRING = (
    "A record within the allowed lateness fired window [0, 10) when the watermark was 14 ms already. A result has the last "
    "millisecond of its window as timestamp, so the operators after it need an allowed lateness as well. [10.11, 10.12]"
)
OVERDUE = (
    "Event-time timer 9 ms was due already when it was registered at 7 us, at watermark 14 ms. So it fired only with the "
    "next watermark, 30 ms, and its results have the timestamp of the timer. [9.7, 9.12]"
)
PASSING = """\
flowsim: 1
name: passing
sources:
  clicks:
    script:
      fields: {n: long}
      subtasks:
        - [{record: [1], timestamp: 1}, {watermark: 14}, {record: [2], timestamp: 8}, {record: [3], timestamp: 20}]
operators:
  passed: {input: clicks, partition: rebalance, process: {python: "passing:Passing", fields: {n: long}}}
  counts: {input: passed, window: {tumbling: 10 ms}, aggregate: {n: count()}}
sinks: {out: {input: counts, collect: {}}}
"""
FUNCTION = """\
from flowsim.datastream import ProcessFunction


class Passing(ProcessFunction):
    def process_element(self, value, ctx):
        yield value
"""


def test_result_of_late_firing_is_explained(ask: Ask) -> None:
    text = text_of(ask("47a_output_behind_the_watermark", "late"))
    assert (
        f"per_user (1/1) emitted the record as a result, after it had forwarded the watermark. [8.15]\n{LATE_FIRING}"
        in text
    )
    assert "Event-time timer" not in text


def test_result_of_timer_that_was_due_at_its_registration_is_explained(ask: Ask) -> None:
    text = text_of(ask("47a_output_behind_the_watermark", "late", task="reminded"))
    assert (
        f"reminders (1/1) emitted the record as a result, after it had forwarded the watermark. [8.15]\n{OVERDUE}"
        in text
    )
    assert "allowed lateness fired" not in text


def test_without_timers_in_the_recording_nothing_is_said_about_results(ask: Ask) -> None:
    text = text_of(ask("47a_output_behind_the_watermark", "late", overrides=("settings.record=elements",)))
    assert "emitted the record as a result" in text
    assert "allowed lateness fired" not in text


def test_result_of_a_record_leads_to_that_record(tmp_path: Path) -> None:
    (tmp_path / "passing.py").write_text(FUNCTION)
    (tmp_path / "job.yaml").write_text(PASSING)
    flowsim.run_scenario(tmp_path / "job.yaml", out=tmp_path / "out", record="full", allow_python=True)
    found = answer(RunFacts(flowsim.open_recording(tmp_path / "out")), "late", Asked(("[2]",)))
    chain = [cause.text for cause in found.causes]
    assert chain[3:5] == [
        "passed (1/1) emitted the record as a result, after it had forwarded the watermark.",
        "It belongs to a record with the same timestamp, 8 ms, which was behind the watermark already.",
    ]
    assert chain[-1].startswith("Source: clicks (1/1) itself emitted watermark 14 ms, and then the record.")

"""``flowsim why`` about timers and states that a job restored from a savepoint of another run."""

from __future__ import annotations

from pathlib import Path

import pytest

import flowsim
from flowsim.why.questions import Asked, answer
from flowsim.why.run_facts import RunFacts
from tests.unit.why.conftest import text_of

JOB = """\
flowsim: 1
name: alarms
settings: {record: full, record_state: true, checkpointing: {interval: 500 ms, directory: ck}}
sources:
  events:
    generator:
      count: 40
      pace: 5 ms
      fields: {n: {sequence: {}}, k: {choice: {values: [a, b]}}, at_ms: {event_time: {step: 5 ms}}}
    watermarks: {timestamp: at_ms, emit: every_record}
operators:
  alarms: {input: events, key_by: k, alarm: {after: 60 ms, renew: false, emit: {k: k, n: n}}}
sinks: {out: {input: alarms, collect: {}}}
"""
STOPPED = f"{JOB}actions: [{{stop: {{at: 100 ms, savepoint: {{}}}}}}]\n"


@pytest.fixture(scope="module")
def restored(tmp_path_factory: pytest.TempPathFactory) -> RunFacts:
    first, second = tmp_path_factory.mktemp("first"), tmp_path_factory.mktemp("second")
    flowsim.run_scenario(STOPPED, out=first)
    (savepoint,) = Path(first).rglob("savepoint-*")
    flowsim.run_scenario(JOB, out=second, from_savepoint=savepoint)
    facts = RunFacts(flowsim.open_recording(second))
    return facts.until(facts.start_ns + 20_000_000)


def test_timer_of_another_run_waits_although_no_call_of_this_run_registered_it(restored: RunFacts) -> None:
    text = text_of(answer(restored, "timer", Asked(("a",))))
    assert text.startswith('Event-time timer 130 ms of key "a" at alarms (1/1) is registered and has not fired by 20')
    assert "It was restored from snapshot 1 of another run: no call of this run had registered it. [9.15]" in text


def test_question_about_an_unknown_timer_names_what_was_restored(restored: RunFacts) -> None:
    text = text_of(answer(restored, "timer", Asked(("a", "@999"))))
    assert (
        "alarms (1/1) restored 2 timers of all its keys from snapshot 1 of another run: this recording shows such an entry only "
        "when it fires or is deleted. [9.15]"
    ) in text


def test_question_about_an_unchanged_state_names_what_was_restored(restored: RunFacts) -> None:
    text = text_of(answer(restored, "state", Asked(("alarms", "a"))))
    assert "alarms (1/1) restored 2 entries of keyed state of all its keys from snapshot 1 of another run" in text

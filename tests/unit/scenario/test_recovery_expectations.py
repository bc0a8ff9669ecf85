"""Expectations of a scenario on the numbers of checkpoints and restarts."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.scenario.expectations import ExpectationOutcome
from flowsim.scenario.runner import run_compiled
from tests.support.jobs.scenarios import compiled, refused

JOB = """\
flowsim: 1
name: restarted
settings: {SETTINGS}
sources:
  numbers: {generator: {count: 6, pace: 10 ms, fields: {n: {sequence: {}}}}}
sinks:
  out: {input: numbers, collect: {}}
EVENTS
expect: {EXPECTED}
"""
SETTINGS = "record: off, checkpointing: {interval: 1 h, min_pause: 1 h}, restart_strategy: {fixed_delay: {delay: 1 ms}}"
EVENTS = "actions: [checkpoint: {at: 25 ms}]\nfailures: [fail_task: {task: numbers, at: 45 ms}]"


def job(expected: str, settings: str = SETTINGS, events: str = EVENTS) -> str:
    return JOB.replace("SETTINGS", settings).replace("EVENTS", events).replace("EXPECTED", expected)


def test_completed_and_restored_checkpoints_and_restarts_are_counted(tmp_path: Path) -> None:
    run = run_compiled(compiled(job("checkpoints: {completed: 2, failed: 0, restored: 2}, restarts: 1"), tmp_path))
    assert run.expectations[1:] == (
        ExpectationOutcome("completed checkpoints", "2", "2", met=True),
        ExpectationOutcome("failed checkpoints", "0", "0", met=True),
        ExpectationOutcome("restored checkpoints", "2", "1", met=False),
        ExpectationOutcome("restarts", "1", "1", met=True),
    )


def test_job_without_checkpoints_does_not_meet_their_number(tmp_path: Path) -> None:
    run = run_compiled(compiled(job("checkpoints: {failed: 0}, restarts: 0", "record: off", ""), tmp_path))
    assert run.expectations[1:] == (
        ExpectationOutcome("failed checkpoints", "0", "a job without checkpoints", met=False),
        ExpectationOutcome("restarts", "0", "0", met=True),
    )


def test_run_stopped_early_is_unchecked(tmp_path: Path) -> None:
    run = run_compiled(compiled(job("checkpoints: {completed: 2}, restarts: 1"), tmp_path), until_ns=1)
    assert [(one.met, one.reason) for one in run.expectations[1:]] == [
        (None, "the caller stopped the run early"),
        (None, "the caller stopped the run early"),
    ]


@pytest.mark.parametrize(
    ("expected", "error"),
    [
        ("checkpoints: {}", "expect.checkpoints: expected one of completed, failed, restored, got none of them"),
        ("checkpoints: 3", "expect.checkpoints: expected a mapping"),
        (
            "checkpoints: {completd: 1}",
            "expect.checkpoints.completd: unknown key 'completd' (did you mean 'completed'?)",
        ),
        ("checkpoints: {completed: -1}", "expect.checkpoints.completed: expected a value >= 0, got -1"),
        ("restarts: some", "expect.restarts: expected an integer, got 'some'"),
    ],
)
def test_impossible_expectation_is_refused_at_its_place(expected: str, error: str, tmp_path: Path) -> None:
    (found,) = refused(job(expected), tmp_path)
    assert error in found

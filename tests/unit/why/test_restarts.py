"""How ``flowsim why`` names what ended an attempt: a failure with its cause, a cancellation, or the end of the run."""

from __future__ import annotations

import pytest

from tests.unit.why.conftest import Ask, text_of

POISON = """\
flowsim: 1
name: poison
settings:
  record: full
  until: 1 s
  checkpointing: {interval: 100 ms}
  restart_strategy: {fixed_delay: {delay: 2 s, attempts: 5}}
sources:
  orders: {generator: {count: 200, pace: 5 ms, fields: {n: {sequence: {}}}}}
operators:
  divided: {input: orders, chaining: never, map: {add: {share: "100 // (n - 50)"}}}
sinks: {out: {input: divided, chaining: never, collect: {}}}
"""
NEVER_ENDING = """\
flowsim: 1
name: endless
settings: {record: full, checkpointing: {interval: 50 ms}}
sources:
  numbers: {generator: {pace: 5 ms, fields: {n: {sequence: {}}}}}
operators:
  kept: {input: numbers, chaining: never, filter: n >= 0}
sinks: {out: {input: kept, chaining: never, collect: {}}}
"""
CANCELED = f"{NEVER_ENDING}actions: [{{cancel: {{at: 320 ms}}}}]\n"
FAILED = f"{NEVER_ENDING}failures: [{{fail_task: {{task: kept, at: 320 ms}}}}]\n"
NO_RESTARTS = ("settings.restart_strategy={none: {}}", "settings.until=1 s")
DELAYED = ("settings.restart_strategy={fixed_delay: {delay: 40 ms}}", "settings.until=1 s")
REASON = "failure 0: operator divided, record (50,): ZeroDivisionError: integer division or modulo by zero"


@pytest.mark.parametrize("at_ms", [300, 900])
def test_restart_that_is_due_after_the_recording_is_not_a_loss(ask: Ask, at_ms: int) -> None:
    """Rule 12.123: the failed attempt is not the end of the task, although the run ends before the restart."""
    answer = ask(POISON, "waiting", "out", at_ms=at_ms)
    (cause,) = answer.causes
    assert cause.text.startswith("Sink: out (1/1) was canceled at 253.")
    assert cause.text.endswith(
        ", because divided (1/1) failed. Attempt 1 is due at 2.253001 s, after a delay of 2 s; the run ends before it "
        "starts."
    )
    assert cause.details == (REASON,)


def test_missing_rows_of_a_job_that_waits_for_its_restart_name_the_failure(ask: Ask) -> None:
    causes = ask(POISON, "no-output", "out").causes
    assert causes[0].text == (
        "The time of the run was up, before the end of its data: its tasks finished nothing that was open then."
    )
    assert "Attempt 1 is due at 2.253001 s" in causes[1].text
    assert causes[1].details == (REASON,)


def test_failure_that_was_followed_by_a_restart_names_its_cause(ask: Ask) -> None:
    (cause,) = ask(FAILED, "waiting", "kept", at_ms=330, overrides=DELAYED).causes
    assert cause.text == (
        "kept (1/1) failed at 320 ms. Attempt 1 starts from checkpoint 6 at 360 ms, after a delay of 40 ms."
    )
    assert cause.details == ("failure 0: RequestedFailure: kept (1/1) fails after 320 ms, as the run asks for",)


def test_failure_without_a_restart_ends_the_job(ask: Ask) -> None:
    (cause,) = ask(FAILED, "waiting", "out", at_ms=330, overrides=NO_RESTARTS).causes
    assert cause.text == (
        "Sink: out (1/1) was canceled at 320 ms, because kept (1/1) failed, and no restart followed: the job failed. What "
        "was open then is lost."
    )


@pytest.mark.parametrize(
    ("scenario", "end", "overrides"),
    [
        (CANCELED, "320 ms with the job, which was canceled", ()),
        (NEVER_ENDING, "320 ms with the run, whose time was up", ("settings.until=320 ms",)),
    ],
)
def test_end_of_the_run_is_no_failure(ask: Ask, scenario: str, end: str, overrides: tuple[str, ...]) -> None:
    (cause,) = ask(scenario, "waiting", "out", at_ms=330, overrides=overrides).causes
    assert cause.text == f"Sink: out (1/1) was canceled at {end}: what was open then is lost."


def test_canceled_job_names_the_rows_that_were_open(ask: Ask) -> None:
    """The chain goes on after the end of the job: rows wait in the queue of the operator before the sink."""
    causes = ask(CANCELED, "no-output", "out").causes
    assert causes[0].text == (
        "The job was canceled at 320 ms, before the end of its data: its tasks finished nothing that was open then."
    )
    assert causes[1].text.endswith("wait in the sender's queue, and Sink: out (1/1) was canceled.")


def test_what_an_attempt_does_not_reach_names_its_end(ask: Ask) -> None:
    """The buffer timeout would flush at 376 ms; the attempt fails before."""
    text = text_of(ask(FAILED, "waiting", "kept", at_ms=310, overrides=DELAYED))
    assert "The buffer is not sent before the attempt of Source: numbers (1/1) ends at 320 ms." in text

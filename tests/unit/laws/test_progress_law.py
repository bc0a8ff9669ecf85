"""Law progress, over a task's rest: what it could send, run or read while time passes."""

from __future__ import annotations

import pytest

from flowsim.facts import schema
from flowsim.facts.kinds import (
    ActionPhase,
    BufferKind,
    BufferSide,
    CreditKind,
    ElementKind,
    LifeEvent,
    MailAction,
    WaitKind,
)  # fmt: skip
from flowsim.laws.judge import check_all
from flowsim.laws.law import Outcome
from tests.support.facts.tiny_job import tiny_job

Step = tuple[str, dict[str, int]]
"""A table, and the columns of a row."""
TABLES = ("buffers", "credits", "actions", "mails", "received", "lifecycle")
DATA, EVENT, PRIORITY_EVENT = BufferKind.DATA, BufferKind.EVENT, BufferKind.PRIORITY_EVENT
COULD_SEND = "data or an event could be sent, but the task waits"
COULD_RUN = "a mail could run, but the task waits"
COULD_READ = "a buffer or event could be read, but the task waits"


def buffer(side: BufferSide, kind: BufferKind = DATA, number: int = 0, whole: int = 1) -> Step:
    return "buffers", {"channel": 0, "side": side, "kind": kind, "number": number, "bytes": 40, "whole": whole}


def credit(kind: CreditKind, balance: int = 0) -> Step:
    return "credits", {"channel": 0, "kind": kind, "balance": balance}


def wait(kind: WaitKind = WaitKind.MAIL, priority: int = -1) -> Step:
    return "actions", {"phase": ActionPhase.WAIT, "kind": kind, "priority": priority}


def resume(kind: WaitKind = WaitKind.MAIL) -> Step:
    return "actions", {"phase": ActionPhase.RESUME, "kind": kind, "priority": -1}


def mail(action: MailAction, priority: int = 0) -> Step:
    return "mails", {"action": action, "mail": 0, "priority": priority}


def life(event: LifeEvent) -> Step:
    return "lifecycle", {"event": event}


REST = [wait(), resume()]
CONNECTED, QUEUED, FLUSHED = credit(CreditKind.INITIAL_GOT, 1), buffer(BufferSide.QUEUED), buffer(BufferSide.FLUSHED)
SENT, RECEIVED, RECYCLED = (buffer(side) for side in (BufferSide.SENT, BufferSide.RECEIVED, BufferSide.RECYCLED))
BARRIER, RESUMED = buffer(BufferSide.SENT, EVENT), credit(CreditKind.RESUMED)


def judged(
    task: int, steps: list[Step], with_checkpoints: bool = False, bytes_per_second: int = 0, step_ns: int = 1
) -> Outcome:
    """The tiny job with these facts of a task alone, ``step_ns`` apart; task 0 sends on channel 0 to task 1."""
    facts = tiny_job()
    alike = {table: facts.find(table) for table in TABLES}
    for table in TABLES:
        facts.tables[table] = []
    facts.find("channels", channel=0)["bytes_per_second"] = bytes_per_second
    if with_checkpoints:
        facts.tables["checkpoints"].append(dict.fromkeys(schema.TABLES["checkpoints"].names, 0))
    for number, (table, columns) in enumerate(steps):
        facts.add(table, alike[table], seq=number, task=task, time_ns=number * step_ns, **columns)
    return next(outcome for outcome in check_all(facts, "stopped") if outcome.law == "progress")


def found(outcome: Outcome) -> list[object]:
    return [row["what"] for row in outcome.evidence]


@pytest.mark.parametrize(
    ("steps", "whats"),
    [
        ([CONNECTED, QUEUED, FLUSHED, *REST], [COULD_SEND]),
        ([CONNECTED, QUEUED, FLUSHED, wait(WaitKind.BUFFER), resume(WaitKind.BUFFER)], [COULD_SEND]),
        ([CONNECTED, QUEUED, FLUSHED, life(LifeEvent.FINISHED), mail(MailAction.PUT)], [COULD_SEND]),
        ([CONNECTED, QUEUED, FLUSHED], []),
        ([CONNECTED, QUEUED, *REST], []),
        ([QUEUED, FLUSHED, *REST], []),
        ([credit(CreditKind.INITIAL_GOT, 0), QUEUED, FLUSHED, *REST], []),
        ([credit(CreditKind.INITIAL_GOT, 0), QUEUED, FLUSHED, credit(CreditKind.GOT, 1), *REST], [COULD_SEND]),
        ([CONNECTED, QUEUED, buffer(BufferSide.QUEUED, number=1), *REST], [COULD_SEND]),
        ([CONNECTED, QUEUED, buffer(BufferSide.QUEUED, number=1), SENT, *REST], []),
        ([CONNECTED, QUEUED, FLUSHED, SENT, *REST], []),
        ([CONNECTED, QUEUED, FLUSHED, buffer(BufferSide.SKIPPED), *REST], []),
        ([credit(CreditKind.INITIAL_GOT, 0), buffer(BufferSide.QUEUED, EVENT), *REST], [COULD_SEND]),
        ([credit(CreditKind.INITIAL_GOT, 0), QUEUED, buffer(BufferSide.QUEUED, EVENT, 1), *REST], []),
        (
            [
                credit(CreditKind.INITIAL_GOT, 0), QUEUED, buffer(BufferSide.QUEUED, EVENT, 1),
                buffer(BufferSide.PRIORITIZED, EVENT, 1), *REST,
            ],
            [COULD_SEND],
        ),
        ([CONNECTED, QUEUED, FLUSHED, *REST, *REST], [COULD_SEND]),
        ([CONNECTED, QUEUED, FLUSHED, *REST, SENT, buffer(BufferSide.QUEUED, EVENT, 1), *REST], [COULD_SEND] * 2),
        ([CONNECTED, QUEUED, FLUSHED, wait(), life(LifeEvent.CANCELING), resume()], [COULD_SEND]),
        ([CONNECTED, QUEUED, wait(), life(LifeEvent.CANCELING), FLUSHED, resume()], []),
    ],
)  # fmt: skip
def test_task_that_could_send_does_not_rest(steps: list[Step], whats: list[str]) -> None:
    assert found(judged(0, steps)) == whats


def test_nothing_is_violated_while_no_time_passes() -> None:
    assert found(judged(0, [CONNECTED, QUEUED, FLUSHED, *REST], step_ns=0)) == []


@pytest.mark.parametrize(
    ("between", "whats"),
    [
        ([], []),
        ([RESUMED], [COULD_SEND]),
        ([buffer(BufferSide.QUEUED, PRIORITY_EVENT, 3), buffer(BufferSide.SENT, PRIORITY_EVENT, 1)], []),
    ],
)
def test_channel_is_blocked_behind_a_barrier_until_it_is_resumed(between: list[Step], whats: list[str]) -> None:
    """Rule 5.27."""
    behind = [buffer(BufferSide.QUEUED, number=1), buffer(BufferSide.QUEUED, number=2)]
    steps = [CONNECTED, buffer(BufferSide.QUEUED, EVENT), *behind, BARRIER, *between, *REST]
    assert found(judged(0, steps, with_checkpoints=True)) == whats
    assert found(judged(0, steps)) == [COULD_SEND]


@pytest.mark.parametrize(("bytes_per_second", "whats"), [(0, [COULD_SEND]), (10**9, []), (10**11, [COULD_SEND])])
def test_connection_is_busy_with_the_buffer_before(bytes_per_second: int, whats: list[str]) -> None:
    """40 bytes take 40 ns or 1 ns; the task rests 2 ns after it has sent them."""
    events = [buffer(BufferSide.QUEUED, EVENT), buffer(BufferSide.QUEUED, EVENT, 1)]
    steps = [CONNECTED, *events, buffer(BufferSide.SENT, EVENT), *REST]
    assert found(judged(0, steps, bytes_per_second=bytes_per_second)) == whats


PUT, RUN = mail(MailAction.PUT), mail(MailAction.RUN)


@pytest.mark.parametrize(
    ("steps", "whats"),
    [
        ([PUT, *REST], [COULD_RUN]),
        ([PUT, RUN, *REST], []),
        ([PUT, *REST, *REST], [COULD_RUN]),
        ([PUT, *REST, RUN, PUT, *REST], [COULD_RUN, COULD_RUN]),
        ([PUT, wait(WaitKind.BUFFER), resume(WaitKind.BUFFER)], []),
        ([wait(), PUT, resume()], [COULD_RUN]),
        ([PUT, wait(WaitKind.YIELD, 0), *REST], [COULD_RUN]),
        ([PUT, wait(WaitKind.YIELD, 1), *REST], []),
        ([PUT, wait(WaitKind.YIELD, 1), resume(WaitKind.YIELD), *REST], [COULD_RUN]),
        ([mail(MailAction.PUT, -2), *REST], []),
    ],
)
def test_task_that_could_run_a_mail_does_not_rest(steps: list[Step], whats: list[str]) -> None:
    assert found(judged(0, steps)) == whats


@pytest.mark.parametrize(
    ("steps", "whats"),
    [
        ([RECEIVED, *REST], [COULD_READ]),
        ([RECEIVED, RECYCLED, *REST], []),
        ([RECEIVED, *REST, *REST], [COULD_READ]),
        ([RECEIVED, *REST, RECEIVED, RECYCLED, *REST], [COULD_READ]),
        ([RECEIVED, *REST, RECEIVED, *REST], [COULD_READ, COULD_READ]),
        ([RECEIVED, *REST, RECYCLED, RECEIVED, *REST], [COULD_READ, COULD_READ]),
        ([RECEIVED, wait(), RECEIVED, RECEIVED, resume(), *REST], [COULD_READ]),
        ([RECEIVED, ("received", {"channel": 0, "kind": ElementKind.END_OF_DATA}), *REST], []),
        ([RECEIVED, ("received", {"channel": 0, "kind": ElementKind.RECORD}), *REST], [COULD_READ]),
        ([RECEIVED, wait(priority=0), resume()], []),
        ([RECEIVED, wait(WaitKind.YIELD), *REST], []),
    ],
)
def test_task_that_could_read_its_input_does_not_rest(steps: list[Step], whats: list[str]) -> None:
    assert found(judged(1, steps)) == whats


@pytest.mark.parametrize(
    ("event", "what"), [(LifeEvent.DEADLOCKED, "deadlocked"), (LifeEvent.LIVELOCKED, "livelocked")]
)
def test_job_that_is_stuck_violates(event: LifeEvent, what: str) -> None:
    outcome = judged(0, [life(event)])
    assert (found(outcome), outcome.rows_examined) == ([what], 1)

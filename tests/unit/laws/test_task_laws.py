"""Laws mails, fairness, life-cycle and end."""

from __future__ import annotations

from itertools import count

import pytest

from flowsim.facts.kinds import ActionKind, ActionPhase, ElementKind, LifeEvent, MailAction, WaitKind
from flowsim.laws.judge import check_all
from flowsim.laws.law import Outcome, Verdict
from flowsim.units import MAX_WATERMARK
from tests.support.facts.tiny_job import FactSet, tiny_job


def judge(facts: FactSet, law: str, status: str = "complete") -> Outcome:
    return next(outcome for outcome in check_all(facts, status) if outcome.law == law)


def found(facts: FactSet, law: str, status: str = "complete") -> list[object]:
    return [row["what"] for row in judge(facts, law, status).evidence]


PUT, RUN = MailAction.PUT, MailAction.RUN
Mail = tuple[MailAction, int, int, int]
"""What happened, number, priority, urgent."""


def with_mails(steps: list[Mail | int | None]) -> FactSet:
    """The tiny job with these mails of task 1: a number enters a yield of that priority, None leaves it."""
    facts = tiny_job()
    facts.tables["mails"], facts.tables["actions"] = [], []
    for seq, step in enumerate(steps):
        at = {"seq": 10 * seq, "task": 1, "time_ns": seq}
        if isinstance(step, tuple):
            action, mail, priority, urgent = step
            facts.tables["mails"].append({**at, "action": action, "mail": mail, "priority": priority, "urgent": urgent})
            if action is RUN:
                mailed = {"kind": ActionKind.MAIL, "action": seq, "priority": -1, "suspended": 0}
                facts.tables["actions"].append({**at, "seq": 10 * seq + 1, "phase": ActionPhase.BEGIN, **mailed})
        else:
            phase = ActionPhase.RESUME if step is None else ActionPhase.WAIT
            waits = {"kind": WaitKind.YIELD, "action": 0, "priority": -1 if step is None else step, "suspended": 0}
            facts.tables["actions"].append({**at, "phase": phase, **waits})
    return facts


@pytest.mark.parametrize(
    ("steps", "whats"),
    [
        ([(PUT, 0, 1, 0), (PUT, 1, 1, 0), (RUN, 0, 1, 0), (RUN, 1, 1, 0)], []),
        (
            [(PUT, 0, 1, 0), (PUT, 1, 1, 0), (RUN, 1, 1, 0), (RUN, 0, 1, 0)],
            ["a mail runs before a mail of equal priority that was put earlier"],
        ),
        ([(PUT, 0, 1, 0), (PUT, 1, 2, 0), (RUN, 1, 2, 0), (RUN, 0, 1, 0)], []),
        ([(PUT, 0, 1, 0), (PUT, 1, 1, 1), (RUN, 1, 1, 1), (RUN, 0, 1, 0)], []),
        ([(PUT, 0, 1, 1), (PUT, 1, 1, 1), (RUN, 1, 1, 1), (RUN, 0, 1, 1)], []),
        ([(RUN, 0, 1, 0)], ["a mail runs that was not put before"]),
        ([(PUT, 0, 1, 0), (RUN, 0, 2, 0)], ["a mail runs with another priority or urgency than it was put with"]),
        ([(PUT, 0, 1, 0), (PUT, 0, 1, 0), (RUN, 0, 1, 0)], ["a mail is put a second time"]),
        ([(PUT, 0, 1, 0), (RUN, 0, 1, 0), (RUN, 0, 1, 0)], ["a mail runs a second time"]),
        ([(PUT, 0, 1, 0)], ["a mail was put, but never ran"]),
        ([(PUT, 0, 1, 0), 1, (RUN, 0, 1, 0), None], []),
        ([(PUT, 0, 1, 0), 2, (RUN, 0, 1, 0), None], ["a mail runs inside a yield that admits only higher priorities"]),
        ([(PUT, 0, 1, 0), 2, None, (RUN, 0, 1, 0)], []),
        ([(PUT, 0, 1, 0), 1, 2, None, (RUN, 0, 1, 0), None], []),
        (
            [(PUT, 0, 1, 0), 1, 2, (RUN, 0, 1, 0), None, None],
            ["a mail runs inside a yield that admits only higher priorities"],
        ),
    ],
)
def test_mails_run_once_by_priority_in_order(steps: list[Mail | int | None], whats: list[str]) -> None:
    assert found(with_mails(steps), "mails") == whats


def test_action_without_mail_violates() -> None:
    facts = with_mails([(PUT, 0, 1, 0), (RUN, 0, 1, 0)])
    facts.add("actions", facts.find("actions"), seq=30)
    assert found(facts, "mails") == ["an action of kind MAIL begins, but no mail was taken"]


def test_pending_mail_does_not_violate_prefix() -> None:
    assert judge(with_mails([(PUT, 0, 1, 0)]), "mails", "failed").verdict is Verdict.HOLDS


def with_rounds(script: str) -> FactSet:
    """The tiny job with this mailbox loop of task 1: each word is a step.

    ``+0`` puts mail 0, ``+!0`` puts it as urgent; ``0`` runs it as an action; parentheses do so inside of one; ``default`` is the
    default action; ``wait`` a wait of the loop. A ``~`` before a step: the default action is suspended.
    """
    facts = tiny_job()
    facts.tables["mails"], facts.tables["actions"] = [], []
    seqs = count()

    def add(table: str, **columns: int) -> None:
        facts.tables[table].append({"seq": next(seqs), "task": 1, "time_ns": 0, **columns})

    def act(phase: ActionPhase, kind: int, priority: int = -1) -> None:
        add("actions", phase=phase, kind=kind, action=0, priority=priority, suspended=suspended)

    for step in script.split():
        suspended, word = int(step.startswith("~")), step.removeprefix("~")
        number = int(word.strip("+!()")) if any(map(str.isdigit, word)) else -1
        mail = {"mail": number, "priority": 1, "urgent": int("!" in word)}
        is_nested = word.startswith("(")
        if is_nested:
            act(ActionPhase.BEGIN, ActionKind.DEFAULT_ACTION)
            act(ActionPhase.WAIT, WaitKind.YIELD, 1)
        if "+" in word:
            add("mails", action=PUT, **mail)
        elif number >= 0:
            urgent = any(row["mail"] == number and row["urgent"] for row in facts.tables["mails"])
            add("mails", action=RUN, **{**mail, "urgent": int(urgent)})
        begin, end = ActionPhase.BEGIN, ActionPhase.END
        kind: int = ActionKind.MAIL if number >= 0 else ActionKind.DEFAULT_ACTION
        if word == "wait":
            begin, end, kind = ActionPhase.WAIT, ActionPhase.RESUME, WaitKind.MAIL
        if "+" not in word:
            act(begin, kind)
            act(end, kind)
        if is_nested:
            act(ActionPhase.RESUME, WaitKind.YIELD)
            act(ActionPhase.END, ActionKind.DEFAULT_ACTION)
    return facts


JOINS = "a mail that was put during a batch runs before the default action"
LEFT = "the default action runs before a mail of the batch"


@pytest.mark.parametrize(
    ("script", "whats"),
    [
        ("+0 +1 0 1 default", []),
        ("+0 0 +1 1 default", [JOINS]),
        ("+0 0 +1 default 1 default", []),
        ("+0 0 +1 (1) default", []),
        ("+0 +!1 1 0 +!2 2 default", []),
        ("+0 ~0 +1 ~1 default", []),
        ("+0 ~0 +1 1 default", [JOINS]),
        ("+0 default", [LEFT]),
        ("+0 +1 0 default 1 default", [LEFT]),
        ("~wait +0 +!1 ~1 default 0 default", []),
        ("+0 +!1 1 default", [LEFT]),
        ("+!0 default +1 0 default 1 default", []),
        ("default ~default", ["the default action runs while it is suspended"]),
        # Rule 3.2: the yield takes the urgent mail into its batch, which is not filled again after it.
        ("(+!0) +1 0 default 1 default", []),
    ],
)
def test_mails_of_a_batch_alternate_with_default_action(script: str, whats: list[str]) -> None:
    assert found(with_rounds(script), "fairness") == whats


OPEN, END_INPUT, FINISH, CLOSE = LifeEvent.OPEN, LifeEvent.END_INPUT, LifeEvent.FINISH, LifeEvent.CLOSE
DONE = LifeEvent.FINISHED
Life = list[tuple[LifeEvent, int]]
OPENED: Life = [(OPEN, 2), (OPEN, 1), (OPEN, 0)]
ENDED: Life = [(FINISH, 0), (END_INPUT, 1), (FINISH, 1), (END_INPUT, 2), (FINISH, 2)]
CLOSED: Life = [(CLOSE, 2), (CLOSE, 1), (CLOSE, 0)]


def with_life(steps: Life) -> FactSet:
    """The tiny job with this life of task 0: a source, a map and a filter."""
    facts = tiny_job()
    facts.tables["lifecycle"] = [row for row in facts.tables["lifecycle"] if row["task"] != 0]
    for seq, (event, operator) in enumerate(steps):
        facts.tables["lifecycle"].append(
            {"seq": seq - 100, "task": 0, "operator": operator, "time_ns": 0, "event": event}
        )
    return facts


@pytest.mark.parametrize(
    ("steps", "whats"),
    [
        ([*OPENED, *ENDED, *CLOSED, (DONE, -1)], []),
        ([(LifeEvent.RUNNING, -1), *OPENED, (LifeEvent.CANCELING, -1), *CLOSED, (LifeEvent.CANCELED, -1)], []),
        ([*OPENED, *CLOSED, (LifeEvent.FAILED, -1)], []),
        ([*reversed(OPENED)], ["opened out of order"] * 2),
        ([*OPENED, *ENDED, *reversed(CLOSED)], ["closed out of order or again"] * 2),
        ([*OPENED, *ENDED, *CLOSED, (CLOSE, 0)], ["closed out of order or again"]),
        ([*OPENED, (FINISH, 0), (FINISH, 1)], ["finishes before its input has ended"]),
        ([*OPENED, (FINISH, 0), (END_INPUT, 1), (END_INPUT, 1)], ["ends its input again"]),
        ([*OPENED, (FINISH, 0), (END_INPUT, 2)], ["ends its input out of order"]),
        ([*OPENED, *CLOSED, (FINISH, 0)], ["finishes out of order"]),
        ([*OPENED, (LifeEvent.CANCELING, -1), (FINISH, 0)], ["finishes out of order"]),
        ([*OPENED, *ENDED, *CLOSED[:2], (DONE, -1)], ["ends with open operators"]),
        (
            [*OPENED, *CLOSED, (DONE, -1)],
            ["finished without having opened, finished and closed its operators"],
        ),
        ([*OPENED, *ENDED, *CLOSED, (DONE, -1), (LifeEvent.FAILED, -1)], ["after the task's end"]),
        ([(LifeEvent.RUNNING, -1), *OPENED, (LifeEvent.RUNNING, -1)], ["an event of the life cycle happens again"]),
        (OPENED[:2], ["an element before all operators are open"]),
    ],
)
def test_life_cycle_steps_have_required_order(steps: Life, whats: list[str]) -> None:
    assert found(with_life(steps), "life-cycle", "failed") == whats


def test_task_without_end_violates_whole_run() -> None:
    assert found(with_life([*OPENED, *ENDED, *CLOSED]), "life-cycle") == ["the task never finished"]


def test_finish_without_drain_violates() -> None:
    facts = with_life([*OPENED, *ENDED[:1]])
    for row in facts.all("sent", task=0, kind=ElementKind.END_OF_DATA):
        row["timestamp"] = 0
    assert found(facts, "life-cycle", "failed")[:1] == ["finishes without drain"]


def test_end_of_input_without_drain_violates() -> None:
    facts = with_life([*OPENED, (LifeEvent.STOP_NO_DRAIN, -1), (FINISH, 0), (END_INPUT, 1)])
    assert found(facts, "life-cycle", "failed") == ["finishes without drain", "ends its input without drain"]


def test_task_with_a_channel_that_ends_without_end_of_data_is_not_drained() -> None:
    """Rule 4.22: so its operators do not finish."""
    facts = tiny_job()
    for row in facts.all("received", task=1, kind=ElementKind.END_OF_DATA):
        facts.tables["received"].remove(row)
    assert "finishes without drain" in found(facts, "life-cycle", "failed")


def test_end_of_data_needs_max_watermark_unless_channel_is_idle() -> None:
    facts = tiny_job()
    last = facts.find("sent", channel=0, kind=ElementKind.WATERMARK, timestamp=MAX_WATERMARK)
    last["timestamp"] = 77
    assert found(facts, "end") == ["EndOfData with drain, but no MAX_WATERMARK before it"]
    last["kind"], last["timestamp"] = ElementKind.STATUS, -1
    assert judge(facts, "end").verdict is Verdict.HOLDS


def test_task_whose_input_ends_while_idle_sends_no_max_watermark() -> None:
    facts = tiny_job()
    facts.drop("sent", channel=2, kind=ElementKind.WATERMARK, timestamp=MAX_WATERMARK)
    assert found(facts, "end") == ["EndOfData with drain, but no MAX_WATERMARK before it"]
    facts.drop("task_watermark", task=1, kind=ElementKind.WATERMARK, timestamp=MAX_WATERMARK)
    assert judge(facts, "end").verdict is Verdict.HOLDS


def test_max_watermark_without_drain_violates() -> None:
    facts = tiny_job()
    facts.find("sent", channel=0, kind=ElementKind.END_OF_DATA)["timestamp"] = 0
    assert found(facts, "end") == ["MAX_WATERMARK, but EndOfData without drain"]


@pytest.mark.parametrize(
    ("event", "seq", "what"),
    [
        (FINISH, 100_000, "EndOfData before the operators have finished"),
        (CLOSE, -1, "EndOfData after an operator was closed"),
        (CLOSE, 100_000, "END_OF_PARTITION before the operators are closed"),
        (DONE, -1, "END_OF_PARTITION after the task's end"),
    ],
)
def test_channel_ends_are_between_life_cycle_steps_of_task(event: LifeEvent, seq: int, what: str) -> None:
    facts = tiny_job()
    facts.find("lifecycle", task=1, event=event)["seq"] = seq
    assert what in found(facts, "end")


def test_finished_task_has_ended_its_channels_in_prefix() -> None:
    facts = tiny_job()
    facts.drop("sent", channel=2, kind=ElementKind.END_OF_PARTITION)
    assert found(facts, "end", "failed") == ["its sender finished, but no END_OF_PARTITION"]
    assert judge(facts, "end").verdict is Verdict.HOLDS

"""Law mails: each mail runs once, in its order, and inside a yield only permitted ones run (section 3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from flowsim.facts.kinds import ActionKind, ActionPhase, MailAction, WaitKind
from flowsim.laws.job_graph import JobGraph
from tests.support.oracle.catalogue import Outcome
from tests.support.oracle.facts import Facts, Findings, Row

MIN_PRIORITY: Final = -1
"""Rule 3.8."""
_Class = tuple[int, int]
"""Priority and urgency."""


@dataclass(slots=True)
class _Mail:
    """The first PUT and the first RUN of one mail of one task."""

    puts: int = 0
    put_seq: int = -1
    put_as: _Class = (0, 0)
    runs: int = 0
    run_seq: int = -1
    run_as: _Class = (0, 0)


def mails(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Follows every mail of every task from PUT to RUN, and every yield."""
    rows = facts.rows("mails")
    begun = [row for row in facts.rows("actions") if (row[3], row[4]) == (ActionPhase.BEGIN, ActionKind.MAIL)]
    findings = Findings(len(rows) + len(begun))
    by_task: dict[int, dict[int, _Mail]] = {}
    taken: dict[int, list[tuple[int, int, int]]] = {}
    for seq, task, _, action, number, priority, urgent in sorted(rows):
        mail = by_task.setdefault(task, {}).setdefault(number, _Mail())
        if action == MailAction.PUT:
            mail.puts += 1
            if mail.puts == 1:
                mail.put_seq, mail.put_as = seq, (priority, urgent)
        else:
            taken.setdefault(task, []).append((seq, number, priority))
            mail.runs += 1
            if mail.runs == 1:
                mail.run_seq, mail.run_as = seq, (priority, urgent)
    for task in sorted(by_task):
        _judge_mails(findings, task, by_task[task], whole)
        _judge_turns(findings, task, by_task[task])
    _judge_yields(findings, facts.rows("actions"), taken)
    return findings.outcome("mails")


def _judge_mails(findings: Findings, task: int, mails: dict[int, _Mail], whole: bool) -> None:
    for number, mail in sorted(mails.items()):
        for what, times in (("a mail is put a second time", mail.puts), ("a mail runs a second time", mail.runs)):
            for _ in range(times - 1):
                findings.broken(what, task=task, mail=number)
        if mail.runs and not _was_put(mail):
            findings.broken("run as it never was put", task=task, mail=number, seq=mail.run_seq)
        elif whole and not mail.runs:
            findings.broken("never run", task=task, mail=number, seq=mail.put_seq)


def _was_put(mail: _Mail) -> bool:
    return mail.puts > 0 and mail.put_seq < mail.run_seq and mail.put_as == mail.run_as


def _judge_turns(findings: Findings, task: int, mails: dict[int, _Mail]) -> None:
    """First in, first out among mails of one priority that are not urgent (rules 3.4, 3.5)."""
    latest: dict[_Class, float] = {}
    for put_seq, number in sorted((mail.put_seq, number) for number, mail in mails.items() if mail.puts):
        mail = mails[number]
        if mail.put_as[1]:
            continue
        before = latest.get(mail.put_as, -1)
        if mail.runs and _was_put(mail) and before > mail.run_seq:
            findings.broken("overtakes", task=task, mail=number, seq=mail.run_seq, priority=mail.put_as[0], put=put_seq)
        latest[mail.put_as] = max(before, mail.run_seq if mail.runs else float("inf"))


def _judge_yields(findings: Findings, actions: Sequence[Row], taken: dict[int, list[tuple[int, int, int]]]) -> None:
    """The n-th mail that a task begins is the n-th that it took; a yield runs no mail of less than its priority."""
    begun: dict[int, int] = {}
    levels: dict[int, int] = {}
    least: dict[tuple[int, int], int] = {}
    """By task and depth of its yields, the priority of the last yield that went so deep."""
    for seq, task, _, phase, kind, _, priority, _ in sorted(actions):
        level = levels.get(task, 0)
        if phase == ActionPhase.WAIT and kind == WaitKind.YIELD:
            levels[task] = level + 1
            least[task, level + 1] = priority
        elif phase == ActionPhase.RESUME and kind == WaitKind.YIELD:
            levels[task] = level - 1
        elif phase == ActionPhase.BEGIN and kind == ActionKind.MAIL:
            number = begun.get(task, 0)
            begun[task] = number + 1
            of_task = taken.get(task, ())
            if number >= len(of_task) or of_task[number][0] > seq:
                findings.broken("begins, but was not taken", task=task, seq=seq)
            elif level > 0 and of_task[number][2] < least.get((task, level), MIN_PRIORITY):
                findings.broken(
                    "a yield runs a mail of less than its priority", task=task, seq=seq, mail=of_task[number][1],
                    priority=of_task[number][2], least=least[task, level],
                )  # fmt: skip

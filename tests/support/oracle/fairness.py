"""Law fairness: batches of mails alternate with the default action (rules 3.2, 3.10, 3.12, 3.13)."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate

from flowsim.facts.kinds import ActionKind, ActionPhase, MailAction, WaitKind
from flowsim.laws.job_graph import JobGraph
from tests.support.oracle.catalogue import Outcome
from tests.support.oracle.facts import Facts, Findings, Row


@dataclass
class _Round:
    """What happens at the top level between two default actions."""

    begun: int
    """When the default action before it began, or a yield inside that ended."""
    mails: list[tuple[int, int, int]] = field(default_factory=list)
    """When each began, its number, and whether the default action was suspended."""
    waited: bool = False
    """Whether the loop waited while the default action was suspended, before any of them."""


@dataclass
class _Mails:
    """The mails of a task: the first PUT and the first RUN of each, and all RUN rows in order."""

    puts: dict[int, Row] = field(default_factory=dict)
    runs: dict[int, int] = field(default_factory=dict)
    taken: list[tuple[int, int]] = field(default_factory=list)

    def put_of(self, mail: int, before: int) -> Row | None:
        """Its PUT if that came before its first RUN and before ``before``."""
        put = self.puts.get(mail)
        return put if put is not None and put[0] < before and put[0] < self.runs.get(mail, before) else None


def fairness(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Cuts what each task does at the top level into rounds."""
    findings = Findings(0)
    for task in graph.tasks:
        mails = _Mails()
        for row in sorted(facts.rows("mails")):
            if row[1] == task and row[3] == MailAction.PUT:
                mails.puts.setdefault(row[4], row)
            elif row[1] == task:
                mails.runs.setdefault(row[4], row[0])
                mails.taken.append((row[0], row[4]))
        _judge(findings, mails, sorted(row for row in facts.rows("actions") if row[1] == task))
    return findings.outcome("fairness")


def _judge(findings: Findings, mails: _Mails, actions: list[Row]) -> None:
    opens = (ActionPhase.BEGIN, ActionPhase.WAIT)
    open_before = accumulate((1 if row[3] in opens else -1 for row in actions), initial=0)
    current, begun = _Round(-1), 0
    for (seq, _, _, phase, kind, _, _, suspended), open_actions in zip(actions, open_before, strict=False):
        at_top = open_actions == 0
        if phase == ActionPhase.BEGIN and kind == ActionKind.MAIL:
            number, begun = begun, begun + 1
            if not at_top:
                continue
            findings.rows_examined += 1
            was_taken = number < len(mails.taken) and mails.taken[number][0] < seq
            current.mails.append((seq, mails.taken[number][1] if was_taken else -1, suspended))
            if not suspended and was_taken and _joined(mails, current, number):
                findings.broken("joins a batch", seq=seq, mail=mails.taken[number][1])
        elif phase == ActionPhase.BEGIN and kind == ActionKind.DEFAULT_ACTION and at_top:
            findings.rows_examined += 1
            if suspended or _left(mails, current, seq):
                findings.broken("the default action is not to run", seq=seq)
            current = _Round(seq)
        elif phase == ActionPhase.WAIT and at_top and suspended and not current.mails:
            current.waited = True
        elif phase == ActionPhase.RESUME and kind == WaitKind.YIELD and not current.mails:
            current.begun = seq


def _joined(mails: _Mails, current: _Round, number: int) -> bool:
    run, mail = mails.taken[number]
    put = mails.put_of(mail, run) if mails.runs[mail] == run else None
    return put is not None and not put[6] and put[0] > current.mails[0][0]


def _left(mails: _Mails, current: _Round, end: int) -> bool:
    """Whether a mail of the batch still waits."""
    created = end
    if current.mails:
        created, first, _ = current.mails[0]
        put = mails.puts.get(first)
        if put is not None and put[6] and put[0] < min(current.begun, mails.runs[first]):
            return False
    return not current.waited and any(
        not put[6] and put[0] < created and mails.runs.get(mail, end) >= end for mail, put in mails.puts.items()
    )

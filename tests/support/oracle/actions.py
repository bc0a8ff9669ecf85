"""Law actions: a task does one thing at a time, except what it runs inside its own yield."""

from __future__ import annotations

from flowsim.facts.kinds import ActionKind, ActionPhase, WaitKind
from flowsim.laws.job_graph import JobGraph
from tests.support.oracle.catalogue import Outcome
from tests.support.oracle.facts import Facts, Findings

_Entry = tuple[int, int, int]
"""Phase (BEGIN or WAIT), kind and number."""
_OPENED_BY = {ActionPhase.END: ActionPhase.BEGIN, ActionPhase.RESUME: ActionPhase.WAIT}


def actions(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Replays every task's actions and awaits on a stack."""
    rows = facts.rows("actions")
    findings = Findings(len(rows))
    by_task: dict[int, list[tuple[int, int, int, int]]] = {}
    for seq, task, _, phase, kind, action, _, _ in rows:
        by_task.setdefault(task, []).append((seq, phase, kind, action))
    for task in sorted(by_task):
        left = _replay(findings, task, sorted(by_task[task]))
        for phase, kind, action in left if whole else ():
            findings.broken("never ended", task=task, phase=ActionPhase(phase), kind=_kind(phase, kind), action=action)
    return findings.outcome("actions")


def _replay(findings: Findings, task: int, steps: list[tuple[int, int, int, int]]) -> list[_Entry]:
    stack: list[_Entry] = []
    for seq, phase, kind, action in steps:
        top = stack[-1] if stack else None
        broken = ""
        match phase:
            case ActionPhase.BEGIN:
                if top is not None and not _yields(top):
                    broken = "begins inside something else"
                stack.append((phase, kind, action))
            case ActionPhase.WAIT:
                if top is not None and top[0] == ActionPhase.WAIT and not _yields(top):
                    broken = "waits while it waits"
                stack.append((phase, kind, action))
            case _:
                opened = (_OPENED_BY[ActionPhase(phase)], kind, action)
                if top == opened:
                    stack.pop()
                else:
                    broken = "ends what is not on top"
                    _take_out(stack, opened)
        if broken:
            inside = None if top is None else f"{ActionPhase(top[0]).name} {_kind(top[0], top[1])} {top[2]}".lower()
            findings.broken(
                broken,
                task=task,
                seq=seq,
                phase=ActionPhase(phase),
                kind=_kind(phase, kind),
                action=action,
                inside=inside,
            )
    return stack


def _yields(entry: _Entry) -> bool:
    return entry[0] == ActionPhase.WAIT and entry[1] in (WaitKind.YIELD, WaitKind.LOCK)


def _take_out(stack: list[_Entry], opened: _Entry) -> None:
    for i in range(len(stack) - 1, -1, -1):
        if stack[i] == opened:
            del stack[i]
            return


def _kind(phase: int, kind: int) -> str:
    names: type[ActionKind] | type[WaitKind] = ActionKind
    if phase in (ActionPhase.WAIT, ActionPhase.RESUME):
        names = WaitKind
    return names(kind).name.lower()

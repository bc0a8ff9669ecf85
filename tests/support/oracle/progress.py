"""Law progress: a task that waits has nothing to do (rules 3.12, 5.20, 6.10, 7.1)."""

from __future__ import annotations

from itertools import pairwise

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
from flowsim.laws.job_graph import Channel, JobGraph, Task
from tests.support.oracle.catalogue import Outcome
from tests.support.oracle.facts import Facts, Findings, Row

GOT = (CreditKind.INITIAL_GOT, CreditKind.GOT)
ENDS = (LifeEvent.CANCELING, LifeEvent.CANCELED, LifeEvent.FAILED, LifeEvent.DEADLOCKED, LifeEvent.LIVELOCKED)
REAL_CLOCK_NS = 10**18
Step = tuple[int, str, Row]
"""Sequence number, table and row."""


def progress(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Looks at every moment of every rest."""
    steps: dict[int, list[Step]] = {task: [] for task in graph.tasks}
    for table in ("buffers", "credits", "actions", "mails", "received", "lifecycle"):
        for row in facts.rows(table):
            if table == "actions" and (
                row[3] < ActionPhase.WAIT or row[4] not in (WaitKind.MAIL, WaitKind.BUFFER, WaitKind.YIELD)
            ):
                continue
            if table == "received" and row[5] < ElementKind.END_OF_DATA:
                continue
            steps[row[1]].append((row[0], table, row))
    findings = Findings(0)
    for task, of_task in steps.items():
        of_task.sort(key=lambda step: step[0])
        _judge(findings, graph, graph.tasks[task], of_task)
    return findings.outcome("progress")


def _judge(findings: Findings, graph: JobGraph, task: Task, steps: list[Step]) -> None:
    begin: tuple[int, bool, bool] | None = None
    """Where the current rest began, and whether it is for mail, and for input."""
    rests: list[tuple[int, int, bool, bool]] = []
    for position, (_, table, row) in enumerate(steps):
        event = row[4] if table == "lifecycle" else None
        waits = table == "actions" and row[4] in (WaitKind.MAIL, WaitKind.BUFFER)
        if not waits and event not in (LifeEvent.FINISHED, *ENDS):
            continue
        if begin is not None:
            rests.append((begin[0], position, begin[1], begin[2]))
        begin = None
        if waits and row[3] == ActionPhase.WAIT:
            begin = position, row[4] == WaitKind.MAIL, row[6] == -1
        elif event == LifeEvent.FINISHED:
            begin = position, False, False
        findings.rows_examined += begin is not None
        if event in (LifeEvent.DEADLOCKED, LifeEvent.LIVELOCKED):
            findings.rows_examined += 1
            findings.broken("deadlocked", task=task.task)
    if begin is not None:
        rests.append((begin[0], len(steps) - 1, begin[1], begin[2]))
    for first, last, for_mail, for_input in rests:
        found: set[object] = set()
        for before, after in pairwise(range(first, last + 1)):
            now, later = steps[before][2][_time(steps[before])], steps[after][2][_time(steps[after])]
            if now < later < REAL_CLOCK_NS:
                found |= _possible(graph, task, steps[: before + 1], later, for_mail, for_input)
        for what in found:
            findings.broken("rests", task=task.task, seq=steps[first][0], what_it_could_do=str(what))


def _time(step: Step) -> int:
    return 3 if step[1] == "lifecycle" else 2


def _possible(
    graph: JobGraph, task: Task, past: list[Step], later: int, for_mail: bool, for_input: bool
) -> set[object]:
    """What the task could do after all that, before the time ``later``."""
    found: set[object] = set()
    for channel in graph.channels.values():
        judged = not channel.local and graph.edges[channel.edge].exchange != "BLOCKING"
        if channel.source_task != task.task or not judged:
            continue
        if _can_send(channel, past, bool(graph.history.checkpoints)) and _free_at(graph, channel, past) < later:
            found.add(channel.channel)
    yields: list[int] = []
    mails: dict[int, int] = {}
    arrived = 0
    incoming = {c.channel for c in graph.channels.values() if c.target_task == task.task and not c.local}
    for _, table, row in past:
        if table == "actions" and row[4] == WaitKind.YIELD:
            if row[3] == ActionPhase.WAIT:
                yields.append(row[6])
            else:
                del yields[-1:]
        elif table == "mails" and row[3] == MailAction.PUT:
            mails[row[4]] = row[5]
        elif table == "mails":
            mails.pop(row[4], None)
        elif table == "buffers" and row[3] in incoming:
            arrived += (row[4] == BufferSide.RECEIVED) - (row[4] == BufferSide.RECYCLED)
        elif table == "received" and row[3] in incoming:
            arrived -= 1
    if for_mail and any(priority >= (yields[-1] if yields else -1) for priority in mails.values()):
        found.add("mail")
    heads = [o for o in graph.operators if (o.vertex, o.operator) == (task.vertex, 0)]
    reads_all = [head.params.get("reading") for head in heads if head.kind != "operator"] == ["any"]
    selects = task.inputs > 1 and not reads_all
    if for_mail and for_input and not yields and not selects and arrived > 0:
        found.add("input")
    return found


def _can_send(channel: Channel, past: list[Step], may_block: bool) -> bool:
    """``may_block``: an event may be a barrier; then nothing leaves until the receiver resumes (rule 5.27)."""
    queue: list[tuple[int, int]] = []
    """Kind and number; the first entries have priority."""
    flushed, blocked, connected, credits = False, False, False, 0
    for _, table, row in past:
        if table not in ("buffers", "credits") or row[3] != channel.channel:
            continue
        if table == "credits":
            credits = row[6] if row[4] in GOT else credits
            blocked = blocked and row[4] != CreditKind.RESUMED
            connected = connected or row[4] in GOT
        elif row[4] in (BufferSide.QUEUED, BufferSide.PRIORITIZED):
            if row[4] == BufferSide.PRIORITIZED and (BufferKind.EVENT, row[5]) not in queue:
                continue
            queue = [entry for entry in queue if entry[1] != row[5]] + [(row[6], row[5])]
            queue.sort(key=lambda entry: entry[0] != BufferKind.PRIORITY_EVENT)
        elif row[4] == BufferSide.FLUSHED:
            flushed = True
        elif row[4] in (BufferSide.SENT, BufferSide.SKIPPED):
            kind, whole = row[6], row[10]
            if row[4] == BufferSide.SENT and kind != BufferKind.PRIORITY_EVENT:
                blocked = may_block and kind == BufferKind.EVENT
            credits -= row[4] == BufferSide.SENT and kind == BufferKind.DATA
            fits = row[4] == BufferSide.SENT or kind == BufferKind.DATA
            if fits and [entry for entry, _ in queue[:1]] == [kind] and (whole or len(queue) == 1):
                flushed = flushed and len(queue) > 1
                if whole:
                    del queue[0]
    if not queue or not connected or blocked:
        return False
    return queue[0][0] != BufferKind.DATA or (credits > 0 and (flushed or len(queue) > 1))


def _free_at(graph: JobGraph, channel: Channel, past: list[Step]) -> int:
    """When the connection has written what was sent last; all channels between two tasks share one."""
    free = 0
    for _, table, row in past:
        if table != "buffers" or row[4] != BufferSide.SENT:
            continue
        sent_on = graph.channels.get(row[3])
        if sent_on is None or (sent_on.source_task, sent_on.target_task) != (channel.source_task, channel.target_task):
            continue
        judged = not sent_on.local and graph.edges[sent_on.edge].exchange != "BLOCKING"
        if judged and sent_on.bytes_per_second:
            free = row[2] - (-row[7] * 10**9 // sent_on.bytes_per_second)
    return free

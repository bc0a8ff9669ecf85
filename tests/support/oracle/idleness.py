"""Law idle: an idle task emits nothing, and is idle exactly when its inputs, or its strategy, are (rules 5.8, 8.4, 8.16)."""

from __future__ import annotations

from flowsim.facts.kinds import ElementKind
from flowsim.laws.job_graph import JobGraph
from flowsim.laws.law import Outcome
from flowsim.units import MAX_WATERMARK
from tests.support.oracle.event_time_paths import FREE, Cause, EventTimePaths, emissions
from tests.support.oracle.facts import Facts, Findings, not_applicable
from tests.support.oracle.idle_timeouts import judge_timeouts
from tests.support.oracle.task_watermarks import Sent, sent_event_time
from tests.support.oracle.valve_model import ACTIVE, IDLE

LAW = "idle"


def idle(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Follows the status of every channel, and of every strategy."""
    if not graph.channels:
        return not_applicable(LAW, "the job has no channels")
    sent = sent_event_time(facts)
    made: dict[tuple[int, int], list[tuple[int, int, int, int]]] = {}
    for seq, task, operator, time_ns, split, kind, timestamp, _, _ in facts.rows("generated_watermark"):
        if split == -1 and kind in (ElementKind.WATERMARK, ElementKind.STATUS):
            made.setdefault((task, operator), []).append((seq, kind, timestamp, time_ns))
    findings = Findings(sum(map(len, sent.values())) + sum(map(len, made.values())))
    paths, called_for = EventTimePaths(graph), emissions(facts, graph)
    for task, origins in sorted(paths.channels_by_origin().items()):
        for origin, channels in sorted(origins.items()):
            statuses = paths.origin_of_statuses(graph.tasks[task].vertex, origin)
            changes = None if statuses == FREE else _changes(called_for.get((task, statuses), []))
            for channel in channels:
                _judge_channel(findings, sent.get(channel, []), changes, whole, {"task": task, "channel": channel})
    for place, rows in sorted(made.items()):
        _judge_strategy(findings, place, sorted(rows))
    judge_timeouts(findings, facts, graph)
    return findings.outcome(LAW)


def _changes(causes: list[Cause]) -> list[tuple[int, int]]:
    """When the output's status changes, and to what."""
    return [(seq, value) for seq, reported in causes for kind, value in reported if kind == ElementKind.STATUS]


def _judge_channel(
    findings: Findings, rows: list[Sent], changes: list[tuple[int, int]] | None, whole: bool, place: dict[str, int]
) -> None:
    """``changes``: the statuses that the channel must have; None where no facts say that."""
    statuses = [row for row in rows if row[1] == ElementKind.STATUS]
    for seq, kind, value in rows:
        before = [status for at, _, status in statuses if at < seq][-1:] or [ACTIVE]
        if kind == ElementKind.WATERMARK and before == [IDLE]:
            findings.broken("a watermark is sent while idle", seq=seq, timestamp=value, **place)
        if kind == ElementKind.STATUS and changes is None and before == [value]:
            findings.broken("a status equals the previous one", seq=seq, status=_name(value), **place)
    if changes is None:
        return
    begins = [-1, *(seq for seq, _ in changes)]
    called_for = [[], *([value] for _, value in changes)]
    for number, begin in enumerate(begins):
        end = begins[number + 1] if number + 1 < len(begins) else MAX_WATERMARK
        left = list(called_for[number])
        for seq, _, value in statuses:
            if not begin <= seq < end:
                continue
            if left == [value]:
                left = []
            else:
                findings.broken("not what all its inputs are", seq=seq, status=_name(value), **place)
        if left and (whole or number < len(begins) - 1):
            findings.broken("a change is not sent", seq=begin, status=_name(left[0]), **place)


def _judge_strategy(findings: Findings, place: tuple[int, int], rows: list[tuple[int, int, int, int]]) -> None:
    status = ACTIVE
    for seq, kind, value, time_ns in rows:
        wrong = ""
        if kind == ElementKind.WATERMARK:
            wrong = "speaks while idle" if status == IDLE else ""
        else:
            if value == status:
                wrong = "a status equals the previous one"
            status = value
        if wrong:
            findings.broken(wrong, task=place[0], operator=place[1], seq=seq, time_ns=time_ns)


def _name(status: int) -> str:
    return "ACTIVE" if status == ACTIVE else "IDLE"

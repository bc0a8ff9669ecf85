"""Law async-timers: an emitted element has no timer left (rules 9.10, 11.1, 11.12, 11.24, 11.26)."""

from __future__ import annotations

from itertools import pairwise

from flowsim.facts.kinds import AsyncAction, ElementKind, SystemTimer, TimerAction
from flowsim.laws.job_graph import JobGraph
from flowsim.units import NS_PER_MS
from tests.support.oracle.async_wait.places import NEVER, NO_OPERATOR, Place, async_facts, async_operators
from tests.support.oracle.catalogue import Outcome
from tests.support.oracle.facts import Facts, Findings, Row, not_applicable

LAW = "async-timers"


def async_timers(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Writes down for every place what happens to the timers of each entry."""
    if not async_operators(graph):
        return not_applicable(LAW, NO_OPERATOR)
    found = async_facts(facts, graph)
    rows = sorted(facts.rows("system_timers"))
    findings = Findings(len(rows) + found.count(AsyncAction.EMIT, kind=ElementKind.RECORD))
    for place in found.places:
        if place.legacy:
            continue
        own = [row for row in rows if (row[1], row[2]) == (place.task.task, place.operator.operator)]
        emissions = _emissions(place)
        for entry in {row[6] for row in own} | emissions.keys():
            _judge(findings, place, [row for row in own if row[6] == entry], emissions.get(entry))
    return findings.outcome(LAW)


def _emissions(place: Place) -> dict[int, tuple[int, int]]:
    """When each entry that was put was emitted first, and as what kind."""
    puts = place.firsts(AsyncAction.PUT)
    found: dict[int, tuple[int, int]] = {}
    for number, step in enumerate(place.steps):
        if step.action == AsyncAction.EMIT and puts.get(step.entry) in place.steps[:number]:
            found.setdefault(step.entry, (step.seq, step.kind))
    return found


def _judge(findings: Findings, place: Place, rows: list[Row], emission: tuple[int, int] | None) -> None:
    emitted_at, emitted_as = emission or (NEVER, -1)
    # Two things end all timers of an entry that wait: its emission, and the end of the input.
    bounds = sorted({bound for bound in (emitted_at, place.end) if bound < NEVER})
    sections = [-1, *bounds, NEVER]
    for begin, end in pairwise(sections):
        section = [row for row in rows if (begin < row[0] <= end if end == emitted_at else begin <= row[0] < end)]
        waits: dict[int, int] = {}
        registered: set[int] = set()
        for row in section:
            if wrong := _wrong(place, waits, registered, row):
                findings.broken(wrong, seq=row[0], entry=row[6])
        if end == NEVER:
            continue
        for kind in waits:
            findings.broken("left", kind=kind, end=end)
        is_late = end == emitted_at and emitted_as == ElementKind.RECORD and place.timeout_ms > 0
        if is_late and SystemTimer.TIMEOUT not in registered:
            findings.broken("emitted without a timeout", end=end)


def _wrong(place: Place, waits: dict[int, int], registered: set[int], row: Row) -> str:
    _, _, _, time_ns, action, kind, _, timestamp = row
    now_ms = time_ns // NS_PER_MS
    if action == TimerAction.REGISTER:
        again = kind in waits or (kind == SystemTimer.TIMEOUT and kind in registered)
        registered.add(kind)
        waits[kind] = timestamp
        due_ms = (now_ms + place.timeout_ms + 2**63) % 2**64 - 2**63
        return "again" if again else "another time" if kind == SystemTimer.TIMEOUT and timestamp != due_ms else ""
    registered.add(kind)
    waited = waits.pop(kind, None)
    if waited != timestamp:
        return "does not wait"
    return "too early" if action == TimerAction.FIRE and now_ms <= timestamp else ""

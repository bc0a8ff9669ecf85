"""Law async-order: an async operator emits in the order of its mode (rules 11.5, 11.9-11.11)."""

from __future__ import annotations

from bisect import bisect_right

from flowsim.facts.kinds import AsyncAction, ElementKind
from flowsim.laws.job_graph import JobGraph
from tests.support.oracle.async_wait.places import (
    NEVER,
    NO_OPERATOR,
    OUTCOMES,
    Place,
    Step,
    async_facts,
    async_operators,
)
from tests.support.oracle.catalogue import Outcome
from tests.support.oracle.facts import Facts, Findings, not_applicable

LAW = "async-order"
Turn = tuple[int, int]
"""Rank of an entry, and where the operator goes by it, the moment of its outcome."""
Arrival = tuple[int, int, int, int]
"""Sequence number, kind, timestamp and fingerprint of what came to the head of a chain."""


def async_order(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Looks for elements that others passed, and for what came in otherwise than it arrived."""
    if not async_operators(graph):
        return not_applicable(LAW, NO_OPERATOR)
    found = async_facts(facts, graph)
    findings = Findings(found.count(AsyncAction.PUT, AsyncAction.EMIT))
    heads = {place.task.task for place in found.places if place.is_head and place.task.inputs == 1}
    arrivals = _arrivals(facts, heads) if heads else {}
    for place in found.places:
        _judge_numbers(findings, place)
        _judge_turns(findings, place)
        if place.is_head and place.task.inputs == 1:
            _judge_arrivals(findings, place, arrivals.get(place.task.task, []))
    return findings.outcome(LAW)


def _judge_numbers(findings: Findings, place: Place) -> None:
    """Every element waits for its place before the next one comes (rule 11.1)."""
    expected = 0
    for step in place.steps:
        if step.action == AsyncAction.PUT:
            if step.entry != expected:
                findings.broken("an element is put in the wrong order", **place.where(step), expected=expected)
            expected = step.entry + 1


def _judge_turns(findings: Findings, place: Place) -> None:
    """An emission before the put is none, and an outcome after the emission does not count."""
    ranks = _ranks(place)
    puts, outcomes = place.firsts(AsyncAction.PUT), place.firsts(*OUTCOMES)
    by_outcome = not place.ordered and not place.legacy
    emitted: dict[int, tuple[Turn, int]] = {}
    """Per entry the furthest turn that was emitted before it was, and its own moment then."""
    furthest: Turn = (-1, -1)
    for step in place.steps:
        if step.action != AsyncAction.EMIT or step.entry not in ranks or step.seq < puts[step.entry].seq:
            continue
        if step.entry not in emitted:
            outcome = outcomes.get(step.entry)
            moment = outcome.seq if by_outcome and outcome is not None and outcome.seq < step.seq else -1
            emitted[step.entry] = furthest, moment
            furthest = max(furthest, (ranks[step.entry], moment))
    for entry, rank in sorted(ranks.items()):
        outcome = outcomes.get(entry)
        moment = outcome.seq if by_outcome and outcome is not None else -1
        before, moment = emitted.get(entry, (furthest, moment))
        if before > (rank, NEVER if moment < 0 else moment):
            findings.broken(
                "an element was overtaken", task=place.task.task, operator=place.operator.operator, entry=entry,
                rank=rank, by=before[0],
            )  # fmt: skip


def _ranks(place: Place) -> dict[int, int]:
    """Ordered: the number of the entry. Unordered: that of its segment (rules 11.6 to 11.8), as they were put."""
    puts = sorted(place.firsts(AsyncAction.PUT).items(), key=lambda item: item[1].seq)
    if place.ordered:
        return {entry: entry for entry, _ in puts}
    ranks, watermarks = {}, 0
    for entry, put in puts:
        is_watermark = put.kind == ElementKind.WATERMARK
        ranks[entry] = 2 * watermarks + is_watermark
        watermarks += is_watermark
    return ranks


def _arrivals(facts: Facts, tasks: set[int]) -> dict[int, list[Arrival]]:
    """Per task its records and watermarks, as they came to its head."""
    found: dict[int, list[Arrival]] = {task: [] for task in tasks}
    for seq, task, _, _, _, kind, timestamp, number, _ in facts.rows("received"):
        if task in found and kind == ElementKind.RECORD:
            found[task].append((seq, kind, timestamp, number))
    for seq, task, _, _, kind, timestamp in facts.rows("task_watermark"):
        if task in found and kind == ElementKind.WATERMARK:
            found[task].append((seq, kind, timestamp, 0))
    for arrivals in found.values():
        arrivals.sort()
    return found


def _judge_arrivals(findings: Findings, place: Place, arrivals: list[Arrival]) -> None:
    arrivals = [arrival for arrival in arrivals if arrival[0] < place.end]
    begins = [arrival[0] for arrival in arrivals]
    owned: list[list[Step]] = [[] for _ in range(len(arrivals) + 1)]
    for step in place.steps:
        if step.action == AsyncAction.PUT and step.seq > place.opening:
            owned[bisect_right(begins, step.seq)].append(step)
    for step in owned[0]:
        findings.broken("put before anything arrived", **place.where(step))
    last = len(arrivals) - 1
    for number, (seq, kind, timestamp, fingerprint) in enumerate(arrivals):
        put = owned[number + 1]
        if not put and number == last and place.end == NEVER:
            continue
        if [_what(step) for step in put] != [(kind, timestamp, fingerprint)]:
            findings.broken(
                "an element was not put as it arrived", task=place.task.task, operator=place.operator.operator, seq=seq,
                kind=ElementKind(kind), timestamp=timestamp, put=[step.entry for step in put],
            )  # fmt: skip


def _what(step: Step) -> tuple[int, int, int]:
    return step.kind, step.timestamp, step.fingerprint if step.kind == ElementKind.RECORD else 0

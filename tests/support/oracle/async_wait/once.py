"""Law async-once: every element has one outcome and is emitted once, with exactly its results (rules 11.12-11.19)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import xor

from flowsim.facts.kinds import AsyncAction, ElementKind
from flowsim.laws.job_graph import JobGraph
from flowsim.units import MAX_WATERMARK, NS_PER_MS
from tests.support.oracle.async_wait.places import NEVER, NO_OPERATOR, Place, Step, async_facts, async_operators
from tests.support.oracle.async_wait.readers import readers
from tests.support.oracle.catalogue import Outcome
from tests.support.oracle.facts import Facts, Findings, not_applicable

LAW = "async-once"
_JUDGED = (AsyncAction.PUT, AsyncAction.COMPLETE, AsyncAction.FAIL, AsyncAction.TIMEOUT, AsyncAction.EMIT)


def async_once(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Follows every element from its place in the queue to those who read its results."""
    if not async_operators(graph):
        return not_applicable(LAW, NO_OPERATOR)
    found = async_facts(facts, graph)
    findings = Findings(found.count(*_JUDGED))
    for step in found.strays:
        if step.action in _JUDGED:
            findings.broken(
                "of no async operator that is described", task=step.task, operator=step.operator, seq=step.seq
            )
    handed_on = readers(facts, graph, found.places)
    for place in found.places:
        lives: dict[int, _Life] = {}
        for step in place.steps:
            wrong = _wrong(place, lives.setdefault(step.entry, _Life()), step)
            if wrong:
                findings.broken(wrong, **place.where(step))
        for entry, life in sorted(lives.items()):
            if life.put is not None and not life.emitted and place.end < NEVER:
                findings.broken(
                    "an element is never emitted", task=place.task.task, operator=place.operator.operator, entry=entry
                )
        for got in handed_on[place.task.task, place.operator.operator]:
            _judge_reader(findings, place, got)
    return findings.outcome(LAW)


@dataclass(slots=True)
class _Life:
    """What happened to one element so far."""

    put: Step | None = None
    outcome: Step | None = None
    timed_out: bool = False
    emitted: bool = False


def _wrong(place: Place, life: _Life, step: Step) -> str:
    """What has left has no further step; an emission before the put is none."""
    if life.emitted and step.action in (AsyncAction.COMPLETE, AsyncAction.FAIL, AsyncAction.TIMEOUT):
        return "after it was emitted"
    match step.action:
        case AsyncAction.PUT:
            life.put = life.put or step
        case AsyncAction.COMPLETE | AsyncAction.FAIL:
            again, life.outcome = life.outcome is not None, life.outcome or step
            if again:
                return "a second outcome"
            if step.kind != ElementKind.RECORD:
                return "the outcome of what is no record"
            return "an outcome before it was put" if life.put is None and not place.legacy else ""
        case AsyncAction.TIMEOUT:
            again, life.timed_out = life.timed_out, True
            return "time runs out again" if again else _wrong_timeout(place, life, step)
        case AsyncAction.EMIT:
            again, life.emitted = life.emitted, life.put is not None
            return "emitted again" if again else _wrong_emission(life, step)
    return ""


def _wrong_timeout(place: Place, life: _Life, step: Step) -> str:
    if place.timeout_ms <= 0:
        return "time runs out although there is no timeout"
    if place.legacy:
        return ""
    if life.outcome is not None:
        return "time runs out although it has an outcome"
    if life.put is None:
        return "time runs out before it was put"
    due_ms = life.put.time_ns // NS_PER_MS + place.timeout_ms
    return "time runs out too early" if step.time_ns // NS_PER_MS <= due_ms <= MAX_WATERMARK else ""


def _wrong_emission(life: _Life, step: Step) -> str:
    put, outcome = life.put, life.outcome
    if put is None:
        return "an element is emitted before it was put"
    if (put.kind, put.timestamp) != (step.kind, step.timestamp):
        return "emitted as something else than it was put"
    if step.kind != ElementKind.RECORD:
        return "a watermark with results" if step.rows else ""
    if outcome is None:
        return "emitted before it has an outcome"
    known = outcome.rows >= 0
    other = (outcome.rows, outcome.fingerprint) != (step.rows, step.fingerprint)
    return "emitted with other results than its own" if known and other else ""


def _judge_reader(findings: Findings, place: Place, got: list[tuple[int, int]]) -> None:
    """``got``: sequence numbers and fingerprints of what one reader was given."""
    at = 0
    for step in place.steps:
        if step.action != AsyncAction.EMIT:
            continue
        begin = at
        while at < len(got) and got[at][0] < step.seq:
            at += 1
        mixed = reduce(xor, (number for _, number in got[begin:at]), 0)
        if (at - begin, mixed) != (step.rows, step.fingerprint):
            findings.broken(
                "its results are not what a reader got", **place.where(step), rows=step.rows, got=at - begin
            )
    if at < len(got) and place.end < NEVER:
        findings.broken(
            "a reader got more than was emitted", task=place.task.task, operator=place.operator.operator,
            seq=got[at][0], rows=len(got) - at,
        )  # fmt: skip

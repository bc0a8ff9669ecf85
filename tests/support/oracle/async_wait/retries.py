"""Law async-retries: how often, and when, the function is called for one element (rules 11.24, 11.25, 11.27, 11.28)."""

from __future__ import annotations

from dataclasses import dataclass, field

from flowsim.facts.kinds import AsyncAction, ElementKind
from flowsim.laws.job_graph import JobGraph
from tests.support.oracle.async_wait.places import NEVER, NO_OPERATOR, Place, Step, async_facts, async_operators
from tests.support.oracle.catalogue import Outcome
from tests.support.oracle.facts import Facts, Findings, not_applicable

LAW = "async-retries"


def async_retries(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Counts the calls of every element."""
    if not async_operators(graph):
        return not_applicable(LAW, NO_OPERATOR)
    found = async_facts(facts, graph)
    examined = found.count(AsyncAction.INVOKE, AsyncAction.RETRY)
    findings = Findings(examined + found.count(AsyncAction.PUT, kind=ElementKind.RECORD))
    for place in found.places:
        _judge(findings, place)
    return findings.outcome(LAW)


@dataclass(slots=True)
class _Calls:
    """What was asked for one element so far."""

    put: Step | None = None
    invoked: int = 0
    retries: set[int] = field(default_factory=set)
    timed_out: bool = False
    is_over: bool = False
    emitted: bool = False
    gone: bool = False
    """It was emitted, and is not among those that await a retry (rule 11.28): how often it was asked for is forgotten."""


def _judge(findings: Findings, place: Place) -> None:
    calls: dict[int, _Calls] = {}
    puts = [step.seq for step in place.steps if step.action == AsyncAction.PUT]
    last = max([step.seq for step in place.steps if step.action in (AsyncAction.PUT, AsyncAction.RETRY)], default=-1)
    for step in place.steps:
        of_entry = calls.setdefault(step.entry, _Calls())
        wrong = ""
        match step.action:
            case AsyncAction.PUT:
                of_entry.put = of_entry.put or step
            case AsyncAction.COMPLETE | AsyncAction.FAIL:
                of_entry.is_over = True
            case AsyncAction.TIMEOUT:
                of_entry.timed_out = True
            case AsyncAction.EMIT if of_entry.put is not None and not of_entry.emitted:
                of_entry.emitted = True
                of_entry.gone = not (of_entry.timed_out and of_entry.retries)
                if of_entry.put.kind == ElementKind.RECORD and not of_entry.invoked:
                    findings.broken("never asked for", **place.where(step))
            case AsyncAction.INVOKE:
                wrong = _wrong_call(place, of_entry, step, step.seq > last)
                of_entry.invoked += 1
            case AsyncAction.RETRY:
                wrong = _wrong_retry(place, of_entry, step)
                of_entry.retries.add(step.attempt)
        if wrong:
            findings.broken(wrong, **place.where(step), attempt=step.attempt)
    for entry, of_entry in sorted(calls.items()):
        put = of_entry.put
        if put is None or put.kind != ElementKind.RECORD or of_entry.invoked or of_entry.emitted:
            continue
        if puts[-1] > put.seq or NEVER > place.end > put.seq:
            findings.broken("never asked for", task=put.task, operator=put.operator, seq=put.seq, entry=entry)


def _wrong_call(place: Place, calls: _Calls, step: Step, at_the_end: bool) -> str:
    if calls.put is None:
        return "asked for before it was put"
    if step.attempt != calls.invoked + 1 and not calls.gone:
        return "attempts are not counted 1, 2, 3"
    if step.attempt <= 1:
        return "asked for the first time after it was emitted" if calls.gone else ""
    if not place.retries:
        return "asked for again without a strategy"
    if not at_the_end and (calls.gone or calls.is_over or step.attempt - 1 not in calls.retries):
        return "asked for again although no retry was due"
    # Who was being asked for the last time when the input ended is asked once more (rule 11.27).
    return "asked for too often" if step.attempt - 1 > place.limit + at_the_end else ""


def _wrong_retry(place: Place, calls: _Calls, step: Step) -> str:
    if calls.gone:
        return "waits for a retry although it was emitted"
    if not place.retries:
        return "waits for a retry without a strategy"
    if step.attempt != calls.invoked:
        return "not the attempt that was made"
    if step.attempt > place.limit:
        return "a record waits for one retry too many"
    if step.attempt in calls.retries:
        return "a record waits for the same retry again"
    return "waits for a retry although it is over" if calls.timed_out or calls.is_over else ""

"""Law async-payload: the function, a retry and a timeout get the element that was put (rules 11.1, 11.17, 11.25)."""

from __future__ import annotations

from flowsim.facts.kinds import AsyncAction
from flowsim.laws.job_graph import JobGraph
from tests.support.oracle.async_wait.places import NO_OPERATOR, Place, Step, async_facts, async_operators
from tests.support.oracle.catalogue import Outcome
from tests.support.oracle.facts import Facts, Findings, not_applicable

LAW = "async-payload"
GIVEN = (AsyncAction.INVOKE, AsyncAction.RETRY, AsyncAction.TIMEOUT)


def async_payload(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Looks from every step at the put of its element."""
    if not async_operators(graph):
        return not_applicable(LAW, NO_OPERATOR)
    found = async_facts(facts, graph)
    findings = Findings(found.count(*GIVEN))
    for place in found.places:
        puts = place.firsts(AsyncAction.PUT)
        for number, step in enumerate(place.steps):
            before = [other for other in place.steps[:number] if other.entry == step.entry]
            put = puts.get(step.entry)
            if step.action not in GIVEN or put not in before or _is_gone(place, put, before):
                continue
            if (step.kind, step.timestamp, step.fingerprint) != (put.kind, put.timestamp, put.fingerprint):
                findings.broken("another element than was put", **place.where(step))
    return findings.outcome(LAW)


def _is_gone(place: Place, put: Step, before: list[Step]) -> bool:
    """Whether it was emitted, and is not among those that await a retry (rule 11.28)."""
    of_life = before[before.index(put) :]
    emission = next((n for n, step in enumerate(of_life) if step.action == AsyncAction.EMIT), None)
    if emission is None:
        return False
    earlier = {step.action for step in before[: before.index(of_life[emission])]}
    return not {AsyncAction.TIMEOUT, AsyncAction.RETRY} <= earlier

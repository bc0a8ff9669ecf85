"""Law async-capacity: the queue never exceeds its capacity, and has the elements put and not emitted (rules 11.1-11.5)."""

from __future__ import annotations

from flowsim.facts.kinds import AsyncAction
from flowsim.laws.job_graph import JobGraph
from tests.support.oracle.async_wait.places import NO_OPERATOR, OUTCOMES, async_facts, async_operators
from tests.support.oracle.catalogue import Outcome
from tests.support.oracle.facts import Facts, Findings, not_applicable

LAW = "async-capacity"


def async_capacity(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Counts what goes in and out."""
    if not async_operators(graph):
        return not_applicable(LAW, NO_OPERATOR)
    found = async_facts(facts, graph)
    findings = Findings(len(found.steps))
    for place in found.places:
        inside, capacity = 0, place.capacity
        for step in place.steps:
            inside += (step.action == AsyncAction.PUT) - (step.action == AsyncAction.EMIT)
            # An outcome may come while one that has left the queue is being handed on.
            right = step.queued == inside or (step.action in OUTCOMES and step.queued == inside - 1)
            if step.queued > capacity or not right:
                wrong = "more than its capacity" if step.queued > capacity else "not what was put and not emitted"
                findings.broken(wrong, **place.where(step), queued=step.queued, expected=inside, capacity=capacity)
    return findings.outcome(LAW)

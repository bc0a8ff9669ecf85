"""Law async-end: the queue is empty when the input has ended, and nothing is emitted afterwards (rule 11.19)."""

from __future__ import annotations

from flowsim.facts.kinds import AsyncAction
from flowsim.laws.job_graph import JobGraph
from tests.support.oracle.async_wait.places import NO_OPERATOR, OUTCOMES, async_facts, async_operators
from tests.support.oracle.catalogue import Outcome
from tests.support.oracle.facts import Facts, Findings, not_applicable

LAW = "async-end"
_MOVES = (AsyncAction.PUT, AsyncAction.EMIT)


def async_end(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Looks at every end of input, and behind it."""
    if not async_operators(graph):
        return not_applicable(LAW, NO_OPERATOR)
    found = async_facts(facts, graph)
    findings = Findings(sum(len(place.ends) + place.closes for place in found.places))
    for place in found.places:
        moves = [step for step in place.steps if step.action in _MOVES]
        for end in place.ends:
            before = [step for step in moves if step.seq < end]
            if before and before[-1].queued:
                findings.broken(
                    "the input has ended, but not all has left", task=place.task.task,
                    operator=place.operator.operator, seq=end, queued=before[-1].queued,
                )  # fmt: skip
        for step in place.steps:
            if step.action in OUTCOMES:
                continue
            if step.seq > place.end:
                findings.broken("after the end of its input", **place.where(step))
            elif step.seq > place.closing:
                findings.broken("after it was closed", **place.where(step))
    return findings.outcome(LAW)

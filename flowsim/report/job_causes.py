"""The causes of ``why checkpoint`` and ``why restart`` that a report shows beside its checkpoints and failures."""

from __future__ import annotations

from typing import Final

from flowsim.why.answer import WhyAnswer
from flowsim.why.checkpoints.question import slowest_first, why_checkpoint
from flowsim.why.checkpoints.restart import why_restart
from flowsim.why.run_facts import RunFacts

MOST: Final = 8
"""So many checkpoints, the slowest and those that failed, and so many failures have their causes."""


def job_causes(facts: RunFacts) -> dict[str, dict[str, list[dict[str, object]]]]:
    """Returns the answers by the numbers of checkpoints and failures, as JSON values."""
    history = facts.checkpoints()
    chosen = sorted(one.checkpoint for one in slowest_first(facts, history.checkpoints.values())[:MOST])
    return {
        "checkpoints": {str(one): _sentences(why_checkpoint(facts, [str(one)])) for one in chosen},
        "failures": {str(one): _sentences(why_restart(facts, [str(one)])) for one in list(history.failures)[:MOST]},
    }


def _sentences(found: WhyAnswer) -> list[dict[str, object]]:
    return [
        {"text": cause.text, "rules": list(cause.rules), "details": list(cause.details)}
        for cause in (found.statement, *found.causes)
    ]

"""The design of a chain's async operators: mailbox, or that of Flink 1.2 to 1.9."""

from __future__ import annotations

from flowsim.errors import BadInput
from flowsim.graph.job_graph import ChainedOperator, JobVertex


def is_legacy_async(chained: ChainedOperator) -> bool:
    """Returns True if the operator emits from its own thread (rule 11.30)."""
    return _design(chained) == "legacy"


def has_legacy_async_operator(vertex: JobVertex) -> bool:
    """Returns True if the tasks of a vertex need a checkpoint lock.

    Raises BadInput for both designs in one chain: a thread beside the mailbox loop must not yield to the mailbox.
    """
    names: dict[object, str] = {}
    for chained in vertex.operators:
        names.setdefault(_design(chained), chained.node.name)
    if "legacy" in names and "mailbox" in names:
        raise BadInput(
            f"operators '{names['legacy']}' (design legacy) and '{names['mailbox']}' (design mailbox) are in "
            "one chain: the threads of the legacy operator would have to run the mails of the mailbox "
            "operator; start a new chain at one of them"
        )
    return "legacy" in names


def _design(chained: ChainedOperator) -> object:
    description = chained.node.description
    return description.params.get("design") if description.kind == "async_wait" else None

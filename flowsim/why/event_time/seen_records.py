"""The records that a watermark strategy saw, where the recording shows all of them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from flowsim.facts.kinds import ElementKind
from flowsim.laws.event_time.paths import EventTimePaths
from flowsim.laws.job_graph import Operator
from flowsim.trace.time import event_time
from flowsim.why.run_facts import Rows, RunFacts


def strategy_of(operator: Operator) -> Mapping[str, object] | None:
    """The parameters of an operator's watermark strategy; None without one."""
    found = operator.params.get("watermarks")
    return found if isinstance(found, Mapping) and found.get("kind") != "none" else None


def seen_records(facts: RunFacts, task: int, operator: Operator) -> Rows | None:
    """The records of a strategy in order, as rows of table ``sent``; None if not every one of them was sent on a channel.

    They were all sent if only operators that emit one record for each lie between the strategy and an output.
    """
    return facts.shared(("seen records", operator.operator), task, lambda: _seen_records(facts, task, operator))


def _seen_records(facts: RunFacts, task: int, operator: Operator) -> Rows | None:
    paths = facts.graph.once(EventTimePaths)
    for edge in paths.edges_of(operator, lambda behind: behind.kind == "map" and not behind.input_tag):
        channels = [channel.channel for channel in facts.graph.sent_by(task) if channel.edge == edge.edge]
        if channels and not edge.side_output:
            only = channels[:1] if edge.partitioner == "BROADCAST" else channels
            sent = facts.rows("sent", task)
            return sent.where(np.isin(sent["channel"], only) & (sent["kind"] == ElementKind.RECORD))
    return None


def last_seen_text(facts: RunFacts, seen: Rows | None) -> str:
    """The last record of a strategy as a sentence; '' if none is shown."""
    row = None if seen is None else seen.last()
    if row is None:
        return ""
    return f" Its last record came at {facts.moment(row['time_ns'])}, with timestamp {event_time(row['timestamp'])}."

"""What operators restored from the snapshot of another run, whose timers and states this run's recording does not name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flowsim.facts.kinds import StoredAction, StoredKind
from flowsim.laws.job_graph import Operator
from flowsim.laws.job_history import NO_CHECKPOINT
from flowsim.quantities import count_text
from flowsim.why.answer import Cause
from flowsim.why.run_facts import RunFacts, place_of

TIMERS = (StoredKind.EVENT_TIME_TIMERS, StoredKind.PROCESSING_TIME_TIMERS)


def restored_causes(facts: RunFacts, task: int, operator: Operator, kinds: Sequence[StoredKind]) -> list[Cause]:
    """How many timers or states of an operator came from the snapshot with which the job started; empty if none did."""
    checkpoint = facts.graph.history.first_restored
    if checkpoint == NO_CHECKPOINT:
        return []
    rows = facts.rows_of_attempts("stored_state", task)[0].equal(
        operator=operator.operator, action=StoredAction.RESTORED, checkpoint=checkpoint
    )
    rows = rows.where(np.isin(rows["kind"], kinds))
    first = rows.first()
    if first is None:
        return []
    entries = int(rows["entries"].sum())
    count, shown = count_text(entries, "timer"), "fires or is deleted"
    if kinds[0] == StoredKind.KEYED_STATE:
        count, shown = count_text(entries, "entry of keyed state", "entries of keyed state"), "is changed by a call"
    text = (
        f"{facts.operator_in(task, operator.operator)} restored {count} of all its keys from snapshot {checkpoint} of another "
        f"run: this recording shows such an entry only when it {shown}."
    )
    return [Cause(text, ("9.15",), place_of(first))]

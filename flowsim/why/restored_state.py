"""State from a snapshot of another run: its records, windows and timers are not in the recording."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flowsim.facts.kinds import StoredAction, StoredKind
from flowsim.history.timers import lives_of
from flowsim.laws.java_key import owner_subtask
from flowsim.laws.job_graph import Operator
from flowsim.laws.job_history import NO_CHECKPOINT
from flowsim.quantities import count_text
from flowsim.why.answer import Cause
from flowsim.why.run_facts import Row, Rows, RunFacts, place_of

TIMERS = (StoredKind.EVENT_TIME_TIMERS, StoredKind.PROCESSING_TIME_TIMERS)


def snapshot_of_another_run(facts: RunFacts, task: int, operator: Operator, key_hash: int | None = None) -> Row | None:
    """A fact of table ``stored_state``: the task started with keyed state of the operator; ``key_hash``: of this key's group."""
    rows = _restored(facts, task, operator).equal(kind=StoredKind.KEYED_STATE)
    if key_hash is not None:
        count = facts.graph.tasks[task].max_parallelism
        rows = rows.equal(key_group=owner_subtask(key_hash, count, count))
    return rows.where(rows["entries"] > 0).first()


def _restored(facts: RunFacts, task: int, operator: Operator) -> Rows:
    """The state with which the first attempt of a task started."""
    rows = facts.rows_of_attempts("stored_state", task)[0]
    return rows.equal(operator=operator.operator, action=StoredAction.RESTORED)


def restored_timers_causes(facts: RunFacts, task: int, operator: Operator) -> list[Cause]:
    """That event-time timers of a snapshot of another run still wait. Needs the level full."""
    timers = _restored(facts, task, operator).equal(kind=StoredKind.EVENT_TIME_TIMERS)
    waiting = int(timers["entries"].sum()) - (_ended_timers(facts, task, operator) if len(timers) else 0)
    if waiting <= 0 or not facts.is_full:
        return []
    text = (
        f"{facts.operator_in(task, operator.operator)} has {count_text(waiting, 'event-time timer')} of "
        f"{snapshot_text(timers.row(0))}. The recording shows such a timer only when it fires or is deleted."
    )
    return [Cause(text, ("12.120",), place_of(timers.row(0)))]


def _ended_timers(facts: RunFacts, task: int, operator: Operator) -> int:
    """How many event-time timers fired or were deleted that no attempt of this run registered."""
    contained = set(facts.rows_of_state("timers", task)["seq"].tolist())
    lives = [life for life in lives_of(facts, task, operator) if life.is_event_time and life.registered is None]
    return sum(life.end is not None and life.end["seq"] in contained for life in lives)


def snapshot_text(row: Row) -> str:
    """``row``: of table ``stored_state``."""
    return f"snapshot {row['checkpoint']} of another run"


def besides_text(row: Row | None) -> str:
    """After the number of records of a window: those of its snapshot are not recorded; '' without a snapshot."""
    return "" if row is None else f", besides any in {snapshot_text(row)}, which are not recorded"


def restored_causes(facts: RunFacts, task: int, operator: Operator, kinds: Sequence[StoredKind]) -> list[Cause]:
    """How many timers or states of an operator came from the snapshot with which the job started; empty if none did."""
    checkpoint = facts.graph.history.first_restored
    if checkpoint == NO_CHECKPOINT:
        return []
    rows = _restored(facts, task, operator).equal(checkpoint=checkpoint)
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

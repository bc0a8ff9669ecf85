"""A job that started from a snapshot of another run: what each subtask got of its state and of its data in flight."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Final

import numpy as np

from flowsim.facts.kinds import CommittableAction, StoredAction, StoredKind
from flowsim.laws.java_key import owned_groups
from flowsim.laws.job_history import NO_CHECKPOINT, StoredChannelEvent
from flowsim.quantities import count_text
from flowsim.why.answer import Cause, WhyAnswer
from flowsim.why.run_facts import RunFacts, place_of

_MOST_LISTED: Final = 12


def started_answer(facts: RunFacts) -> WhyAnswer | None:
    """Explains the start of the job; None if it did not start from a snapshot."""
    checkpoint = facts.graph.history.first_restored
    if checkpoint == NO_CHECKPOINT:
        return None
    text = f"The job started from snapshot {checkpoint} of another run; no failure restarted a task{facts.by_moment}."
    causes = [*_positions(facts), *_keyed_state(facts), *_in_flight(facts, checkpoint), *_committables(facts)]
    return WhyAnswer(Cause(text, ("12.29",)), tuple(causes))


def _positions(facts: RunFacts) -> list[Cause]:
    lines = []
    for task in facts.graph.tasks:
        for row in facts.rows_of_attempts("source_positions", task)[0].equal(action=StoredAction.RESTORED):
            split = facts.names.value(row["split"]) or str(row["split"])
            lines.append(f"{facts.operator_in(task, row['operator'])}: position {row['position']:,} of split {split}")
    if not lines:
        return []
    text = "Sources continue at the positions that the snapshot contains: what was read before is not read again."
    return [Cause(text, ("12.111",), None, tuple(lines[:_MOST_LISTED]))]


def _keyed_state(facts: RunFacts) -> list[Cause]:
    """The key groups and entries of each subtask."""
    lines, place = [], None
    most = 0
    for task in facts.graph.tasks.values():
        rows = facts.rows_of_attempts("stored_state", task.task)[0].equal(action=StoredAction.RESTORED)
        rows = rows.equal(kind=StoredKind.KEYED_STATE)
        if not len(rows):
            continue
        most, place = max(most, task.max_parallelism), place or place_of(rows.row(0))
        first, last = owned_groups(task.subtask, task.parallelism, task.max_parallelism)
        entries = count_text(int(rows["entries"].sum()), "entry", "entries")
        lines.append(f"{facts.task(task.task)}: owns the key groups {first} to {last}, and restored {entries}")
    if not lines:
        return []
    text = (
        "Keyed state is restored by key group: each subtask gets the groups that it owns now, whatever the parallelism of the "
        f"other run was. Any parallelism up to the max parallelism, {most:,}, is possible."
    )
    return [Cause(text, ("12.23", "1.19"), place, tuple(lines[:_MOST_LISTED]))]


def _in_flight(facts: RunFacts, checkpoint: int) -> list[Cause]:
    """The elements that the snapshot has of each channel, and who processes them."""
    events = [
        event
        for event in facts.graph.history.stored_channels
        if event.action == StoredAction.RESTORED and event.checkpoint == checkpoint and event.elements
    ]
    if not events:
        return []
    total = sum(event.elements for event in events)
    lines = tuple(_in_flight_lines(facts, events))[:_MOST_LISTED]
    text = (
        f"The snapshot contains {count_text(total, 'element')} in flight: tasks process them before they read new data"
    )
    if all(event.channel >= 0 for event in events):
        return [Cause(f"{text}.", ("12.83", "12.92"), None, lines)]
    text += (
        ". The parallelism has changed: each subtask reads the buffers of all old channels that may have its keys, and drops the "
        "records of other subtasks, so each record is processed once, by the owner of its key."
    )
    return [Cause(text, ("12.102", "12.104"), None, lines)]


def _in_flight_lines(facts: RunFacts, events: list[StoredChannelEvent]) -> Iterator[str]:
    for task, of_task in groupby(sorted(events, key=lambda event: event.task_id), key=lambda event: event.task_id):
        parts = [
            f"{count_text(event.elements, 'element')} of old channel {facts.names.edge(event.edge)}, subtask "
            f"{event.source + 1} to subtask {event.target + 1}"
            for event in of_task
        ]
        yield f"{facts.task(task)}: {'; '.join(parts)}"


def _committables(facts: RunFacts) -> list[Cause]:
    rows = facts.all_rows("committables").equal(action=CommittableAction.RESTORED)
    rows = rows.where(np.isin(rows["time_ns"], facts.start_ns))
    if not len(rows):
        return []
    text = f"{count_text(len(rows), 'committable')} of the snapshot {'was' if len(rows) == 1 else 'were'} committed at the start."
    return [Cause(text, ("12.133", "12.135"), place_of(rows.row(0)))]

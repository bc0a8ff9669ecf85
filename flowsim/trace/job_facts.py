"""The facts of the job's side in a trace: checkpoints, failures and restarts, between those of the tasks."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from typing import Final

from flowsim.facts.checkpoint_tables import CHECKPOINTS, RESTARTS, STORED_CHANNELS
from flowsim.facts.kinds import CheckpointAction, RestartAction, StoredAction
from flowsim.history.job_events import JOB_TABLES, job_events
from flowsim.recording.merged_facts import Fact, Selection, merged_facts
from flowsim.recording.reader import Recording

THE_JOB: Final = "the job"
NO_TASK: Final = -1
_CAUSES: Final[dict[str, frozenset[int]]] = {
    CHECKPOINTS.name: frozenset({CheckpointAction.TRIGGERED, CheckpointAction.REJECTED, CheckpointAction.RESTORED}),
    RESTARTS.name: frozenset({RestartAction.RESTART}),
    STORED_CHANNELS.name: frozenset({StoredAction.RESTORED}),
}
"""Actions that come before the facts of tasks at the same time."""
_TASKS: Final = 1


def facts_with_job(recording: Recording, selection: Selection) -> Iterator[Fact]:
    """Returns the selected facts of the tasks and of the job's side, by time.

    A selection of tasks or channels has no facts of the job. Facts of the job at the time of task facts: triggers and
    restarts come before them, the others after them. Raises BadInput for damaged parts.
    """
    of_tasks = merged_facts(recording, _without_job(selection))
    if not has_job_facts(recording, selection):
        return of_tasks
    tables = tuple(table for table in JOB_TABLES if table in selection.tables)
    keyed = merge(
        ((fact.time_ns, _TASKS, fact) for fact in of_tasks),
        _of_job(recording, selection, tables),
        key=lambda found: found[:2],
    )
    return (fact for *_, fact in keyed)


def has_job_facts(recording: Recording, selection: Selection) -> bool:
    """True if the selection may have facts of the job."""
    if selection.tasks is not None or selection.channels is not None:
        return False
    return any(table in selection.tables and recording.row_count(table) for table in JOB_TABLES)


def _without_job(selection: Selection) -> Selection:
    return Selection(
        tuple(table for table in selection.tables if table not in JOB_TABLES),
        selection.tasks,
        selection.channels,
        selection.from_ns,
        selection.to_ns,
        {table: values for table, values in selection.values.items() if table not in JOB_TABLES},
    )


def _of_job(recording: Recording, selection: Selection, tables: tuple[str, ...]) -> Iterator[tuple[int, int, Fact]]:
    from_ns, to_ns = selection.from_ns, selection.to_ns
    last_ns, rank = -1, 0
    for epoch in range(len(recording.epochs)):
        for table, event in job_events(recording, epoch, tables):
            allowed = selection.values.get(table, {}).get("checkpoint")
            if allowed is not None and event.checkpoint not in allowed:
                continue
            if (from_ns is not None and event.time_ns < from_ns) or (to_ns is not None and event.time_ns >= to_ns):
                continue
            own = 0 if event.action in _CAUSES[table] else _TASKS + 1
            # The facts of the job keep their order.
            rank = max(rank, own) if event.time_ns == last_ns else own
            last_ns = event.time_ns
            yield event.time_ns, rank, Fact(table, NO_TASK, event.time_ns, 0, tuple(event))

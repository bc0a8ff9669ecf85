"""The facts of the job's side in a trace: checkpoints, failures and restarts, as sentences between those of the tasks."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import merge
from typing import Final

from flowsim.facts.checkpoint_tables import CHECKPOINTS, RESTARTS, STORED_CHANNELS
from flowsim.facts.kinds import CheckpointAction, CheckpointReason, RestartAction, SnapshotKind, StoredAction
from flowsim.history.job_events import JOB_TABLES, job_events, job_fact_out_of_range
from flowsim.laws.job_history import CheckpointEvent, RestartEvent, StoredChannelEvent
from flowsim.quantities import count_text
from flowsim.recording.merged_facts import Fact, Selection, merged_facts
from flowsim.recording.reader import Recording
from flowsim.trace.names import Names
from flowsim.trace.sentence import Sentence

THE_JOB: Final = "the job"
NO_TASK: Final = -1
_CAUSES: Final[dict[str, frozenset[int]]] = {
    CHECKPOINTS.name: frozenset({CheckpointAction.TRIGGERED, CheckpointAction.REJECTED, CheckpointAction.RESTORED}),
    RESTARTS.name: frozenset({RestartAction.RESTART}),
    STORED_CHANNELS.name: frozenset({StoredAction.RESTORED}),
}
"""Actions that come before the facts of tasks at the same time."""
_TASKS: Final = 1
_KINDS: Final = {
    SnapshotKind.CHECKPOINT: "checkpoint",
    SnapshotKind.FULL_CHECKPOINT: "full checkpoint",
    SnapshotKind.SAVEPOINT: "savepoint",
    SnapshotKind.SUSPEND: "savepoint of a stop without drain",
    SnapshotKind.TERMINATE: "savepoint of a stop with drain",
}


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


def job_sentence(recording: Recording, names: Names, fact: Fact) -> Sentence:
    """Returns a fact of the job's side as text. Raises BadInput if one of its numbers is out of range."""
    try:
        if fact.table == CHECKPOINTS.name:
            return _checkpoint(names, CheckpointEvent(*fact.row))
        if fact.table == STORED_CHANNELS.name:
            return _stored_channel(names, StoredChannelEvent(*fact.row))
        return _restart(names, RestartEvent(*fact.row))
    except ValueError:
        raise job_fact_out_of_range(recording, fact.table, fact.row[0]) from None


def _checkpoint(names: Names, event: CheckpointEvent) -> Sentence:
    number, reason = event.checkpoint, CheckpointReason(event.reason).name
    name = f"{_KINDS[SnapshotKind(event.type)]} {number}"
    short = f"checkpoint {number}"
    task = names.short_task(event.task_id)
    match CheckpointAction(event.action):
        case CheckpointAction.TRIGGERED:
            finished = f", of which {event.acknowledged:,} had finished" if event.acknowledged > 0 else ""
            return Sentence(f"triggers {name} of {count_text(event.tasks, 'task')}{finished}", ("12.1", "12.45"))
        case CheckpointAction.REJECTED:
            return Sentence(f"rejects a trigger: {reason}", ("12.2", "12.46"))
        case CheckpointAction.ACKNOWLEDGED:
            count = f"{event.acknowledged:,} of {event.tasks:,}"
            return Sentence(f"receives the acknowledgement of {short} by {task}, {count}", ("12.49",))
        case CheckpointAction.DECLINED:
            return Sentence(f"receives that {task} declines {short}: {reason}", ("12.53",))
        case CheckpointAction.COMPLETED:
            return Sentence(f"completes {name} with {event.state_bytes:,} bytes of state", ("12.3", "12.50"))
        case CheckpointAction.ABORTED:
            return Sentence(f"aborts {name}: {reason}", ("12.54",))
        case CheckpointAction.SUBSUMED:
            return Sentence(f"drops {short}, because a newer one replaces it", ("12.60",))
        case CheckpointAction.RESTORED:
            return Sentence(f"restores {name} with {event.state_bytes:,} bytes of state", ("12.29",))


def _restart(names: Names, event: RestartEvent) -> Sentence:
    is_of_task = event.task_id >= 0
    task = f"attempt {event.attempt} of {names.short_task(event.task_id)}"
    found = names.reason(event.failure)
    because = f" ({found})" if found else ""
    match RestartAction(event.action):
        case RestartAction.FAILURE:
            what = f"receives the failure of {task}" if is_of_task else "fails as a whole"
            return Sentence(f"{what}: failure {event.failure}{because}, restart in {event.delay_ms:,} ms", ("12.123",))
        case RestartAction.GIVE_UP:
            what = f"receives the failure of {task}" if is_of_task else "fails as a whole"
            return Sentence(f"{what}: failure {event.failure}{because}, no restart is allowed", ("12.129",))
        case RestartAction.RESTART:
            state = "without a checkpoint" if event.checkpoint < 0 else f"from checkpoint {event.checkpoint}"
            return Sentence(f"starts {task} {state} because of failure {event.failure}", ("12.29", "12.123"))


def _stored_channel(names: Names, event: StoredChannelEvent) -> Sentence:
    checkpoint = f"checkpoint {event.checkpoint}"
    if event.channel < 0:
        old = f"old channel from subtask {event.source} to subtask {event.target} of {names.edge(event.edge)}"
        records = count_text(event.elements, "record")
        task = names.short_task(event.task_id)
        return Sentence(f"gives {task} {records} of the {old} from {checkpoint}", ("12.97", "12.104"))
    inputs = f"{count_text(event.input_buffers, 'buffer')} ({event.input_bytes:,} bytes) of its receiver"
    outputs = f"{count_text(event.output_buffers, 'buffer')} ({event.output_bytes:,} bytes) of its sender"
    what = f"{names.channel(event.channel)}: {inputs}, {outputs}, {count_text(event.elements, 'element')}"
    match StoredAction(event.action):
        case StoredAction.STORED:
            return Sentence(f"stores in {checkpoint} in-flight data of {what}", ("12.83", "12.84"))
        case StoredAction.RESTORED:
            return Sentence(f"restores from {checkpoint} in-flight data of {what}", ("12.92",))
        case _:
            raise ValueError(f"a channel is stored or restored, not {event.action}")

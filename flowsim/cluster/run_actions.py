"""Actions at set times of a run: stop, cancel, checkpoint, savepoint, snapshot."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from flowsim.errors import BadInput
from flowsim.graph.edge_expansion import Subtask
from flowsim.graph.execution_graph import ExecutionGraph
from flowsim.tasks.snapshots import TaskSnapshot
from flowsim.tasks.stream_task import StreamTask


class Snapshots:
    """The snapshots of a run; raises BadInput for an unknown task or subtask."""

    def __init__(self, actions: Iterable[RunAction], execution: ExecutionGraph) -> None:
        self._snapshots: list[tuple[SnapshotTask, list[Subtask]]] = [
            (action, _subtasks(action, execution)) for action in actions if isinstance(action, SnapshotTask)
        ]
        self._requested: set[int] = set()
        """Indexes of the requested snapshots; a set of actions would not do, because an action can occur twice."""
        self._taken: list[tuple[int, TaskSnapshot]] = []

    def request(self, action: SnapshotTask, tasks: Sequence[StreamTask], now_ns: int) -> None:
        """Requests the snapshots of ``action`` at its time ``now_ns``."""
        place = next(n for n, (other, _) in enumerate(self._snapshots) if other is action and n not in self._requested)
        self._requested.add(place)
        for subtask in self._snapshots[place][1]:
            snapshot = TaskSnapshot(subtask.name, now_ns)
            self._taken.append((subtask.id, snapshot))
            tasks[subtask.id].request_snapshot(snapshot)

    def result(self, tasks: Sequence[StreamTask], started_ns: int) -> tuple[TaskSnapshot, ...]:
        """Returns all requested snapshots in order, with times from the start of the job.

        A snapshot that was not taken has a reason.
        """
        for number, snapshot in self._taken:
            snapshot.miss(f"the task was already {tasks[number].state.value}")
        made = [_since(snapshot, started_ns) for _, snapshot in self._taken]
        for place, (action, subtasks) in enumerate(self._snapshots):
            if place not in self._requested:
                made += [TaskSnapshot(one.name, action.at_ns, missed="the job had already ended") for one in subtasks]
        return tuple(made)


def _since(snapshot: TaskSnapshot, started_ns: int) -> TaskSnapshot:
    taken_ns = None if snapshot.taken_ns is None else snapshot.taken_ns - started_ns
    return replace(snapshot, requested_ns=snapshot.requested_ns - started_ns, taken_ns=taken_ns)


def _subtasks(action: SnapshotTask, execution: ExecutionGraph) -> list[Subtask]:
    vertices = execution.job.vertices
    named = [v for v in vertices if action.task == v.name or action.task in [o.node.name for o in v.operators]]
    if not named:
        known = [operator.node.name for vertex in vertices for operator in vertex.operators]
        raise BadInput(f"snapshot: no task or operator {action.task!r:.100}; there are: {', '.join(known)}")
    found = [
        subtask
        for vertex in named
        for subtask in execution.subtasks_of(vertex)
        if action.subtask is None or subtask.index == action.subtask
    ]
    if not found:
        count = max(vertex.parallelism for vertex in named)
        raise BadInput(f"snapshot of {action.task!r}: subtask: expected 0 to {count - 1}, got {action.subtask!r:.40}")
    return found


@dataclass(frozen=True, slots=True)
class StopJob:
    """Ends the sources ``at_ns`` after the start of the job; the job then counts as finished.

    ``drain``: event time is flushed, as at the regular end of the input (rules 4.9, 4.20). Without ``drain`` pending
    windows and timers do not fire; in Flink a later run would continue with them. No savepoint is taken. Flink:
    JobClient.stopWithSavepoint.
    """

    at_ns: int
    drain: bool = False


@dataclass(frozen=True, slots=True)
class CancelJob:
    """Ends the job at once, ``at_ns`` after its start, without flushing or finishing (rule 4.23).

    Flink: JobClient.cancel.
    """

    at_ns: int


@dataclass(frozen=True, slots=True)
class SnapshotTask:
    """Requests the state of a task's operators ``at_ns`` after the start of the job, as a checkpoint does.

    ``task``: the name of a vertex, or of one of its operators; ``subtask`` None selects all subtasks. Nothing is
    stored: the result of the run and table ``snapshots`` show the state, and when the task reached it (rules 11.21,
    11.37).
    """

    at_ns: int
    task: str
    subtask: int | None = None


@dataclass(frozen=True, slots=True)
class TriggerCheckpoint:
    """Triggers a checkpoint ``at_ns`` after the start of the job, beside the periodic ones."""

    at_ns: int


@dataclass(frozen=True, slots=True)
class TriggerSavepoint:
    """Triggers a savepoint ``at_ns`` after the start of the job; the job goes on.

    ``directory``: where ``savepoint-N`` is written; None: in memory, or in the directory of checkpoints. Flink:
    JobClient.triggerSavepoint.
    """

    at_ns: int
    directory: str | None = None


@dataclass(frozen=True, slots=True)
class StopWithSavepoint:
    """Takes a savepoint ``at_ns`` after the start of the job, and then ends the job (rules 12.138 to 12.140).

    ``drain``: event time is flushed before the savepoint, so that no later run can continue the windows. ``directory``:
    as for ``TriggerSavepoint``. Flink: JobClient.stopWithSavepoint.
    """

    at_ns: int
    drain: bool = False
    directory: str | None = None


SnapshotAction = TriggerCheckpoint | TriggerSavepoint | StopWithSavepoint
"""Actions for which a job takes checkpoints, even without settings for them."""

RunAction = StopJob | CancelJob | SnapshotTask | SnapshotAction
"""All possible actions."""


def checked_actions(actions: Iterable[RunAction]) -> tuple[RunAction, ...]:
    """Returns the actions sorted by time (stable). Raises BadInput for an invalid action or a negative time."""
    checked = tuple(actions)
    for action in checked:
        if not isinstance(action, RunAction):
            raise BadInput(
                "actions: expected StopJob, CancelJob, SnapshotTask, TriggerCheckpoint, TriggerSavepoint or "
                f"StopWithSavepoint, got {action!r:.80}"
            )
        if type(action.at_ns) is not int or action.at_ns < 0:
            raise BadInput(f"actions: {type(action).__name__}.at_ns: expected 0 ns or more, got {action.at_ns!r:.40}")
    return tuple(sorted(checked, key=lambda action: action.at_ns))

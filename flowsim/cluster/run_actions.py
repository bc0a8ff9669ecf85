"""What can be done to a job while it runs: stop it, cancel it, look at the state of a task. Flink: JobClient."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from flowsim.errors import BadInput


@dataclass(frozen=True, slots=True)
class StopJob:
    """Ends the sources ``at_ns`` after the start of the job, and through them the job, which counts as finished.

    ``drain``: event time is flushed, as if the input had ended by itself (rules 4.9, 4.20); without it windows and timers
    that were not due stay unfired, for a later run to go on with. No savepoint is taken.
    Flink: JobClient.stopWithSavepoint.
    """

    at_ns: int
    drain: bool = False


@dataclass(frozen=True, slots=True)
class CancelJob:
    """Ends the job where it stands, ``at_ns`` after its start: nothing is flushed, nothing finished (rule 4.23).

    Flink: JobClient.cancel.
    """

    at_ns: int


@dataclass(frozen=True, slots=True)
class SnapshotTask:
    """Asks the operators of a task for their state, ``at_ns`` after the start of the job, as a checkpoint would.

    ``task``: the name of a vertex, or of one of its operators; ``subtask`` None: every one. Nothing is stored: the result
    of the run and table ``snapshots`` tell what the state was, and when the task came to it (rules 11.21, 11.37).
    """

    at_ns: int
    task: str
    subtask: int | None = None


RunAction = StopJob | CancelJob | SnapshotTask
"""The closed set of actions."""


def checked_actions(actions: Iterable[RunAction]) -> tuple[RunAction, ...]:
    """The actions by time, those of one time in their order; raises BadInput for what is no action or comes too early."""
    checked = tuple(actions)
    for action in checked:
        if not isinstance(action, StopJob | CancelJob | SnapshotTask):
            raise BadInput(f"actions: expected StopJob, CancelJob or SnapshotTask, got {action!r:.80}")
        if type(action.at_ns) is not int or action.at_ns < 0:
            raise BadInput(f"actions: {type(action).__name__}.at_ns: expected 0 ns or more, got {action.at_ns!r:.40}")
    return tuple(sorted(checked, key=lambda action: action.at_ns))

"""Actions at set times of a run: stop, cancel, checkpoint, savepoint."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from flowsim.errors import BadInput


@dataclass(frozen=True, slots=True)
class StopJob:
    """Ends the sources ``at_ns`` after the start of the job; the job then counts as finished.

    ``drain``: event time is flushed, as at the regular end of the input (rules 4.9, 4.20). Without ``drain`` pending
    windows and timers do not fire; in Flink a later run would continue with them. No savepoint is taken; a job with
    checkpoints takes a last one when its sources have ended, so that its sinks commit. Flink:
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

RunAction = StopJob | CancelJob | SnapshotAction
"""All possible actions."""


def checked_actions(actions: Iterable[RunAction]) -> tuple[RunAction, ...]:
    """Returns the actions sorted by time (stable). Raises BadInput for an invalid action or a negative time."""
    checked = tuple(actions)
    for action in checked:
        if not isinstance(action, RunAction):
            raise BadInput(
                "actions: expected StopJob, CancelJob, TriggerCheckpoint, TriggerSavepoint or StopWithSavepoint, "
                f"got {action!r:.80}"
            )
        if type(action.at_ns) is not int or action.at_ns < 0:
            raise BadInput(f"actions: {type(action).__name__}.at_ns: expected 0 ns or more, got {action.at_ns!r:.40}")
    return tuple(sorted(checked, key=lambda action: action.at_ns))

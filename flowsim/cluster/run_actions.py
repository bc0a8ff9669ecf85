"""What can be done to a job while it runs: stop it, or cancel it. Flink: JobClient."""

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


RunAction = StopJob | CancelJob
"""The closed set of actions."""


def checked_actions(actions: Iterable[RunAction]) -> tuple[RunAction, ...]:
    """The actions by time, those of one time in their order; raises BadInput for what is no action or comes too early."""
    checked = tuple(actions)
    for action in checked:
        if not isinstance(action, StopJob | CancelJob):
            raise BadInput(f"actions: expected StopJob or CancelJob, got {action!r:.80}")
        if type(action.at_ns) is not int or action.at_ns < 0:
            raise BadInput(f"actions: {type(action).__name__}.at_ns: expected 0 ns or more, got {action.at_ns!r:.40}")
    return tuple(sorted(checked, key=lambda action: action.at_ns))

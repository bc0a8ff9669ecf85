"""Failures of tasks and of the cluster at set places of a run, which a job is made to survive."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

from flowsim.errors import BadInput


@dataclass(frozen=True, slots=True)
class FailTask:
    """Fails one attempt of a subtask, at exactly one of four places.

    ``task``: the name of a vertex, or of one of its operators. ``at_record``: before the head of its chain processes
    (a source: emits) record N of this attempt, from 0. ``at_ns``: at this time after the start of the job.
    ``in_snapshot``: in the synchronous part of this checkpoint. ``in_notification``: when the completion of this
    checkpoint is notified. ``attempt``: only this attempt fails, from 0.
    """

    task: str
    subtask: int = 0
    at_record: int | None = None
    at_ns: int | None = None
    in_snapshot: int | None = None
    in_notification: int | None = None
    attempt: int = 0


@dataclass(frozen=True, slots=True)
class LoseTaskManager:
    """Fails all tasks of a task manager ``at_ns`` after the start of the job (rules 12.27, 12.28).

    ``name``: of a task manager in the settings. Finished results on it are lost: their producers restart, too.
    """

    name: str
    at_ns: int


@dataclass(frozen=True, slots=True)
class LoseJobManager:
    """The job manager fails ``at_ns`` after the start of the job: all tasks restart from the last checkpoint (rule 12.122)."""

    at_ns: int


@dataclass(frozen=True, slots=True)
class FailAnyTask:
    """In the runtime space of an exploration, any task fails at any point, at most ``most`` times; in other runs nothing does."""

    most: int = 1


RunFailure = FailTask | LoseTaskManager | LoseJobManager | FailAnyTask
"""All possible failures."""

PLACES_OF_FAILURES = ("at_record", "at_ns", "in_snapshot", "in_notification")
"""Where a task can fail; a failure has exactly one of them."""


def checked_failures(failures: Iterable[RunFailure]) -> tuple[RunFailure, ...]:
    """Returns the failures. Raises BadInput for an invalid failure, a negative number, or not exactly one place."""
    checked = tuple(failures)
    for failure in checked:
        if not isinstance(failure, RunFailure):
            raise BadInput(
                f"failures: expected FailTask, LoseTaskManager, LoseJobManager or FailAnyTask, got {failure!r:.80}"
            )
        kind = type(failure).__name__
        for field in fields(failure):
            value = getattr(failure, field.name)
            if field.name in ("task", "name"):
                if not isinstance(value, str) or not value:
                    raise BadInput(f"failures: {kind}.{field.name}: expected a name, got {value!r:.40}")
            elif value is None and field.default is None:
                continue
            elif type(value) is not int or value < 0:
                raise BadInput(f"failures: {kind}.{field.name}: expected an integer >= 0, got {value!r:.40}")
        if isinstance(failure, FailTask):
            places = [each for each in PLACES_OF_FAILURES if getattr(failure, each) is not None]
            if len(places) != 1:
                raise BadInput(
                    f"failures: FailTask of {failure.task!r:.80}: expected one of {', '.join(PLACES_OF_FAILURES)}, "
                    f"got {' and '.join(places) or 'none of them'}"
                )
    return checked

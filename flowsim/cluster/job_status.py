"""The final status of a run; in a separate file, because components and the result both use it. Flink: JobStatus."""

from __future__ import annotations

from enum import Enum


class JobStatus(Enum):
    """The final status of a run."""

    FINISHED = "finished"
    FAILED = "failed"
    STOPPED = "stopped"
    """At ``until``, or because a task was stopped on purpose and no other task can run."""
    CANCELED = "canceled"
    """By the action ``CancelJob``; a job that ``StopJob`` stopped is finished, as in Flink."""
    DEADLOCKED = "deadlocked"

"""How a run ended; a file of its own because the components of a run decide about it, too. Flink: JobStatus."""

from __future__ import annotations

from enum import Enum


class JobStatus(Enum):
    """How a run ended."""

    FINISHED = "finished"
    FAILED = "failed"
    STOPPED = "stopped"
    """At ``until``, or quiescent because a fault stopped a task."""
    CANCELED = "canceled"
    """By the action ``CancelJob``; a job that ``StopJob`` stopped is finished, as in Flink."""
    DEADLOCKED = "deadlocked"

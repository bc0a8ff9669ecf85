"""How a run ended. Below the components of a run, which decide about it too, and the result. Flink: JobStatus."""

from __future__ import annotations

from enum import Enum


class JobStatus(Enum):
    """How a run ended."""

    FINISHED = "finished"
    FAILED = "failed"
    STOPPED = "stopped"
    """At ``until``, or because a task was stopped on purpose and no other can run."""
    CANCELED = "canceled"
    """By the action ``CancelJob``; a job that ``StopJob`` stopped is finished, as in Flink."""
    DEADLOCKED = "deadlocked"

"""The final status of a run; this module is separate because components and results use it. Flink: JobStatus."""

from __future__ import annotations

from enum import Enum


class JobStatus(Enum):
    """The final status of a run."""

    FINISHED = "finished"
    FAILED = "failed"
    STOPPED = "stopped"
    """The run ended at ``until``, or a task was stopped on purpose and no other task can run."""
    CANCELED = "canceled"
    """The action ``CancelJob`` ended the job. A job that ``StopJob`` stopped is finished, as in Flink."""
    DEADLOCKED = "deadlocked"

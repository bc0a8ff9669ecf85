"""The mode of a job, under the name of PyFlink's module. PyFlink: RuntimeExecutionMode."""

from __future__ import annotations

from enum import Enum


class RuntimeExecutionMode(Enum):
    """Whether a job emits results as records come, or final results only. PyFlink: RuntimeExecutionMode."""

    STREAMING = 0
    BATCH = 1
    """flowsim does not run jobs in this mode."""
    AUTOMATIC = 2
    """In Flink: BATCH if all sources are bounded. flowsim runs the job in STREAMING mode, and warns."""

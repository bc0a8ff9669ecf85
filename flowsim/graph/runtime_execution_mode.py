"""Whether a job emits results as records come, or final results only. Flink: RuntimeExecutionMode."""

from __future__ import annotations

from enum import StrEnum


class RuntimeExecutionMode(StrEnum):
    """The mode of a job. Flink: RuntimeExecutionMode."""

    STREAMING = "streaming"
    BATCH = "batch"
    """Tasks run one after the other, keyed operators process one key at a time, and only final results are emitted."""
    AUTOMATIC = "automatic"
    """BATCH if all sources are bounded, else STREAMING."""

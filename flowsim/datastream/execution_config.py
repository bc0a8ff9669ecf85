"""Settings of the whole job as PyFlink's ``get_config()`` offers them. Flink: ExecutionConfig."""

from __future__ import annotations

from flowsim.errors import BadInput
from flowsim.graph.stream_graph import JobSettings


class ExecutionConfig:
    """A view of the job's settings. PyFlink: ExecutionConfig."""

    def __init__(self, settings: JobSettings) -> None:
        self._settings = settings

    def set_auto_watermark_interval(self, interval: int) -> ExecutionConfig:
        """Milliseconds between two periodic watermarks; 0: never (rule 8.2)."""
        if type(interval) is not int or interval < 0:
            raise BadInput(f"auto watermark interval: expected 0 ms or more, got {interval!r}")
        self._settings.auto_watermark_interval_ms = interval
        return self

    def get_auto_watermark_interval(self) -> int:
        return self._settings.auto_watermark_interval_ms

    def enable_object_reuse(self) -> ExecutionConfig:
        """Chained operators hand on the same object instead of a copy."""
        self._settings.object_reuse = True
        return self

    def disable_object_reuse(self) -> ExecutionConfig:
        self._settings.object_reuse = False
        return self

    def is_object_reuse_enabled(self) -> bool:
        return self._settings.object_reuse

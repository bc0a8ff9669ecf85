"""The output of watermark generators. Flink: WatermarkOutput (rule 8.5)."""

from __future__ import annotations

from typing import Protocol


class WatermarkOutput(Protocol):
    """The output of a generator, which drops watermarks that do not increase (rule 8.5). Flink: WatermarkOutput."""

    def emit_watermark(self, timestamp: int) -> None: ...

    def mark_idle(self) -> None: ...

    def mark_active(self) -> None: ...

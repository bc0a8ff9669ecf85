"""Who wants to know how far a source has come. Flink: TimestampsAndWatermarks.WatermarkUpdateListener."""

from __future__ import annotations

from typing import Protocol


class WatermarkUpdateListener(Protocol):
    """Hears of the watermark and status of a source and of its splits; alignment is what listens (rules 8.22-8.24).

    Flink: TimestampsAndWatermarks.WatermarkUpdateListener.
    """

    def update_idle(self, idle: bool) -> None:
        """The whole source became idle, or active."""

    def update_current_effective_watermark(self, watermark: int) -> None:
        """The source is about to emit a watermark."""

    def update_current_split_watermark(self, split_id: str, watermark: int) -> None:
        """What one split has reached; higher than what it had."""

    def update_current_split_idle(self, split_id: str, idle: bool) -> None:
        """Told whenever a split speaks, also where nothing changes."""

    def split_finished(self, split_id: str) -> None: ...

"""How far apart the sources of a group may be. Flink: WatermarkAlignmentParams (rules 8.22-8.24)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from flowsim.units import MAX_WATERMARK

DEFAULT_UPDATE_INTERVAL_MS: Final = 1000


@dataclass(frozen=True, slots=True)
class WatermarkAlignmentParams:
    """Sources of one ``watermark_group`` stay within the drift of the slowest of them. Flink: WatermarkAlignmentParams.

    Raises ValueError for a negative drift or an interval below 1 ms.
    """

    watermark_group: str
    max_allowed_watermark_drift_ms: int
    update_interval_ms: int = DEFAULT_UPDATE_INTERVAL_MS
    """How often sources report, and how often they are told the limit."""

    def __post_init__(self) -> None:
        if self.max_allowed_watermark_drift_ms < 0:
            raise ValueError(f"the allowed drift must be 0 ms or more, got {self.max_allowed_watermark_drift_ms}")
        if self.update_interval_ms < 1:
            raise ValueError(f"the update interval must be 1 ms or more, got {self.update_interval_ms}")

    def limit_above(self, watermark: int) -> int:
        """The highest watermark that is allowed while the slowest has ``watermark``; saturates at the maximum."""
        return min(watermark + self.max_allowed_watermark_drift_ms, MAX_WATERMARK)

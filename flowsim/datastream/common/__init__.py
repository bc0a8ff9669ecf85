"""The names of ``pyflink.common``: event time, durations, types and rows."""

from __future__ import annotations

from flowsim.datastream.common.configuration import Configuration
from flowsim.datastream.common.time import Duration, Instant, Time
from flowsim.datastream.common.watermark_strategy import (
    TimestampAssigner,
    WatermarkGenerator,
    WatermarkOutput,
    WatermarkStrategy,
)
from flowsim.values.row import Row, RowKind
from flowsim.values.types import TypeInformation, Types

__all__ = [
    "Configuration",
    "Duration",
    "Instant",
    "Row",
    "RowKind",
    "Time",
    "TimestampAssigner",
    "TypeInformation",
    "Types",
    "WatermarkGenerator",
    "WatermarkOutput",
    "WatermarkStrategy",
]

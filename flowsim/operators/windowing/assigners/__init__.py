"""Which windows a record belongs to: one assigner per file (rules 10.1-10.6)."""

from flowsim.operators.windowing.assigners.sliding_event_time_windows import SlidingEventTimeWindows
from flowsim.operators.windowing.assigners.tumbling_event_time_windows import TumblingEventTimeWindows
from flowsim.operators.windowing.assigners.window_assigner import (
    MergeCallback,
    MergingWindowAssigner,
    WindowAssigner,
    WindowAssignerContext,
    is_merging,
)

__all__ = [
    "MergeCallback",
    "MergingWindowAssigner",
    "SlidingEventTimeWindows",
    "TumblingEventTimeWindows",
    "WindowAssigner",
    "WindowAssignerContext",
    "is_merging",
]

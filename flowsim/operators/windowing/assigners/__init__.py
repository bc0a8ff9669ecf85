"""Which windows a record belongs to: one assigner per file (rules 10.1-10.6)."""

from flowsim.operators.windowing.assigners.dynamic_event_time_session_windows import DynamicEventTimeSessionWindows
from flowsim.operators.windowing.assigners.dynamic_processing_time_session_windows import (
    DynamicProcessingTimeSessionWindows,
)
from flowsim.operators.windowing.assigners.event_time_session_windows import EventTimeSessionWindows
from flowsim.operators.windowing.assigners.global_windows import GlobalWindows
from flowsim.operators.windowing.assigners.processing_time_session_windows import ProcessingTimeSessionWindows
from flowsim.operators.windowing.assigners.session_windows import SessionWindowTimeGapExtractor
from flowsim.operators.windowing.assigners.sliding_event_time_windows import SlidingEventTimeWindows
from flowsim.operators.windowing.assigners.sliding_processing_time_windows import SlidingProcessingTimeWindows
from flowsim.operators.windowing.assigners.tumbling_event_time_windows import TumblingEventTimeWindows
from flowsim.operators.windowing.assigners.tumbling_processing_time_windows import TumblingProcessingTimeWindows
from flowsim.operators.windowing.assigners.window_assigner import (
    MergeCallback,
    MergingWindowAssigner,
    WindowAssigner,
    WindowAssignerContext,
    is_merging,
    refuse_trigger_that_cannot_merge,
)

__all__ = [
    "DynamicEventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
    "EventTimeSessionWindows",
    "GlobalWindows",
    "MergeCallback",
    "MergingWindowAssigner",
    "ProcessingTimeSessionWindows",
    "SessionWindowTimeGapExtractor",
    "SlidingEventTimeWindows",
    "SlidingProcessingTimeWindows",
    "TumblingEventTimeWindows",
    "TumblingProcessingTimeWindows",
    "WindowAssigner",
    "WindowAssignerContext",
    "is_merging",
    "refuse_trigger_that_cannot_merge",
]

"""Window assigners, triggers and evictors: ``pyflink.datastream.window`` becomes ``flowsim.datastream.window``.

>>> from flowsim.datastream.common import Duration
>>> windows = TumblingEventTimeWindows.of(Duration.of_minutes(5), Duration.of_minutes(1))
>>> windows.size_ms, windows.offset_ms
(300000, 60000)
"""

from __future__ import annotations

from flowsim.datastream.delta import DeltaFunction
from flowsim.datastream.window_assigners import (
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    GlobalWindows,
    MergingWindowAssigner,
    ProcessingTimeSessionWindows,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowAssigner,
)
from flowsim.datastream.window_counts import CountSlidingWindowAssigner, CountTumblingWindowAssigner, CountWindow
from flowsim.datastream.window_evictors import CountEvictor, DeltaEvictor, TimeEvictor
from flowsim.datastream.window_triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    DeltaTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeoutTrigger,
    ProcessingTimeTrigger,
    PurgingTrigger,
    Trigger,
)
from flowsim.operators.windowing.evictors import Evictor, EvictorContext, TimestampedValue
from flowsim.operators.windowing.global_window import GlobalWindow
from flowsim.operators.windowing.time_window import TimeWindow
from flowsim.operators.windowing.triggers import TriggerResult
from flowsim.operators.windowing.window import Window
from flowsim.operators.windowing.window_stagger import WindowStagger

__all__ = [
    "ContinuousEventTimeTrigger",
    "ContinuousProcessingTimeTrigger",
    "CountEvictor",
    "CountSlidingWindowAssigner",
    "CountTrigger",
    "CountTumblingWindowAssigner",
    "CountWindow",
    "DeltaEvictor",
    "DeltaFunction",
    "DeltaTrigger",
    "DynamicEventTimeSessionWindows",
    "DynamicProcessingTimeSessionWindows",
    "EventTimeSessionWindows",
    "EventTimeTrigger",
    "Evictor",
    "EvictorContext",
    "GlobalWindow",
    "GlobalWindows",
    "MergingWindowAssigner",
    "NeverTrigger",
    "ProcessingTimeSessionWindows",
    "ProcessingTimeTrigger",
    "ProcessingTimeoutTrigger",
    "PurgingTrigger",
    "SessionWindowTimeGapExtractor",
    "SlidingEventTimeWindows",
    "SlidingProcessingTimeWindows",
    "TimeEvictor",
    "TimeWindow",
    "TimestampedValue",
    "Trigger",
    "TriggerResult",
    "TumblingEventTimeWindows",
    "TumblingProcessingTimeWindows",
    "Window",
    "WindowAssigner",
    "WindowStagger",
]

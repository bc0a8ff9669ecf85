"""Window assigners, triggers and evictors: ``pyflink.datastream.window`` becomes ``flowsim.datastream.window``.

>>> from flowsim.datastream.common import Duration
>>> windows = TumblingEventTimeWindows.of(Duration.of_minutes(5), Duration.of_minutes(1))
>>> windows.size_ms, windows.offset_ms
(300000, 60000)
"""

from __future__ import annotations

from flowsim.operators.windowing.assigners.count_windows import (
    CountSlidingWindowAssigner,
    CountTumblingWindowAssigner,
    CountWindow,
)
from flowsim.operators.windowing.assigners.session_windows import (
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    SessionWindowTimeGapExtractor,
)
from flowsim.operators.windowing.assigners.sliding_windows import SlidingEventTimeWindows, SlidingProcessingTimeWindows
from flowsim.operators.windowing.assigners.tumbling_windows import (
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowStagger,
)
from flowsim.operators.windowing.assigners.window_assigner import GlobalWindows, MergingWindowAssigner, WindowAssigner
from flowsim.operators.windowing.delta_function import DeltaFunction
from flowsim.operators.windowing.evictors import (
    CountEvictor,
    DeltaEvictor,
    Evictor,
    EvictorContext,
    TimeEvictor,
    TimestampedValue,
)
from flowsim.operators.windowing.triggers.any_of_trigger import AnyOfTrigger
from flowsim.operators.windowing.triggers.continuous_triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
)
from flowsim.operators.windowing.triggers.count_triggers import CountTrigger, DeltaTrigger
from flowsim.operators.windowing.triggers.nested_triggers import ProcessingTimeoutTrigger, PurgingTrigger
from flowsim.operators.windowing.triggers.time_triggers import EventTimeTrigger, NeverTrigger, ProcessingTimeTrigger
from flowsim.operators.windowing.triggers.trigger import Trigger, TriggerResult
from flowsim.operators.windowing.windows import GlobalWindow, TimeWindow, Window

__all__ = [
    "AnyOfTrigger",
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

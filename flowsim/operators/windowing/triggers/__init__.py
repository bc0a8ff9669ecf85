"""When the contents of a window are handed on: one trigger per file (rules 10.17-10.24)."""

from flowsim.operators.windowing.triggers.continuous_event_time_trigger import ContinuousEventTimeTrigger
from flowsim.operators.windowing.triggers.continuous_processing_time_trigger import ContinuousProcessingTimeTrigger
from flowsim.operators.windowing.triggers.count_trigger import CountTrigger
from flowsim.operators.windowing.triggers.delta_trigger import DeltaTrigger
from flowsim.operators.windowing.triggers.end_of_stream_trigger import EndOfStreamTrigger
from flowsim.operators.windowing.triggers.event_time_trigger import EventTimeTrigger
from flowsim.operators.windowing.triggers.never_trigger import NeverTrigger
from flowsim.operators.windowing.triggers.processing_time_trigger import ProcessingTimeTrigger
from flowsim.operators.windowing.triggers.processing_timeout_trigger import ProcessingTimeoutTrigger
from flowsim.operators.windowing.triggers.purging_trigger import PurgingTrigger
from flowsim.operators.windowing.triggers.trigger import (
    MergingStateDescriptor,
    OnMergeContext,
    Trigger,
    TriggerContext,
    TriggerResult,
)

__all__ = [
    "ContinuousEventTimeTrigger",
    "ContinuousProcessingTimeTrigger",
    "CountTrigger",
    "DeltaTrigger",
    "EndOfStreamTrigger",
    "EventTimeTrigger",
    "MergingStateDescriptor",
    "NeverTrigger",
    "OnMergeContext",
    "ProcessingTimeTrigger",
    "ProcessingTimeoutTrigger",
    "PurgingTrigger",
    "Trigger",
    "TriggerContext",
    "TriggerResult",
]

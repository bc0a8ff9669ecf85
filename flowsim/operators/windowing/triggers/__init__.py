"""When the contents of a window are handed on: one trigger per file (rules 10.17-10.24)."""

from flowsim.operators.windowing.triggers.count_trigger import CountTrigger
from flowsim.operators.windowing.triggers.event_time_trigger import EventTimeTrigger
from flowsim.operators.windowing.triggers.purging_trigger import PurgingTrigger
from flowsim.operators.windowing.triggers.trigger import (
    MergingStateDescriptor,
    OnMergeContext,
    Trigger,
    TriggerContext,
    TriggerResult,
)

__all__ = [
    "CountTrigger",
    "EventTimeTrigger",
    "MergingStateDescriptor",
    "OnMergeContext",
    "PurgingTrigger",
    "Trigger",
    "TriggerContext",
    "TriggerResult",
]

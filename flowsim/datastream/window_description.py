"""What laws know of a window operator (table ``operators``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from flowsim.operators.windowing.assigners.session_windows import (
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
)
from flowsim.operators.windowing.assigners.sliding_windows import SlidingEventTimeWindows, SlidingProcessingTimeWindows
from flowsim.operators.windowing.assigners.tumbling_windows import (
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from flowsim.operators.windowing.assigners.window_assigner import AnyWindowAssigner, GlobalWindows
from flowsim.operators.windowing.evictors import CountEvictor, DeltaEvictor, Evictor, TimeEvictor
from flowsim.operators.windowing.triggers.continuous_triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
)
from flowsim.operators.windowing.triggers.count_triggers import CountTrigger, DeltaTrigger
from flowsim.operators.windowing.triggers.nested_triggers import ProcessingTimeoutTrigger, PurgingTrigger
from flowsim.operators.windowing.triggers.time_triggers import (
    EndOfStreamTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeTrigger,
)
from flowsim.operators.windowing.triggers.trigger import AnyTrigger

# What laws know how to judge: the ready-made classes, and the methods by which each family decides. A subclass that
# overrides one of these methods is the user's, and is described by its class name alone.
_ASSIGNERS: Final = (
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    GlobalWindows,
)
_ASSIGNER_METHODS: Final = ("assign_windows", "is_event_time", "window_of", "windows_of", "gap_of", "merge_windows")
_TRIGGERS: Final = (
    EventTimeTrigger,
    ProcessingTimeTrigger,
    NeverTrigger,
    EndOfStreamTrigger,
    CountTrigger,
    DeltaTrigger,
    PurgingTrigger,
    ProcessingTimeoutTrigger,
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
)
_TRIGGER_METHODS: Final = (
    "on_element",
    "on_event_time",
    "on_processing_time",
    "can_merge",
    "on_merge",
    "clear",
    "first_base",
    "next_fire_time",
)
_EVICTORS: Final = (CountEvictor, TimeEvictor, DeltaEvictor)
_EVICTOR_METHODS: Final = ("evict_before", "evict_after", "evict")


def describe_window(
    assigner: AnyWindowAssigner,
    trigger: AnyTrigger,
    allowed_lateness_ms: int,
    has_late_output: bool,
    evictor: Evictor | None = None,
    *,
    window_all: bool = False,
) -> Mapping[str, object]:
    """Assigner, trigger and evictor by stable names, their numbers, the lateness in ms, and whether late records are kept.

    A class that changes how its parent decides is described by its own name: no law can judge what it does.
    """
    return {
        **_assigner(assigner),
        "trigger": _trigger(trigger),
        "lateness_ms": allowed_lateness_ms,
        "late_output": has_late_output,
        **({} if evictor is None else {"evictor": _evictor(evictor)}),
        **({"all": True} if window_all else {}),
    }


def _assigner(assigner: AnyWindowAssigner) -> dict[str, object]:
    if not _is_ready_made(assigner, _ASSIGNERS, _ASSIGNER_METHODS):
        return {"assigner": type(assigner).__name__}
    time = "event_time" if assigner.is_event_time() else "processing_time"
    match assigner:
        case TumblingEventTimeWindows() | TumblingProcessingTimeWindows():
            return {
                "assigner": f"tumbling_{time}",
                "size_ms": assigner.size_ms,
                "offset_ms": assigner.offset_ms,
                "stagger": assigner.stagger.value,
            }
        case SlidingEventTimeWindows() | SlidingProcessingTimeWindows():
            return {
                "assigner": f"sliding_{time}",
                "size_ms": assigner.size_ms,
                "slide_ms": assigner.slide_ms,
                "offset_ms": assigner.offset_ms,
            }
        case EventTimeSessionWindows() | ProcessingTimeSessionWindows():
            return {"assigner": f"session_{time}", "gap_ms": assigner.gap_ms}
        case DynamicEventTimeSessionWindows() | DynamicProcessingTimeSessionWindows():
            return {"assigner": f"dynamic_session_{time}"}
        case GlobalWindows():
            return {"assigner": "global", "end_of_stream": assigner.end_of_stream}
    return {"assigner": type(assigner).__name__}


def _trigger(trigger: AnyTrigger) -> dict[str, object]:
    if not _is_ready_made(trigger, _TRIGGERS, _TRIGGER_METHODS):
        return {"kind": "custom", "class": type(trigger).__name__}
    match trigger:
        case EventTimeTrigger():
            return {"kind": "event_time"}
        case ProcessingTimeTrigger():
            return {"kind": "processing_time"}
        case NeverTrigger():
            return {"kind": "never"}
        case EndOfStreamTrigger():
            return {"kind": "end_of_stream"}
        case CountTrigger():
            return {"kind": "count", "count": trigger.max_count}
        case PurgingTrigger():
            return {"kind": "purging", "of": _trigger(trigger.nested_trigger)}
        case ContinuousEventTimeTrigger():
            return {"kind": "continuous_event_time", "interval_ms": trigger.interval_ms}
        case ContinuousProcessingTimeTrigger():
            return {"kind": "continuous_processing_time", "interval_ms": trigger.interval_ms}
        case DeltaTrigger():
            return {"kind": "delta", "threshold": trigger.threshold}
        case ProcessingTimeoutTrigger():
            return {
                "kind": "timeout",
                "of": _trigger(trigger.nested_trigger),
                "interval_ms": trigger.interval_ms,
                "reset_on_element": trigger.reset_on_element,
                "clear_on_timeout": trigger.clear_on_timeout,
            }
    return {"kind": "custom", "class": type(trigger).__name__}


def _evictor(evictor: Evictor) -> dict[str, object]:
    if _is_ready_made(evictor, _EVICTORS, _EVICTOR_METHODS):
        match evictor:
            case CountEvictor():
                return {"kind": "count", "count": evictor.max_count, "after": evictor.do_evict_after}
            case TimeEvictor():
                return {"kind": "time", "window_ms": evictor.window_ms, "after": evictor.do_evict_after}
            case DeltaEvictor():
                return {"kind": "delta", "threshold": evictor.threshold, "after": evictor.do_evict_after}
    return {"kind": "custom", "class": type(evictor).__name__}


def _is_ready_made(part: object, classes: tuple[type, ...], methods: tuple[str, ...]) -> bool:
    """Whether ``part`` is of one of these classes, or of a subclass that overrides none of the methods."""
    kind = type(part)
    return any(
        issubclass(kind, made) and all(getattr(kind, name, None) is getattr(made, name, None) for name in methods)
        for made in classes
    )

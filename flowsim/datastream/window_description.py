"""What a judge must know of a window operator (table ``operators``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from flowsim.operators.windowing import assigners, evictors, triggers
from flowsim.operators.windowing.assigners import WindowAssigner
from flowsim.operators.windowing.evictors import Evictor
from flowsim.operators.windowing.triggers import Trigger

_PLAIN_TRIGGERS: Final = (
    (triggers.EventTimeTrigger, "event_time"),
    (triggers.ProcessingTimeTrigger, "processing_time"),
    (triggers.NeverTrigger, "never"),
    (triggers.EndOfStreamTrigger, "end_of_stream"),
)
_ASSIGNER_DOORS: Final = ("assign_windows", "is_event_time", "window_of", "windows_of", "merge_windows")
_TRIGGER_DOORS: Final = ("on_element", "on_event_time", "on_processing_time", "can_merge", "on_merge", "clear")
_EVICTOR_DOORS: Final = ("evict_before", "evict_after")


def describe_window(
    assigner: WindowAssigner,
    trigger: Trigger,
    allowed_lateness_ms: int,
    has_late_output: bool,
    evictor: Evictor | None = None,
    *,
    window_all: bool = False,
) -> Mapping[str, object]:
    """Assigner, trigger and evictor by stable names, their numbers, the lateness in ms, and whether late records are kept.

    A class that changes how its parent decides is described by its own name: nobody can judge what it does.
    """
    return {
        **_assigner(assigner),
        "trigger": _trigger(trigger),
        "lateness_ms": allowed_lateness_ms,
        "late_output": has_late_output,
        **({} if evictor is None else {"evictor": _evictor(evictor)}),
        **({"all": True} if window_all else {}),
    }


def _assigner(assigner: WindowAssigner) -> dict[str, object]:
    if not _keeps_doors(assigner, _ASSIGNER_DOORS, assigners.__name__):
        return {"assigner": type(assigner).__name__}
    time = "event_time" if assigner.is_event_time() else "processing_time"
    match assigner:
        case assigners.TumblingEventTimeWindows() | assigners.TumblingProcessingTimeWindows():
            return {
                "assigner": f"tumbling_{time}",
                "size_ms": assigner.size_ms,
                "offset_ms": assigner.offset_ms,
                "stagger": assigner.stagger.value,
            }
        case assigners.SlidingEventTimeWindows() | assigners.SlidingProcessingTimeWindows():
            return {
                "assigner": f"sliding_{time}",
                "size_ms": assigner.size_ms,
                "slide_ms": assigner.slide_ms,
                "offset_ms": assigner.offset_ms,
            }
        case assigners.EventTimeSessionWindows() | assigners.ProcessingTimeSessionWindows():
            return {"assigner": f"session_{time}", "gap_ms": assigner.gap_ms}
        case assigners.DynamicEventTimeSessionWindows() | assigners.DynamicProcessingTimeSessionWindows():
            return {"assigner": f"dynamic_session_{time}"}
        case assigners.GlobalWindows():
            return {"assigner": "global", "end_of_stream": assigner.end_of_stream}
    return {"assigner": type(assigner).__name__}


def _trigger(trigger: Trigger) -> dict[str, object]:
    if not _keeps_doors(trigger, _TRIGGER_DOORS, triggers.__name__):
        return {"kind": "custom", "class": type(trigger).__name__}
    for kind, name in _PLAIN_TRIGGERS:
        if isinstance(trigger, kind):
            return {"kind": name}
    match trigger:
        case triggers.CountTrigger():
            return {"kind": "count", "count": trigger.max_count}
        case triggers.PurgingTrigger():
            return {"kind": "purging", "of": _trigger(trigger.nested_trigger)}
        case triggers.ContinuousEventTimeTrigger():
            return {"kind": "continuous_event_time", "interval_ms": trigger.interval_ms}
        case triggers.ContinuousProcessingTimeTrigger():
            return {"kind": "continuous_processing_time", "interval_ms": trigger.interval_ms}
        case triggers.DeltaTrigger():
            return {"kind": "delta", "threshold": trigger.threshold}
        case triggers.ProcessingTimeoutTrigger():
            return {
                "kind": "timeout",
                "of": _trigger(trigger.nested_trigger),
                "interval_ms": trigger.interval_ms,
                "reset_on_element": trigger.reset_on_element,
                "clear_on_timeout": trigger.clear_on_timeout,
            }
    return {"kind": "custom", "class": type(trigger).__name__}


def _evictor(evictor: Evictor) -> dict[str, object]:
    if _keeps_doors(evictor, _EVICTOR_DOORS, evictors.__name__):
        match evictor:
            case evictors.CountEvictor():
                return {"kind": "count", "count": evictor.max_count, "after": evictor.do_evict_after}
            case evictors.TimeEvictor():
                return {"kind": "time", "window_ms": evictor.window_ms, "after": evictor.do_evict_after}
            case evictors.DeltaEvictor():
                return {"kind": "delta", "threshold": evictor.threshold, "after": evictor.do_evict_after}
    return {"kind": "custom", "class": type(evictor).__name__}


def _keeps_doors(part: object, doors: tuple[str, ...], package: str) -> bool:
    """Whether every door that it has was written in ``package``."""
    found = [getattr(type(part), door, None) for door in doors]
    return all(door is None or getattr(door, "__module__", "").startswith(package + ".") for door in found)

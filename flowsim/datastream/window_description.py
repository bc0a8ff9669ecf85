"""What a judge must know of a window operator (table ``operators``)."""

from __future__ import annotations

from collections.abc import Mapping

from flowsim.operators.windowing import assigners, triggers
from flowsim.operators.windowing.assigners import WindowAssigner
from flowsim.operators.windowing.triggers import Trigger


def describe_window(
    assigner: WindowAssigner, trigger: Trigger, allowed_lateness_ms: int, has_late_output: bool
) -> Mapping[str, object]:
    """Assigner and trigger by stable names, their numbers, the lateness in ms, and whether late records are kept."""
    return {
        **_assigner(assigner),
        "trigger": _trigger(trigger),
        "lateness_ms": allowed_lateness_ms,
        "late_output": has_late_output,
    }


def _assigner(assigner: WindowAssigner) -> dict[str, object]:
    if isinstance(assigner, assigners.TumblingEventTimeWindows):
        return {"assigner": "tumbling_event_time", "size_ms": assigner.size_ms, "offset_ms": assigner.offset_ms}
    if isinstance(assigner, assigners.SlidingEventTimeWindows):
        return {
            "assigner": "sliding_event_time", "size_ms": assigner.size_ms, "slide_ms": assigner.slide_ms,
            "offset_ms": assigner.offset_ms,
        }  # fmt: skip
    return {"assigner": type(assigner).__name__}


def _trigger(trigger: Trigger) -> dict[str, object]:
    if isinstance(trigger, triggers.EventTimeTrigger):
        return {"kind": "event_time"}
    if isinstance(trigger, triggers.CountTrigger):
        return {"kind": "count", "count": trigger.max_count}
    if isinstance(trigger, triggers.PurgingTrigger):
        return {"kind": "purging", "of": _trigger(trigger.nested_trigger)}
    return {"kind": "custom", "class": type(trigger).__name__}

"""Chooses the implementation of a window operator. Flink: WindowOperatorBuilder."""

from __future__ import annotations

from flowsim.operators.windowing.assigners import TumblingEventTimeWindows, WindowAssigner
from flowsim.operators.windowing.triggers import EventTimeTrigger, Trigger
from flowsim.operators.windowing.tumbling_window_operator import TumblingWindowOperator
from flowsim.operators.windowing.window_contents import WindowContents
from flowsim.operators.windowing.window_functions import InternalWindowFunction
from flowsim.operators.windowing.window_operator import WindowOperator
from flowsim.operators.windowing.window_stagger import WindowStagger
from flowsim.streamrecord.elements import OutputTag

_TRIGGER_DOORS = ("on_element", "on_event_time", "on_processing_time", "clear")


def create_window_operator(
    assigner: WindowAssigner,
    contents: WindowContents,
    window_function: InternalWindowFunction,
    trigger: Trigger | None = None,
    allowed_lateness_ms: int = 0,
    late_tag: OutputTag | None = None,
) -> WindowOperator:
    """The fast operator where assigner and trigger are the common ones, unchanged; else the general one.

    Both behave the same (a property test holds them together). Raises BadInput where windows merge and the trigger or the
    contents cannot.
    """
    trigger = trigger if trigger is not None else assigner.default_trigger()
    if (
        isinstance(assigner, TumblingEventTimeWindows)
        and _is_plain_tumbling(assigner)
        and _is_plain_event_time(trigger)
    ):
        return TumblingWindowOperator(assigner, contents, window_function, allowed_lateness_ms, late_tag)
    return WindowOperator(assigner, contents, window_function, trigger, allowed_lateness_ms, late_tag)


def _is_plain_tumbling(assigner: TumblingEventTimeWindows) -> bool:
    """Whether windows begin where the size says; a subclass, if it is one, must assign as its parent does."""
    kind = type(assigner)
    return (
        assigner.stagger is WindowStagger.ALIGNED
        and kind.assign_windows is TumblingEventTimeWindows.assign_windows
        and kind.window_of is TumblingEventTimeWindows.window_of
        and kind.is_event_time is TumblingEventTimeWindows.is_event_time
    )


def _is_plain_event_time(trigger: Trigger) -> bool:
    kind = type(trigger)
    return isinstance(trigger, EventTimeTrigger) and all(
        getattr(kind, door) is getattr(EventTimeTrigger, door) for door in _TRIGGER_DOORS
    )

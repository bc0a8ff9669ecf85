"""Faults of a window operator, each at the point of the real mechanism, so that laws can be seen to fire."""

from __future__ import annotations

from typing import Final

from flowsim.operators.stream_operator import Value
from flowsim.operators.windowing.triggers import OnMergeContext, Trigger, TriggerContext, TriggerResult
from flowsim.operators.windowing.window import Window
from flowsim.operators.windowing.window_contents import Pane, WindowContents

WINDOW_LOSES_ROW: Final = "window_loses_row"
"""One row is taken in but not added: the first that meets a pane with rows in it."""

WINDOW_FIRES_EARLY: Final = "window_fires_early"
"""The first row of a subtask fires its window at once, before the watermark has passed it."""

LATE_ROW_KEPT: Final = "late_row_kept"
"""A late row is added to its window, which fires again."""

LATE_ROW_LOST_EARLY: Final = "late_row_lost_early"
"""The second row of a subtask is treated as late whatever the watermark says."""

WINDOW_FAULTS: Final = frozenset((WINDOW_LOSES_ROW, WINDOW_FIRES_EARLY, LATE_ROW_KEPT, LATE_ROW_LOST_EARLY))


class LosingContents:
    """Contents that lose one row."""

    __slots__ = ("_contents", "_lost")

    def __init__(self, contents: WindowContents) -> None:
        self._contents = contents
        self._lost = False

    def create(self, value: Value) -> Pane:
        return self._contents.create(value)

    def add(self, value: Value, pane: Pane) -> Pane:
        if not self._lost:
            self._lost = True
            return pane
        return self._contents.add(value, pane)

    def result(self, pane: Pane) -> object:
        return self._contents.result(pane)


class EarlyTrigger(Trigger):
    """A trigger that fires once too early."""

    __slots__ = ("_trigger", "_fired")

    def __init__(self, trigger: Trigger) -> None:
        self._trigger = trigger
        self._fired = False

    def on_element(self, element: Value, timestamp: int | None, window: Window, ctx: TriggerContext) -> TriggerResult:
        result = self._trigger.on_element(element, timestamp, window, ctx)
        if self._fired:
            return result
        self._fired = True
        return TriggerResult.FIRE

    def on_event_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return self._trigger.on_event_time(time, window, ctx)

    def on_processing_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return self._trigger.on_processing_time(time, window, ctx)

    def can_merge(self) -> bool:
        return self._trigger.can_merge()

    def on_merge(self, window: Window, ctx: OnMergeContext) -> None:
        self._trigger.on_merge(window, ctx)

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        self._trigger.clear(window, ctx)

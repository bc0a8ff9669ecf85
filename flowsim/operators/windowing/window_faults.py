"""Faults of a window operator, each at the point of the real mechanism, so that laws can be seen to fire."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, Protocol

from flowsim.operators.stream_operator import Value
from flowsim.operators.windowing.triggers.trigger import (
    AnyTrigger,
    OnMergeContext,
    Trigger,
    TriggerContext,
    TriggerResult,
)
from flowsim.operators.windowing.window_contents import Pane, WindowContents
from flowsim.operators.windowing.windows import Window

WINDOW_LOSES_ROW: Final = "window_loses_row"
"""One row is taken in but not added: the first that meets a pane with rows in it."""

WINDOW_FIRES_EARLY: Final = "window_fires_early"
"""The first row of a subtask fires its window at once, before the watermark has passed it."""

LATE_ROW_KEPT: Final = "late_row_kept"
"""A late row is added to its window, which fires again."""

LATE_ROW_LOST_EARLY: Final = "late_row_lost_early"
"""The second row of a subtask is treated as late whatever the watermark says."""

LATE_ROW_VANISHES: Final = "late_row_vanishes"
"""The first late row of a subtask is in no window, is not counted, and goes to no side output."""

SESSION_LOSES_ROWS: Final = "session_loses_rows"
"""The first merge of windows that both have rows forgets what the absorbed one had."""

WINDOW_FIRES_TWICE: Final = "window_fires_twice"
"""The first window of a subtask that a timer fires is not cleaned up then, and its timer comes back."""

PURGE_FORGOTTEN: Final = "purge_forgotten"
"""The first purge of a subtask leaves the contents of the window as they are."""


class BreakableOperator(Protocol):
    """The doors of a window operator that faults are put into."""

    contents: WindowContents
    trigger: AnyTrigger
    records_in: int
    is_window_late: Callable[[Window], bool]
    is_element_late: Callable[[int | None], bool]
    is_cleanup_time: Callable[[Window, int], bool]
    purge: Callable[[Window], None]


def switch_on(faults: Collection[str], operator: BreakableOperator) -> None:
    """Breaks the operator in the ways asked for; called once, when its doors are as they should be."""
    if WINDOW_LOSES_ROW in faults:
        operator.contents = LosingContents(operator.contents)
    if SESSION_LOSES_ROWS in faults:
        operator.contents = ForgetfulContents(operator.contents)
    if WINDOW_FIRES_EARLY in faults:
        operator.trigger = EarlyTrigger(operator.trigger)
    if WINDOW_FIRES_TWICE in faults:
        operator.trigger = repeating = RepeatingTrigger(operator.trigger)
        at_cleanup = operator.is_cleanup_time
        operator.is_cleanup_time = lambda window, time: at_cleanup(window, time) and not repeating.repeats(window, time)
    if LATE_ROW_KEPT in faults:
        operator.is_window_late = lambda window: False
    if LATE_ROW_LOST_EARLY in faults:
        past_cleanup, past_lateness = operator.is_window_late, operator.is_element_late
        operator.is_window_late = lambda window: operator.records_in == 2 or past_cleanup(window)
        operator.is_element_late = lambda timestamp: operator.records_in == 2 or past_lateness(timestamp)
    if LATE_ROW_VANISHES in faults:
        operator.is_element_late = _overlooking_once(operator.is_element_late)
    if PURGE_FORGOTTEN in faults:
        operator.purge = _forgetting_once(operator.purge)


def _forgetting_once(purge: Callable[[Window], None]) -> Callable[[Window], None]:
    forgot = False

    def forgetting(window: Window) -> None:
        nonlocal forgot
        if forgot:
            purge(window)
        forgot = True

    return forgetting


def _overlooking_once(is_late: Callable[[int | None], bool]) -> Callable[[int | None], bool]:
    overlooked = False

    def overlooking(timestamp: int | None) -> bool:
        nonlocal overlooked
        if not is_late(timestamp):
            return False
        found, overlooked = overlooked, True
        return found

    return overlooking


class BrokenContents:
    """Contents as they should be; what breaks them overrides one door."""

    __slots__ = ("_contents", "_is_broken")

    def __init__(self, contents: WindowContents) -> None:
        self._contents = contents
        self._is_broken = False

    def create(self, value: Value) -> Pane:
        return self._contents.create(value)

    def add(self, value: Value, pane: Pane) -> Pane:
        return self._contents.add(value, pane)

    def check_can_merge(self) -> None:
        self._contents.check_can_merge()

    def merge(self, pane: Pane, other: Pane) -> Pane:
        return self._contents.merge(pane, other)

    def result(self, pane: Pane) -> object:
        return self._contents.result(pane)


class LosingContents(BrokenContents):
    """Contents that lose one row."""

    __slots__ = ()

    def add(self, value: Value, pane: Pane) -> Pane:
        if self._is_broken:
            return super().add(value, pane)
        self._is_broken = True
        return pane


class ForgetfulContents(BrokenContents):
    """Contents that one merge leaves as they are."""

    __slots__ = ()

    def merge(self, pane: Pane, other: Pane) -> Pane:
        if self._is_broken:
            return super().merge(pane, other)
        self._is_broken = True
        return pane


class BrokenTrigger(Trigger[object, Window]):
    """A trigger as it should be; what breaks it overrides one door."""

    __slots__ = ("_trigger",)

    def __init__(self, trigger: AnyTrigger) -> None:
        self._trigger = trigger

    def on_element(self, element: Value, timestamp: int | None, window: Window, ctx: TriggerContext) -> TriggerResult:
        return self._trigger.on_element(element, timestamp, window, ctx)

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


class EarlyTrigger(BrokenTrigger):
    """A trigger that fires once too early."""

    __slots__ = ("_fired",)

    def __init__(self, trigger: AnyTrigger) -> None:
        super().__init__(trigger)
        self._fired = False

    def on_element(self, element: Value, timestamp: int | None, window: Window, ctx: TriggerContext) -> TriggerResult:
        result = super().on_element(element, timestamp, window, ctx)
        if self._fired:
            return result
        self._fired = True
        return TriggerResult.FIRE


class RepeatingTrigger(BrokenTrigger):
    """A trigger whose first timer that fires is due once more."""

    __slots__ = ("_repeated", "_is_again")

    def __init__(self, trigger: AnyTrigger) -> None:
        super().__init__(trigger)
        self._repeated: tuple[Window, int] | None = None
        self._is_again = False

    def repeats(self, window: Window, time: int) -> bool:
        """Whether the timer that was just handled comes back."""
        return self._is_again and self._repeated == (window, time)

    def on_event_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        result = super().on_event_time(time, window, ctx)
        self._is_again = result.is_fire() and self._repeated is None
        if self._is_again:
            self._repeated = (window, time)
            ctx.register_event_time_timer(time)
        return result

    def on_processing_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        result = super().on_processing_time(time, window, ctx)
        self._is_again = result.is_fire() and self._repeated is None
        if self._is_again:
            self._repeated = (window, time)
            ctx.register_processing_time_timer(time)
        return result

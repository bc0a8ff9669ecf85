"""Faults of a window operator, each at the point of the real mechanism, so that laws can be seen to fire."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final, Protocol

from flowsim.operators.stream_operator import Value
from flowsim.operators.windowing.pane_store import PaneStore
from flowsim.operators.windowing.triggers.trigger import (
    AnyTrigger,
    OnMergeContext,
    Trigger,
    TriggerContext,
    TriggerResult,
)
from flowsim.operators.windowing.window_contents import WindowContents
from flowsim.operators.windowing.window_lifetime import WindowLifetime
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


class BreakableParts(Protocol):
    """The collaborators of a window operator that faults replace."""

    trigger: AnyTrigger
    panes: PaneStore
    lifetime: WindowLifetime
    records_in: int


def switch_on(faults: Collection[str], operator: BreakableParts) -> None:
    """Replaces collaborators by ones with these faults; called once, at the beginning of ``setup``."""
    operator.panes = FaultyPaneStore(operator.panes.contents, faults)
    if WINDOW_FIRES_EARLY in faults:
        operator.trigger = EarlyTrigger(operator.trigger)
    repeating = None
    if WINDOW_FIRES_TWICE in faults:
        operator.trigger = repeating = RepeatingTrigger(operator.trigger)
    operator.lifetime = FaultyLifetime(operator.lifetime, faults, operator, repeating)


class FaultyPaneStore(PaneStore):
    """Loses one record, forgets one absorbed pane, or leaves one pane as it is when it is purged."""

    __slots__ = ("_loses_record", "_forgets_absorbed", "_ignores_purge")

    def __init__(self, contents: WindowContents, faults: Collection[str]) -> None:
        super().__init__(contents)
        self._loses_record = WINDOW_LOSES_ROW in faults
        self._forgets_absorbed = SESSION_LOSES_ROWS in faults
        self._ignores_purge = PURGE_FORGOTTEN in faults

    def add(self, window: Window, key_id: object, value: Value) -> None:
        if self._loses_record and self.get(window, key_id) is not None:
            self._loses_record = False
            return
        super().add(window, key_id, value)

    def purge(self, window: Window, key_id: object) -> None:
        if self._ignores_purge:
            self._ignores_purge = False
            return
        super().purge(window, key_id)

    def merge(self, target: Window, sources: Collection[Window], key_id: object) -> None:
        if self._forgets_absorbed:
            # Of the panes in the order in which they merge, the second; the target's pane is the first of all.
            present = [window for window in sources if self.get(window, key_id) is not None]
            forgotten = present[1:2] or (present if self.get(target, key_id) is not None else [])
            for window in forgotten:
                self.remove(window, key_id)
                self._forgets_absorbed = False
        super().merge(target, sources, key_id)


class FaultyLifetime(WindowLifetime):
    """Keeps late records, drops a record that is in time, overlooks a late one, or lets a window live once more."""

    __slots__ = ("_faults", "_operator", "_repeating", "_overlooks_late")

    def __init__(
        self,
        lifetime: WindowLifetime,
        faults: Collection[str],
        operator: BreakableParts,
        repeating: RepeatingTrigger | None,
    ) -> None:
        super().__init__(lifetime.is_event_time, lifetime.allowed_lateness_ms)
        self._faults = faults
        self._operator = operator
        self._repeating = repeating
        self._overlooks_late = LATE_ROW_VANISHES in faults

    def is_cleanup_time(self, window: Window, time: int) -> bool:
        is_repeated = self._repeating is not None and self._repeating.repeats(window, time)
        return super().is_cleanup_time(window, time) and not is_repeated

    def is_window_late(self, window: Window, watermark: int) -> bool:
        if self._drops_record():
            return True
        return LATE_ROW_KEPT not in self._faults and super().is_window_late(window, watermark)

    def is_element_late(self, timestamp: int | None, watermark: int) -> bool:
        is_late = self._drops_record() or super().is_element_late(timestamp, watermark)
        if is_late and self._overlooks_late:
            self._overlooks_late = False
            return False
        return is_late

    def _drops_record(self) -> bool:
        return LATE_ROW_LOST_EARLY in self._faults and self._operator.records_in == 2


class BrokenTrigger(Trigger[object, Window]):
    """Another trigger, unchanged; a subclass overrides one method."""

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

"""Faulty windows and interval joins."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from flowsim.operators.functions.interval_join import IntervalJoinOperator, JoinSide, LatePolicy, Partners
from flowsim.operators.stream_operator import Value
from flowsim.operators.windowing.aligned_window_operator import without_shortcuts
from flowsim.operators.windowing.pane_store import PaneStore
from flowsim.operators.windowing.triggers.trigger import (
    AnyTrigger,
    OnMergeContext,
    Trigger,
    TriggerContext,
    TriggerResult,
)
from flowsim.operators.windowing.window_contents import WindowContents
from flowsim.operators.windowing.window_joins import Pairs
from flowsim.operators.windowing.window_lifetime import WindowLifetime
from flowsim.operators.windowing.window_operator import WindowOperator
from flowsim.operators.windowing.windows import Window
from flowsim.timers.internal_timer_service import InternalTimerService


class VanishingLatePolicy(LatePolicy):
    """Neither counts nor emits the first late record."""

    __slots__ = ("_policy", "_has_vanished")

    def __init__(self, policy: LatePolicy) -> None:
        self._policy = policy
        self._has_vanished = False

    def drop(self, operator: IntervalJoinOperator, is_left: bool, value: Value, timestamp: int) -> None:
        if self._has_vanished:
            self._policy.drop(operator, is_left, value, timestamp)
        self._has_vanished = True


class ForgetfulPartners(Partners):
    """Omits records whose timestamp is exactly at a bound."""

    __slots__ = ()

    def of(self, side: JoinSide, timestamp: int) -> list[tuple[int, Value]]:
        bounds = timestamp + side.lower_ms, timestamp + side.upper_ms
        return [partner for partner in super().of(side, timestamp) if partner[0] not in bounds]


class RepeatedPartners(Partners):
    """Returns the first record that it finds twice."""

    __slots__ = ("_has_repeated",)

    def __init__(self) -> None:
        self._has_repeated = False

    def of(self, side: JoinSide, timestamp: int) -> list[tuple[int, Value]]:
        found = super().of(side, timestamp)
        if found and not self._has_repeated:
            self._has_repeated = True
            return [found[0], *found]
        return found


class ForgetfulPairs(Pairs):
    """Omits the first pair of the run."""

    __slots__ = ("_has_forgotten",)

    def __init__(self) -> None:
        self._has_forgotten = False

    def of(self, first: Sequence[Value], second: Sequence[Value]) -> Iterator[tuple[Value, Value]]:
        for pair in super().of(first, second):
            if self._has_forgotten:
                yield pair
            self._has_forgotten = True


class RepeatedPairs(Pairs):
    """Returns the first pair of the run twice."""

    __slots__ = ("_has_repeated",)

    def __init__(self) -> None:
        self._has_repeated = False

    def of(self, first: Sequence[Value], second: Sequence[Value]) -> Iterator[tuple[Value, Value]]:
        for pair in super().of(first, second):
            if not self._has_repeated:
                self._has_repeated = True
                yield pair
            yield pair


def faulty_interval_join(operator: IntervalJoinOperator, faults: Collection[str]) -> IntervalJoinOperator:
    """Returns the operator with the faults that apply to it; call it before the operator's set-up."""
    if "late_row_vanishes" in faults:
        operator.late_policy = VanishingLatePolicy(operator.late_policy)
    if "join_forgets_bound" in faults:
        operator.partners = ForgetfulPartners()
    if "join_repeats_pair" in faults:
        operator.partners = RepeatedPartners()
    return operator


WINDOW_FAULTS: Final = frozenset(
    (
        "window_loses_row",
        "window_fires_early",
        "late_row_lost_early",
        "late_row_vanishes",
        "session_loses_rows",
        "window_fires_twice",
        "purge_forgotten",
        "cleanup_not_registered",
        "cleanup_left_at_merge",
    )
)


def faulty_window_operator(operator: WindowOperator, faults: Collection[str]) -> WindowOperator:
    """Returns the operator with the faults that apply to windows; call it before the operator's set-up.

    The general operator replaces a ``AlignedWindowOperator``, whose fast path bypasses its components.
    """
    joined = operator.joined
    if joined is not None and "window_join_forgets_pair" in faults:
        joined.pairs = ForgetfulPairs()
    if joined is not None and "window_join_repeats_pair" in faults:
        joined.pairs = RepeatedPairs()
    operator = without_shortcuts(operator)
    if not WINDOW_FAULTS.isdisjoint(faults):
        operator.panes = FaultyPaneStore(operator.panes.contents, faults)
        if "window_fires_early" in faults:
            operator.trigger = EarlyTrigger(operator.trigger)
        repeating = None
        if "window_fires_twice" in faults:
            operator.trigger = repeating = RepeatingTrigger(operator.trigger)
        operator.lifetime = FaultyLifetime(operator.lifetime, faults, operator, repeating)
    return operator


class FaultyPaneStore(PaneStore):
    """Loses one record, loses one merged pane, or ignores one purge, depending on its faults."""

    __slots__ = ("_loses_record", "_forgets_absorbed", "_ignores_purge")

    def __init__(self, contents: WindowContents, faults: Collection[str]) -> None:
        super().__init__(contents)
        self._loses_record = "window_loses_row" in faults
        self._forgets_absorbed = "session_loses_rows" in faults
        self._ignores_purge = "purge_forgotten" in faults

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
            # The second of the panes in merge order; the target's pane is the first of all.
            present = [window for window in sources if self.get(window, key_id) is not None]
            forgotten = present[1:2] or (present if self.get(target, key_id) is not None else [])
            for window in forgotten:
                self.remove(window, key_id)
                self._forgets_absorbed = False
        super().merge(target, sources, key_id)


class FaultyLifetime(WindowLifetime):
    """Breaks the rules of late records and cleanup timers, depending on its faults.

    It drops a record that is on time, misses one late record, skips one cleanup so that the window
    can fire again, never registers the cleanup timer of the first window, or keeps the cleanup timers of merged
    windows.
    """

    __slots__ = ("_faults", "_first", "_lifetime", "_operator", "_repeating", "_overlooks_late")

    def __init__(
        self,
        lifetime: WindowLifetime,
        faults: Collection[str],
        operator: WindowOperator,
        repeating: RepeatingTrigger | None,
    ) -> None:
        super().__init__(lifetime.is_event_time, lifetime.allowed_lateness_ms)
        self._lifetime = lifetime
        self._faults = faults
        self._operator = operator
        self._repeating = repeating
        self._overlooks_late = "late_row_vanishes" in faults
        self._first: Window | None = None

    def is_cleanup_time(self, window: Window, time: int) -> bool:
        is_repeated = self._repeating is not None and self._repeating.repeats(window, time)
        return super().is_cleanup_time(window, time) and not is_repeated

    def is_window_late(self, window: Window, watermark: int) -> bool:
        return self._drops_record() or self._lifetime.is_window_late(window, watermark)

    def is_element_late(self, timestamp: int | None, watermark: int) -> bool:
        is_late = self._drops_record() or super().is_element_late(timestamp, watermark)
        if is_late and self._overlooks_late:
            self._overlooks_late = False
            return False
        return is_late

    def register_cleanup_timer(self, window: Window, timers: InternalTimerService[Window]) -> None:
        if self._first is None:
            self._first = window
        if window != self._first or "cleanup_not_registered" not in self._faults:
            super().register_cleanup_timer(window, timers)

    def delete_cleanup_timer(self, window: Window, timers: InternalTimerService[Window]) -> None:
        if "cleanup_left_at_merge" not in self._faults:
            super().delete_cleanup_timer(window, timers)

    def _drops_record(self) -> bool:
        return "late_row_lost_early" in self._faults and self._operator.records_in == 2


class WrappingTrigger(Trigger[object, Window]):
    """Wraps another trigger without changes; a subclass overrides one method."""

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


class EarlyTrigger(WrappingTrigger):
    """A trigger that fires once too early, for the first record."""

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


class RepeatingTrigger(WrappingTrigger):
    """A trigger that fires a second time for its first timer that fired."""

    __slots__ = ("_repeated", "_is_again")

    def __init__(self, trigger: AnyTrigger) -> None:
        super().__init__(trigger)
        self._repeated: tuple[Window, int] | None = None
        self._is_again = False

    def repeats(self, window: Window, time: int) -> bool:
        """Returns True if the timer that was just handled fires again."""
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

"""The parts of a window operator for merging windows. Flink: WindowOperator (rules 10.24-10.29)."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from flowsim.errors import BadInput
from flowsim.operators.stream_operator import Value
from flowsim.operators.windowing.assigners.window_assigner import (
    AnyMergingWindowAssigner,
    AnyWindowAssigner,
    is_merging,
    refuse_trigger_that_cannot_merge,
)
from flowsim.operators.windowing.merging_window_set import MergingWindowSet
from flowsim.operators.windowing.pane_store import PaneStore
from flowsim.operators.windowing.triggers.trigger import AnyTrigger
from flowsim.operators.windowing.window_contents import WindowContents
from flowsim.operators.windowing.window_contexts import OperatorTriggerContext
from flowsim.operators.windowing.window_lifetime import WindowLifetime
from flowsim.operators.windowing.window_observer import WindowObserver
from flowsim.operators.windowing.windows import Window, check_window
from flowsim.timers.internal_timer_service import InternalTimerService
from flowsim.units import as_long

Pairs = list[tuple[Window, Window]]
"""The windows of one key, each with its state window."""


class MergingOperator(Protocol):
    """The parts of the window operator that merging needs, for its current key.

    A Protocol, because the operator, which implements it, owns its merging windows.
    """

    timers: InternalTimerService[Window]
    trigger: AnyTrigger
    trigger_context: OperatorTriggerContext
    panes: PaneStore
    lifetime: WindowLifetime
    observer: WindowObserver | None

    @property
    def current_key(self) -> object: ...

    @property
    def current_key_id(self) -> object: ...

    def add_to_window(self, window: Window, state_window: Window, value: Value, timestamp: int | None) -> None: ...


class MergingWindows:
    """The active windows of every key of an operator, and their merges. Flink: WindowOperator, MergingWindowSet.

    Invariant I10.e: the windows of one key neither overlap nor touch, and no record is lost by a merge.
    """

    __slots__ = ("pairs", "_operator", "_assigner")

    pairs: dict[object, Pairs]
    """Windows and their state windows by ``state_key``; contains only keys with windows."""

    def __init__(self, operator: MergingOperator, assigner: AnyMergingWindowAssigner) -> None:
        self.pairs = {}
        self._operator = operator
        self._assigner = assigner

    @property
    def has_unknown_gaps(self) -> bool:
        """True if the job's description does not determine the length of a record's window."""
        return getattr(self._assigner, "gap_ms", None) is None

    def add(self, windows: Collection[Window], value: Value, timestamp: int | None) -> bool:
        """Adds a record to its windows, after they are merged (rule 10.27); returns True if all windows were late."""
        operator = self._operator
        windows_of_key = MergingWindowSet(self._assigner, self)
        all_late = True
        for window in windows:
            actual = windows_of_key.add_window(window, self._merge)
            if operator.lifetime.is_window_late(actual, operator.timers.current_watermark):
                windows_of_key.retire_window(actual)
                continue
            all_late = False
            state_window = windows_of_key.state_window(actual)
            assert state_window is not None
            operator.add_to_window(actual, state_window, value, timestamp)
        windows_of_key.persist()
        return all_late

    def state_window(self, window: Window) -> Window | None:
        """Returns the state window of a window; None if the window was merged or cleaned up (rule 10.28)."""
        for in_flight, state_window in self.get():
            if in_flight == window:
                return state_window
        return None

    def retire(self, window: Window) -> None:
        """Removes a window of the current key."""
        windows_of_key = MergingWindowSet(self._assigner, self)
        windows_of_key.retire_window(window)
        windows_of_key.persist()

    def get(self) -> Pairs:
        """Returns the windows of the current key."""
        return self.pairs.get(self._operator.current_key_id, [])

    def update(self, pairs: Pairs) -> None:
        """Replaces the windows of the current key."""
        if pairs:
            self.pairs[self._operator.current_key_id] = pairs
        else:
            self.pairs.pop(self._operator.current_key_id, None)

    def _merge(
        self, result: Window, merged: Collection[Window], state_window: Window, absorbed: Collection[Window]
    ) -> None:
        """Merges windows: calls the trigger, then its ``clear`` for old windows, then moves contents (rule 10.26)."""
        check_window(result)
        self._check_end(result)
        operator = self._operator
        if operator.observer is not None:
            operator.observer.on_merge(merged, result)
        context = operator.trigger_context
        context.at = result
        context.merged_windows = merged
        operator.trigger.on_merge(result, context)
        for window in merged:
            context.at = window
            operator.trigger.clear(window, context)
            operator.lifetime.delete_cleanup_timer(window, operator.timers)
        operator.panes.merge(state_window, absorbed, operator.current_key_id)

    def _check_end(self, result: Window) -> None:
        operator, end = self._operator, result.max_timestamp()
        if self._assigner.is_event_time():
            now = operator.timers.current_watermark
            end = as_long(end + operator.lifetime.allowed_lateness_ms)
            what = "the watermark"
            why = (
                "It was not, because its cleanup timer was registered with a longer allowed lateness (a restored job) or "
                "deleted by the trigger, or the assigner made its end earlier, or end and lateness overflow"
            )
        else:
            what, now = "processing time", operator.timers.current_processing_time_ms()
            why = "A session must have a gap of at least 2 ms, and an assigner must not make an end earlier by merging"
        if end <= now:
            raise BadInput(
                f"the windows of key {operator.current_key!r:.60} merged into {result}, which should have been cleaned up "
                f"already: {what} is at {now} ms. {why} (rule 10.26)"
            )


def merging_assigner(
    assigner: AnyWindowAssigner, trigger: AnyTrigger, contents: WindowContents
) -> AnyMergingWindowAssigner | None:
    """Returns the assigner if its windows merge, otherwise None.

    Raises BadInput if the trigger or the contents cannot merge (rule 10.24).
    """
    if not is_merging(assigner):
        return None
    refuse_trigger_that_cannot_merge(assigner, trigger)
    contents.check_can_merge()
    return assigner

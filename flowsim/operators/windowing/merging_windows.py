"""What a window operator does more where windows merge. Flink: WindowOperator (rules 10.24-10.29)."""

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
from flowsim.operators.windowing.triggers.trigger import AnyTrigger
from flowsim.operators.windowing.window_contents import Pane, WindowContents
from flowsim.operators.windowing.window_contexts import OperatorTriggerContext
from flowsim.operators.windowing.window_trace import WindowTrace
from flowsim.operators.windowing.windows import Window, check_window
from flowsim.timers.internal_timer_service import InternalTimerService
from flowsim.units import as_long

Pairs = list[tuple[Window, Window]]
"""The windows of one key, each with its state window."""


class MergingOperator(Protocol):
    """The part of the window operator that merging needs; the current key is the one set in it."""

    timers: InternalTimerService[Window]
    trigger: AnyTrigger
    trigger_context: OperatorTriggerContext
    contents: WindowContents
    windows: dict[Window, dict[object, Pane]]
    allowed_lateness_ms: int
    window_trace: WindowTrace | None

    @property
    def current_key(self) -> object: ...

    @property
    def current_key_id(self) -> object: ...

    def is_window_late(self, window: Window, /) -> bool: ...

    def take_into(self, window: Window, state_window: Window, value: Value, timestamp: int | None) -> None: ...

    def take_pane_out(self, state_window: Window) -> Pane | None: ...

    def delete_cleanup_timer(self, window: Window) -> None: ...


class MergingWindows:
    """The windows in flight of every key of an operator, and how they merge. Flink: WindowOperator, MergingWindowSet.

    Invariant I10.e: the windows of one key neither overlap nor touch, and no record is lost by a merge.
    """

    __slots__ = ("pairs", "_operator", "_assigner")

    pairs: dict[object, Pairs]
    """By ``state_key``; a key without windows is not there."""

    def __init__(self, operator: MergingOperator, assigner: AnyMergingWindowAssigner) -> None:
        self.pairs = {}
        self._operator = operator
        self._assigner = assigner

    @property
    def has_unknown_gaps(self) -> bool:
        """Whether the length of a record's window cannot be known from the job's description."""
        return getattr(self._assigner, "gap_ms", None) is None

    def take(self, value: Value, timestamp: int | None, windows: Collection[Window]) -> bool:
        """Handles one record in every window it ends up in (rule 10.27); True if all were late."""
        operator = self._operator
        windows_of_key = MergingWindowSet(self._assigner, self)
        all_late = True
        for window in windows:
            actual = windows_of_key.add_window(window, self._merge)
            if operator.is_window_late(actual):
                windows_of_key.retire_window(actual)
                continue
            all_late = False
            state_window = windows_of_key.state_window(actual)
            assert state_window is not None
            operator.take_into(actual, state_window, value, timestamp)
        windows_of_key.persist()
        return all_late

    def state_window(self, window: Window) -> Window | None:
        """Where the contents of a window of the current key are; None: it was absorbed or cleaned up (rule 10.28)."""
        for known, state_window in self.get():
            if known == window:
                return state_window
        return None

    def retire(self, window: Window) -> None:
        """Forgets a window of the current key."""
        windows_of_key = MergingWindowSet(self._assigner, self)
        windows_of_key.retire_window(window)
        windows_of_key.persist()

    def get(self) -> Pairs:
        """Of the current key, as the set keeps it."""
        return self.pairs.get(self._operator.current_key_id, [])

    def update(self, pairs: Pairs) -> None:
        """Replaces those of the current key."""
        if pairs:
            self.pairs[self._operator.current_key_id] = pairs
        else:
            self.pairs.pop(self._operator.current_key_id, None)

    def _merge(
        self, result: Window, merged: Collection[Window], state_window: Window, absorbed: Collection[Window]
    ) -> None:
        """Rule 10.26: the trigger is told first, then it forgets the absorbed windows, then contents move."""
        check_window(result)
        self._check_end(result)
        operator = self._operator
        if operator.window_trace is not None:
            operator.window_trace.merge(
                merged, result, operator.current_key, operator.current_key_id, operator.timers.current_watermark
            )
        context = operator.trigger_context
        context.at = result
        context.merged_windows = merged
        operator.trigger.on_merge(result, context)
        for window in merged:
            context.at = window
            operator.trigger.clear(window, context)
            operator.delete_cleanup_timer(window)
        self._merge_contents(state_window, absorbed)

    def _check_end(self, result: Window) -> None:
        operator, end = self._operator, result.max_timestamp()
        if self._assigner.is_event_time():
            what, now = "the watermark", operator.timers.current_watermark
            end = as_long(end + operator.allowed_lateness_ms)
        else:
            what, now = "processing time", operator.timers.current_processing_time_ms()
        if end <= now:
            raise BadInput(
                f"the windows of key {operator.current_key!r:.60} merged into {result}, which should have been cleaned up "
                f"already: {what} is at {now} ms. An assigner must not make a window end earlier by merging (rule 10.26)"
            )

    def _merge_contents(self, target: Window, sources: Collection[Window]) -> None:
        operator = self._operator
        merged: Pane | None = None
        for source in sources:
            pane = operator.take_pane_out(source)
            if pane is not None:
                merged = pane if merged is None else operator.contents.merge(merged, pane)
        if merged is not None:
            panes = operator.windows.setdefault(target, {})
            present = panes.get(operator.current_key_id)
            panes[operator.current_key_id] = merged if present is None else operator.contents.merge(present, merged)


def merging_assigner(
    assigner: AnyWindowAssigner, trigger: AnyTrigger, contents: WindowContents
) -> AnyMergingWindowAssigner | None:
    """The assigner if its windows merge; raises BadInput if then the trigger or the contents cannot (rule 10.24)."""
    if not is_merging(assigner):
        return None
    refuse_trigger_that_cannot_merge(assigner, trigger)
    contents.check_can_merge()
    return assigner

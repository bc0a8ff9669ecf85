"""Groups keyed records into windows, fires and cleans them up. Flink: WindowOperator (rules 10.7-10.16, 10.25-10.29)."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Protocol

from flowsim.errors import BadInput
from flowsim.facts.kinds import FireCause, WindowResult
from flowsim.operators.keyed_operator import KeyedOperator
from flowsim.operators.stream_operator import OperatorContext, Output, Value
from flowsim.operators.user_functions import FunctionLife, RuntimeContext, emit_results
from flowsim.operators.windowing.assigners.window_assigner import AnyWindowAssigner
from flowsim.operators.windowing.merging_windows import MergingWindows, merging_assigner
from flowsim.operators.windowing.triggers.trigger import CONTINUE, AnyTrigger, TriggerResult
from flowsim.operators.windowing.window_contents import Account, Pane, TracedContents, TracedPane, WindowContents
from flowsim.operators.windowing.window_contexts import OperatorTriggerContext, OperatorWindowContext
from flowsim.operators.windowing.window_faults import switch_on
from flowsim.operators.windowing.window_functions import InternalWindowFunction
from flowsim.operators.windowing.window_trace import Accounts, Intake, WindowTrace
from flowsim.operators.windowing.windows import Window, check_window
from flowsim.streamrecord.elements import OutputTag
from flowsim.timers.internal_timer import InternalTimer
from flowsim.timers.internal_timer_service import InternalTimerService
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP, as_long
from flowsim.values import state_key
from flowsim.values.java_long import wrapped


class ElementDoor(Protocol):
    """``StreamOperator.process_element`` as a value."""

    def __call__(self, value: Value, timestamp: int | None) -> None: ...


class WindowOperator(KeyedOperator):
    """Windows of a keyed stream. Flink: WindowOperator.

    AnyTrigger and cleanup timers live in the service "window-timers" with the window as their namespace. Results carry the
    window's last millisecond as timestamp (rule 10.11). Late records go to the side output ``late_tag`` or are counted in
    ``records_dropped`` (rule 10.10). Contents are kept under the window, or under the state window where windows merge
    (rule 10.27). What is recorded, and which faults are on, is decided in ``setup``: an unrecorded, faultless run takes
    the plain path. Raises BadInput if the assigner's windows merge and the trigger or the contents cannot (rule 10.24).
    """

    __slots__ = (
        "process_element",
        "take",
        "assigner",
        "trigger",
        "timers",
        "windows",
        "window_function",
        "contents",
        "merging",
        "allowed_lateness_ms",
        "is_window_late",
        "is_element_late",
        "is_cleanup_time",
        "purge",
        "trigger_context",
        "window_trace",
        "_life",
        "_late_tag",
        "_is_event_time",
        "_window_context",
        "_intake",
        "_add",
    )

    process_element: ElementDoor
    """Bound in ``setup`` to the path that recording and faults ask for."""
    take: Callable[[Value, int | None, Value, object], None]
    """The path behind the intake: value, timestamp, key, ``state_key`` of the key."""
    timers: InternalTimerService[Window]
    windows: dict[Window, dict[object, Pane]]
    """Contents by (state) window and ``state_key``."""
    merging: MergingWindows | None
    """None where windows never merge."""
    is_window_late: Callable[[Window], bool]
    is_element_late: Callable[[int | None], bool]
    is_cleanup_time: Callable[[Window, int], bool]
    purge: Callable[[Window], None]
    trigger_context: OperatorTriggerContext
    window_trace: WindowTrace | None
    _intake: Intake
    """Of ``window_trace``; there only when facts are recorded."""
    _add: Callable[[Value, Pane], Pane]

    def __init__(
        self,
        assigner: AnyWindowAssigner,
        contents: WindowContents,
        window_function: InternalWindowFunction,
        trigger: AnyTrigger | None = None,
        allowed_lateness_ms: int = 0,
        late_tag: OutputTag | None = None,
    ) -> None:
        if allowed_lateness_ms < 0:
            raise ValueError(f"allowed lateness must be 0 ms or more, got {allowed_lateness_ms}")
        self.assigner = assigner
        self.contents = contents
        self.window_function = window_function
        self._life = FunctionLife(window_function)
        self.trigger = trigger if trigger is not None else assigner.get_default_trigger(None)
        self.allowed_lateness_ms = allowed_lateness_ms
        self._late_tag = late_tag
        merging = merging_assigner(assigner, self.trigger, contents)
        self.merging = None if merging is None else MergingWindows(self, merging)

    def setup(self, ctx: OperatorContext, output: Output) -> None:
        super().setup(ctx, output)
        self.windows = {}
        self.timers = self.time_services.internal_timer_service("window-timers", self, _bounds)
        self._is_event_time = self.assigner.is_event_time()
        self.is_window_late = self._past_cleanup
        self.is_element_late = self._past_lateness
        self.is_cleanup_time = self._at_cleanup
        self.purge = self.clear_contents
        self.window_trace = None
        self.take = self.take_generally if self.merging is None else self._take_merging
        self.process_element = self._process_plain
        if ctx.trace is not None and self.key_facts is not None:
            account = self._account_contents()
            self.window_trace = WindowTrace(ctx.trace, ctx.operator_index, self.key_facts, account)
            self._intake = self.window_trace.intake
            is_gap_unknown = self.merging is not None and self.merging.has_unknown_gaps
            self.process_element = self._process_traced_gap if is_gap_unknown else self._process_traced
        if ctx.faults:
            switch_on(ctx.faults, self)
        self._add = self.contents.add
        self.trigger_context = OperatorTriggerContext(self)
        self._window_context = OperatorWindowContext(self)

    def open(self) -> None:
        self._life.open(self.runtime_context)

    def close(self) -> None:
        self._life.close()

    def get_current_processing_time(self) -> int:
        """What a processing-time assigner asks, in ms (rule 10.6)."""
        return self.timers.current_processing_time_ms()

    def get_runtime_context(self) -> RuntimeContext:
        """What an assigner counts in that keeps state of the key."""
        return self.runtime_context

    def random(self) -> Random:
        """What a random stagger is drawn from (rule 10.3)."""
        return self.ctx.random

    # A record.

    def _process_plain(self, value: Value, timestamp: int | None) -> None:
        self.clock.now_ns += self.cost_ns
        self.records_in += 1
        key = self.key_selector(value)
        self.take(value, timestamp, key, state_key(key))

    def _process_traced(self, value: Value, timestamp: int | None) -> None:
        """Records the intake before anything is decided, so that a judge can decide for itself."""
        self.clock.now_ns += self.cost_ns
        self.records_in += 1
        key = self.key_selector(value)
        kind = type(key)
        key_id = key if kind is str or kind is int else state_key(key)
        self._intake(value, timestamp, key, key_id, self.timers.current_watermark)
        self.take(value, timestamp, key, key_id)

    def _process_traced_gap(self, value: Value, timestamp: int | None) -> None:
        """The same where a judge cannot know the record's gap by itself."""
        self.clock.now_ns += self.cost_ns
        self.records_in += 1
        key = self.key_selector(value)
        key_id = state_key(key)
        merging = self.merging
        assert merging is not None
        self.set_current_key(key, key_id)
        # Asked once: the extractor is the user's.
        windows = self.assigner.assign_windows(value, timestamp, self)
        gap = wrapped(sum(window.end - window.start for window in windows))
        self._intake(value, timestamp, key, key_id, self.timers.current_watermark, gap)
        if merging.take(value, timestamp, windows):
            self._drop_if_late(value, timestamp)

    def take_generally(self, value: Value, timestamp: int | None, key: Value, key_id: object) -> None:
        """Handles one record in every window it belongs to (rules 10.7, 10.10)."""
        self.set_current_key(key, key_id)
        all_late = True
        for window in self.assigner.assign_windows(value, timestamp, self):
            if not self.is_window_late(window):
                all_late = False
                self.take_into(window, window, value, timestamp)
        if all_late:
            self._drop_if_late(value, timestamp)

    def _take_merging(self, value: Value, timestamp: int | None, key: Value, key_id: object) -> None:
        self.set_current_key(key, key_id)
        merging = self.merging
        assert merging is not None
        if merging.take(value, timestamp, self.assigner.assign_windows(value, timestamp, self)):
            self._drop_if_late(value, timestamp)

    def take_into(self, window: Window, state_window: Window, value: Value, timestamp: int | None) -> None:
        """Adds a record to a window that is not late, and asks the trigger (rule 10.7)."""
        self._add_to_pane(state_window, value, timestamp)
        context = self.trigger_context
        context.at = window
        result = self.trigger.on_element(value, timestamp, window, context)
        if result is not CONTINUE:
            self._act_on(result, window, state_window, FireCause.ELEMENT, timestamp)
        self._register_cleanup_timer(window)

    def _add_to_pane(self, state_window: Window, value: Value, timestamp: int | None) -> None:
        panes = self.windows.get(state_window)
        if panes is None:
            panes = self.windows[state_window] = {}
        key_id = self.current_key_id
        pane = panes.get(key_id)
        if pane is None:
            check_window(state_window)
            panes[key_id] = self.contents.create(value)
        else:
            panes[key_id] = self._add(value, pane)

    def _drop_if_late(self, value: Value, timestamp: int | None) -> None:
        """Rule 10.10: the side output and the counter exclude each other."""
        if not self.is_element_late(timestamp):
            return
        late_tag = self._late_tag
        if self.window_trace is not None:
            watermark = self.timers.current_watermark
            self.window_trace.late(timestamp, self.current_key, self.current_key_id, watermark, late_tag is not None)
        if late_tag is not None:
            self.output.collect_side(late_tag, value, timestamp)
        else:
            self.records_dropped += 1

    # A timer.

    def on_event_time(self, timer: InternalTimer[Window]) -> None:
        """The trigger is asked first, then the window is cleaned up if this was its time (rules 10.13-10.16)."""
        window = timer.namespace
        state_window = window if self.merging is None else self.merging.state_window(window)
        if state_window is None:
            return
        self.trigger_context.at = window
        result = self.trigger.on_event_time(timer.timestamp, window, self.trigger_context)
        if result is not CONTINUE:
            self._act_on(result, window, state_window, FireCause.EVENT_TIME_TIMER, timer.timestamp)
        if self._is_event_time and self.is_cleanup_time(window, timer.timestamp):
            self._clear_window(window, state_window)

    def on_processing_time(self, timer: InternalTimer[Window]) -> None:
        """Symmetric to ``on_event_time`` (rule 10.13)."""
        window = timer.namespace
        state_window = window if self.merging is None else self.merging.state_window(window)
        if state_window is None:
            return
        self.trigger_context.at = window
        result = self.trigger.on_processing_time(timer.timestamp, window, self.trigger_context)
        if result is not CONTINUE:
            self._act_on(result, window, state_window, FireCause.PROCESSING_TIME_TIMER, timer.timestamp)
        if not self._is_event_time and self.is_cleanup_time(window, timer.timestamp):
            self._clear_window(window, state_window)

    # What a trigger says.

    def _act_on(
        self, result: TriggerResult, window: Window, state_window: Window, cause: FireCause, at: int | None
    ) -> None:
        try:
            fires = result.is_fire()
        except AttributeError:
            raise BadInput(
                f"trigger {type(self.trigger).__name__}: expected a TriggerResult, got {result!r:.60}"
            ) from None
        if fires:
            self._emit_window_contents(window, state_window, result.recorded, cause, at)
        elif self.window_trace is not None:
            pane = self._pane(state_window)
            if pane is not None:
                self._record(window, self._account(pane), result.recorded, cause, at)
        if result.is_purge():
            self.purge(state_window)

    def _pane(self, state_window: Window) -> Pane | None:
        panes = self.windows.get(state_window)
        return None if panes is None else panes.get(self.current_key_id)

    def _emit_window_contents(
        self, window: Window, state_window: Window, result: WindowResult, cause: FireCause, at: int | None
    ) -> None:
        pane = self._pane(state_window)
        if pane is not None:
            self._emit_pane(pane, window, window.max_timestamp(), result, cause, at)

    def _emit_pane(
        self, pane: Pane, window: Window, timestamp: int, result: WindowResult, cause: FireCause, at: int | None
    ) -> None:
        """Hands a pane to the window function, whose results carry ``timestamp``."""
        if self.window_trace is not None:
            self._record(window, self._account(pane), result, cause, at)
        contents = self.contents.result(pane)
        if contents is None:
            return
        self._window_context.at = window
        results = self.window_function.process(self.current_key, self._window_context, contents)
        emit_results(results, timestamp, self.output)

    def _record(self, window: Window, account: Account, result: WindowResult, cause: FireCause, at: int | None) -> None:
        assert self.window_trace is not None
        watermark = self.timers.current_watermark
        self.window_trace.fire(window, account, self.current_key, self.current_key_id, watermark, result, cause, at)

    def _account(self, pane: Pane) -> Account:
        """What a recording says of the contents; asked only when facts are recorded."""
        assert isinstance(pane, TracedPane)
        return pane.rows, pane.fingerprint_sum, pane.fingerprint_xor

    def _account_contents(self) -> Accounts:
        """Makes the contents keep accounts."""
        self.contents = traced = TracedContents(self.contents)
        return traced

    # Cleaning up.

    def cleanup_time(self, window: Window) -> int:
        """When the window's state goes, in ms (rule 10.8)."""
        max_timestamp = window.max_timestamp()
        if not self._is_event_time:
            return max_timestamp
        cleanup_time = max_timestamp + self.allowed_lateness_ms
        return cleanup_time if cleanup_time < MAX_WATERMARK else MAX_WATERMARK

    def _at_cleanup(self, window: Window, timestamp: int) -> bool:
        return timestamp == self.cleanup_time(window)

    def _past_cleanup(self, window: Window) -> bool:
        """Rule 10.9: isWindowLate."""
        return self._is_event_time and self.cleanup_time(window) <= self.timers.current_watermark

    def _past_lateness(self, timestamp: int | None) -> bool:
        """Rule 10.9: isElementLate."""
        at = NO_TIMESTAMP if timestamp is None else timestamp
        return self._is_event_time and as_long(at + self.allowed_lateness_ms) <= self.timers.current_watermark

    def _register_cleanup_timer(self, window: Window) -> None:
        """Rule 10.8; rule 10.15: with lateness 0 this is the trigger's own timer."""
        cleanup_time = self.cleanup_time(window)
        if cleanup_time == MAX_WATERMARK:
            return
        if self._is_event_time:
            self.timers.register_event_time_timer(window, cleanup_time)
        else:
            self.timers.register_processing_time_timer(window, cleanup_time)

    def delete_cleanup_timer(self, window: Window) -> None:
        """What ``_register_cleanup_timer`` registered is gone."""
        cleanup_time = self.cleanup_time(window)
        if cleanup_time == MAX_WATERMARK:
            return
        if self._is_event_time:
            self.timers.delete_event_time_timer(window, cleanup_time)
        else:
            self.timers.delete_processing_time_timer(window, cleanup_time)

    def clear_contents(self, state_window: Window) -> None:
        """Forgets what the current key has there."""
        self.take_pane_out(state_window)

    def take_pane_out(self, state_window: Window) -> Pane | None:
        """What the current key has there, which is gone from there; None if nothing."""
        panes = self.windows.get(state_window)
        if panes is None:
            return None
        pane = panes.pop(self.current_key_id, None)
        if not panes:
            del self.windows[state_window]
        return pane

    def _clear_window(self, window: Window, state_window: Window) -> None:
        """Rule 10.13: contents, trigger, then what the function kept for the window, then the place in the merging set."""
        self.clear_contents(state_window)
        self.trigger_context.at = window
        self.trigger.clear(window, self.trigger_context)
        self._window_context.at = window
        self.window_function.clear(self._window_context)
        if self.merging is not None:
            self.merging.retire(window)


def _bounds(window: Window) -> tuple[int, int]:
    """What recordings say of a window."""
    return window.start, window.end

"""Groups keyed records into windows, fires and cleans them up. Flink: WindowOperator (rules 10.7-10.16)."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Final, Protocol

from flowsim.facts.kinds import FireCause
from flowsim.operators.emitting import emit_results
from flowsim.operators.keyed_operator import KeyedOperator
from flowsim.operators.runtime_context import FunctionLife
from flowsim.operators.stream_operator import OperatorContext, Output, Value
from flowsim.operators.windowing.assigners import WindowAssigner
from flowsim.operators.windowing.triggers import Trigger, TriggerResult
from flowsim.operators.windowing.window import Window
from flowsim.operators.windowing.window_contents import Pane, TracedContents, WindowContents
from flowsim.operators.windowing.window_contexts import OperatorTriggerContext, OperatorWindowContext
from flowsim.operators.windowing.window_faults import (
    LATE_ROW_KEPT,
    LATE_ROW_LOST_EARLY,
    WINDOW_FIRES_EARLY,
    WINDOW_LOSES_ROW,
    EarlyTrigger,
    LosingContents,
)
from flowsim.operators.windowing.window_functions import InternalWindowFunction
from flowsim.operators.windowing.window_trace import Intake, WindowTrace
from flowsim.streamrecord.elements import OutputTag
from flowsim.timers.internal_timer import InternalTimer
from flowsim.timers.internal_timer_service import InternalTimerService
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from flowsim.values import state_key

ABSENT: Final = object()
"""Where no pane is; None can be a pane."""


class ElementDoor(Protocol):
    """``StreamOperator.process_element`` as a value."""

    def __call__(self, value: Value, timestamp: int | None) -> None: ...


class WindowOperator(KeyedOperator):
    """Non-merging windows of a keyed stream. Flink: WindowOperator.

    Trigger and cleanup timers live in the service "window-timers" with the window as their namespace. Results carry the
    window's last millisecond as timestamp (rule 10.11). Late records go to the side output ``late_tag`` or are counted in
    ``records_dropped`` (rule 10.10). What is recorded, and which faults are on, is decided in ``setup``: an unrecorded,
    faultless run takes the plain path.
    """

    __slots__ = (
        "process_element", "take", "assigner", "trigger", "timers", "windows", "window_function",
        "contents", "_life", "_allowed_lateness_ms", "_late_tag", "_is_event_time", "_trigger_context", "_window_context",
        "_is_window_late", "_is_element_late", "_window_trace", "_intake", "_add",
    )  # fmt: skip

    process_element: ElementDoor
    """Bound in ``setup`` to the path that recording and faults ask for."""
    take: Callable[[Value, int | None, Value, object], None]
    """The path behind the intake: value, timestamp, key, ``state_key`` of the key."""
    timers: InternalTimerService[Window]
    windows: dict[Window, dict[object, Pane]]
    """Contents by window and ``state_key``."""
    _is_window_late: Callable[[Window], bool]
    _is_element_late: Callable[[int | None], bool]
    _window_trace: WindowTrace | None
    _intake: Intake
    """Of ``_window_trace``; there only when facts are recorded."""
    _add: Callable[[Value, Pane], Pane]

    def __init__(
        self, assigner: WindowAssigner, contents: WindowContents, window_function: InternalWindowFunction,
        trigger: Trigger | None = None, allowed_lateness_ms: int = 0, late_tag: OutputTag | None = None,
    ) -> None:  # fmt: skip
        if allowed_lateness_ms < 0:
            raise ValueError(f"allowed lateness must be 0 ms or more, got {allowed_lateness_ms}")
        self.assigner = assigner
        self.contents = contents
        self.window_function = window_function
        self._life = FunctionLife(window_function)
        self.trigger = trigger if trigger is not None else assigner.default_trigger()
        self._allowed_lateness_ms = allowed_lateness_ms
        self._late_tag = late_tag

    def setup(self, ctx: OperatorContext, output: Output) -> None:
        super().setup(ctx, output)
        self.windows = {}
        self.timers = self.time_services.internal_timer_service("window-timers", self, _bounds)
        self._is_event_time = self.assigner.is_event_time()
        self._is_window_late = self._past_cleanup
        self._is_element_late = self._past_lateness
        self._window_trace = None
        self.take = self.take_generally
        self.process_element = self._process_plain
        if ctx.trace is not None and self.key_facts is not None:
            self.contents = traced = TracedContents(self.contents)
            self._window_trace = WindowTrace(ctx.trace, ctx.operator_index, self.key_facts, traced)
            self._intake = self._window_trace.intake
            self.process_element = self._process_traced
        if ctx.faults:
            self._switch_faults_on(ctx.faults)
        self._add = self.contents.add
        self._trigger_context = OperatorTriggerContext(self)
        self._window_context = OperatorWindowContext(self)

    def open(self) -> None:
        self._life.open(self.runtime_context)

    def close(self) -> None:
        self._life.close()

    def get_current_processing_time(self) -> int:
        """What a processing-time assigner asks, in ms (rule 10.6)."""
        return self.timers.current_processing_time_ms()

    def random(self) -> Random:
        """What a random stagger is drawn from (rule 10.3)."""
        return self.ctx.random

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
        key_id = state_key(key)
        self._intake(value, timestamp, key, key_id, self.timers.current_watermark)
        self.take(value, timestamp, key, key_id)

    def take_generally(self, value: Value, timestamp: int | None, key: Value, key_id: object) -> None:
        """Handles one record in every window it belongs to (rules 10.7, 10.10)."""
        self.set_current_key(key, key_id)
        all_late = True
        context = self._trigger_context
        for window in self.assigner.assign_windows(value, timestamp, self):
            if self._is_window_late(window):
                continue
            all_late = False
            self._add_to_pane(window, key_id, value)
            context.at = window
            result = self.trigger.on_element(value, timestamp, window, context)
            if result.is_fire():
                self._emit_window_contents(window, result, FireCause.ELEMENT, timestamp)
            if result.is_purge():
                self._clear_contents(window)
            self._register_cleanup_timer(window)
        if all_late and self._is_element_late(timestamp):
            self._drop_late(value, timestamp)

    def _add_to_pane(self, window: Window, key_id: object, value: Value) -> None:
        panes = self.windows.get(window)
        if panes is None:
            panes = self.windows[window] = {}
        pane = panes.get(key_id, ABSENT)
        panes[key_id] = self.contents.create(value) if pane is ABSENT else self._add(value, pane)

    def on_event_time(self, timer: InternalTimer[Window]) -> None:
        """The trigger is asked first, then the window is cleaned up if this was its time (rules 10.13-10.16)."""
        window = timer.namespace
        self._trigger_context.at = window
        result = self.trigger.on_event_time(timer.timestamp, window, self._trigger_context)
        if result.is_fire():
            self._emit_window_contents(window, result, FireCause.EVENT_TIME_TIMER, timer.timestamp)
        if result.is_purge():
            self._clear_contents(window)
        if self._is_event_time and timer.timestamp == self.cleanup_time(window):
            self._clear_window(window)

    def on_processing_time(self, timer: InternalTimer[Window]) -> None:
        """Symmetric to ``on_event_time`` (rule 10.13)."""
        window = timer.namespace
        self._trigger_context.at = window
        result = self.trigger.on_processing_time(timer.timestamp, window, self._trigger_context)
        if result.is_fire():
            self._emit_window_contents(window, result, FireCause.PROCESSING_TIME_TIMER, timer.timestamp)
        if result.is_purge():
            self._clear_contents(window)
        if not self._is_event_time and timer.timestamp == self.cleanup_time(window):
            self._clear_window(window)

    def cleanup_time(self, window: Window) -> int:
        """When the window's state goes, in ms (rule 10.8)."""
        max_timestamp = window.max_timestamp()
        return min(max_timestamp + self._allowed_lateness_ms, MAX_WATERMARK) if self._is_event_time else max_timestamp

    def _past_cleanup(self, window: Window) -> bool:
        """Rule 10.9: isWindowLate."""
        return self._is_event_time and self.cleanup_time(window) <= self.timers.current_watermark

    def _past_lateness(self, timestamp: int | None) -> bool:
        """Rule 10.9: isElementLate."""
        at = NO_TIMESTAMP if timestamp is None else timestamp
        return self._is_event_time and at + self._allowed_lateness_ms <= self.timers.current_watermark

    def _register_cleanup_timer(self, window: Window) -> None:
        """Rule 10.8; rule 10.15: with lateness 0 this is the trigger's own timer."""
        cleanup_time = self.cleanup_time(window)
        if cleanup_time == MAX_WATERMARK:
            return
        if self._is_event_time:
            self.timers.register_event_time_timer(window, cleanup_time)
        else:
            self.timers.register_processing_time_timer(window, cleanup_time)

    def _emit_window_contents(self, window: Window, result: TriggerResult, cause: FireCause, at: int | None) -> None:
        panes = self.windows.get(window)
        pane = ABSENT if panes is None else panes.get(self.current_key_id, ABSENT)
        if pane is ABSENT:
            return
        if self._window_trace is not None:
            watermark = self.timers.current_watermark
            self._window_trace.fire(
                window, pane, self.current_key, self.current_key_id, watermark, result.recorded, cause, at
            )
        self._window_context.at = window
        results = self.window_function.process(self.current_key, self._window_context, self.contents.result(pane))
        emit_results(results, window.max_timestamp(), self.output)

    def _clear_contents(self, window: Window) -> None:
        panes = self.windows.get(window)
        if panes is not None:
            panes.pop(self.current_key_id, None)
            if not panes:
                del self.windows[window]

    def _clear_window(self, window: Window) -> None:
        """Rule 10.13: contents, trigger, then what the function kept for the window."""
        self._clear_contents(window)
        self._trigger_context.at = window
        self.trigger.clear(window, self._trigger_context)
        self._window_context.at = window
        self.window_function.clear(self._window_context)

    def _drop_late(self, value: Value, timestamp: int | None) -> None:
        """Rule 10.10: the side output and the counter exclude each other."""
        late_tag = self._late_tag
        if self._window_trace is not None:
            watermark = self.timers.current_watermark
            self._window_trace.late(timestamp, self.current_key, self.current_key_id, watermark, late_tag is not None)
        if late_tag is not None:
            self.output.collect_side(late_tag, value, timestamp)
        else:
            self.records_dropped += 1

    def _switch_faults_on(self, faults: frozenset[str]) -> None:
        if WINDOW_LOSES_ROW in faults:
            self.contents = LosingContents(self.contents)
        if WINDOW_FIRES_EARLY in faults:
            self.trigger = EarlyTrigger(self.trigger)
        if LATE_ROW_KEPT in faults:
            self._is_window_late = lambda window: False
        if LATE_ROW_LOST_EARLY in faults:
            self._is_window_late = lambda window: self.records_in == 2 or self._past_cleanup(window)
            self._is_element_late = lambda timestamp: self.records_in == 2 or self._past_lateness(timestamp)


def _bounds(window: Window) -> tuple[int, int]:
    """What recordings say of a window."""
    return window.start, window.end

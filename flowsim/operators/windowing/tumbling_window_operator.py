"""The window operator's shortcut for its commonest job. Flink: WindowOperator with TumblingEventTimeWindows, EventTimeTrigger."""

from __future__ import annotations

from flowsim.facts.kinds import FireCause, WindowResult
from flowsim.operators.stream_operator import OperatorContext, Output, Value
from flowsim.operators.windowing.assigners.tumbling_windows import TumblingEventTimeWindows, WindowStagger
from flowsim.operators.windowing.assigners.window_assigner import AnyWindowAssigner
from flowsim.operators.windowing.triggers.time_triggers import EventTimeTrigger
from flowsim.operators.windowing.triggers.trigger import AnyTrigger
from flowsim.operators.windowing.window_contents import ListContents, Pane, WindowContents
from flowsim.operators.windowing.window_functions import InternalWindowFunction
from flowsim.operators.windowing.window_operator import WindowOperator
from flowsim.operators.windowing.windows import TimeWindow, Window
from flowsim.streamrecord.elements import OutputTag
from flowsim.timers.internal_timer import InternalTimer
from flowsim.units import MAX_WATERMARK
from flowsim.values import state_key

_NOTHING_OPEN = MAX_WATERMARK + 1
# Looked up once: a member of an enum takes longer to find than a firing has time for.
_FIRE = WindowResult.FIRE
_BY_TIMER = FireCause.EVENT_TIME_TIMER


class TumblingWindowOperator(WindowOperator):
    """The same behaviour as ``WindowOperator``, record for record and timer for timer, at a fraction of the cost.

    A window is *open* while the watermark has not reached its last millisecond. A record of an open window whose key has a
    pane there is only added: its trigger answers CONTINUE, and both its timers exist (rules 9.1, 10.15, 10.17). Everything
    else takes the general path. The last window used is remembered, since records come roughly in order.
    """

    __slots__ = ("_size_ms", "_phase_ms", "_start", "_end", "_window", "_panes", "_open", "_first_close", "_is_faulty")

    _open: dict[int, tuple[Window, dict[object, Pane]]]
    """The open windows and their panes, by window start."""
    _window: Window
    _panes: dict[object, Pane]
    """Panes of the window [``_start``, ``_end``), which is open; the window is empty where nothing is remembered."""

    def __init__(
        self,
        assigner: TumblingEventTimeWindows,
        contents: WindowContents,
        window_function: InternalWindowFunction,
        allowed_lateness_ms: int = 0,
        late_tag: OutputTag | None = None,
    ) -> None:
        super().__init__(assigner, contents, window_function, EventTimeTrigger(), allowed_lateness_ms, late_tag)
        self._size_ms = assigner.size_ms
        self._phase_ms = assigner.phase_ms

    def setup(self, ctx: OperatorContext, output: Output) -> None:
        super().setup(ctx, output)
        self._open = {}
        self._first_close = _NOTHING_OPEN
        self._forget_last_window()
        self._is_faulty = bool(ctx.faults)
        if ctx.faults:
            return
        if ctx.trace is not None:
            self.take = self._take_fast
        elif isinstance(self.contents, ListContents):
            self.process_element = self._process_collecting
        else:
            self.process_element = self._process_folding

    def process_watermark(self, timestamp: int) -> None:
        """Closes the windows that the watermark reaches; from then on their records need the general path."""
        if timestamp >= self._first_close:
            self._close_up_to(timestamp)
        super().process_watermark(timestamp)

    def on_event_time(self, timer: InternalTimer[Window]) -> None:
        """Fires at the window's end, cleans up at its cleanup time; nothing is left for the trigger to forget by then."""
        if self._is_faulty:
            super().on_event_time(timer)
            return
        window = timer.namespace
        last = window.end - 1
        time = timer.timestamp
        panes = self.windows.get(window)
        pane = None if panes is None else panes.get(self.current_key_id)
        if time == last and pane is not None:
            self._emit_pane(pane, window, last, _FIRE, _BY_TIMER, last)
        if time == last + self.allowed_lateness_ms:
            if panes is not None:
                panes.pop(self.current_key_id, None)
                if not panes:
                    del self.windows[window]
            self._window_context.at = window
            self.window_function.clear(self._window_context)

    def _process_collecting(self, value: Value, timestamp: int | None) -> None:
        self.clock.now_ns += self.cost_ns
        self.records_in += 1
        key = self.key_selector(value)
        kind = type(key)
        key_id = key if kind is str or kind is int else state_key(key)
        if timestamp is not None and self._start <= timestamp < self._end:
            pane = self._panes.get(key_id)
            if type(pane) is list:
                pane.append(value)
                return
        self._take_fast(value, timestamp, key, key_id)

    def _process_folding(self, value: Value, timestamp: int | None) -> None:
        self.clock.now_ns += self.cost_ns
        self.records_in += 1
        key = self.key_selector(value)
        kind = type(key)
        key_id = key if kind is str or kind is int else state_key(key)
        if timestamp is not None and self._start <= timestamp < self._end:
            panes = self._panes
            pane = panes.get(key_id)
            if pane is not None:
                panes[key_id] = self._add(value, pane)
                return
        self._take_fast(value, timestamp, key, key_id)

    def _take_fast(self, value: Value, timestamp: int | None, key: Value, key_id: object) -> None:
        if timestamp is None or not (self._start <= timestamp < self._end or self._recall(timestamp)):
            self.take_generally(value, timestamp, key, key_id)
            if timestamp is not None:
                self._remember_if_open(timestamp)
            return
        panes = self._panes
        pane = panes.get(key_id)
        if pane is not None:
            panes[key_id] = self._add(value, pane)
        else:
            self._create_pane(value, key, key_id)

    def _create_pane(self, value: Value, key: Value, key_id: object) -> None:
        """The first record of a key in the remembered window: what trigger and cleanup register for it."""
        self.current_key = key
        self.current_key_id = key_id
        self._move_state(key, key_id)
        self._panes[key_id] = self.contents.create(value)
        window = self._window
        self.timers.register_event_time_timer(window, self._end - 1)
        if self.allowed_lateness_ms:
            self._register_cleanup_timer(window)

    def _recall(self, timestamp: int) -> bool:
        """Makes the open window of ``timestamp`` the remembered one; False when it is not open."""
        start = timestamp - (timestamp - self._phase_ms) % self._size_ms
        found = self._open.get(start)
        if found is None:
            return False
        self._start = start
        self._end = start + self._size_ms
        self._window, self._panes = found
        return True

    def _remember_if_open(self, timestamp: int) -> None:
        start = timestamp - (timestamp - self._phase_ms) % self._size_ms
        last = start + self._size_ms - 1
        window = TimeWindow(start, last + 1)
        panes = self.windows.get(window)
        if panes is not None and last > self.timers.current_watermark:
            self._open[start] = (window, panes)
            self._first_close = min(self._first_close, last)
            self._recall(timestamp)

    def _close_up_to(self, watermark: int) -> None:
        last_offset = self._size_ms - 1
        self._open = {start: found for start, found in self._open.items() if start + last_offset > watermark}
        self._first_close = min(self._open, default=_NOTHING_OPEN) + last_offset
        self._forget_last_window()

    def _forget_last_window(self) -> None:
        self._start = self._end = 0
        self._window = TimeWindow(0, 0)
        self._panes = {}


_TRIGGER_METHODS = ("on_element", "on_event_time", "on_processing_time", "clear")


def create_window_operator(
    assigner: AnyWindowAssigner,
    contents: WindowContents,
    window_function: InternalWindowFunction,
    trigger: AnyTrigger | None = None,
    allowed_lateness_ms: int = 0,
    late_tag: OutputTag | None = None,
) -> WindowOperator:
    """The fast operator where assigner and trigger are the common ones, unchanged; else the general one.

    Both behave the same (a property test holds them together). Raises BadInput where windows merge and the trigger or the
    contents cannot.
    """
    trigger = trigger if trigger is not None else assigner.get_default_trigger(None)
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


def _is_plain_event_time(trigger: AnyTrigger) -> bool:
    kind = type(trigger)
    return isinstance(trigger, EventTimeTrigger) and all(
        getattr(kind, name) is getattr(EventTimeTrigger, name) for name in _TRIGGER_METHODS
    )

"""Groups keyed records into windows, fires windows and cleans them up. Flink: WindowOperator (rules 10.7-10.16,
10.25-10.29).
"""

from __future__ import annotations

from collections.abc import Hashable
from random import Random

from mypy_extensions import mypyc_attr

from flowsim.errors import BadInput
from flowsim.facts.kinds import FireCause, WindowResult
from flowsim.operators.keyed_operator import KeyedOperator
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.operators.stream_operator import OperatorContext, Value
from flowsim.operators.user_functions import FunctionLife, emit_results
from flowsim.operators.windowing.assigners.window_assigner import AnyWindowAssigner
from flowsim.operators.windowing.merging_windows import MergingWindows, merging_assigner
from flowsim.operators.windowing.observed_panes import ObservedPaneStore
from flowsim.operators.windowing.pane_store import PaneStore
from flowsim.operators.windowing.stored_windows import (
    restore_windows,
    restored_namespace,
    stored_namespace,
    window_cells,
)
from flowsim.operators.windowing.triggers.trigger import CONTINUE, AnyTrigger, TriggerResult
from flowsim.operators.windowing.window_contents import AggregatingContents, Pane, ReducingContents, WindowContents
from flowsim.operators.windowing.window_contexts import OperatorTriggerContext, OperatorWindowContext
from flowsim.operators.windowing.window_functions import InternalWindowFunction
from flowsim.operators.windowing.window_joins import JoinCallObserver, JoinedFunction
from flowsim.operators.windowing.window_lifetime import WindowLifetime
from flowsim.operators.windowing.window_observer import (
    GapObserver,
    PaneSummary,
    RecordedContents,
    RecordedPane,
    WindowObserver,
)
from flowsim.operators.windowing.windows import Window
from flowsim.state.snapshots.deferred_key_groups import CopiedCells
from flowsim.state.snapshots.snapshot_contexts import StateInitializationContext
from flowsim.streamrecord.elements import OutputTag
from flowsim.streamrecord.output import Output
from flowsim.timers.internal_timer import InternalTimer
from flowsim.timers.internal_timer_service import InternalTimerService
from flowsim.values.keys import state_key


@mypyc_attr(allow_interpreted_subclasses=True)
class WindowOperator(KeyedOperator):
    """Windows of a keyed stream. Flink: WindowOperator.

    Trigger and cleanup timers are in the service "window-timers" with the window as their namespace. Results carry the
    window's last millisecond as timestamp (rule 10.11). Late records are emitted to the side output ``late_tag`` or
    counted in ``records_dropped`` (rule 10.10). The namespace of contents is the window, or the state window if windows
    merge (rule 10.27). Raises BadInput if the assigner's windows merge but the trigger or the contents cannot merge
    (rule 10.24).

    The constructor creates ``trigger``, ``panes`` and ``lifetime``; objects of their subclasses may replace them until
    ``setup``.
    """

    __slots__ = (
        "assigner",
        "window_function",
        "trigger",
        "panes",
        "lifetime",
        "merging",
        "timers",
        "trigger_context",
        "observer",
        "_life",
        "late_tag",
        "joined",
        "_window_context",
    )

    merging: MergingWindows | None
    """The active windows of each key; None for windows that never merge."""
    timers: InternalTimerService[Window]
    trigger_context: OperatorTriggerContext
    observer: WindowObserver | None
    """The observer; None without recording."""
    _window_context: OperatorWindowContext

    def __init__(
        self,
        assigner: AnyWindowAssigner,
        contents: WindowContents,
        window_function: InternalWindowFunction,
        trigger: AnyTrigger | None = None,
        allowed_lateness_ms: int = 0,
        late_tag: OutputTag | None = None,
    ) -> None:
        self.assigner = assigner
        self.window_function = window_function
        self.trigger = trigger if trigger is not None else assigner.get_default_trigger(None)
        self.panes = PaneStore(contents)
        self.lifetime = WindowLifetime(assigner.is_event_time(), allowed_lateness_ms)
        self._life = FunctionLife(window_function)
        self.late_tag = late_tag
        self.joined: JoinedFunction | None = None
        """The function of a window join or coGroup, set before ``setup``; otherwise None."""
        merging = merging_assigner(assigner, self.trigger, contents)
        self.merging = None if merging is None else MergingWindows(self, merging)

    def setup(self, ctx: OperatorContext, output: Output) -> None:
        super().setup(ctx, output)
        self.timers = self.time_services.internal_timer_service("window-timers", self, _bounds)
        self.trigger_context = OperatorTriggerContext(self, self.timers)
        self._window_context = OperatorWindowContext(self, self.timers, self.merging is not None)
        self.observer = None
        keeps_records = not isinstance(self.panes.contents, ReducingContents | AggregatingContents)
        if ctx.trace is not None and self.key_facts is not None:
            has_unknown_gaps = self.merging is not None and self.merging.has_unknown_gaps
            create_observer = GapObserver if has_unknown_gaps else WindowObserver
            self.observer = create_observer(
                ctx.trace, ctx.operator_index, self.key_facts, self, self.timers, self.joined is not None
            )
            if self.joined is not None:
                self.joined.observer = JoinCallObserver(ctx.trace, ctx.operator_index, self.key_facts, self)
            self.record_contents(self.observer)
        if self.state_changes is not None:
            self.panes = ObservedPaneStore(self.panes, self.state_changes, self, keeps_records)

    def record_contents(self, observer: WindowObserver) -> None:
        """Lets the panes store summaries, which are recorded at firings."""
        self.panes.contents = RecordedContents(self.panes.contents, observer)

    def initialize_state(self, context: StateInitializationContext) -> None:
        super().initialize_state(context)
        if context.keyed_state is not None:
            restore_windows(
                self.state,
                self.panes,
                self.merging,
                is_recorded=self.observer is not None,
                is_evicting=self.keeps_timestamps,
            )

    @property
    def keeps_timestamps(self) -> bool:
        """True if the contents are the records with their timestamps, for an evictor."""
        return False

    def own_cells(self) -> CopiedCells:
        """Returns copies of the window contents and the merging sets."""
        return window_cells(self._key_groups, self.panes, self.merging)

    def stored_namespace(self, namespace: object) -> object:
        """Returns the plain form of a window."""
        return stored_namespace(namespace)

    def restored_namespace(self, stored: object) -> Hashable:
        """Returns the window of a plain form."""
        return restored_namespace(stored)

    def open(self) -> None:
        self._life.open(self.runtime_context)

    def close(self) -> None:
        self._life.close()

    def get_current_processing_time(self) -> int:
        """Returns the processing time in ms, for processing-time assigners (rule 10.6)."""
        return self.timers.current_processing_time_ms()

    def get_runtime_context(self) -> RuntimeContext:
        """Returns the runtime context, for assigners with state of the key."""
        return self.runtime_context

    def random(self) -> Random:
        """Returns the operator's random number generator, for a random stagger (rule 10.3)."""
        return self.ctx.random

    # Records.

    def process_element(self, value: Value, timestamp: int | None) -> None:
        self.clock.now_ns += self.cost_ns
        self.records_in += 1
        key = self.key_selector(value)
        key_id = state_key(key)
        observer = self.observer
        if observer is not None:
            # Recorded before any decision, and before the assigner can fail, so that laws can decide independently.
            observer.on_element(value, timestamp, key, key_id, self.timers.current_watermark)
        self.process_in_windows(value, timestamp, key, key_id)

    def process_in_windows(self, value: Value, timestamp: int | None, key: Value, key_id: object) -> None:
        """Adds one record to each of its windows (rules 10.7, 10.10); ``key_id`` is ``state_key(key)``."""
        self.set_current_key(key, key_id)
        windows = self.assigner.assign_windows(value, timestamp, self)
        observer = self.observer
        if observer is not None:
            observer.on_windows_assigned(windows)
        if self.merging is not None:
            all_late = self.merging.add(windows, value, timestamp)
        else:
            all_late = True
            for window in windows:
                if not self.lifetime.is_window_late(window, self.timers.current_watermark):
                    all_late = False
                    self.add_to_window(window, window, value, timestamp)
        if all_late:
            self._drop_if_late(value, timestamp)

    def add_to_window(self, window: Window, state_window: Window, value: Value, timestamp: int | None) -> None:
        """Adds a record to a window that is not late, and calls the trigger (rule 10.7)."""
        self.panes.add(state_window, self.current_key_id, value)
        context = self.trigger_context
        context.at = window
        result = self.trigger.on_element(value, timestamp, window, context)
        if result is not CONTINUE:
            self._act_on(result, window, state_window, FireCause.ELEMENT, timestamp)
        self.lifetime.register_cleanup_timer(window, self.timers)

    def _drop_if_late(self, value: Value, timestamp: int | None) -> None:
        """Emits a late record to the side output or counts it, never both (rule 10.10)."""
        if not self.lifetime.is_element_late(timestamp, self.timers.current_watermark):
            return
        late_tag = self.late_tag
        if self.observer is not None:
            self.observer.on_late(timestamp, late_tag is not None)
        if late_tag is not None:
            self.output.collect_side(late_tag, value, timestamp)
        else:
            self.records_dropped += 1

    # Timers.

    def on_event_time(self, timer: InternalTimer) -> None:
        """Calls the trigger, then cleans the window up if the timer is its cleanup time (rules 10.13-10.16)."""
        window = timer.namespace
        state_window = window if self.merging is None else self.merging.state_window(window)
        if state_window is None:
            return
        self.trigger_context.at = window
        result = self.trigger.on_event_time(timer.timestamp, window, self.trigger_context)
        if result is not CONTINUE:
            self._act_on(result, window, state_window, FireCause.EVENT_TIME_TIMER, timer.timestamp)
        if self.lifetime.is_event_time and self.lifetime.is_cleanup_time(window, timer.timestamp):
            self._clear_window(window, state_window)

    def on_processing_time(self, timer: InternalTimer) -> None:
        """Does the same as ``on_event_time``, for processing time (rule 10.13)."""
        window = timer.namespace
        state_window = window if self.merging is None else self.merging.state_window(window)
        if state_window is None:
            return
        self.trigger_context.at = window
        result = self.trigger.on_processing_time(timer.timestamp, window, self.trigger_context)
        if result is not CONTINUE:
            self._act_on(result, window, state_window, FireCause.PROCESSING_TIME_TIMER, timer.timestamp)
        if not self.lifetime.is_event_time and self.lifetime.is_cleanup_time(window, timer.timestamp):
            self._clear_window(window, state_window)

    # Results of triggers.

    def _act_on(
        self, result: TriggerResult, window: Window, state_window: Window, cause: FireCause, at: int | None
    ) -> None:
        try:
            fires = result.is_fire()
        except AttributeError:
            raise BadInput(
                f"trigger {type(self.trigger).__name__}: expected a TriggerResult, got {result!r:.60}"
            ) from None
        pane = self.panes.get(state_window, self.current_key_id)
        if pane is not None:
            if fires:
                self.emit_pane(pane, window, state_window, result.recorded, cause, at)
            elif self.observer is not None:
                self.observer.on_fire(window, self.summary_of(pane), result.recorded, cause, at)
        if result.is_purge():
            self.panes.purge(state_window, self.current_key_id)

    def emit_pane(
        self, pane: Pane, window: Window, state_window: Window, result: WindowResult, cause: FireCause, at: int | None
    ) -> None:
        """Emits the window function's results for a pane, with the window's last millisecond (rule 10.11)."""
        self.emit_results_of(pane, window, window.max_timestamp(), result, cause, at)

    def emit_results_of(
        self, pane: Pane, window: Window, timestamp: int, result: WindowResult, cause: FireCause, at: int | None
    ) -> None:
        """Calls the window function with a pane that fires and emits its results with ``timestamp``."""
        if self.observer is not None:
            self.observer.on_fire(window, self.summary_of(pane), result, cause, at)
        contents = self.panes.contents.result(pane)
        if contents is None:
            return
        self._window_context.at = window
        results = self.window_function.process(self.current_key, self._window_context, contents)
        emit_results(results, timestamp, self.output)

    def summary_of(self, pane: Pane) -> PaneSummary:
        """Returns the recorded summary of a pane at a firing; called only with recording."""
        assert isinstance(pane, RecordedPane)
        return pane.rows, pane.fingerprint_sum, pane.fingerprint_xor

    def _clear_window(self, window: Window, state_window: Window) -> None:
        """Removes contents, trigger state, the function's window state, and the window's entry in the merging set."""
        # Rule 10.13: in this order.
        self.panes.remove(state_window, self.current_key_id)
        self.trigger_context.at = window
        self.trigger.clear(window, self.trigger_context)
        self._window_context.at = window
        self.window_function.clear(self._window_context)
        if self.merging is not None:
            self.merging.retire(window)


def _bounds(window: Window) -> tuple[int, int]:
    """Returns the bounds of a window for recordings."""
    return window.start, window.end

"""Windows from which an evictor removes records. Flink: EvictingWindowOperator (rule 10.30)."""

from __future__ import annotations

from flowsim.facts.kinds import FireCause, WindowResult
from flowsim.operators.stream_operator import Value
from flowsim.operators.user_functions import emit_results
from flowsim.operators.windowing.assigners.window_assigner import AnyWindowAssigner
from flowsim.operators.windowing.evictors import Evictor, TimestampedValue
from flowsim.operators.windowing.triggers.trigger import AnyTrigger
from flowsim.operators.windowing.window_contents import Pane, WindowContents
from flowsim.operators.windowing.window_functions import InternalWindowFunction
from flowsim.operators.windowing.window_observer import PaneSummary, WindowObserver
from flowsim.operators.windowing.window_operator import WindowOperator
from flowsim.operators.windowing.windows import Window
from flowsim.streamrecord.elements import OutputTag


class EvictingWindowOperator(WindowOperator):
    """Keeps every record with its timestamp; the evictor removes records permanently, before or after the window
    function.

    The function receives the rest, which may be empty. A firing records the contents that the function receives; a
    purge without a firing records the purged contents. Flink: EvictingWindowOperator.
    """

    __slots__ = ("evictor", "_evictable")

    def __init__(
        self,
        assigner: AnyWindowAssigner,
        evictor: Evictor,
        window_function: InternalWindowFunction,
        trigger: AnyTrigger | None = None,
        allowed_lateness_ms: int = 0,
        late_tag: OutputTag | None = None,
    ) -> None:
        self._evictable = EvictableContents()
        super().__init__(assigner, self._evictable, window_function, trigger, allowed_lateness_ms, late_tag)
        self.evictor = evictor

    def add_to_window(self, window: Window, state_window: Window, value: Value, timestamp: int | None) -> None:
        self._evictable.timestamp = timestamp
        super().add_to_window(window, state_window, value, timestamp)

    def emit_pane(
        self, pane: Pane, window: Window, state_window: Window, result: WindowResult, cause: FireCause, at: int | None
    ) -> None:
        assert isinstance(pane, list)
        before = len(pane)
        self.evictor.evict_before(pane, len(pane), window, self.trigger_context)
        if self.observer is not None:
            self.observer.on_fire(window, self.summary_of(pane), result, cause, at)
        self._window_context.at = window
        contents = [element.value for element in pane]
        results = self.window_function.process(self.current_key, self._window_context, contents)
        emit_results(results, window.max_timestamp(), self.output)
        self.evictor.evict_after(pane, len(pane), window, self.trigger_context)
        if not pane:
            self.panes.remove(state_window, self.current_key_id)
        elif len(pane) != before:
            self.panes.replace(state_window, self.current_key_id, pane)

    @property
    def keeps_timestamps(self) -> bool:
        """True: an evictor may look at the timestamps."""
        return True

    def record_contents(self, observer: WindowObserver) -> None:
        """Does nothing: the contents after eviction are summarized at the firing."""

    def summary_of(self, pane: Pane) -> PaneSummary:
        total = xor = 0
        assert isinstance(pane, list)
        assert self.observer is not None
        for value, timestamp in pane:
            number = self.observer.fingerprint_of(value, timestamp)
            total += number >> 31
            xor ^= number
        return len(pane), total, xor


class EvictableContents(WindowContents):
    """Keeps every record with its timestamp, in the order of arrival. Flink: ListState."""

    __slots__ = ("timestamp",)

    timestamp: int | None
    """The timestamp in ms of the record that is being added."""

    def __init__(self) -> None:
        self.timestamp = None

    def create(self, value: Value) -> Pane:
        return [TimestampedValue(value, self.timestamp)]

    def add(self, value: Value, pane: Pane) -> Pane:
        assert isinstance(pane, list)
        pane.append(TimestampedValue(value, self.timestamp))
        return pane

    def check_can_merge(self) -> None:
        """Does nothing: lists can always merge."""

    def merge(self, pane: Pane, other: Pane) -> Pane:
        assert isinstance(pane, list)
        assert isinstance(other, list)
        pane.extend(other)
        return pane

    def result(self, pane: Pane) -> object:
        assert isinstance(pane, list)
        return [element.value for element in pane]

"""Windows that an evictor takes records out of. Flink: EvictingWindowOperator (rule 10.30)."""

from __future__ import annotations

from flowsim.facts.kinds import FireCause, WindowResult
from flowsim.operators.stream_operator import OperatorContext, Output, Value
from flowsim.operators.user_functions import emit_results
from flowsim.operators.windowing.assigners.window_assigner import AnyWindowAssigner
from flowsim.operators.windowing.evictors import Evictor, TimestampedValue
from flowsim.operators.windowing.triggers.trigger import AnyTrigger
from flowsim.operators.windowing.window_contents import Account, Pane
from flowsim.operators.windowing.window_functions import InternalWindowFunction
from flowsim.operators.windowing.window_operator import WindowOperator
from flowsim.operators.windowing.window_trace import Accounts
from flowsim.operators.windowing.windows import Window
from flowsim.streamrecord.elements import OutputTag
from flowsim.values import fingerprint


class EvictingWindowOperator(WindowOperator):
    """Keeps every record with its timestamp; what the evictor removes, before the window function or after it, is gone.

    The function is given the rest, which may be nothing. A recording says of a firing what the function was given; of a
    purge alone, what was purged. Flink: EvictingWindowOperator.
    """

    __slots__ = ("evictor", "_evictor_context", "_evictable")

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

    def setup(self, ctx: OperatorContext, output: Output) -> None:
        super().setup(ctx, output)
        self._evictor_context = self.trigger_context

    def _add_to_pane(self, state_window: Window, value: Value, timestamp: int | None) -> None:
        self._evictable.timestamp = timestamp
        super()._add_to_pane(state_window, value, timestamp)

    def _emit_window_contents(
        self, window: Window, state_window: Window, result: WindowResult, cause: FireCause, at: int | None
    ) -> None:
        elements = self._pane(state_window)
        if elements is None:
            return
        assert isinstance(elements, list)
        self.evictor.evict_before(elements, len(elements), window, self._evictor_context)
        if self.window_trace is not None:
            self._record(window, self._account(elements), result, cause, at)
        self._window_context.at = window
        contents = [element.value for element in elements]
        results = self.window_function.process(self.current_key, self._window_context, contents)
        emit_results(results, window.max_timestamp(), self.output)
        self.evictor.evict_after(elements, len(elements), window, self._evictor_context)
        if not elements:
            self.clear_contents(state_window)

    def _account_contents(self) -> Accounts:
        return self._evictable

    def _account(self, pane: Pane) -> Account:
        total = xor = 0
        assert isinstance(pane, list)
        for value, timestamp in pane:
            number = fingerprint(timestamp, value)
            total += number >> 31
            xor ^= number
        return len(pane), total, xor


class EvictableContents:
    """Keeps every record with its timestamp, in the order of arrival. Flink: ListState."""

    __slots__ = ("timestamp", "fingerprint")

    timestamp: int | None
    """Of the record being added."""
    fingerprint: int
    """Of the record being taken in; what is recorded of a firing is counted anew."""

    def __init__(self) -> None:
        self.timestamp = None
        self.fingerprint = 0

    def create(self, value: Value) -> Pane:
        return [TimestampedValue(value, self.timestamp)]

    def add(self, value: Value, pane: Pane) -> Pane:
        assert isinstance(pane, list)
        pane.append(TimestampedValue(value, self.timestamp))
        return pane

    def check_can_merge(self) -> None:
        """Any two can."""

    def merge(self, pane: Pane, other: Pane) -> Pane:
        assert isinstance(pane, list)
        assert isinstance(other, list)
        pane.extend(other)
        return pane

    def result(self, pane: Pane) -> object:
        assert isinstance(pane, list)
        return [element.value for element in pane]

"""Records the facts of a window operator (tables ``window_intake``, ``window_fire``, ``window_merge``, ``late_drop``)."""

from __future__ import annotations

from collections.abc import Collection

from mypy_extensions import i64, mypyc_attr

from flowsim.facts.kinds import FireCause, WindowResult
from flowsim.facts.tracer import TaskTrace
from flowsim.operators.keyed_operator import KeyedOperator
from flowsim.operators.stream_operator import Value
from flowsim.operators.windowing.window_contents import Pane, WindowContents
from flowsim.operators.windowing.window_joins import SECOND
from flowsim.operators.windowing.windows import Window
from flowsim.timers.internal_timer_service import InternalTimerService
from flowsim.timers.recorded_timer_service import KeyFacts
from flowsim.units import NO_TIMESTAMP
from flowsim.values.encoding import fingerprint
from flowsim.values.java_long import wrapped

PaneSummary = tuple[int, int, int]
"""A summary of a pane: rows, fingerprint_sum, fingerprint_xor, as in table ``window_fire``."""


class WindowObserver:
    """Records each step of a window operator; the operator calls it at each step.

    ``fingerprint`` is the fingerprint of the current record; the recorded contents use it. ``is_join``: the windows
    contain tagged records of two streams.
    """

    fingerprint: i64
    __slots__ = ("fingerprint", "_trace", "_operator_index", "_key_facts", "_operator", "_timers", "_is_join")

    def __init__(
        self,
        trace: TaskTrace,
        operator_index: int,
        key_facts: KeyFacts,
        operator: KeyedOperator,
        timers: InternalTimerService[Window],
        is_join: bool,
    ) -> None:
        self.fingerprint = 0
        self._is_join = is_join
        self._trace = trace
        self._operator_index = operator_index
        self._key_facts = key_facts
        self._operator = operator
        self._timers = timers

    def on_element(self, value: Value, timestamp: int | None, key: Value, key_id: object, watermark: int) -> None:
        """Called when a record arrived, before any decision and before the record's key is the current key."""
        self._record_element(value, timestamp, key, key_id, watermark, 0)

    def on_windows_assigned(self, windows: Collection[Window]) -> None:
        """Called when the assigner returned windows for the last record."""

    def on_fire(
        self, window: Window, summary: PaneSummary, result: WindowResult, cause: FireCause, at: int | None
    ) -> None:
        """Called when a trigger fired or purged a non-empty pane."""
        operator = self._operator
        key_hash, key_number = self._key_facts.of(operator.current_key, operator.current_key_id)
        watermark = self._timers.current_watermark
        start, end = window.start, window.end
        rows, total, exclusive_or = summary
        fired_at = NO_TIMESTAMP if at is None else at
        self._trace.window_fire(
            self._operator_index, key_hash, key_number, start, end, watermark, rows, total, exclusive_or, result, cause, fired_at
        )  # fmt: skip

    def on_merge(self, merged: Collection[Window], into: Window) -> None:
        """Called when several windows were merged into another window."""
        operator = self._operator
        watermark = self._timers.current_watermark
        key_hash, key_number = self._key_facts.of(operator.current_key, operator.current_key_id)
        for window in merged:
            absorbed, whole = (window.start, window.end), (into.start, into.end)
            self._trace.window_merge(self._operator_index, key_hash, key_number, absorbed, whole, watermark)

    def on_late(self, timestamp: int | None, has_side_output: bool) -> None:
        """Called when the last record was late."""
        operator = self._operator
        key_hash, key_number = self._key_facts.of(operator.current_key, operator.current_key_id)
        at = NO_TIMESTAMP if timestamp is None else timestamp
        watermark = self._timers.current_watermark
        self._trace.late_drop(
            self._operator_index, key_hash, key_number, at, self.fingerprint, watermark, has_side_output
        )

    def fingerprint_of(self, value: Value, timestamp: int | None) -> int:
        """Returns the recorded fingerprint of a record in the window contents."""
        if self._is_join:
            assert isinstance(value, tuple)
            return fingerprint(None, value[1])
        return fingerprint(timestamp, value)

    def _record_element(
        self, value: Value, timestamp: int | None, key: Value, key_id: object, watermark: int, gap_ms: int
    ) -> None:
        trace, operator_index, key_facts = self._trace, self._operator_index, self._key_facts
        known = key_facts.known.get(key_id)
        key_hash, key_number = key_facts.of(key, key_id) if known is None else known
        side = 0
        if self._is_join:
            assert isinstance(value, tuple)
            tag, record = value
            side, number = int(tag == SECOND), trace.fingerprint(None, record)
        elif operator_index == 0 and value is trace.seen_value:
            number = trace.seen_fingerprint
        else:
            number = trace.fingerprint(timestamp, value)
        self.fingerprint = number
        at = NO_TIMESTAMP if timestamp is None else timestamp
        trace.window_intake(operator_index, key_hash, key_number, at, number, watermark, gap_ms, side)


class GapObserver(WindowObserver):
    """An observer for assigners whose gap depends on the record.

    It records an element after the assigner has returned the gap.
    """

    __slots__ = ("_element",)

    _element: tuple[Value, int | None, Value, object, int]

    def __init__(
        self,
        trace: TaskTrace,
        operator_index: int,
        key_facts: KeyFacts,
        operator: KeyedOperator,
        timers: InternalTimerService[Window],
        is_join: bool,
    ) -> None:
        super().__init__(trace, operator_index, key_facts, operator, timers, is_join)

    def on_element(self, value: Value, timestamp: int | None, key: Value, key_id: object, watermark: int) -> None:
        self._element = (value, timestamp, key, key_id, watermark)

    def on_windows_assigned(self, windows: Collection[Window]) -> None:
        self._record_element(*self._element, wrapped(sum(window.end - window.start for window in windows)))


@mypyc_attr(acyclic=True)
class RecordedPane:
    """A pane with a summary of the records added to it; the wrapped pane may have become None."""

    __slots__ = ("pane", "rows", "fingerprint_sum", "fingerprint_xor")

    rows: i64
    fingerprint_sum: i64
    fingerprint_xor: i64

    def __init__(self, pane: Pane, fingerprint: i64) -> None:
        self.pane = pane
        self.rows = 1
        self.fingerprint_sum = fingerprint >> 31
        self.fingerprint_xor = fingerprint


class RecordedContents(WindowContents):
    """Wraps window contents, and counts and fingerprints the records added to them (table ``window_fire``)."""

    __slots__ = ("_contents", "_observer")

    def __init__(self, contents: WindowContents, observer: WindowObserver) -> None:
        self._contents = contents
        self._observer = observer

    def create(self, value: Value) -> Pane:
        return RecordedPane(self._contents.create(value), self._observer.fingerprint)

    def add(self, value: Value, pane: Pane) -> Pane:
        assert isinstance(pane, RecordedPane)
        number = self._observer.fingerprint
        inside = pane.pane
        pane.pane = self._contents.create(value) if inside is None else self._contents.add(value, inside)
        pane.rows += 1
        pane.fingerprint_sum += number >> 31
        pane.fingerprint_xor ^= number
        return pane

    def check_can_merge(self) -> None:
        self._contents.check_can_merge()

    def merge(self, pane: Pane, other: Pane) -> Pane:
        assert isinstance(pane, RecordedPane)
        assert isinstance(other, RecordedPane)
        if pane.pane is None:
            pane.pane = other.pane
        elif other.pane is not None:
            pane.pane = self._contents.merge(pane.pane, other.pane)
        pane.rows += other.rows
        pane.fingerprint_sum += other.fingerprint_sum
        pane.fingerprint_xor ^= other.fingerprint_xor
        return pane

    def result(self, pane: Pane) -> object:
        assert isinstance(pane, RecordedPane)
        return None if pane.pane is None else self._contents.result(pane.pane)

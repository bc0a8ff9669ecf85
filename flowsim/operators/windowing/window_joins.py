"""The part of window joins and coGroups that the window operator uses. Flink: CoGroupedStreams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Final, Protocol

from flowsim.facts.tracer import TaskTrace
from flowsim.operators.keyed_operator import KeyedOperator
from flowsim.operators.stream_operator import Value
from flowsim.operators.windowing.windows import Window
from flowsim.timers.recorded_timer_service import KeyFacts
from flowsim.values.encoding import fingerprint
from flowsim.values.java_long import wrapped

FIRST: Final = 1
SECOND: Final = 2
"""The tag of the second stream's records in a tagged record ``(tag, record)``."""


class Pairs:
    """Creates the pairs of a window join. Flink: JoinedStreams.JoinCoGroupFunction."""

    __slots__ = ()

    def of(self, first: Sequence[Value], second: Sequence[Value]) -> Iterable[tuple[Value, Value]]:
        """Yields all pairs of a record of the first side and a record of the second side.

        The outer loop is over the first side.
        """
        return product(first, second)


class JoinedFunction(Protocol):
    """The window function of a window join or coGroup.

    The operator sets ``observer`` if facts are recorded. An object of a subclass may replace ``pairs``.
    """

    observer: JoinCallObserver | None
    pairs: Pairs


class JoinCallObserver:
    """Records the calls of a join or coGroup function, one row per firing (table ``window_joins``)."""

    __slots__ = ("_trace", "_operator_index", "_key_facts", "_operator")

    def __init__(self, trace: TaskTrace, operator_index: int, key_facts: KeyFacts, operator: KeyedOperator) -> None:
        self._trace = trace
        self._operator_index = operator_index
        self._key_facts = key_facts
        self._operator = operator

    def on_fire(self, window: Window, first: Sequence[Value], second: Sequence[Value]) -> JoinCalls:
        """Called when a window fires, before the calls of the function.

        Returns the object that records the calls.
        """
        operator = self._operator
        key_hash, key = self._key_facts.of(operator.current_key, operator.current_key_id)
        return JoinCalls(self._trace, (self._operator_index, key_hash, key, window.start, window.end), first, second)


class NumberedSide:
    """The records of one side with their fingerprints. Lookups in the order of the records are fast."""

    __slots__ = ("_records", "_numbers", "_at")

    def __init__(self, records: Sequence[Value]) -> None:
        self._records = tuple(records)
        self._numbers = [fingerprint(None, record) for record in records]
        self._at = 0

    def __len__(self) -> int:
        return len(self._records)

    @property
    def sum(self) -> int:
        return sum(self._numbers)

    def number_of(self, record: Value) -> int:
        """Returns the fingerprint of a record; the record may also belong to the other side."""
        records, at = self._records, self._at
        if records[at] is not record:
            at = (at + 1) % len(records)
            if records[at] is not record:
                return fingerprint(None, record)
            self._at = at
        return self._numbers[at]


class JoinCalls:
    """Records the calls of one firing."""

    __slots__ = ("_trace", "_place", "_left", "_right")

    def __init__(
        self, trace: TaskTrace, place: tuple[int, int, int, int, int], first: Sequence[Value], second: Sequence[Value]
    ) -> None:
        self._trace = trace
        self._place = place
        self._left, self._right = NumberedSide(first), NumberedSide(second)

    def noting(self, pairs: Iterable[tuple[Value, Value]]) -> Iterator[tuple[Value, Value]]:
        """Yields the same pairs, one pair per call of the function; records the calls after the last pair."""
        left_number, right_number = self._left.number_of, self._right.number_of
        calls = product_sum = 0
        for left, right in pairs:
            calls += 1
            product_sum += left_number(left) * right_number(right)
            yield left, right
        self._record(calls, product_sum)

    def record_both(self) -> None:
        """Records a single call with all records of both sides."""
        self._record(1, self._left.sum * self._right.sum)

    def _record(self, calls: int, product_sum: int) -> None:
        left, right = self._left, self._right
        sums = wrapped(left.sum), wrapped(right.sum)
        self._trace.window_join(*self._place, len(left), len(right), *sums, calls, wrapped(product_sum))

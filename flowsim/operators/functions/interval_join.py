"""Joins two keyed streams by the distance of their timestamps. Flink: IntervalJoinOperator.

A record is buffered per side, key and timestamp, until the watermark shows that no later record can join it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from mypy_extensions import mypyc_attr

from flowsim.errors import BadInput, NoTimestamp
from flowsim.facts.tracer import TaskTrace
from flowsim.operators.input_selection import InputSelectable
from flowsim.operators.inputs.combined_input import ProcessElement, combined_inputs
from flowsim.operators.inputs.reading_order import ReadingOrder, recording_reads
from flowsim.operators.keyed_operator import KeyedOperator
from flowsim.operators.stream_operator import KeySelector, OperatorContext, OperatorInput, Value
from flowsim.operators.user_functions import FunctionLife, Results, UserFunction, emit_results
from flowsim.state.descriptors import MapStateDescriptor
from flowsim.state.states import MapState
from flowsim.streamrecord.elements import OutputTag
from flowsim.streamrecord.output import Output
from flowsim.timers.internal_timer import InternalTimer
from flowsim.timers.internal_timer_service import InternalTimerService
from flowsim.timers.recorded_timer_service import KeyFacts
from flowsim.units import NO_TIMESTAMP
from flowsim.values.java_long import wrapped
from flowsim.values.keys import state_key
from flowsim.values.types import Types

CLEANUP_TIMER: Final = "CLEANUP_TIMER"
CLEANUP_LEFT: Final = "CLEANUP_LEFT"
CLEANUP_RIGHT: Final = "CLEANUP_RIGHT"
_RECORDED_AS: Final = {CLEANUP_LEFT: (1, 1), CLEANUP_RIGHT: (2, 2)}


@dataclass(frozen=True)
class IntervalBounds:
    """A left record at t joins the right records from t + ``lower_ms`` to t + ``upper_ms``, both inclusive.

    Raises ValueError unless ``lower_ms <= upper_ms`` before exclusive ends are applied.
    """

    lower_ms: int
    upper_ms: int

    @staticmethod
    def between(lower_ms: int, upper_ms: int, *, lower_exclusive: bool, upper_exclusive: bool) -> IntervalBounds:
        """Returns the bounds in ms (rule 10.33). Exclusive bounds may exclude all records."""
        if lower_ms > upper_ms:
            raise ValueError(f"the lower bound {lower_ms} ms is above the upper one {upper_ms} ms")
        return IntervalBounds(lower_ms + lower_exclusive, upper_ms - upper_exclusive)


class JoinContext:
    """The context of a pair; times in ms. Flink: ProcessJoinFunction.Context.

    An operator reuses one context: a function must not keep it after the call.
    """

    __slots__ = ("_left_timestamp", "_right_timestamp", "_timestamp", "_output")

    def __init__(self, output: Output) -> None:
        self._left_timestamp = self._right_timestamp = self._timestamp = NO_TIMESTAMP
        self._output = output

    def set_current(self, left_timestamp: int, right_timestamp: int) -> int:
        """Sets the pair and returns the timestamp of its results; the operator calls it for each pair."""
        self._left_timestamp = left_timestamp
        self._right_timestamp = right_timestamp
        self._timestamp = max(left_timestamp, right_timestamp)
        return self._timestamp

    def get_left_timestamp(self) -> int:
        return self._left_timestamp

    def get_right_timestamp(self) -> int:
        return self._right_timestamp

    def get_timestamp(self) -> int:
        """Returns the timestamp of the results: the later timestamp of the pair."""
        return self._timestamp

    def output(self, tag: OutputTag, value: Value) -> None:
        """Emits to a side output at once; ``yield tag, value`` emits in order with the results."""
        self._output.collect_side(tag, value, self._timestamp)


class ProcessJoinFunction(UserFunction, Protocol):
    """Yields or returns results for each pair. Flink: ProcessJoinFunction."""

    def process_element(self, left: Value, right: Value, ctx: JoinContext) -> Results: ...


@dataclass(frozen=True)
class JoinSide:
    """One input of a join: the states of this side and of the other side, and the bounds for its records."""

    is_left: bool
    own: MapState
    other: MapState
    lower_ms: int
    upper_ms: int
    namespace: str


@mypyc_attr(allow_interpreted_subclasses=True)
class LatePolicy:
    """Handles a late record: emits it to its side's late output; without such an output counts it (rule 10.35)."""

    __slots__ = ("_left", "_right")

    def __init__(self, late_left: OutputTag | None, late_right: OutputTag | None) -> None:
        self._left = late_left
        self._right = late_right

    def drop(self, operator: IntervalJoinOperator, is_left: bool, value: Value, timestamp: int) -> None:
        tag = self._left if is_left else self._right
        operator.record_late(timestamp, tag is not None)
        if tag is not None:
            operator.output.collect_side(tag, value, timestamp)
        else:
            operator.records_dropped += 1


@mypyc_attr(allow_interpreted_subclasses=True)
class Partners:
    """The records of the other side that join a record."""

    __slots__ = ()

    def of(self, side: JoinSide, timestamp: int) -> list[tuple[int, Value]]:
        """Returns the partners in the order of the other side's map, ties in order of arrival (rule 10.34)."""
        lowest, highest = wrapped(timestamp + side.lower_ms), wrapped(timestamp + side.upper_ms)
        buckets: list[tuple[int, list[Value]]] = side.other.borrowed_between(lowest, highest)  # type: ignore[assignment]  # as _take put them
        return [(other, value) for other, bucket in buckets for value in bucket]


class JoinObserver:
    """Records the elements of an interval join, which of them are late, and the joined pairs."""

    __slots__ = ("_fingerprint", "_key_facts", "_operator", "_trace")

    def __init__(self, trace: TaskTrace, key_facts: KeyFacts, operator: IntervalJoinOperator) -> None:
        self._trace = trace
        self._key_facts = key_facts
        self._operator = operator
        self._fingerprint = 0
        """Fingerprint of the last record."""

    def on_element(self, is_left: bool, value: Value, timestamp: int) -> None:
        """Records that a record arrived; called before the record is processed."""
        self._fingerprint = number = self._trace.fingerprint(timestamp, value)
        operator, watermark = self._operator, self._operator.current_watermark
        index = operator.ctx.operator_index
        self._trace.window_intake(index, *self._key(), timestamp, number, watermark, 0, 0 if is_left else 1)

    def on_pair(self, is_left: bool, partner: Value, partner_timestamp: int, timestamp: int) -> None:
        """Records that the last record, of the left or right side, joins a partner."""
        own, other = self._fingerprint, self._trace.fingerprint(partner_timestamp, partner)
        left, right = (own, other) if is_left else (other, own)
        self._trace.join_pair(self._operator.ctx.operator_index, *self._key(), left, right, timestamp)

    def on_late(self, timestamp: int, has_output: bool) -> None:
        """Records that the last record was late; ``has_output``: its side has a late output."""
        index, watermark = self._operator.ctx.operator_index, self._operator.current_watermark
        self._trace.late_drop(index, *self._key(), timestamp, self._fingerprint, watermark, has_output)

    def _key(self) -> tuple[int, int]:
        return self._key_facts.of(self._operator.current_key, self._operator.current_key_id)


class IntervalJoinOperator(KeyedOperator):
    """Calls a ProcessJoinFunction for every pair within the bounds. Flink: IntervalJoinOperator.

    A record before the current watermark is late: it joins no record. It is emitted to its side's late output or
    counted as dropped (rule 10.35). A buffered record is removed when the watermark passes the last time at which a
    record that is not late could join it (rule 10.36).

    The constructor creates ``late_policy`` and ``partners``; objects of their subclasses may replace them until
    ``setup``.
    """

    __slots__ = (
        "_function",
        "_bounds",
        "late_policy",
        "partners",
        "_order",
        "_life",
        "_context",
        "_timers",
        "_sides",
        "_inputs",
        "_observer",
    )

    _context: JoinContext
    _timers: InternalTimerService[str]
    _sides: tuple[JoinSide, JoinSide]
    _inputs: tuple[OperatorInput, ...]
    _observer: JoinObserver | None
    """The observer; None without recording."""

    def __init__(
        self,
        function: ProcessJoinFunction,
        bounds: IntervalBounds,
        late_left: OutputTag | None = None,
        late_right: OutputTag | None = None,
        order: ReadingOrder | None = None,
    ) -> None:
        self._function = function
        self._bounds = bounds
        self.late_policy = LatePolicy(late_left, late_right)
        self.partners = Partners()
        self._order = order
        self._life = FunctionLife(function)

    def setup(self, ctx: OperatorContext, output: Output) -> None:
        super().setup(ctx, output)
        first, second = ctx.key_selectors if len(ctx.key_selectors) == 2 else (ctx.key_selector, None)
        if first is None or second is None:
            raise BadInput(f"operator {ctx.operator_name} needs a key for each of its two inputs (rule 9.17)")
        self._context = JoinContext(output)
        self._timers = self.time_services.internal_timer_service(CLEANUP_TIMER, self, _RECORDED_AS.__getitem__)
        left, right = self._buffer("LEFT_BUFFER"), self._buffer("RIGHT_BUFFER")
        self._observer = None
        if ctx.trace is not None and self.key_facts is not None:
            self._observer = JoinObserver(ctx.trace, self.key_facts, self)
        bounds = self._bounds
        self._sides = (
            JoinSide(True, left, right, bounds.lower_ms, bounds.upper_ms, CLEANUP_LEFT),
            JoinSide(False, right, left, -bounds.upper_ms, -bounds.lower_ms, CLEANUP_RIGHT),
        )
        methods = [self._process_input(first, self._sides[0]), self._process_input(second, self._sides[1])]
        self._inputs = combined_inputs(self, methods if self._order is None else recording_reads(methods, self._order))

    def _buffer(self, name: str) -> MapState:
        """Returns the state with the records of one side per key, listed by timestamp."""
        return self.state_of(None).get_map_state(MapStateDescriptor(name, Types.LONG(), Types.PICKLED_BYTE_ARRAY()))

    @property
    def inputs(self) -> tuple[OperatorInput, ...]:
        return self._inputs

    @property
    def input_selectable(self) -> InputSelectable | None:
        return self._order

    def end_input_of(self, input_id: int) -> None:
        if self._order is not None:
            self._order.record_end(input_id)

    def use_interruptible_timers(self) -> bool:
        """Returns the setting of the function. Flink: AbstractUdfStreamOperator."""
        return self._life.use_interruptible_timers()

    def open(self) -> None:
        super().open()
        self._life.open(self.runtime_context)

    def close(self) -> None:
        self._life.close()

    def _process_input(self, key_of: KeySelector, side: JoinSide) -> ProcessElement:
        """Returns the process method of an input, which sets the key by the input's selector (rule 7.20)."""

        def process_element(value: Value, timestamp: int | None) -> None:
            self.clock.now_ns += self.cost_ns
            self.records_in += 1
            key = key_of(value)
            self.set_current_key(key, state_key(key))
            self._take(side, value, timestamp)

        return process_element

    def _take(self, side: JoinSide, value: Value, timestamp: int | None) -> None:
        if timestamp is None or timestamp == NO_TIMESTAMP:
            raise NoTimestamp(
                f"operator {self.ctx.operator_name}: a record without a timestamp cannot be joined by time (rule 10.34)"
            )
        observer = self._observer
        if observer is not None:
            observer.on_element(side.is_left, value, timestamp)
        if timestamp < self._timers.current_watermark:
            self.late_policy.drop(self, side.is_left, value, timestamp)
            return
        side.own.append(timestamp, value)
        for other_timestamp, other_value in self.partners.of(side, timestamp):
            if observer is not None:
                observer.on_pair(side.is_left, other_value, other_timestamp, max(timestamp, other_timestamp))
            if side.is_left:
                self._join(value, other_value, timestamp, other_timestamp)
            else:
                self._join(other_value, value, other_timestamp, timestamp)
        upper_ms = side.upper_ms
        cleanup_time = wrapped(timestamp + upper_ms) if upper_ms > 0 else timestamp
        self._timers.register_event_time_timer(side.namespace, cleanup_time)

    def _join(self, left: Value, right: Value, left_timestamp: int, right_timestamp: int) -> None:
        timestamp = self._context.set_current(left_timestamp, right_timestamp)
        emit_results(self._function.process_element(left, right, self._context), timestamp, self.output)

    def record_late(self, timestamp: int, has_output: bool) -> None:
        """Records that the last record was late; ``has_output``: its side has a late output."""
        if self._observer is not None:
            self._observer.on_late(timestamp, has_output)

    @property
    def current_watermark(self) -> int:
        """The current watermark in ms."""
        return self._timers.current_watermark

    def on_event_time(self, timer: InternalTimer) -> None:
        """Removes the records of this timer (rule 10.36)."""
        lower_ms, upper_ms = self._bounds.lower_ms, self._bounds.upper_ms
        if timer.namespace == CLEANUP_LEFT:
            waited_ms = upper_ms if upper_ms > 0 else 0
            self._sides[0].own.remove(wrapped(timer.timestamp - waited_ms))
        else:
            waited_ms = -lower_ms if lower_ms <= 0 else 0
            self._sides[1].own.remove(wrapped(timer.timestamp - waited_ms))

    def on_processing_time(self, timer: InternalTimer) -> None:
        """Never called: interval joins have no processing-time timers."""
        raise AssertionError(f"an interval join registers no processing-time timer: {timer!r}")

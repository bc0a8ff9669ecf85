"""User functions over two inputs. Flink: CoStreamMap, CoStreamFlatMap, CoProcessOperator, KeyedCoProcessOperator."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from flowsim.errors import BadInput
from flowsim.operators.functions.process import KeyedFunctionOperator, ProcessContext
from flowsim.operators.functions.timer_services import ReadOnlyTimerService
from flowsim.operators.input_selection import InputSelectable
from flowsim.operators.inputs.combined_input import ProcessElement, combined_inputs
from flowsim.operators.inputs.multiple_input import MultipleInputOperator
from flowsim.operators.inputs.reading_order import ReadingOrder, recording_reads
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.operators.stream_operator import KeySelector, OperatorContext, OperatorInput, Value
from flowsim.operators.user_functions import FunctionLife, Results, UserFunction, emit_results
from flowsim.streamrecord.output import Output
from flowsim.values.keys import state_key


class CoProcessFunction(UserFunction, Protocol):
    """Yields or returns results for each element of either input. Flink: CoProcessFunction."""

    def process_element1(self, value: Value, ctx: ProcessContext) -> Results: ...

    def process_element2(self, value: Value, ctx: ProcessContext) -> Results: ...


class KeyedCoProcessFunction(CoProcessFunction, Protocol):
    """Yields or returns results for each element of either input, with keyed state and timers.

    Flink: KeyedCoProcessFunction.
    """

    def on_timer(self, timestamp: int, ctx: ProcessContext) -> Results: ...


class _FunctionOfTwoInputs(MultipleInputOperator):
    """Opens and closes the function for both inputs."""

    __slots__ = ("_life",)

    def __init__(self, user_function: UserFunction | None, order: ReadingOrder | None) -> None:
        super().__init__(2, order)
        self._life = FunctionLife(user_function)

    def open(self) -> None:
        self._life.open(RuntimeContext(self.ctx, None))

    def close(self) -> None:
        self._life.close()


class CoMapOperator(_FunctionOfTwoInputs):
    """Emits one record for each input record, or none if the function returns None, as in PyFlink.

    Flink: CoStreamMap.
    """

    __slots__ = ("_maps",)

    def __init__(
        self,
        map1: Callable[[Value], Value],
        map2: Callable[[Value], Value],
        user_function: UserFunction | None = None,
        order: ReadingOrder | None = None,
    ) -> None:
        super().__init__(user_function, order)
        self._maps = (map1, map2)

    def process_element_of(self, input_id: int, value: Value, timestamp: int | None) -> None:
        result = self._maps[input_id - 1](value)
        if result is not None:
            self.collector.collect(result, timestamp)


class CoFlatMapOperator(_FunctionOfTwoInputs):
    """Emits any number of records for each input record, with its timestamp. Flink: CoStreamFlatMap."""

    __slots__ = ("_flat_maps",)

    def __init__(
        self,
        flat_map1: Callable[[Value], Iterable[Value] | None],
        flat_map2: Callable[[Value], Iterable[Value] | None],
        user_function: UserFunction | None = None,
        order: ReadingOrder | None = None,
    ) -> None:
        super().__init__(user_function, order)
        self._flat_maps = (flat_map1, flat_map2)

    def process_element_of(self, input_id: int, value: Value, timestamp: int | None) -> None:
        results = self._flat_maps[input_id - 1](value)
        if results is not None:
            for result in results:
                self.collector.collect(result, timestamp)


class CoProcessOperator(_FunctionOfTwoInputs):
    """Runs a CoProcessFunction on streams without keys. Flink: CoProcessOperator."""

    __slots__ = ("_functions", "_context", "_timer_service")

    _context: ProcessContext
    _timer_service: ReadOnlyTimerService

    def __init__(self, function: CoProcessFunction, order: ReadingOrder | None = None) -> None:
        super().__init__(function, order)
        self._functions = (function.process_element1, function.process_element2)

    def setup(self, ctx: OperatorContext, output: Output) -> None:
        super().setup(ctx, output)
        self._timer_service = ReadOnlyTimerService(ctx.processing_time)
        self._context = ProcessContext(self._timer_service, output)

    def process_element_of(self, input_id: int, value: Value, timestamp: int | None) -> None:
        self._context.set_current(timestamp, timestamp, None, None)
        emit_results(self._functions[input_id - 1](value, self._context), timestamp, self.output)

    def process_watermark(self, timestamp: int) -> None:
        self._timer_service.watermark = timestamp
        self.output.emit_watermark(timestamp)


class KeyedCoProcessOperator(KeyedFunctionOperator):
    """Runs a KeyedCoProcessFunction: both inputs share the state and timers of a key. Flink: KeyedCoProcessOperator."""

    __slots__ = ("_function", "_order", "_inputs")

    _inputs: tuple[OperatorInput, ...]

    def __init__(self, function: KeyedCoProcessFunction, order: ReadingOrder | None = None) -> None:
        super().__init__(function)
        self._function = function
        self._order = order

    def setup(self, ctx: OperatorContext, output: Output) -> None:
        super().setup(ctx, output)
        first, second = ctx.key_selectors if len(ctx.key_selectors) == 2 else (ctx.key_selector, None)
        if first is None or second is None:
            raise BadInput(f"operator {ctx.operator_name} needs a key for each of its two inputs (rule 9.17)")
        methods = [
            self._process_input(first, self._function.process_element1),
            self._process_input(second, self._function.process_element2),
        ]
        self._inputs = combined_inputs(self, methods if self._order is None else recording_reads(methods, self._order))

    def _process_input(
        self, key_of: KeySelector, function: Callable[[Value, ProcessContext], Results]
    ) -> ProcessElement:
        """Sets the key by the selector of the record's input, then calls the function (rule 7.20)."""

        def process_element(value: Value, timestamp: int | None) -> None:
            self.clock.now_ns += self.cost_ns
            self.records_in += 1
            key = key_of(value)
            self.set_current_key(key, state_key(key))
            self._context.set_current(timestamp, timestamp, key, None)
            emit_results(function(value, self._context), timestamp, self.output)

        return process_element

    @property
    def inputs(self) -> tuple[OperatorInput, ...]:
        return self._inputs

    @property
    def input_selectable(self) -> InputSelectable | None:
        return self._order

    def end_input_of(self, input_id: int) -> None:
        if self._order is not None:
            self._order.record_end(input_id)

"""The user's functions as objects that Java calls: each method gets a record, a timestamp and text, and answers text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from flowsim.conform.flink_contexts import (
    CollectedResults,
    FlinkKeyedStates,
    FlinkMapState,
    FlinkRuntimeContext,
    FlinkSide,
    FlinkTimerService,
)
from flowsim.operators.functions.process import ProcessContext
from flowsim.operators.functions.timer_services import TimeDomain
from flowsim.operators.stream_operator import OperatorContext, StreamOperator
from flowsim.operators.user_functions import Results, emit_results
from flowsim.operators.windowing.window_contents import ListContents
from flowsim.operators.windowing.windows import GlobalWindow, TimeWindow, Window
from flowsim.state.descriptors import MapStateDescriptor, StateDescriptor
from flowsim.units import NO_TIMESTAMP

CreateContext = Callable[[int, int, int, int], OperatorContext]
"""Creates the context of a subtask: its index, the attempt, the parallelism, the maximum parallelism."""


class FunctionFactory:
    """Opens the function of one subtask and attempt, when Java asks for it."""

    def __init__(
        self,
        side: FlinkSide,
        create_operator: Callable[[], StreamOperator],
        create_context: CreateContext,
        kind: type[CalledFunction],
        tags: Sequence[str],
    ) -> None:
        self._side = side
        self._create_operator = create_operator
        self._create_context = create_context
        self._kind = kind
        self._tags = list(tags)

    def open(self, subtask: int, _: int, place: str) -> str:
        attempt, parallelism, max_parallelism = map(int, place.split(","))
        context = self._create_context(subtask, attempt, parallelism, max_parallelism)
        called = self._kind(self._side, self._create_operator(), context, self._tags)
        return str(self._side.objects.add(called))


class CalledFunction:
    """A function of one subtask: opened when it is made. Subclasses have the methods that Java calls."""

    def __init__(self, side: FlinkSide, operator: StreamOperator, ctx: OperatorContext, tags: list[str]) -> None:
        self.side = side
        self.operator: Any = operator
        self.results = CollectedResults(side, tags)
        self.timers = FlinkTimerService(side)
        self.states = FlinkKeyedStates(side)
        self.context = ProcessContext(self.timers, self.results)
        self.function: Any = self.operator.user_function
        function: Any = self.function
        if function is not None:
            function.open(FlinkRuntimeContext(ctx, self.states))

    def close(self, *_: object) -> str:
        if self.function is not None:
            self.function.close()
        return ""

    def emitted(self, call: Callable[[], Results], timestamp: int | None = None) -> str:
        """Returns the results of a call, up to its error if it raises one."""
        try:
            emit_results(call(), timestamp, self.results)
        except Exception as error:
            return self.results.taken(self.side.objects.add(error))
        return self.results.taken()


class CalledMap(CalledFunction):
    def map(self, record: int, *_: object) -> str:
        return self.side.number(self.operator._map(self.side.values.value(record)))


class CalledFilter(CalledFunction):
    def filter(self, record: int, *_: object) -> str:
        return str(bool(self.operator._accepts(self.side.values.value(record)))).lower()


class CalledFlatMap(CalledFunction):
    def flat_map(self, record: int, *_: object) -> str:
        return self.emitted(lambda: _plain(self.operator._flat_map(self.side.values.value(record)), self.results))


class CalledReduce(CalledFunction):
    def reduce(self, left: int, right: int, _: str) -> str:
        values = self.side.values
        return self.side.number(self.operator._reduce(values.value(left), values.value(right)))


class CalledCoMap(CalledFunction):
    def map1(self, record: int, *_: object) -> str:
        return self.side.number(self.operator._maps[0](self.side.values.value(record)))

    def map2(self, record: int, *_: object) -> str:
        return self.side.number(self.operator._maps[1](self.side.values.value(record)))


class CalledCoFlatMap(CalledFunction):
    def flat_map1(self, record: int, *_: object) -> str:
        return self.emitted(lambda: _plain(self.operator._flat_maps[0](self.side.values.value(record)), self.results))

    def flat_map2(self, record: int, *_: object) -> str:
        return self.emitted(lambda: _plain(self.operator._flat_maps[1](self.side.values.value(record)), self.results))


def _plain(results: Iterable[object] | None, output: CollectedResults) -> Results:
    """Emits results of which none belongs to a side output."""
    for result in results or ():
        output.collect(result, None)
    return None


class CalledProcess(CalledFunction):
    """A process function of one or two inputs, keyed or not."""

    def process_element(self, record: int, timestamp: int, key: str) -> str:
        return self._processed(self.function.process_element, record, timestamp, key)

    def process_element1(self, record: int, timestamp: int, key: str) -> str:
        return self._processed(self.function.process_element1, record, timestamp, key)

    def process_element2(self, record: int, timestamp: int, key: str) -> str:
        return self._processed(self.function.process_element2, record, timestamp, key)

    def on_timer(self, _: int, timestamp: int, more: str) -> str:
        domain, key = more.split(",", 1)
        self.context.set_current(timestamp, timestamp, self.side.keys.key(key), TimeDomain[domain])
        return self.emitted(lambda: self.function.on_timer(timestamp, self.context))

    def _processed(self, process: Callable[..., Results], record: int, timestamp: int, key: str) -> str:
        at = None if timestamp == NO_TIMESTAMP else timestamp
        self.context.set_current(at, at, self.side.keys.key(key) if key else None, None)
        value = self.side.values.value(record)
        return self.emitted(lambda: process(value, self.context))


class BroadcastCallContext(ProcessContext):
    """The context of a function with broadcast states. It calls Flink's BaseBroadcastProcessFunction."""

    __slots__ = ("_side", "_states")

    def __init__(self, side: FlinkSide, states: FlinkKeyedStates, results: CollectedResults) -> None:
        super().__init__(FlinkTimerService(side), results)
        self._side = side
        self._states = states

    def get_broadcast_state(self, descriptor: MapStateDescriptor) -> FlinkMapState:
        broadcast, name = self._side.java.broadcast, descriptor.name
        return FlinkMapState(
            self._side, lambda method, argument: str(broadcast(name, method, argument)), descriptor.key_type_info
        )

    def current_watermark(self) -> int:
        return int(self._side.java.watermark())

    def current_processing_time(self) -> int:
        return int(self._side.java.processingTime())

    def apply_to_keyed_state(self, descriptor: StateDescriptor, function: Any) -> None:
        visit = getattr(function, "process", function)
        state = self._states.visited(descriptor)
        visitor = self._side.objects.add(_Visitor(self._side, lambda key: visit(key, state)))
        kind, name, functions = self._states.described(descriptor)
        self._side.java.forEachKey(kind, name, functions, visitor)


class _Visitor:
    def __init__(self, side: FlinkSide, visit: Callable[[object], object]) -> None:
        self._side = side
        self._visit = visit

    def visit(self, _: int, __: int, key: str) -> str:
        self._visit(self._side.keys.key(key))
        return ""


class CalledBroadcast(CalledProcess):
    def __init__(self, side: FlinkSide, operator: StreamOperator, ctx: OperatorContext, tags: list[str]) -> None:
        super().__init__(side, operator, ctx, tags)
        self.context = BroadcastCallContext(side, self.states, self.results)

    def process_broadcast_element(self, record: int, timestamp: int, _: str) -> str:
        # Rule 9.19: unlike on the other side, an element without timestamp has the smallest one.
        self.context.set_current(timestamp, timestamp, None, None)
        value = self.side.values.value(record)
        return self.emitted(lambda: self.function.process_broadcast_element(value, self.context))


class JoinCallContext:
    """The context of a pair. It calls Flink's ProcessJoinFunction.Context."""

    def __init__(self, left: int, right: int, timestamp: int, results: CollectedResults) -> None:
        self._times = (left, right, timestamp)
        self._results = results

    def get_left_timestamp(self) -> int:
        return self._times[0]

    def get_right_timestamp(self) -> int:
        return self._times[1]

    def get_timestamp(self) -> int:
        return self._times[2]

    def output(self, tag: Any, value: object) -> None:
        self._results.collect_side(tag, value, self._times[2])


class CalledJoin(CalledFunction):
    def process_element(self, left: int, timestamp: int, more: str) -> str:
        right, left_time, right_time = map(int, more.split(","))
        context = JoinCallContext(left_time, right_time, timestamp, self.results)
        values = self.side.values
        return self.emitted(
            lambda: self.function.process_element(values.value(left), values.value(right), context), timestamp
        )


class WindowCallContext:
    """The context of a window function. It calls Flink's ProcessWindowFunction.Context."""

    def __init__(self, side: FlinkSide, window: Window, scopes: dict[str, FlinkKeyedStates]) -> None:
        self._side = side
        self._window = window
        self._scopes = scopes

    def window(self) -> Window:
        return self._window

    def current_processing_time(self) -> int:
        return int(self._side.java.processingTime())

    def current_watermark(self) -> int:
        return int(self._side.java.watermark())

    def window_state(self) -> FlinkKeyedStates:
        return self._scopes["window"]

    def global_state(self) -> FlinkKeyedStates:
        return self._scopes["global"]


class CalledWindow(CalledFunction):
    def __init__(self, side: FlinkSide, operator: StreamOperator, ctx: OperatorContext, tags: list[str]) -> None:
        super().__init__(side, operator, ctx, tags)
        self._scopes = {scope: FlinkKeyedStates(side, scope) for scope in ("window", "global")}

    def process(self, _: int, __: int, more: str) -> str:
        start, end, listed, key = more.split(",", 3)
        contents = self.side.values.values(listed.split())
        folded = contents if keeps_records(self.operator) else contents[0]
        context = WindowCallContext(self.side, window_of(f"{start},{end}"), self._scopes)
        known = self.side.keys.key(key) if key else None
        return self.emitted(lambda: self.function.process(known, context, folded))

    def clear(self, _: int, __: int, more: str) -> str:
        self.function.clear(WindowCallContext(self.side, window_of(more), self._scopes))
        return ""


def window_of(bounds: str) -> Window:
    """Returns the window with these bounds, which are separated by a comma; a global one has no end."""
    start, end = bounds.split(",")
    return GlobalWindow.get() if start == "global" else TimeWindow(int(start), int(end))


def keeps_records(operator: Any) -> bool:
    """Returns True if a window operator gives its function all records, False if one folded value."""
    return bool(operator.keeps_timestamps) or isinstance(operator.panes.contents, ListContents)

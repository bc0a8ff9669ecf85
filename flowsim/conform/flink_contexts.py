"""What the user's functions get from the real Flink: their context, states and timers. Each method asks Java."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flowsim.conform.unsupported import Unsupported
from flowsim.conform.values import Keys, Numbers, Values
from flowsim.errors import BadInput
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.operators.stream_operator import OperatorContext
from flowsim.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from flowsim.streamrecord.elements import LatencyMarker, OutputTag, WatermarkStatus
from flowsim.streamrecord.output import Output
from flowsim.values.closed_set import check
from flowsim.values.types import TypeInformation

Ask = Callable[[str, str], str]
"""Calls a method of a state: its name and its argument as text."""


@dataclass(frozen=True, slots=True)
class FlinkSide:
    """Java, the objects that it has numbers for, and the keys."""

    java: Any
    """The class ``flowsim.conform.Bridge``."""
    values: Values
    objects: Numbers
    keys: Keys

    def value_or_none(self, text: str) -> object:
        """Returns the value of a number; None for ``-``."""
        return None if text == "-" else self.values.value(int(text))

    def number(self, value: object) -> str:
        """Returns the number of a new value. Raises ValueNotAllowed for what cannot be a record value."""
        check(value)
        return str(self.values.add(value))


class CollectedResults(Output):
    """Keeps the results of one call as text: ``m`` and a number, or ``s``, the index of a tag, ``:`` and a number."""

    def __init__(self, side: FlinkSide, tags: list[str]) -> None:
        self._side = side
        self._tags = tags
        self._results: list[str] = []

    def collect(self, value: object, timestamp: int | None) -> None:
        self._results.append(f"m{self._side.number(value)}")

    def collect_side(self, tag: OutputTag, value: object, timestamp: int | None) -> None:
        if tag.tag_id in self._tags:
            self._results.append(f"s{self._tags.index(tag.tag_id)}:{self._side.number(value)}")

    def emit_watermark(self, timestamp: int) -> None:
        raise BadInput("a function of the user cannot emit watermarks")

    def emit_watermark_status(self, status: WatermarkStatus) -> None:
        raise BadInput("a function of the user cannot emit a status")

    def emit_latency_marker(self, marker: LatencyMarker) -> None:
        raise BadInput("a function of the user cannot emit latency markers")

    def taken(self, error: int | None = None) -> str:
        """Returns and forgets the results; behind them the number of the error that ended the call."""
        results, self._results = self._results, []
        return ",".join(results if error is None else [*results, f"e{error}"])


class FlinkTimerService:
    """Time and timers of the current key, in ms. It calls Flink's TimerService."""

    __slots__ = ("_side",)

    def __init__(self, side: FlinkSide) -> None:
        self._side = side

    def current_processing_time(self) -> int:
        return int(self._side.java.processingTime())

    def current_watermark(self) -> int:
        return int(self._side.java.watermark())

    def register_processing_time_timer(self, timestamp: int) -> None:
        self._side.java.timer("register_processing_time_timer", timestamp)

    def register_event_time_timer(self, timestamp: int) -> None:
        self._side.java.timer("register_event_time_timer", timestamp)

    def delete_processing_time_timer(self, timestamp: int) -> None:
        self._side.java.timer("delete_processing_time_timer", timestamp)

    def delete_event_time_timer(self, timestamp: int) -> None:
        self._side.java.timer("delete_event_time_timer", timestamp)


class FlinkState:
    """A state; subclasses have the methods of their kind."""

    def __init__(self, side: FlinkSide, ask: Ask) -> None:
        self._side = side
        self._ask = ask

    def clear(self) -> None:
        self._ask("clear", "")


class FlinkValueState(FlinkState):
    """One value. It calls Flink's ValueState."""

    def value(self) -> object:
        return self._side.value_or_none(self._ask("value", ""))

    def update(self, value: object) -> None:
        self._ask("update", "-" if value is None else self._side.number(value))


class FlinkAppendingState(FlinkState):
    """A reduced or aggregated value. It calls Flink's ReducingState, AggregatingState."""

    def get(self) -> object:
        return self._side.value_or_none(self._ask("get", ""))

    def add(self, value: object) -> None:
        self._ask("add", self._side.number(value))


class FlinkListState(FlinkState):
    """A list. It calls Flink's ListState."""

    def get(self) -> list[object]:
        listed = self._ask("get", "")
        return [] if listed in ("-", "") else self._side.values.values(listed.split(","))

    def __iter__(self) -> Iterator[object]:
        return iter(self.get())

    def add(self, value: object) -> None:
        self._ask("add", self._side.number(value))

    def add_all(self, values: Iterable[object]) -> None:
        self._ask("add_all", ",".join(map(self._side.number, values)))

    def update(self, values: Iterable[object]) -> None:
        self._ask("update", ",".join(map(self._side.number, values)))


class FlinkMapState(FlinkState):
    """A map, also a broadcast state. It calls Flink's MapState, BroadcastState."""

    def __init__(self, side: FlinkSide, ask: Ask, key_type: TypeInformation) -> None:
        super().__init__(side, ask)
        self._key_type = key_type

    def _text(self, key: object) -> str:
        return self._side.keys.text(key, self._key_type)

    def get(self, key: object) -> object:
        return self._side.value_or_none(self._ask("get", self._text(key)))

    def put(self, key: object, value: object) -> None:
        self._ask("put", f"{self._side.number(value)}\t{self._text(key)}")

    def put_all(self, dict_value: Mapping[object, object]) -> None:
        for key, value in dict_value.items():
            self.put(key, value)

    def remove(self, key: object) -> None:
        self._ask("remove", self._text(key))

    def contains(self, key: object) -> bool:
        return self._ask("contains", self._text(key)) == "true"

    def is_empty(self) -> bool:
        return not self.items()

    def items(self) -> list[tuple[object, object]]:
        lines = self._ask("items", "")
        entries = (line.split("\t", 1) for line in lines.split("\n")) if lines else ()
        return [(self._side.keys.key(key), self._side.values.value(int(number))) for number, key in entries]

    def keys(self) -> list[object]:
        return [key for key, _ in self.items()]

    def values(self) -> list[object]:
        return [value for _, value in self.items()]

    def __getitem__(self, key: object) -> object:
        return self.get(key)

    def __setitem__(self, key: object, value: object) -> None:
        self.put(key, value)

    def __delitem__(self, key: object) -> None:
        self.remove(key)

    def __contains__(self, key: object) -> bool:
        return self.contains(key)

    def __iter__(self) -> Iterator[object]:
        return iter(self.keys())


class ReducerCalls:
    """The reduce function of a state or a window, for Java."""

    def __init__(self, side: FlinkSide, reduce: Callable[[Any, Any], object]) -> None:
        self._side = side
        self._reduce = reduce

    def reduce(self, left: int, right: int, _: str) -> str:
        values = self._side.values
        return self._side.number(self._reduce(values.value(left), values.value(right)))


class AggregatorCalls:
    """The aggregate function of a state or a window, for Java."""

    def __init__(self, side: FlinkSide, aggregator: Any) -> None:
        self._side = side
        self._aggregator = aggregator

    def create_accumulator(self, *_: object) -> str:
        return self._kept(self._aggregator.create_accumulator())

    def add(self, value: int, accumulator: int, _: str) -> str:
        values = self._side.values
        return self._kept(self._aggregator.add(values.value(value), values.value(accumulator)))

    def get_result(self, accumulator: int, *_: object) -> str:
        result = self._aggregator.get_result(self._side.values.value(accumulator))
        return self._kept(result)

    def merge(self, one: int, other: int, _: str) -> str:
        values = self._side.values
        return self._kept(self._aggregator.merge(values.value(one), values.value(other)))

    def _kept(self, accumulator: object) -> str:
        return str(self._side.values.add(accumulator))


_KINDS: dict[type[StateDescriptor], str] = {
    ValueStateDescriptor: "value",
    ListStateDescriptor: "list",
    MapStateDescriptor: "map",
    ReducingStateDescriptor: "reducing",
    AggregatingStateDescriptor: "aggregating",
}


class FlinkKeyedStates:
    """The keyed states of a scope of one function. It calls Flink's KeyedStateStore."""

    def __init__(self, side: FlinkSide, scope: str = "") -> None:
        self._side = side
        self._scope = scope
        self._functions: dict[str, int] = {}

    def get_state(self, descriptor: ValueStateDescriptor) -> FlinkValueState:
        return FlinkValueState(self._side, self._ask(descriptor))

    def get_list_state(self, descriptor: ListStateDescriptor) -> FlinkListState:
        return FlinkListState(self._side, self._ask(descriptor))

    def get_map_state(self, descriptor: MapStateDescriptor) -> FlinkMapState:
        return FlinkMapState(self._side, self._ask(descriptor), descriptor.key_type_info)

    def get_reducing_state(self, descriptor: ReducingStateDescriptor) -> FlinkAppendingState:
        return FlinkAppendingState(self._side, self._ask(descriptor))

    def get_aggregating_state(self, descriptor: AggregatingStateDescriptor) -> FlinkAppendingState:
        return FlinkAppendingState(self._side, self._ask(descriptor))

    def visited(self, descriptor: StateDescriptor) -> FlinkState:
        """Returns the state of the key that Java visits."""

        return self._made(descriptor, lambda method, argument: str(self._side.java.visited(method, argument)))

    def of(self, descriptor: StateDescriptor) -> FlinkState:
        """Returns a state of any kind."""
        return self._made(descriptor, self._ask(descriptor))

    def merge(self, descriptor: StateDescriptor) -> None:
        """Merges the state of windows that are merged into that of the current window."""
        self._ask(descriptor)("merge", "")

    def _made(self, descriptor: StateDescriptor, ask: Ask) -> FlinkState:
        match descriptor:
            case ValueStateDescriptor():
                return FlinkValueState(self._side, ask)
            case ListStateDescriptor():
                return FlinkListState(self._side, ask)
            case MapStateDescriptor():
                return FlinkMapState(self._side, ask, descriptor.key_type_info)
            case _:
                return FlinkAppendingState(self._side, ask)

    def described(self, descriptor: StateDescriptor) -> tuple[str, str, int]:
        """Returns kind and name of a state, and the number of its function; 0 without one.

        Raises Unsupported for a state with a time to live.
        """
        if descriptor.ttl_config is not None:
            raise Unsupported(
                f"state {descriptor.name!r}: a time to live, which Flink measures with the machine's time"
            )
        return _KINDS[type(descriptor)], descriptor.name, self._function(descriptor)

    def _ask(self, descriptor: StateDescriptor) -> Ask:
        kind, name, function = self.described(descriptor)
        state, scope = self._side.java.state, self._scope
        return lambda method, argument: str(state(scope, kind, name, method, argument, function))

    def _function(self, descriptor: StateDescriptor) -> int:
        if descriptor.name not in self._functions:
            made: object
            match descriptor:
                case ReducingStateDescriptor():
                    made = ReducerCalls(self._side, descriptor.get_reduce_function().reduce)
                case AggregatingStateDescriptor():
                    made = AggregatorCalls(self._side, descriptor.get_agg_function())
                case _:
                    return 0
            self._functions[descriptor.name] = self._side.objects.add(made)
        return self._functions[descriptor.name]


class FlinkRuntimeContext(RuntimeContext):
    """The context of a function that the real Flink calls: keyed states are Flink's. It calls Flink's RuntimeContext."""

    __slots__ = ("_states",)

    def __init__(self, ctx: OperatorContext, states: FlinkKeyedStates) -> None:
        super().__init__(ctx, None)
        self._states = states

    def get_state(self, state_descriptor: ValueStateDescriptor) -> Any:
        return self._states.get_state(state_descriptor)

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> Any:
        return self._states.get_list_state(state_descriptor)

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> Any:
        return self._states.get_map_state(state_descriptor)

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> Any:
        return self._states.get_reducing_state(state_descriptor)

    def get_aggregating_state(self, state_descriptor: AggregatingStateDescriptor) -> Any:
        return self._states.get_aggregating_state(state_descriptor)

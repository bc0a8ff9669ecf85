"""State descriptors: name, types, functions and time to live; the arguments are those of PyFlink.

Flink: StateDescriptor and its subclasses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from flowsim.errors import BadInput
from flowsim.state.state_ttl_config import StateTtlConfig
from flowsim.values.types import TypeInformation


class Reducer(Protocol):
    """Combines two values into one. Flink: ReduceFunction."""

    def reduce(self, value1: object, value2: object) -> object: ...


class Aggregator(Protocol):
    """Folds values into an accumulator and returns its result. Flink: AggregateFunction."""

    def create_accumulator(self) -> object: ...

    def add(self, value: object, accumulator: object) -> object: ...

    def get_result(self, accumulator: object) -> object: ...

    def merge(self, acc_a: object, acc_b: object) -> object: ...


class StateDescriptor:
    """The name and type of a state. Raises BadInput for an empty name or an invalid type. Flink: StateDescriptor."""

    __slots__ = ("name", "ttl_config", "type_info")

    ttl_config: StateTtlConfig | None
    """The time to live of the state; None: values never expire."""

    def __init__(self, name: str, type_info: TypeInformation) -> None:
        if not name:
            raise BadInput("a state needs a name that is not empty")
        _check_type(name, type_info)
        self.name: str = name
        self.type_info: TypeInformation = type_info
        self.ttl_config = None

    def get_name(self) -> str:
        """Returns the name, which is unique among the states of one operator."""
        return self.name

    def enable_time_to_live(self, ttl_config: StateTtlConfig) -> None:
        """Lets values expire. Raises BadInput for anything but a StateTtlConfig.

        A disabled configuration has no effect.
        """
        if not isinstance(ttl_config, StateTtlConfig):
            raise BadInput(
                f"state {self.name!r}: enable_time_to_live: expected a StateTtlConfig, such as "
                f"StateTtlConfig.new_builder(Duration.of_hours(1)).build(), got {ttl_config!r:.60}"
            )
        self.ttl_config = ttl_config if ttl_config.is_enabled() else None


class ValueStateDescriptor(StateDescriptor):
    """Declares one value per key. Flink: ValueStateDescriptor."""

    __slots__ = ()

    def __init__(self, name: str, value_type_info: TypeInformation) -> None:
        super().__init__(name, value_type_info)


class ListStateDescriptor(StateDescriptor):
    """Declares a list per key, of elements of this type. Flink: ListStateDescriptor."""

    __slots__ = ()

    def __init__(self, name: str, elem_type_info: TypeInformation) -> None:
        super().__init__(name, elem_type_info)


class MapStateDescriptor(StateDescriptor):
    """Declares a map per key. Flink: MapStateDescriptor."""

    __slots__ = ("key_type_info",)

    def __init__(self, name: str, key_type_info: TypeInformation, value_type_info: TypeInformation) -> None:
        super().__init__(name, value_type_info)
        _check_type(name, key_type_info)
        self.key_type_info: TypeInformation = key_type_info


class ReducingStateDescriptor(StateDescriptor):
    """Declares a value per key; each added value is reduced into the stored value. Flink: ReducingStateDescriptor."""

    __slots__ = ("_reducer",)

    def __init__(
        self, name: str, reduce_function: Reducer | Callable[[object, object], object], type_info: TypeInformation
    ) -> None:
        super().__init__(name, type_info)
        self._reducer = _CallableReducer(reduce_function) if callable(reduce_function) else reduce_function

    def get_reduce_function(self) -> Reducer:
        """Returns the reduce function; a callable is wrapped."""
        return self._reducer


class AggregatingStateDescriptor(StateDescriptor):
    """Declares an accumulator per key. Flink: AggregatingStateDescriptor."""

    __slots__ = ("_aggregator",)

    def __init__(self, name: str, agg_function: Aggregator, state_type_info: TypeInformation) -> None:
        super().__init__(name, state_type_info)
        self._aggregator = agg_function

    def get_agg_function(self) -> Aggregator:
        """Returns the aggregate function."""
        return self._aggregator


class _CallableReducer:
    __slots__ = ("reduce",)

    def __init__(self, reduce: Callable[[object, object], object]) -> None:
        self.reduce = reduce


def _check_type(name: str, declared: object) -> None:
    if not isinstance(declared, TypeInformation):
        raise BadInput(f"state {name!r}: expected a type such as Types.LONG(), got {declared!r:.60}")

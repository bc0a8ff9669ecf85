"""Two streams as the two inputs of one operator, with PyFlink's names and arguments. Flink: ConnectedStreams."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic

from flowsim.datastream.building import operator_factories as factories
from flowsim.datastream.building.operator_factories import AnyKeySelector, MakeOperator
from flowsim.datastream.functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
)
from flowsim.datastream.functions.keyed_functions import KeyedCoFlatMap, KeyedCoMap, KeyedCoProcess
from flowsim.datastream.streams.stream import S, Stream, add_inputs
from flowsim.errors import BadInput
from flowsim.graph.stream_graph import OperatorDescription
from flowsim.operators.inputs.reading_order import READINGS, Reading
from flowsim.operators.stream_operator import StreamOperator
from flowsim.values.types import TypeInformation


class ConnectedStreams(Generic[S]):
    """Two streams as two inputs, not united: the operator knows the input of each record. PyFlink: ConnectedStreams.

    If both streams are keyed, the operator is keyed: both inputs share the state and timers of a key.
    """

    def __init__(self, stream1: Stream[S], stream2: Stream[S], reading: Reading = "any") -> None:
        self.stream1 = stream1
        self.stream2 = stream2
        self._reading: Reading = reading

    def key_by(
        self, key_selector1: AnyKeySelector, key_selector2: AnyKeySelector, key_type: TypeInformation | None = None
    ) -> ConnectedStreams[S]:
        """Partitions both streams by keys of one type, so that equal keys are in one subtask."""
        return ConnectedStreams(
            self.stream1.key_by(key_selector1, key_type), self.stream2.key_by(key_selector2, key_type), self._reading
        )

    def reading(self, reading: Reading) -> ConnectedStreams[S]:
        """Sets the order in which the operator reads its inputs: any, first, second or alternate (rule 7.24).

        Not in Flink.
        """
        if reading not in READINGS:
            raise BadInput(f"reading: expected one of {', '.join(READINGS)}, got {reading!r}")
        return ConnectedStreams(self.stream1, self.stream2, reading)

    def map(self, func: CoMapFunction, output_type: TypeInformation | None = None) -> S:
        """Applies a CoMapFunction: one output record for each record of either input."""
        if self._is_keyed:
            return self._keyed(KeyedCoMap(func), "Co-Map", CoMapFunction, func, output_type)
        return self._transform("Co-Map", "co_map", factories.co_map_operator(func, self._reading), output_type)

    def flat_map(self, func: CoFlatMapFunction, output_type: TypeInformation | None = None) -> S:
        """Applies a CoFlatMapFunction: any number of output records for each record of either input."""
        if self._is_keyed:
            return self._keyed(KeyedCoFlatMap(func), "Co-Flat Map", CoFlatMapFunction, func, output_type)
        make = factories.co_flat_map_operator(func, self._reading)
        return self._transform("Co-Flat Map", "co_flat_map", make, output_type)

    def process(
        self, func: CoProcessFunction | KeyedCoProcessFunction, output_type: TypeInformation | None = None
    ) -> S:
        """Applies a CoProcessFunction, which can also emit to side outputs; on keyed streams also a
        KeyedCoProcessFunction.

        On keyed streams a CoProcessFunction has keyed state, but no ``on_timer``.
        """
        if self._is_keyed:
            if isinstance(func, CoProcessFunction):
                func = KeyedCoProcess(func)
            make = factories.keyed_co_process_operator(func, self._reading)
            params = factories.timer_params(func)
            return self._transform("Keyed Co-Process", "keyed_co_process", make, output_type, params)
        make = factories.co_process_operator(func, self._reading)
        return self._transform("Co-Process", "co_process", make, output_type)

    def transform(
        self,
        operator_name: str,
        operator_factory: Callable[[], StreamOperator],
        output_type: TypeInformation | None = None,
    ) -> S:
        """Applies a user-defined operator with two inputs, created once per subtask, as in Java; not in PyFlink."""
        if self._reading != "any":
            raise BadInput(
                f"transform: reading {self._reading!r} applies only to operators of flowsim; select the "
                "inputs in your own operator"
            )
        return self._transform(operator_name, "operator", lambda name: operator_factory(), output_type)

    @property
    def _is_keyed(self) -> bool:
        return self.stream1.key[0] is not None and self.stream2.key[0] is not None

    def _keyed(
        self,
        adapter: KeyedCoProcessFunction,
        name: str,
        kind: type[object],
        func: object,
        output_type: TypeInformation | None,
    ) -> S:
        if not isinstance(func, kind):
            raise TypeError(f"connect(...): expected a {kind.__name__}, got {func!r}")
        return self.process(adapter, output_type).name(name)

    def _transform(
        self,
        name: str,
        kind: str,
        make: MakeOperator,
        output_type: TypeInformation | None,
        params: Mapping[str, object] | None = None,
    ) -> S:
        description = OperatorDescription(kind, {"reading": self._reading, **(params or {})})
        return add_inputs(name, description, make, (self.stream1, self.stream2), output_type)

"""A stream partitioned by key, with PyFlink's names and arguments. Flink: KeyedStream."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowsim.datastream import operator_factories as factories
from flowsim.datastream.data_stream import DataStream
from flowsim.datastream.functions import KeyedProcessFunction
from flowsim.datastream.interval_join import IntervalJoin
from flowsim.datastream.operator_factories import MakeOperator
from flowsim.datastream.reduce import AnyReduce, KeyedReduce
from flowsim.datastream.transformation import Transformation, Upstream
from flowsim.datastream.windowed_stream import WindowedStream, counted
from flowsim.graph.stream_graph import OperatorDescription
from flowsim.operators.stream_operator import KeySelector
from flowsim.operators.windowing.assigners import GlobalWindows, WindowAssigner
from flowsim.values import TypeInformation

if TYPE_CHECKING:
    from flowsim.datastream.environment import StreamExecutionEnvironment


class KeyedStream(DataStream):
    """A stream partitioned by key: state and timers belong to the key. PyFlink: KeyedStream."""

    def __init__(
        self,
        env: StreamExecutionEnvironment,
        upstreams: tuple[Upstream, ...],
        key_selector: KeySelector,
        key_type: str | None,
        output_type: TypeInformation | None,
    ) -> None:
        super().__init__(env, upstreams, output_type)
        self._key_selector = key_selector
        self._key_type = key_type

    @property
    def key(self) -> tuple[KeySelector | None, str | None]:
        return self._key_selector, self._key_type

    def process(  # type: ignore[override]
        self, func: KeyedProcessFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """A KeyedProcessFunction, with state and timers of the key."""
        make = factories.keyed_process_operator(func)
        params = factories.timer_params(func)
        return self._transform("KEYED PROCESS", "keyed_process", make, output_type, params)

    def reduce(self, func: AnyReduce) -> DataStream:
        """Per key, the reduction of all records so far, emitted for each record: a ReduceFunction or a callable."""
        return self.process(KeyedReduce(func), self._output_type).name("Keyed Reduce")

    def window(self, window_assigner: WindowAssigner) -> WindowedStream:
        """Groups the records of a key into windows."""
        return WindowedStream(self, window_assigner)

    def count_window(self, size: int, slide: int = 0) -> WindowedStream:
        """Every ``size`` records of a key; with ``slide`` the last ``size`` at every ``slide`` records, as in Java."""
        return counted(self.window(GlobalWindows()), size, slide)

    def interval_join(self, other_stream: KeyedStream) -> IntervalJoin:
        """Pairs of records of one key that are near each other in event time, as in Java."""
        if not isinstance(other_stream, KeyedStream):
            raise TypeError(f"interval_join: expected a KeyedStream, got {other_stream!r}")
        return IntervalJoin(self, other_stream)

    def _add(self, name: str, description: OperatorDescription, make: MakeOperator) -> Transformation:
        added = super()._add(name, description, make)
        added.key_selector = self._key_selector
        added.key_type = self._key_type
        return added

"""Streams and their methods, with PyFlink's names and arguments. Flink: DataStream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, overload

from flowsim.connectors.memory import CollectSink
from flowsim.connectors.sinks.sink import Sink
from flowsim.datastream.building import operator_factories as factories
from flowsim.datastream.building.declared_values import key_type_name
from flowsim.datastream.building.java_text import print_sink, with_text_of_type
from flowsim.datastream.building.operator_factories import (
    AnyFilter,
    AnyFlatMap,
    AnyKeySelector,
    AnyMap,
    AnyPartitioner,
    AnyReduce,
    MakeOperator,
    aggregate_operator,
    reduce_operator,
)
from flowsim.datastream.building.transformation import Transformation, Upstream
from flowsim.datastream.closeable_iterator import CloseableIterator
from flowsim.datastream.common.watermark_strategy import WatermarkStrategy
from flowsim.datastream.functions import (
    FilterFunction,
    FlatMapFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
)
from flowsim.datastream.functions.function import has_life_cycle
from flowsim.datastream.functions.keyed_functions import KeyedFilter, KeyedFlatMap, KeyedMap
from flowsim.datastream.job_builder import JobBuilder
from flowsim.datastream.output_tag import OutputTag
from flowsim.datastream.pyflink_way import with_key
from flowsim.datastream.streams.broadcast_stream import BroadcastConnectedStream, BroadcastStream
from flowsim.datastream.streams.connected_streams import ConnectedStreams
from flowsim.datastream.streams.interval_join import IntervalJoin
from flowsim.datastream.streams.joined_streams import (
    CoGroupedStreams,
    CoGroupWindows,
    JoinedStreams,
    JoinWindows,
    TwoStreams,
)
from flowsim.datastream.streams.stream import OperatorHandle, Stream
from flowsim.datastream.streams.windowed_streams import AllWindowedStream, WindowedStream, count_windows
from flowsim.errors import BadInput
from flowsim.graph.stream_graph import OperatorDescription, PartitionerSpec
from flowsim.legacy.two_phase_commit_sink import TwoPhaseCommitSinkFunction
from flowsim.operators.functions.aggregators import AggregationType
from flowsim.operators.functions.field_accessor import Field
from flowsim.operators.stream_operator import KeySelector, StreamOperator
from flowsim.operators.windowing.assigners.window_assigner import AnyWindowAssigner, GlobalWindows
from flowsim.state.descriptors import MapStateDescriptor
from flowsim.values.types import TypeInformation


class DataStream(Stream["DataStream"]):
    """A stream of records. PyFlink: DataStream.

    The setters of ``OperatorHandle`` change the operator that emits the stream. The setters raise BadInput after
    ``union``, ``key_by``, a partitioner or a side output: no operator emits such a stream.
    """

    def behind(self, upstreams: tuple[Upstream, ...], output_type: TypeInformation | None) -> DataStream:
        return DataStream(self._env, upstreams, output_type)

    # Operators.

    def map(self, func: AnyMap, output_type: TypeInformation | None = None) -> DataStream:
        """Applies a MapFunction or a callable: one output record for each input record."""
        return self.add_operator("Map", "map", factories.map_operator(func), output_type)

    def filter(self, func: AnyFilter) -> DataStream:
        """Keeps the records that a FilterFunction or a callable accepts."""
        return self.add_operator("Filter", "filter", factories.filter_operator(func), self._output_type)

    def flat_map(self, func: AnyFlatMap, output_type: TypeInformation | None = None) -> DataStream:
        """Applies a FlatMapFunction or a callable: any number of output records for each input record.

        A callable returns an iterable or None.
        """
        return self.add_operator("Flat Map", "flat_map", factories.flat_map_operator(func), output_type)

    def process(self, func: ProcessFunction, output_type: TypeInformation | None = None) -> DataStream:
        """Applies a ProcessFunction, which can also emit to side outputs."""
        return self.add_operator("PROCESS", "process", factories.process_operator(func), output_type)

    def assign_timestamps_and_watermarks(self, watermark_strategy: WatermarkStrategy) -> DataStream:
        """Assigns timestamps and generates new watermarks (rule 8.7), with the parallelism of the (first) input."""
        make = factories.watermarks_operator(watermark_strategy, self._env.settings)
        described = {"watermarks": watermark_strategy.params}
        made = self.add_operator("Timestamps/Watermarks", "watermarks", make, self._output_type, described)
        return made.set_parallelism(self._upstreams[0].transformation.parallelism)

    def transform(
        self,
        operator_name: str,
        operator_factory: Callable[[], StreamOperator],
        output_type: TypeInformation | None = None,
        yields: bool = False,
    ) -> DataStream:
        """Applies a user-defined operator, created once per subtask; not in PyFlink. Flink: DataStream.transform.

        ``yields``: it yields to the mailbox inside an element, so it is not chained to a legacy source (rule 1.10).
        """
        return self.add_operator(operator_name, "operator", lambda name: operator_factory(), output_type, yields=yields)

    # How records reach the next operator.

    def key_by(self, key_selector: AnyKeySelector, key_type: TypeInformation | None = None) -> KeyedStream:
        """Partitions by key. ``key_type`` decides the key's Java hash; without it the value's type does (rule 1.23)."""
        selector = factories.key_selector_of(key_selector)
        type_name = key_type_name(key_type)
        partitioner = PartitionerSpec("HASH", selector, type_name)
        return KeyedStream(self._env, self._partitioned(partitioner), selector, type_name, self._output_type)

    @overload
    def connect(self, ds: DataStream) -> ConnectedStreams[DataStream]: ...

    @overload
    def connect(self, ds: BroadcastStream[DataStream]) -> BroadcastConnectedStream[DataStream]: ...

    def connect(
        self, ds: DataStream | BroadcastStream[DataStream]
    ) -> ConnectedStreams[DataStream] | BroadcastConnectedStream[DataStream]:
        """Connects this stream and another as the two inputs of one operator; their record types may differ.

        With a ``BroadcastStream`` the operator keeps broadcast state.
        """
        if isinstance(ds, BroadcastStream):
            return BroadcastConnectedStream(self, ds, ds.broadcast_state_descriptors)
        if not isinstance(ds, DataStream):
            raise TypeError(f"connect: expected a stream, got {ds!r}")
        return ConnectedStreams(self, ds)

    # Windows.

    def window_all(self, window_assigner: AnyWindowAssigner) -> AllWindowedStream[DataStream]:
        """Groups all records into windows, in one subtask and without keys."""
        return AllWindowedStream(self, window_assigner)

    def count_window_all(self, size: int, slide: int = 0) -> AllWindowedStream[DataStream]:
        """Groups ``size`` records into a window.

        With ``slide``, a window has the last ``size`` records after every ``slide`` records, as in Java.
        """
        return self.window_all(GlobalWindows()).counted(size, slide)

    def join(self, other: DataStream) -> JoinedStreams[DataStream]:
        """Joins two streams: calls a function for each pair of records in a window.

        As in Java: ``.where(key).equal_to(key).window(assigner).apply(function)``.
        """
        return TwoStreams(self, self._other(other, "join"), JoinWindows)

    def co_group(self, other: DataStream) -> CoGroupedStreams[DataStream]:
        """Co-groups two streams: calls a function once per window, with the records of both streams.

        As in Java: ``.where(key).equal_to(key).window(assigner).apply(function)``.
        """
        return TwoStreams(self, self._other(other, "co_group"), CoGroupWindows)

    def _other(self, stream: DataStream, what: str) -> DataStream:
        if not isinstance(stream, DataStream):
            raise TypeError(f"{what}: expected a stream, got {stream!r}")
        return stream

    def forward(self) -> DataStream:
        """Sends records of subtask i to subtask i; the parallelisms must be equal (rule 1.2)."""
        return self._by(PartitionerSpec("FORWARD"))

    def rebalance(self) -> DataStream:
        """Sends records round robin to all subtasks, starting at a random subtask (section 2)."""
        return self._by(PartitionerSpec("REBALANCE"))

    def rescale(self) -> DataStream:
        """Sends records round robin to the subtasks of the sender's group (section 2)."""
        return self._by(PartitionerSpec("RESCALE"))

    def shuffle(self) -> DataStream:
        """Sends each record to a random subtask, by the run's seed (section 2)."""
        return self._by(PartitionerSpec("SHUFFLE"))

    @overload
    def broadcast(self) -> DataStream: ...

    @overload
    def broadcast(
        self, broadcast_state_descriptor: MapStateDescriptor, *other_broadcast_state_descriptors: MapStateDescriptor
    ) -> BroadcastStream[DataStream]: ...

    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor | None = None,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> DataStream | BroadcastStream[DataStream]:
        """Sends every record to every subtask (section 2).

        With descriptors, the result is for ``connect``, whose operator keeps these states.
        """
        broadcast = self._by(PartitionerSpec("BROADCAST"))
        if broadcast_state_descriptor is None:
            return broadcast
        return BroadcastStream(broadcast, (broadcast_state_descriptor, *other_broadcast_state_descriptors))

    def global_(self) -> DataStream:
        """Sends all records to the first subtask (section 2); not in PyFlink. Flink: DataStream.global."""
        return self._by(PartitionerSpec("GLOBAL"))

    def partition_custom(self, partitioner: AnyPartitioner, key_selector: AnyKeySelector) -> DataStream:
        """Sends each record to the subtask that ``partitioner`` computes from the key and the number of subtasks.

        An invalid index fails the job.
        """
        partition = factories.partition_of(partitioner)
        selector = factories.key_selector_of(key_selector)
        return self._by(PartitionerSpec("CUSTOM", selector, partition=partition))

    def _by(self, partitioner: PartitionerSpec) -> DataStream:
        return DataStream(self._env, self._partitioned(partitioner), self._output_type)

    def get_side_output(self, output_tag: OutputTag) -> DataStream:
        """Returns the stream of records that the operator emits to ``output_tag``."""
        if not isinstance(output_tag, OutputTag):
            raise TypeError(f"get_side_output: expected an OutputTag, got {output_tag!r}")
        side = Upstream(self._operator("get_side_output"), None, output_tag.tag_id)
        return DataStream(self._env, (side,), output_tag.type_info)

    # Sinks.

    def add_sink(self, sink_func: Sink | TwoPhaseCommitSinkFunction[Any]) -> DataStreamSink:
        """Writes every record to a sink function; with a sink it does the same as ``sink_to``."""
        if not isinstance(sink_func, TwoPhaseCommitSinkFunction):
            return self.sink_to(sink_func)
        make = factories.sink_function_operator(sink_func)
        description = OperatorDescription("sink", {"sink": "two_phase_commit"})
        return DataStreamSink(self._env, self._add("Sink: Unnamed", description, make))

    def sink_to(self, sink: Sink) -> DataStreamSink:
        """Writes every record to a sink, such as ``flowsim.connectors.files.parquet.ParquetSink``.

        A sink with a committer becomes several operators when the job starts (``with_committers``).
        """
        sink = with_text_of_type(sink, self._output_type)
        make = factories.sink_operator(sink)
        added = self._add("Sink: Unnamed", OperatorDescription("sink", {"sink": sink.kind, **sink.params}), make)
        added.yields = sink.kind != "print"  # Flink prints with a function, but a sink's writer yields (rule 1.10).
        added.two_phase_commit = factories.two_phase_commit(sink, self._env.settings)
        added.check_run, added.check_restore = factories.run_checks(sink)
        return DataStreamSink(self._env, added)

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Prints every record with Flink's prefix."""
        return self.sink_to(print_sink(sink_identifier or "", self._output_type)).name("Sink: Print to Std. Out")

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator | list[object]:
        """Runs the job; returns this stream's records in order of arrival at one subtask, with ``limit`` as a list.

        Returns at the end of the job, so an endless job needs ``until`` in ``flowsim_settings``.
        """
        if limit is not None and (type(limit) is not int or limit < 1):
            raise BadInput(f"execute_and_collect: expected a limit >= 1, got {limit!r}")
        collected = with_key(self).sink_to(sink := CollectSink()).name("Data stream collect sink").set_parallelism(1)
        collected._operator("name").yields = False  # As in Flink.
        self._env.execute(job_execution_name)
        return CloseableIterator(sink.values()) if limit is None else sink.values()[:limit]


class KeyedStream(DataStream):
    """A stream partitioned by key: state and timers are per key. PyFlink: KeyedStream."""

    def __init__(
        self,
        env: JobBuilder,
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

    def map(self, func: AnyMap, output_type: TypeInformation | None = None) -> DataStream:
        """Does the same as on any stream; a MapFunction with ``open`` may keep keyed state."""
        if isinstance(func, MapFunction) and has_life_cycle(func):
            return self._with_state(KeyedMap(func), "Map", "map", output_type)
        return super().map(func, output_type)

    def filter(self, func: AnyFilter) -> DataStream:
        """Does the same as on any stream; a FilterFunction with ``open`` may keep keyed state."""
        if isinstance(func, FilterFunction) and has_life_cycle(func):
            return self._with_state(KeyedFilter(func), "Filter", "filter", self._output_type)
        return super().filter(func)

    def flat_map(self, func: AnyFlatMap, output_type: TypeInformation | None = None) -> DataStream:
        """Does the same as on any stream; a FlatMapFunction with ``open`` may keep keyed state."""
        if isinstance(func, FlatMapFunction) and has_life_cycle(func):
            return self._with_state(KeyedFlatMap(func), "Flat Map", "flat_map", output_type)
        return super().flat_map(func, output_type)

    def _with_state(
        self, func: KeyedProcessFunction, name: str, kind: str, output_type: TypeInformation | None
    ) -> DataStream:
        return self.add_operator(name, kind, factories.keyed_process_operator(func), output_type)

    def process(  # type: ignore[override]
        self, func: KeyedProcessFunction, output_type: TypeInformation | None = None
    ) -> DataStream:
        """Applies a KeyedProcessFunction, with keyed state and timers."""
        make = factories.keyed_process_operator(func)
        params = factories.timer_params(func)
        return self.add_operator("KEYED PROCESS", "keyed_process", make, output_type, params)

    def reduce(self, func: AnyReduce) -> DataStream:
        """Applies a ReduceFunction or a callable: emits, for each record, the reduction of its key's records so far."""
        return self.add_operator("Keyed Reduce", "reduce", reduce_operator(func), self._output_type)

    def sum(self, position_to_sum: Field = 0) -> DataStream:
        """Emits, for each record, the key's first record, with one field replaced by the field's sum so far.

        The field is a position or a name. The sum overflows as the declared type of the field does in Java.
        """
        return self._aggregate(AggregationType.SUM, position_to_sum)

    def min(self, position_to_min: Field = 0) -> DataStream:
        """Emits, for each record, the key's first record, with one field replaced by the field's minimum so far."""
        return self._aggregate(AggregationType.MIN, position_to_min)

    def max(self, position_to_max: Field = 0) -> DataStream:
        """Emits, for each record, the key's first record, with one field replaced by the field's maximum so far."""
        return self._aggregate(AggregationType.MAX, position_to_max)

    def min_by(self, position_to_min_by: Field = 0, first: bool = True) -> DataStream:
        """Emits, for each record, the key's record so far with the smallest value of a field.

        If several records have the smallest value, emits the first of these records; with ``first=False`` the last, as
        in Java. PyFlink has no ``first``.
        """
        return self._aggregate(AggregationType.MINBY, position_to_min_by, first)

    def max_by(self, position_to_max_by: Field = 0, first: bool = True) -> DataStream:
        """Emits, for each record, the key's record so far with the largest value of a field; ties as in ``min_by``."""
        return self._aggregate(AggregationType.MAXBY, position_to_max_by, first)

    def _aggregate(self, kind: AggregationType, field: Field, first: bool = True) -> DataStream:
        make = aggregate_operator(kind, field, self._output_type, first)
        return self.add_operator("Keyed Aggregation", kind.value, make, self._output_type, {"field": field})

    def window(self, window_assigner: AnyWindowAssigner) -> WindowedStream[DataStream]:
        """Groups the records of a key into windows."""
        return WindowedStream(self, window_assigner)

    def count_window(self, size: int, slide: int = 0) -> WindowedStream[DataStream]:
        """Groups ``size`` records of a key into a window.

        With ``slide``, a window has the last ``size`` records after every ``slide`` records, as in Java.
        """
        return count_windows(self, size, slide)

    def interval_join(self, other_stream: KeyedStream) -> IntervalJoin[DataStream]:
        """Joins pairs of records that have equal keys and event times within an interval, as in Java."""
        if not isinstance(other_stream, KeyedStream):
            raise TypeError(f"interval_join: expected a KeyedStream, got {other_stream!r}")
        return IntervalJoin(self, other_stream)

    def _by(self, partitioner: PartitionerSpec) -> DataStream:
        """Raises BadInput, as Flink does: keyed state and timers are where ``key_by`` sends the records."""
        raise BadInput(
            f"Cannot override partitioning for KeyedStream. {partitioner.name} on a keyed stream: call it on "
            "the stream that the next operator returns, or remove key_by"
        )

    def _add(self, name: str, description: OperatorDescription, make: MakeOperator) -> Transformation:
        added = super()._add(name, description, make)
        added.key_selector = self._key_selector
        added.key_type = self._key_type
        return added


class DataStreamSink(OperatorHandle):
    """The sink at the end of a stream. PyFlink: DataStreamSink."""

    def __init__(self, env: JobBuilder, transformation: Transformation) -> None:
        super().__init__(env)
        self._transformation = transformation

    def _operator(self, setting: str) -> Transformation:
        return self._transformation

"""Streams and what can be done with them, with PyFlink's names and arguments. Flink: DataStream."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Self, overload

from flowsim.connectors.memory import CollectSink
from flowsim.connectors.print import PrintSink
from flowsim.connectors.source import Sink
from flowsim.datastream import operator_factories as factories
from flowsim.datastream.all_windowed_stream import AllWindowedStream
from flowsim.datastream.broadcast_stream import BroadcastConnectedStream, BroadcastStream
from flowsim.datastream.closeable_iterator import CloseableIterator
from flowsim.datastream.co_grouped_streams import CoGroupedStreams, CoGroupWindows
from flowsim.datastream.common.watermark_strategy import WatermarkStrategy
from flowsim.datastream.connected_streams import ConnectedStreams
from flowsim.datastream.functions import ProcessFunction
from flowsim.datastream.joined_streams import JoinedStreams, JoinWindows
from flowsim.datastream.network_settings import checked_exchange
from flowsim.datastream.operator_factories import (
    AnyFilter,
    AnyFlatMap,
    AnyKeySelector,
    AnyMap,
    AnyPartitioner,
    MakeOperator,
)
from flowsim.datastream.operator_handle import OperatorHandle
from flowsim.datastream.output_tag import OutputTag
from flowsim.datastream.transformation import Transformation, Upstream
from flowsim.errors import BadInput
from flowsim.graph.stream_graph import ChainingStrategy, OperatorDescription, PartitionerSpec
from flowsim.operators.stream_operator import KeySelector, StreamOperator
from flowsim.operators.windowing.assigners.window_assigner import AnyWindowAssigner, GlobalWindows
from flowsim.state.descriptors import MapStateDescriptor
from flowsim.values import TypeInformation

if TYPE_CHECKING:
    from flowsim.datastream.environment import StreamExecutionEnvironment
    from flowsim.datastream.keyed_stream import KeyedStream

__all__ = ["ConnectedStreams", "DataStream", "DataStreamSink"]


class DataStream(OperatorHandle):
    """A stream of records. PyFlink: DataStream.

    The setters of ``OperatorHandle`` are about the operator that the stream comes from; behind ``union``, ``key_by``, a
    partitioner or a side output there is none, and they are refused.
    """

    def __init__(
        self,
        env: StreamExecutionEnvironment,
        upstreams: tuple[Upstream, ...],
        output_type: TypeInformation | None = None,
    ) -> None:
        super().__init__(env)
        self._upstreams = upstreams
        self._output_type = output_type

    def _operator(self, setting: str) -> Transformation:
        first = self._upstreams[0]
        plain = first.partitioner is None and first.side_output is None and first.exchange is None
        if len(self._upstreams) > 1 or not plain:
            raise BadInput(
                f"{setting} is about one operator, but this stream comes from {self._described()}: "
                "call it right after the operator it is meant for"
            )
        return first.transformation

    def _described(self) -> str:
        texts = []
        for upstream in self._upstreams:
            text = repr(upstream.transformation.name)
            if upstream.side_output is not None:
                text += f" (side output {upstream.side_output!r})"
            if upstream.partitioner is not None:
                text += f" by {upstream.partitioner.name}"
            if upstream.exchange is not None:
                text += f" by a {upstream.exchange} exchange"
            texts.append(text)
        return " and ".join(texts)

    def as_input(self, index: int) -> tuple[Upstream, ...]:
        """The ways of this stream into input ``index`` of an operator that has several."""
        return tuple(replace(upstream, input_index=index) for upstream in self._upstreams)

    @property
    def key(self) -> tuple[KeySelector | None, str | None]:
        """How its records are keyed, and the declared type name of the key; None where they are not."""
        return None, None

    def get_type(self) -> TypeInformation | None:
        """The declared type of the records, None where none was declared."""
        return self._output_type

    def get_execution_environment(self) -> StreamExecutionEnvironment:
        return self._env

    def force_non_parallel(self) -> Self:
        """Parallelism 1, for good."""
        operator = self._operator("force_non_parallel")
        operator.set_parallelism(1)
        operator.required_parallelism = 1
        operator.required_because = "force_non_parallel was called"
        return self

    def start_new_chain(self) -> Self:
        """The operator begins a chain; what follows may be chained to it (rule 1.8)."""
        self._operator("start_new_chain").chaining = ChainingStrategy.HEAD
        return self

    # Operators.

    def map(self, func: AnyMap, output_type: TypeInformation | None = None) -> DataStream:
        """One record out for each one in: a MapFunction or a callable."""
        return self.put_behind("Map", "map", factories.map_operator(func), output_type)

    def filter(self, func: AnyFilter) -> DataStream:
        """Keeps the records that a FilterFunction or a callable accepts."""
        return self.put_behind("Filter", "filter", factories.filter_operator(func), self._output_type)

    def flat_map(self, func: AnyFlatMap, output_type: TypeInformation | None = None) -> DataStream:
        """Any number of records out for each one in: a FlatMapFunction or a callable that returns an iterable or None."""
        return self.put_behind("Flat Map", "flat_map", factories.flat_map_operator(func), output_type)

    def process(self, func: ProcessFunction, output_type: TypeInformation | None = None) -> DataStream:
        """A ProcessFunction, which can also emit to side outputs."""
        return self.put_behind("PROCESS", "process", factories.process_operator(func), output_type)

    def assign_timestamps_and_watermarks(self, watermark_strategy: WatermarkStrategy) -> DataStream:
        """Gives the records timestamps and the stream watermarks of its own (rule 8.7)."""
        make = factories.watermarks_operator(watermark_strategy, self._env.settings)
        params = {"watermarks": watermark_strategy.params}
        return self.put_behind("Timestamps/Watermarks", "watermarks", make, self._output_type, params)

    def transform(
        self,
        operator_name: str,
        operator_factory: Callable[[], StreamOperator],
        output_type: TypeInformation | None = None,
        yields: bool = False,
    ) -> DataStream:
        """flowsim's own, as in Java: an operator of the caller's, made once per subtask. Flink: DataStream.transform.

        ``yields``: it yields to the mailbox inside an element, so it is not chained behind a legacy source (rule 1.10).
        """
        return self.put_behind(operator_name, "operator", lambda name: operator_factory(), output_type, yields=yields)

    def put_behind(
        self,
        name: str,
        kind: str,
        make: MakeOperator,
        output_type: TypeInformation | None = None,
        params: Mapping[str, object] | None = None,
        yields: bool = False,
    ) -> DataStream:
        """An operator of ``kind`` behind this stream; for the stream classes of flowsim. ``yields``: rule 1.10."""
        added = self._add(name, OperatorDescription(kind, params or {}), make)
        added.yields = yields
        return DataStream(self._env, (Upstream(added),), output_type)

    def _add(self, name: str, description: OperatorDescription, make: MakeOperator) -> Transformation:
        """The one place where an operator is put behind this stream."""
        return self._env.add_operator(name, description, make, self._upstreams)

    # How records reach the next operator.

    def key_by(self, key_selector: AnyKeySelector, key_type: TypeInformation | None = None) -> KeyedStream:
        """Partitions by key; ``key_type`` decides the Java hash of the key, without it the value does (rule 1.23)."""
        # Here, because a keyed stream is a stream itself.
        from flowsim.datastream.keyed_stream import KeyedStream

        selector = factories.key_selector_of(key_selector)
        type_name = None if key_type is None else key_type.name
        partitioner = PartitionerSpec("HASH", selector, type_name)
        return KeyedStream(self._env, self._partitioned(partitioner), selector, type_name, self._output_type)

    def union(self, *streams: DataStream) -> DataStream:
        """All records of these streams, in whatever order they come; a stream united with itself comes twice."""
        upstreams = list(self._upstreams)
        for stream in streams:
            if not isinstance(stream, DataStream):
                raise TypeError(f"union: expected streams, got {stream!r}")
            if stream._env is not self._env:
                raise BadInput("union: the streams belong to different environments")
            upstreams.extend(stream._upstreams)
        return DataStream(self._env, tuple(upstreams), self._output_type)

    @overload
    def connect(self, ds: DataStream) -> ConnectedStreams: ...

    @overload
    def connect(self, ds: BroadcastStream) -> BroadcastConnectedStream: ...

    def connect(self, ds: DataStream | BroadcastStream) -> ConnectedStreams | BroadcastConnectedStream:
        """This stream and another as the two inputs of one operator; their records may be of different kinds.

        Beside a ``BroadcastStream`` the operator keeps broadcast state.
        """
        if isinstance(ds, BroadcastStream):
            return BroadcastConnectedStream(self, ds, ds.broadcast_state_descriptors)
        if not isinstance(ds, DataStream):
            raise TypeError(f"connect: expected a stream, got {ds!r}")
        return ConnectedStreams(self, ds)

    # Windows.

    def window_all(self, window_assigner: AnyWindowAssigner) -> AllWindowedStream:
        """Groups all records into windows, in one subtask, whatever their keys."""
        return AllWindowedStream(self, window_assigner)

    def count_window_all(self, size: int, slide: int = 0) -> AllWindowedStream:
        """Every ``size`` records; with ``slide`` the last ``size`` at every ``slide`` records, as in Java."""
        return self.window_all(GlobalWindows())._counted(size, slide)

    def join(self, other: DataStream) -> JoinedStreams:
        """As in Java: ``.where(key).equal_to(key).window(assigner).apply(function)``, of each pair in a window."""
        return JoinedStreams(self, self._other(other, "join"), JoinWindows)

    def co_group(self, other: DataStream) -> CoGroupedStreams:
        """As in Java: ``.where(key).equal_to(key).window(assigner).apply(function)``, of both sides of a window."""
        return CoGroupedStreams(self, self._other(other, "co_group"), CoGroupWindows)

    def _other(self, stream: DataStream, what: str) -> DataStream:
        if not isinstance(stream, DataStream):
            raise TypeError(f"{what}: expected a stream, got {stream!r}")
        return stream

    def get_parallelism(self) -> int:
        """flowsim's own: of the operator the stream comes from; of a union, of its first stream."""
        return self._upstreams[0].transformation.parallelism

    def forward(self) -> DataStream:
        """Subtask i to subtask i; the parallelisms must be equal (rule 1.2)."""
        return self._by(PartitionerSpec("FORWARD"))

    def rebalance(self) -> DataStream:
        """Round robin over all subtasks, from a random one on (section 2)."""
        return self._by(PartitionerSpec("REBALANCE"))

    def rescale(self) -> DataStream:
        """Round robin over the subtasks of the sender's own group (section 2)."""
        return self._by(PartitionerSpec("RESCALE"))

    def shuffle(self) -> DataStream:
        """A random subtask for each record, by the run's seed (section 2)."""
        return self._by(PartitionerSpec("SHUFFLE"))

    @overload
    def broadcast(self) -> DataStream: ...

    @overload
    def broadcast(
        self, broadcast_state_descriptor: MapStateDescriptor, *other_broadcast_state_descriptors: MapStateDescriptor
    ) -> BroadcastStream: ...

    def broadcast(
        self,
        broadcast_state_descriptor: MapStateDescriptor | None = None,
        *other_broadcast_state_descriptors: MapStateDescriptor,
    ) -> DataStream | BroadcastStream:
        """Every record to every subtask (section 2); with descriptors for ``connect``, which keeps these states there."""
        broadcast = self._by(PartitionerSpec("BROADCAST"))
        if broadcast_state_descriptor is None:
            return broadcast
        return BroadcastStream(broadcast, (broadcast_state_descriptor, *other_broadcast_state_descriptors))

    def global_(self) -> DataStream:
        """flowsim's own, as in Java: all records to the first subtask (section 2). Flink: DataStream.global."""
        return self._by(PartitionerSpec("GLOBAL"))

    def partition_custom(self, partitioner: AnyPartitioner, key_selector: AnyKeySelector) -> DataStream:
        """To the subtask that ``partitioner`` chooses from key and number of subtasks; any other index fails the job."""
        partition = factories.partition_of(partitioner)
        selector = factories.key_selector_of(key_selector)
        return self._by(PartitionerSpec("CUSTOM", selector, partition=partition))

    def exchange(self, mode: str) -> Self:
        """flowsim's own: how the records are handed to the next operator, whatever the partitioner (rules 1.3, 5.43).

        ``pipelined_bounded`` (the default), ``pipelined`` or ``blocking``: then the next operator starts when all records
        are written, and is not chained (rule 1.7). Call it before ``key_by`` or behind it.
        """
        checked = checked_exchange(mode, "exchange")
        changed = copy(self)
        changed._upstreams = tuple(replace(upstream, exchange=checked) for upstream in self._upstreams)
        return changed

    def _by(self, partitioner: PartitionerSpec) -> DataStream:
        return DataStream(self._env, self._partitioned(partitioner), self._output_type)

    def _partitioned(self, partitioner: PartitionerSpec) -> tuple[Upstream, ...]:
        return tuple(replace(upstream, partitioner=partitioner) for upstream in self._upstreams)

    def get_side_output(self, output_tag: OutputTag) -> DataStream:
        """The records that the operator emits to ``output_tag``."""
        if not isinstance(output_tag, OutputTag):
            raise TypeError(f"get_side_output: expected an OutputTag, got {output_tag!r}")
        side = Upstream(self._operator("get_side_output"), None, output_tag.tag_id)
        return DataStream(self._env, (side,), output_tag.type_info)

    # Ends of the stream.

    def add_sink(self, sink_func: Sink) -> DataStreamSink:
        """The same as ``sink_to``: flowsim has one kind of sink."""
        return self.sink_to(sink_func)

    def sink_to(self, sink: Sink) -> DataStreamSink:
        """Hands every record to a sink, such as ``flowsim.connectors.files.parquet.ParquetSink``."""
        make = factories.sink_operator(sink)
        description = OperatorDescription("sink", {"sink": sink.kind, **sink.params})
        return DataStreamSink(self._env, self._add("Sink: Unnamed", description, make))

    def print(self, sink_identifier: str | None = None) -> DataStreamSink:
        """Prints every record with Flink's prefix."""
        return self.sink_to(PrintSink(sink_identifier or "")).name("Sink: Print to Std. Out")

    def execute_and_collect(
        self, job_execution_name: str | None = None, limit: int | None = None
    ) -> CloseableIterator | list[object]:
        """Runs the job and answers this stream's records in order of arrival at one subtask; with ``limit`` a list.

        The job runs to its end first, so that an endless one needs ``until`` in ``flowsim_settings``.
        """
        if limit is not None and (type(limit) is not int or limit < 1):
            raise BadInput(f"execute_and_collect: expected a limit >= 1, got {limit!r}")
        sink = CollectSink()
        self.sink_to(sink).name("Data stream collect sink").set_parallelism(1)
        self._env.execute(job_execution_name)
        return CloseableIterator(sink.values()) if limit is None else sink.values()[:limit]


class DataStreamSink(OperatorHandle):
    """The sink at the end of a stream. PyFlink: DataStreamSink."""

    def __init__(self, env: StreamExecutionEnvironment, transformation: Transformation) -> None:
        super().__init__(env)
        self._transformation = transformation

    def _operator(self, setting: str) -> Transformation:
        return self._transformation

"""The DataStream API, with PyFlink's names and arguments: ``pyflink.datastream`` becomes ``flowsim.datastream``.

>>> from flowsim.datastream import StreamExecutionEnvironment
>>> env = StreamExecutionEnvironment.get_execution_environment()
>>> numbers = env.from_collection([1, 2, 3]).map(lambda number: number * 2)
>>> list(numbers.execute_and_collect())
[2, 4, 6]
"""

from __future__ import annotations

from flowsim.datastream.async_data_stream import AsyncDataStream
from flowsim.datastream.checkpoint_config import (
    CheckpointConfig,
    CheckpointingMode,
    ExternalizedCheckpointRetention,
)
from flowsim.datastream.closeable_iterator import CloseableIterator
from flowsim.datastream.data_stream import DataStream, DataStreamSink, KeyedStream
from flowsim.datastream.environment import StreamExecutionEnvironment
from flowsim.datastream.execution_mode import RuntimeExecutionMode
from flowsim.datastream.functions import (
    AggregateFunction,
    AllWindowFunction,
    AsyncFunction,
    AsyncRetryPredicate,
    AsyncRetryStrategy,
    CoFlatMapFunction,
    CoGroupFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatJoinFunction,
    FlatMapFunction,
    Function,
    JoinFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeyedStateStore,
    KeySelector,
    MapFunction,
    NullByteKeySelector,
    Partitioner,
    PassThroughAllWindowFunction,
    PassThroughWindowFunction,
    ProcessAllWindowFunction,
    ProcessFunction,
    ProcessWindowFunction,
    ReduceFunction,
    ResultFutureFunction,
    RuntimeContext,
    WindowFunction,
)
from flowsim.datastream.functions.broadcast_functions import (
    BaseBroadcastProcessFunction,
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedStateFunction,
)
from flowsim.datastream.output_tag import OutputTag
from flowsim.datastream.streams.broadcast_stream import BroadcastConnectedStream, BroadcastStream
from flowsim.datastream.streams.connected_streams import ConnectedStreams
from flowsim.datastream.streams.interval_join import IntervalJoin, IntervalJoined, ProcessJoinFunction
from flowsim.datastream.streams.windowed_streams import AllWindowedStream, WindowedStream
from flowsim.datastream.timerservice import TimeDomain, TimerService
from flowsim.datastream.window import (
    CountWindow,
    GlobalWindow,
    MergingWindowAssigner,
    TimeWindow,
    Trigger,
    TriggerResult,
    Window,
    WindowAssigner,
)
from flowsim.datastream.without_effect import WithoutEffect
from flowsim.operators.checkpointed_function import CheckpointedFunction

__all__ = [
    "AggregateFunction",
    "AllWindowedStream",
    "AsyncDataStream",
    "AsyncFunction",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "CheckpointConfig",
    "CheckpointedFunction",
    "CheckpointingMode",
    "ExternalizedCheckpointRetention",
    "ResultFutureFunction",
    "BaseBroadcastProcessFunction",
    "BroadcastConnectedStream",
    "BroadcastProcessFunction",
    "BroadcastStream",
    "KeyedBroadcastProcessFunction",
    "KeyedStateFunction",
    "ProcessAllWindowFunction",
    "JoinFunction",
    "FlatJoinFunction",
    "CoGroupFunction",
    "AllWindowFunction",
    "CloseableIterator",
    "CoFlatMapFunction",
    "CoMapFunction",
    "CoProcessFunction",
    "ConnectedStreams",
    "DataStream",
    "DataStreamSink",
    "FilterFunction",
    "FlatMapFunction",
    "Function",
    "IntervalJoin",
    "IntervalJoined",
    "KeySelector",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStateStore",
    "KeyedStream",
    "MapFunction",
    "NullByteKeySelector",
    "Partitioner",
    "PassThroughAllWindowFunction",
    "PassThroughWindowFunction",
    "OutputTag",
    "ProcessFunction",
    "ProcessJoinFunction",
    "ProcessWindowFunction",
    "ReduceFunction",
    "RuntimeContext",
    "RuntimeExecutionMode",
    "StreamExecutionEnvironment",
    "TimeDomain",
    "TimerService",
    "WindowFunction",
    "WindowedStream",
    "WithoutEffect",
    "CountWindow",
    "GlobalWindow",
    "MergingWindowAssigner",
    "TimeWindow",
    "Trigger",
    "TriggerResult",
    "Window",
    "WindowAssigner",
]

"""User functions, with PyFlink's names and arguments.

Each subtask gets a copy of a function object (see ``function``). ``open`` is called before the first record, and
``close`` once at the end, also after a failure.
"""

from __future__ import annotations

from flowsim.datastream.async_retry_strategies import AsyncRetryPredicate, AsyncRetryStrategy
from flowsim.datastream.functions.async_functions import AsyncFunction, ResultFutureFunction
from flowsim.datastream.functions.broadcast_functions import (
    BaseBroadcastProcessFunction,
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
)
from flowsim.datastream.functions.function import Function
from flowsim.datastream.functions.functions import (
    AggregateFunction,
    AllWindowFunction,
    CoFlatMapFunction,
    CoGroupFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatJoinFunction,
    FlatMapFunction,
    JoinFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
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
    WindowFunction,
)
from flowsim.legacy.source_function import ParallelSourceFunction, SourceFunction
from flowsim.legacy.two_phase_commit_sink import TwoPhaseCommitSinkFunction
from flowsim.operators.checkpointed_function import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.state.keyed_state import KeyedStateStore

__all__ = [
    "AggregateFunction",
    "AllWindowFunction",
    "AsyncFunction",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "BaseBroadcastProcessFunction",
    "BroadcastProcessFunction",
    "CoFlatMapFunction",
    "CoGroupFunction",
    "CoMapFunction",
    "CoProcessFunction",
    "FilterFunction",
    "FlatJoinFunction",
    "FlatMapFunction",
    "Function",
    "JoinFunction",
    "KeySelector",
    "KeyedBroadcastProcessFunction",
    "KeyedCoProcessFunction",
    "KeyedProcessFunction",
    "KeyedStateStore",
    "MapFunction",
    "NullByteKeySelector",
    "ParallelSourceFunction",
    "Partitioner",
    "PassThroughAllWindowFunction",
    "PassThroughWindowFunction",
    "ProcessAllWindowFunction",
    "ProcessFunction",
    "ProcessWindowFunction",
    "ReduceFunction",
    "ResultFutureFunction",
    "RuntimeContext",
    "SourceFunction",
    "TwoPhaseCommitSinkFunction",
    "CheckpointedFunction",
    "FunctionInitializationContext",
    "FunctionSnapshotContext",
    "WindowFunction",
]

"""Checks user functions, and creates the operators that run them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeGuard

from flowsim.connectors.memory import CollectSink
from flowsim.connectors.sinks.committer_operators import CommitterOperator, GlobalCommitterOperator
from flowsim.connectors.sinks.sink import (
    ChecksRestore,
    ChecksRun,
    DirectWriters,
    Sink,
    SupportsCommitter,
    SupportsDirectWriter,
    SupportsGlobalCommitter,
)
from flowsim.connectors.sinks.sink_writer_operator import SinkWriterOperator
from flowsim.connectors.source import Source, enumerator_factory_of
from flowsim.datastream.common.watermark_strategy import WatermarkStrategy
from flowsim.datastream.functions import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    FlatMapFunction,
    Function,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    Partitioner,
    ProcessFunction,
    ReduceFunction,
)
from flowsim.datastream.functions.function import has_life_cycle, isolated
from flowsim.datastream.pyflink_way import is_pyflink_way
from flowsim.graph.job_settings import JobSettings
from flowsim.graph.stream_graph import RestoreCheck, RunCheck, TwoPhaseCommit
from flowsim.legacy.source_function import LegacySource, SourceFunction
from flowsim.legacy.stream_sink import StreamSink
from flowsim.legacy.stream_source import StreamSource
from flowsim.legacy.two_phase_commit_sink import TwoPhaseCommitSinkFunction
from flowsim.operators import stream_operator
from flowsim.operators.functions.aggregators import AggregationType, aggregator
from flowsim.operators.functions.basic import FilterOperator, FlatMapOperator, MapOperator
from flowsim.operators.functions.co_process import (
    CoFlatMapOperator,
    CoMapOperator,
    CoProcessOperator,
    KeyedCoProcessOperator,
)
from flowsim.operators.functions.field_accessor import Field
from flowsim.operators.functions.grouped_reduce import GroupedReduceOperator
from flowsim.operators.functions.process import KeyedProcessOperator, ProcessOperator
from flowsim.operators.inputs.reading_order import Reading, reading_order
from flowsim.operators.sink_operator import SinkOperator
from flowsim.operators.sources.source import SourceOperator
from flowsim.operators.sources.source_reader import AssignedReader
from flowsim.operators.stream_operator import StreamOperator
from flowsim.operators.timestamps_and_watermarks import TimestampsAndWatermarksOperator
from flowsim.values.types import TypeInformation

MakeOperator = Callable[[str], StreamOperator]
"""Creates the operator of one subtask; the argument is the operator's name for error messages."""

AnyMap = MapFunction | Callable[[object], object]

AnyFilter = FilterFunction | Callable[[object], object]

AnyFlatMap = FlatMapFunction | Callable[[object], object]

AnyKeySelector = KeySelector | Callable[[object], object]

AnyPartitioner = Partitioner | Callable[[object, int], int]


@dataclass(frozen=True, slots=True)
class OperatorFactory:
    """Creates the operators of one kind of user function."""

    operator: str
    """The operator in messages."""
    kind: type[Function]
    of_function: Callable[..., StreamOperator]
    of_callable: Callable[..., StreamOperator] | None = None
    """Creates the operator of a plain callable; None: only an object of the kind is a function."""
    expected: str = ""
    """What messages expect, if it is more than the kind."""

    def __call__(self, func: object, *reading: Reading) -> MakeOperator:
        """Returns what creates the operator of one subtask; raises TypeError for another function.

        ``reading``: the order in which an operator of two inputs reads them.
        """
        self.check(func)
        # Copied as a test, so that an error points to the line that passes the function.
        isolated(func, self.operator.removeprefix(_CONNECTED))
        create = self.of_function if self.of_callable is None or isinstance(func, self.kind) else self.of_callable
        return lambda name: create(isolated(func, name), *map(reading_order, reading))

    def check(self, func: object) -> None:
        """Raises TypeError unless ``func`` is a function of this kind."""
        if not isinstance(func, self.kind) and (self.of_callable is None or not _is_plain(func)):
            expected = self.expected or self.kind.__name__ + ("" if self.of_callable is None else " or a callable")
            raise TypeError(f"{self.operator}: expected a {expected}, got {func!r}")


def _is_plain(func: object) -> TypeGuard[Callable[[object], object]]:
    if isinstance(func, type):
        # A Function subclass passed instead of an instance is a mistake; any other class, such as str, is a valid
        # function.
        return not issubclass(func, Function)
    return callable(func) and not isinstance(func, Function)


def _iterated(flat_map: Callable[[object], Iterable[object] | None]) -> Callable[[object], Iterable[object] | None]:
    """Returns the function; in a program for PyFlink one that refuses the result None, as PyFlink does."""
    if not is_pyflink_way():
        return flat_map

    def iterated(value: object) -> Iterable[object]:
        results = flat_map(value)
        if results is None:
            raise TypeError("flat_map returned None: PyFlink iterates over the result, so return [] for no records")
        return results

    return iterated


_CONNECTED = "connect(...)."

map_operator = OperatorFactory("map", MapFunction, lambda f: MapOperator(f.map, f), MapOperator)

filter_operator = OperatorFactory("filter", FilterFunction, lambda f: FilterOperator(f.filter, f), FilterOperator)

flat_map_operator = OperatorFactory(
    "flat_map",
    FlatMapFunction,
    lambda f: FlatMapOperator(_iterated(f.flat_map), f),
    lambda f: FlatMapOperator(_iterated(f)),
)

reduce_operator = OperatorFactory(
    "reduce", ReduceFunction, lambda f: GroupedReduceOperator(f.reduce, f), GroupedReduceOperator
)

process_operator = OperatorFactory(
    "process", ProcessFunction, ProcessOperator, expected="ProcessFunction (a KeyedProcessFunction after key_by)"
)

keyed_process_operator = OperatorFactory(
    "process", KeyedProcessFunction, KeyedProcessOperator, expected="KeyedProcessFunction after key_by"
)

# Of two inputs; as in PyFlink, a plain callable is no such function.
co_map_operator = OperatorFactory(
    f"{_CONNECTED}map", CoMapFunction, lambda f, order: CoMapOperator(f.map1, f.map2, f, order)
)

co_flat_map_operator = OperatorFactory(
    f"{_CONNECTED}flat_map", CoFlatMapFunction, lambda f, order: CoFlatMapOperator(f.flat_map1, f.flat_map2, f, order)
)

co_process_operator = OperatorFactory(
    f"{_CONNECTED}process without keys for both inputs", CoProcessFunction, CoProcessOperator
)

keyed_co_process_operator = OperatorFactory(
    f"{_CONNECTED}process on keyed inputs", KeyedCoProcessFunction, KeyedCoProcessOperator
)


def timer_params(func: Function) -> dict[str, object]:
    """Returns what the laws need about a function's timers: whether the timers may yield to mails (rule 9.18)."""
    return {"interruptible_timers": True} if func.use_interruptible_timers() else {}


def watermarks_operator(strategy: WatermarkStrategy, settings: JobSettings) -> MakeOperator:
    """Creates the operator; raises TypeError unless ``strategy`` is a WatermarkStrategy."""
    if not isinstance(strategy, WatermarkStrategy):
        raise TypeError(f"assign_timestamps_and_watermarks: expected a WatermarkStrategy, got {strategy!r}")
    return lambda name: TimestampsAndWatermarksOperator(strategy.for_subtask(name), settings.auto_watermark_interval_ms)


def source_operator(source: Source, strategy: WatermarkStrategy | None, settings: JobSettings) -> MakeOperator:
    """Creates a source. ``strategy`` None: the source's readers emit event time themselves."""
    is_assigned = enumerator_factory_of(source) is not None

    def make(name: str) -> SourceOperator:
        reader = source.create_reader()
        return SourceOperator(
            reader,
            None if strategy is None else strategy.for_subtask(name),
            settings.auto_watermark_interval_ms,
            settings.latency_interval_ms,
            settings.watermark_alignment_buffer_size,
            reader if is_assigned and isinstance(reader, AssignedReader) else None,
        )

    return make


def source_function_operator(function: SourceFunction | LegacySource, settings: JobSettings) -> MakeOperator:
    """Creates a source of the legacy kind, with a separate function for each subtask."""
    if isinstance(function, LegacySource):
        return lambda name: StreamSource(function.create_function(), settings.latency_interval_ms)
    isolated(function, "add_source")
    return lambda name: StreamSource(isolated(function, name), settings.latency_interval_ms)


def sink_operator(sink: Sink) -> MakeOperator:
    """Creates the operator; raises TypeError unless ``sink`` is a flowsim sink."""
    if not callable(getattr(sink, "create_writer", None)):
        raise TypeError(f"sink_to: expected a sink such as flowsim.connectors.files.parquet.ParquetSink, got {sink!r}")
    direct = DirectWriters(sink) if isinstance(sink, SupportsDirectWriter) else sink
    return lambda name: SinkOperator(direct, is_open_ended=isinstance(sink, CollectSink))


def sink_function_operator(function: TwoPhaseCommitSinkFunction[Any]) -> MakeOperator:
    """Creates a sink of the legacy kind, with a separate function for each subtask."""
    isolated(function, "add_sink")
    return lambda name: StreamSink(isolated(function, name))


def two_phase_commit(sink: Sink, settings: JobSettings) -> TwoPhaseCommit | None:
    """Returns the operators of a sink with committer; None: the sink has none."""
    if not isinstance(sink, SupportsCommitter):
        return None
    last = sink.create_global_committer if isinstance(sink, SupportsGlobalCommitter) else None
    return TwoPhaseCommit(
        lambda: SinkWriterOperator(sink),
        lambda: CommitterOperator(
            sink.create_committer, emits=last is not None, max_retries=settings.committer_retries
        ),
        None if last is None else lambda: GlobalCommitterOperator(last, max_retries=settings.committer_retries),
        needs_checkpoints=isinstance(sink, SupportsDirectWriter),
    )


def run_checks(sink: Sink) -> tuple[RunCheck | None, RestoreCheck | None]:
    """Returns the checks of a sink before its job starts, and before it continues from a checkpoint; None: it has none."""
    return run_check(sink), sink.check_restore if isinstance(sink, ChecksRestore) else None


def run_check(connector: object) -> RunCheck | None:
    """Returns the check of a sink, or of the enumerators of a source, before its job starts; None: it has none."""
    return connector.check_run if isinstance(connector, ChecksRun) else None


def partition_of(partitioner: AnyPartitioner) -> Callable[[object, int], int]:
    """Returns the function that chooses a channel; raises TypeError unless given a Partitioner or a callable."""
    if isinstance(partitioner, Partitioner):
        if has_life_cycle(partitioner):
            raise TypeError(
                "partition_custom: open() and close() of a Partitioner are never called, but "
                f"{type(partitioner).__name__} defines them"
            )
        return partitioner.partition
    if callable(partitioner) and not isinstance(partitioner, type):
        return partitioner
    raise TypeError(f"partition_custom: expected a Partitioner or a callable, got {partitioner!r}")


def key_selector_of(key_selector: AnyKeySelector) -> stream_operator.KeySelector:
    """Returns the function that reads a key; raises TypeError unless the argument is a KeySelector or a callable.

    A selector with ``open`` or ``close`` also raises TypeError: several tasks share the selector, so it has no life
    cycle.
    """
    if isinstance(key_selector, KeySelector):
        if has_life_cycle(key_selector):
            raise TypeError(
                f"key_by: open() and close() of a KeySelector are never called, but {type(key_selector).__name__} defines them"
            )
        return key_selector.get_key
    if _is_plain(key_selector):
        return key_selector
    raise TypeError(f"key_by: expected a KeySelector or a callable, got {key_selector!r}")


AnyReduce = ReduceFunction | Callable[[object, object], object]


def check_reduce(func: AnyReduce, operator: str) -> None:
    """Raises TypeError unless ``func`` is a ReduceFunction or a callable."""
    if not isinstance(func, ReduceFunction) and not _is_plain(func):
        raise TypeError(f"{operator}: expected a ReduceFunction or a callable, got {func!r}")


def reduce_of(func: AnyReduce) -> Callable[[object, object], object]:
    """Returns the function that reduces two values."""
    return func.reduce if isinstance(func, ReduceFunction) else func


def aggregate_operator(
    kind: AggregationType, field: Field, declared: TypeInformation | None, first: bool
) -> MakeOperator:
    """Creates the operator.

    Raises BadInput if the declared type lacks the field, or if the field cannot be added or compared.
    """
    aggregator(kind, field, declared, first=first)
    return lambda name: GroupedReduceOperator(aggregator(kind, field, declared, first=first))

"""Functions for one stream, for two streams, and for windows. PyFlink: pyflink.datastream.functions."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from flowsim.datastream.functions.function import Function
from flowsim.operators.functions.process import ProcessContext
from flowsim.state.keyed_state import KeyedStateStore

IN = TypeVar("IN")
OUT = TypeVar("OUT")
KEY = TypeVar("KEY")
W = TypeVar("W")
W_CO = TypeVar("W_CO", covariant=True)


class MapFunction(Function):
    """Returns one record for each input record. PyFlink: MapFunction."""

    @abstractmethod
    def map(self, value: Any) -> object: ...


class FilterFunction(Function):
    """Decides for each record whether it is kept. PyFlink: FilterFunction."""

    @abstractmethod
    def filter(self, value: Any) -> bool: ...


class FlatMapFunction(Function):
    """Returns any number of records for each input record, usually by ``yield``. PyFlink: FlatMapFunction."""

    @abstractmethod
    def flat_map(self, value: Any) -> Iterable[object] | None: ...


class KeySelector(Function):
    """Reads the key of a record. It must be deterministic and has no life cycle (rule 2.2). PyFlink: KeySelector."""

    @abstractmethod
    def get_key(self, value: Any) -> object: ...


class NullByteKeySelector(KeySelector):
    """Returns the same key, 0, for all records. PyFlink: NullByteKeySelector."""

    def get_key(self, value: object) -> int:
        return 0


class Partitioner(Function):
    """Chooses a channel from a key. It must be deterministic and has no life cycle (rule 2.2). PyFlink: Partitioner."""

    @abstractmethod
    def partition(self, key: Any, num_partitions: int) -> int: ...


class ReduceFunction(Function):
    """Combines two values into one of the same kind. PyFlink: ReduceFunction."""

    @abstractmethod
    def reduce(self, value1: Any, value2: Any) -> object: ...


class AggregateFunction(Function):
    """Aggregates through an accumulator. PyFlink: AggregateFunction."""

    @abstractmethod
    def create_accumulator(self) -> object: ...

    @abstractmethod
    def add(self, value: Any, accumulator: Any) -> Any: ...

    @abstractmethod
    def get_result(self, accumulator: Any) -> object: ...

    @abstractmethod
    def merge(self, acc_a: Any, acc_b: Any) -> object: ...


class ProcessFunction(Function):
    """Processes records one by one, with side outputs (``yield tag, value``). PyFlink: ProcessFunction."""

    Context: TypeAlias = ProcessContext

    @abstractmethod
    def process_element(self, value: Any, ctx: ProcessContext) -> Iterable[object] | None: ...


class KeyedProcessFunction(Function):
    """Processes keyed records, with state and timers (section 9). PyFlink: KeyedProcessFunction."""

    Context: TypeAlias = ProcessContext
    OnTimerContext: TypeAlias = ProcessContext

    @abstractmethod
    def process_element(self, value: Any, ctx: ProcessContext) -> Iterable[object] | None: ...

    def on_timer(self, timestamp: int, ctx: ProcessContext) -> Iterable[object] | None:
        """Called when a registered timer fires."""
        return None


class CoMapFunction(Function):
    """Returns one record for each record of either input; None emits nothing. PyFlink: CoMapFunction."""

    @abstractmethod
    def map1(self, value: Any) -> object: ...

    @abstractmethod
    def map2(self, value: Any) -> object: ...


class CoFlatMapFunction(Function):
    """Returns any number of records for each record of either input. PyFlink: CoFlatMapFunction."""

    @abstractmethod
    def flat_map1(self, value: Any) -> Iterable[object] | None: ...

    @abstractmethod
    def flat_map2(self, value: Any) -> Iterable[object] | None: ...


class CoProcessFunction(Function):
    """Processes the records of two inputs one by one, with side outputs (``yield tag, value``).

    PyFlink: CoProcessFunction.
    """

    Context: TypeAlias = ProcessContext

    @abstractmethod
    def process_element1(self, value: Any, ctx: ProcessContext) -> Iterable[object] | None: ...

    @abstractmethod
    def process_element2(self, value: Any, ctx: ProcessContext) -> Iterable[object] | None: ...


class KeyedCoProcessFunction(Function):
    """Processes keyed records of two inputs, which share the state and timers of a key.

    PyFlink: KeyedCoProcessFunction.
    """

    Context: TypeAlias = ProcessContext
    OnTimerContext: TypeAlias = ProcessContext

    @abstractmethod
    def process_element1(self, value: Any, ctx: ProcessContext) -> Iterable[object] | None: ...

    @abstractmethod
    def process_element2(self, value: Any, ctx: ProcessContext) -> Iterable[object] | None: ...

    def on_timer(self, timestamp: int, ctx: ProcessContext) -> Iterable[object] | None:
        """Called when a registered timer fires."""
        return None


class JoinFunction(Function):
    """Returns one record for each pair of records in a window join; PyFlink does not have it. Flink: JoinFunction."""

    @abstractmethod
    def join(self, first: Any, second: Any) -> object: ...


class FlatJoinFunction(Function):
    """Returns any number of records for each pair of records in a window join; PyFlink does not have it.

    Flink: FlatJoinFunction.
    """

    @abstractmethod
    def join(self, first: Any, second: Any) -> Iterable[object] | None: ...


class CoGroupFunction(Function):
    """Processes all records of one key and window of two streams; either side may be empty. Flink: CoGroupFunction."""

    @abstractmethod
    def co_group(self, first: list[Any], second: list[Any]) -> Iterable[object] | None: ...


class WindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Processes all records of a window in one call. PyFlink: WindowFunction."""

    @abstractmethod
    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Iterable[OUT] | None: ...


class PassThroughWindowFunction(WindowFunction[IN, IN, KEY, W]):
    """Emits the contents of the window unchanged. PyFlink: PassThroughWindowFunction."""

    def apply(self, key: KEY, window: W, inputs: Iterable[IN]) -> Iterable[IN]:
        return inputs


class ProcessWindowFunction(Function, Generic[IN, OUT, KEY, W]):
    """Processes all records of a window in one call, with a context. PyFlink: ProcessWindowFunction."""

    class Context(Protocol[W_CO]):
        """Information about the window that fires; times in ms."""

        def window(self) -> W_CO: ...

        def current_processing_time(self) -> int: ...

        def current_watermark(self) -> int: ...

        def window_state(self) -> KeyedStateStore: ...

        def global_state(self) -> KeyedStateStore: ...

    @abstractmethod
    def process(self, key: KEY, context: Context[W], elements: Iterable[IN]) -> Iterable[OUT] | None: ...

    def clear(self, context: Context[W]) -> None:
        """Called when the window is removed; clears the state in ``window_state``."""
        return


class AllWindowFunction(Function, Generic[IN, OUT, W]):
    """Processes all records of a window in one call, on a stream without keys. PyFlink: AllWindowFunction."""

    @abstractmethod
    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[OUT] | None: ...


class PassThroughAllWindowFunction(AllWindowFunction[IN, IN, W]):
    """Emits the contents of the window unchanged. PyFlink: PassThroughAllWindowFunction."""

    def apply(self, window: W, inputs: Iterable[IN]) -> Iterable[IN]:
        return inputs


class ProcessAllWindowFunction(Function, Generic[IN, OUT, W]):
    """Processes all records of a window in one call, on a stream without keys, with a context.

    PyFlink: ProcessAllWindowFunction.
    """

    class Context(Protocol[W_CO]):
        """Information about the window that fires."""

        def window(self) -> W_CO: ...

        def window_state(self) -> KeyedStateStore: ...

        def global_state(self) -> KeyedStateStore: ...

    @abstractmethod
    def process(self, context: Context[W], elements: Iterable[IN]) -> Iterable[OUT] | None: ...

    def clear(self, context: Context[W]) -> None:
        """Called when the window is removed; clears the state in ``window_state``."""
        return

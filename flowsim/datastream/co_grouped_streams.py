"""All records of a key and window of two streams at once. Flink: CoGroupedStreams."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from flowsim.datastream.functions import CoGroupFunction, RuntimeContext, WindowFunction
from flowsim.datastream.paired_windows import FIRST, PairedStreams, PairInWindows, Tagged
from flowsim.values import TypeInformation

if TYPE_CHECKING:
    from flowsim.datastream.data_stream import DataStream

AnyCoGroup = CoGroupFunction | Callable[[list[Any], list[Any]], Iterable[object] | None]


class CoGroupWindows(PairInWindows):
    """Flink: CoGroupedStreams.WithWindow."""

    def apply(self, function: AnyCoGroup, output_type: TypeInformation | None = None) -> DataStream:
        """A CoGroupFunction, or a callable of two lists, for every key and window that fires: one of them may be empty."""
        if not isinstance(function, CoGroupFunction) and (not callable(function) or isinstance(function, type)):
            raise TypeError(f"co_group: apply: expected a CoGroupFunction or a callable, got {function!r}")
        return self._windows.apply_as("CoGroup", CoGroupWindowFunction(function), output_type, {"join": "co_group"})


CoGroupedStreams = PairedStreams[CoGroupWindows]
"""``a.co_group(b).where(key).equal_to(key).window(assigner).apply(function)``. Flink: CoGroupedStreams."""


class CoGroupWindowFunction(WindowFunction[Tagged, object, object, object]):
    """Parts the records of a window by the stream they came from. Flink: CoGroupedStreams.CoGroupWindowFunction."""

    def __init__(self, function: AnyCoGroup) -> None:
        self._function = function
        self._co_group = function.co_group if isinstance(function, CoGroupFunction) else function

    def open(self, runtime_context: RuntimeContext) -> None:
        if isinstance(self._function, CoGroupFunction):
            self._function.open(runtime_context)

    def close(self) -> None:
        if isinstance(self._function, CoGroupFunction):
            self._function.close()

    def apply(self, key: object, window: object, inputs: Iterable[Tagged]) -> Iterable[object] | None:
        first: list[object] = []
        second: list[object] = []
        for tag, record in inputs:
            (first if tag == FIRST else second).append(record)
        return self._co_group(first, second)

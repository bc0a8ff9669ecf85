"""Every pair of records of one key and window of two streams. Flink: JoinedStreams."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from flowsim.datastream.co_grouped_streams import CoGroupWindowFunction
from flowsim.datastream.functions import CoGroupFunction, FlatJoinFunction, JoinFunction, RuntimeContext
from flowsim.datastream.paired_windows import PairedStreams, PairInWindows
from flowsim.values import TypeInformation

if TYPE_CHECKING:
    from flowsim.datastream.data_stream import DataStream

AnyJoin = JoinFunction | FlatJoinFunction | Callable[[Any, Any], object]


class JoinWindows(PairInWindows):
    """Flink: JoinedStreams.WithWindow."""

    def apply(self, function: AnyJoin, output_type: TypeInformation | None = None) -> DataStream:
        """A JoinFunction, a FlatJoinFunction, or a callable of two records, for every pair of a key and window that fires."""
        is_plain = callable(function) and not isinstance(function, type)
        if not isinstance(function, JoinFunction | FlatJoinFunction) and not is_plain:
            raise TypeError(f"join: apply: expected a JoinFunction, a FlatJoinFunction or a callable, got {function!r}")
        joining = CoGroupWindowFunction(JoinCoGroupFunction(function))
        return self._windows.apply_as("Join", joining, output_type, {"join": "join"})


JoinedStreams = PairedStreams[JoinWindows]
"""``a.join(b).where(key).equal_to(key).window(assigner).apply(function)``. Flink: JoinedStreams."""


class JoinCoGroupFunction(CoGroupFunction):
    """Calls the function for each pair, the first stream's records outside. Flink: JoinCoGroupFunction."""

    def __init__(self, function: AnyJoin) -> None:
        self._function = function

    def open(self, runtime_context: RuntimeContext) -> None:
        if isinstance(self._function, JoinFunction | FlatJoinFunction):
            self._function.open(runtime_context)

    def close(self) -> None:
        if isinstance(self._function, JoinFunction | FlatJoinFunction):
            self._function.close()

    def co_group(self, first: list[object], second: list[object]) -> Iterable[object]:
        function = self._function
        if isinstance(function, FlatJoinFunction):
            for left in first:
                for right in second:
                    yield from function.join(left, right) or ()
            return
        join = function.join if isinstance(function, JoinFunction) else function
        for left in first:
            for right in second:
                yield join(left, right)

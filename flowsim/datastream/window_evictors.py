"""Evictors under Flink's names (PyFlink has none); ``flowsim.datastream.window`` gives them out."""

from __future__ import annotations

from flowsim.datastream.common.time import Duration, Time, millis_of
from flowsim.datastream.delta import AnyDeltaFunction, delta_of
from flowsim.operators.windowing import evictors


class CountEvictor(evictors.CountEvictor):
    """Keeps the records that came last (rule 10.31). Flink: CountEvictor."""

    __slots__ = ()

    @staticmethod
    def of(max_count: int, do_evict_after: bool = False) -> CountEvictor:
        """Raises TypeError unless it is a whole number."""
        if type(max_count) is not int:
            raise TypeError(f"CountEvictor.of: expected a number of records, got {max_count!r}")
        return CountEvictor(max_count, do_evict_after)


class TimeEvictor(evictors.TimeEvictor):
    """Keeps the records less than a window's length older than the newest one (rule 10.31). Flink: TimeEvictor."""

    __slots__ = ()

    @staticmethod
    def of(window_size: Duration | Time, do_evict_after: bool = False) -> TimeEvictor:
        return TimeEvictor(millis_of(window_size, "TimeEvictor.of"), do_evict_after)


class DeltaEvictor(evictors.DeltaEvictor):
    """Keeps what is close to the last record (rule 10.31). Flink: DeltaEvictor."""

    __slots__ = ()

    @staticmethod
    def of(threshold: float, delta_function: AnyDeltaFunction, do_evict_after: bool = False) -> DeltaEvictor:
        """``delta_function(record, last record)`` answers the distance."""
        return DeltaEvictor(threshold, delta_of(delta_function, "DeltaEvictor.of"), do_evict_after)

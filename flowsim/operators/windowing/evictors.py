"""Evictors remove records from a window that fires. Flink: Evictor, CountEvictor, TimeEvictor, DeltaEvictor.

Rules 10.30 and 10.31; PyFlink has no evictors.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple, Protocol

from flowsim.errors import BadInput
from flowsim.operators.stream_operator import Value
from flowsim.operators.windowing.delta_function import AnyDeltaFunction, Delta, delta_of
from flowsim.operators.windowing.described import described
from flowsim.operators.windowing.windows import Window
from flowsim.values.durations import Length, millis_of
from flowsim.values.java_long import wrapped


class TimestampedValue(NamedTuple):
    """A record in the contents of a window; timestamp in ms, or None. Flink: TimestampedValue."""

    value: Value
    timestamp: int | None


class EvictorContext(Protocol):
    """The context of an evictor; times in ms. Flink: Evictor.EvictorContext."""

    def get_current_processing_time(self) -> int: ...

    def get_current_watermark(self) -> int: ...


class Evictor(Protocol):
    """Removes records from ``elements``, in place; later firings do not see them. Flink: Evictor.

    ``size`` is the number of elements before eviction. A user-defined evictor is a subclass, or a class with the same
    methods.
    """

    def evict_before(self, elements: list[TimestampedValue], size: int, window: Window, ctx: EvictorContext, /) -> None:
        """Removes records before the window function receives them."""

    def evict_after(self, elements: list[TimestampedValue], size: int, window: Window, ctx: EvictorContext, /) -> None:
        """Removes records after the window function received them."""


class ReadyMadeEvictor(ABC):
    """Base of the built-in evictors: they evict before the window function; with ``do_evict_after``, after it."""

    __slots__ = ("do_evict_after",)

    def __init__(self, do_evict_after: bool) -> None:
        self.do_evict_after: bool = do_evict_after

    def evict_before(self, elements: list[TimestampedValue], size: int, window: Window, ctx: EvictorContext) -> None:
        if not self.do_evict_after:
            self.evict(elements, size)

    def evict_after(self, elements: list[TimestampedValue], size: int, window: Window, ctx: EvictorContext) -> None:
        if self.do_evict_after:
            self.evict(elements, size)

    @abstractmethod
    def evict(self, elements: list[TimestampedValue], size: int) -> None:
        """Removes elements of one window; ``size`` is the number of elements before eviction."""


@described("count", count="max_count", after="do_evict_after")
class CountEvictor(ReadyMadeEvictor):
    """Keeps the last ``max_count`` records. Flink: CountEvictor."""

    __slots__ = ("max_count",)

    def __init__(self, max_count: int, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        self.max_count: int = max_count

    @staticmethod
    def of(max_count: int, do_evict_after: bool = False) -> CountEvictor:
        """Creates an evictor; raises TypeError unless the count is a whole number."""
        if type(max_count) is not int:
            raise TypeError(f"CountEvictor.of: expected a number of records, got {max_count!r}")
        return CountEvictor(max_count, do_evict_after)

    def evict(self, elements: list[TimestampedValue], size: int) -> None:
        if size > self.max_count:
            del elements[: size - self.max_count]


@described("time", window_ms="window_ms", after="do_evict_after")
class TimeEvictor(ReadyMadeEvictor):
    """Keeps the records that are less than ``window_ms`` older than the newest record. Flink: TimeEvictor.

    Evicts nothing if the first record has no timestamp; raises BadInput if only a later record has no timestamp.
    """

    __slots__ = ("window_ms",)

    def __init__(self, window_ms: int, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        self.window_ms: int = window_ms

    @staticmethod
    def of(window_size: Length, do_evict_after: bool = False) -> TimeEvictor:
        return TimeEvictor(millis_of(window_size, "TimeEvictor.of"), do_evict_after)

    def evict(self, elements: list[TimestampedValue], size: int) -> None:
        if not elements or elements[0].timestamp is None:
            return
        cutoff = wrapped(max(map(_timestamp, elements)) - self.window_ms)
        elements[:] = [element for element in elements if _timestamp(element) > cutoff]


@described("delta", threshold="threshold", after="do_evict_after")
class DeltaEvictor(ReadyMadeEvictor):
    """Keeps the records whose distance to the last record is below ``threshold``. Flink: DeltaEvictor."""

    __slots__ = ("threshold", "delta_function")

    def __init__(self, threshold: float, delta_function: Delta, do_evict_after: bool = False) -> None:
        super().__init__(do_evict_after)
        self.threshold: float = threshold
        self.delta_function: Delta = delta_function

    @staticmethod
    def of(threshold: float, delta_function: AnyDeltaFunction, do_evict_after: bool = False) -> DeltaEvictor:
        """Creates an evictor; ``delta_function(record, last record)`` returns the distance."""
        return DeltaEvictor(threshold, delta_of(delta_function, "DeltaEvictor.of"), do_evict_after)

    def evict(self, elements: list[TimestampedValue], size: int) -> None:
        if not elements:
            return
        delta, threshold, last = self.delta_function, self.threshold, elements[-1].value
        # Not the same as "below the threshold": a NaN distance evicts nothing.
        elements[:] = [element for element in elements if not delta(element.value, last) >= threshold]


def _timestamp(element: TimestampedValue) -> int:
    if element.timestamp is None:
        raise BadInput(
            "TimeEvictor: the first record of the window has a timestamp and another record has none: assign "
            "timestamps to all records before the window (assign_timestamps_and_watermarks)"
        )
    return element.timestamp

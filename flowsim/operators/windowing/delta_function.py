"""The distance of two records: a function, or an object with ``get_delta``. Flink: DeltaFunction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class DeltaFunction(Protocol):
    """Computes the distance of two records. Flink: DeltaFunction."""

    def get_delta(self, old_data_point: object, new_data_point: object, /) -> float: ...


Delta = Callable[[object, object], float]
"""The distance from the older record to the newer one."""
AnyDeltaFunction = DeltaFunction | Delta


def delta_of(function: AnyDeltaFunction, what: str) -> Delta:
    """Returns the distance function. Raises TypeError naming ``what`` for any other argument."""
    method = getattr(function, "get_delta", function)
    if not callable(method):
        raise TypeError(f"{what}: expected a function of two records, got {function!r:.60}")
    delta: Delta = method
    return delta

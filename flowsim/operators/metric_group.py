"""User-defined metrics of a function. Flink: MetricGroup.

They live as long as their subtask and are not recorded: the metrics of a run are flowsim's own.
"""

from __future__ import annotations

from collections.abc import Callable

from flowsim.errors import BadInput


class Counter:
    """A number that goes up and down. Flink: Counter."""

    __slots__ = ("_count",)

    def __init__(self) -> None:
        self._count = 0

    def inc(self, n: int = 1) -> None:
        self._count += n

    def dec(self, n: int = 1) -> None:
        self._count -= n

    def get_count(self) -> int:
        return self._count


class Meter:
    """A meter that counts events. Flink: Meter."""

    __slots__ = ("_count",)

    def __init__(self) -> None:
        self._count = 0

    def mark_event(self, value: int = 1) -> None:
        self._count += value

    def get_count(self) -> int:
        return self._count


class Distribution:
    """The minimum, maximum, sum and count of measured values; only PyFlink has this name."""

    __slots__ = ("count", "max", "min", "sum")

    def __init__(self) -> None:
        self.count: int = 0
        self.sum: int = 0
        self.min: int | None = None
        self.max: int | None = None

    def update(self, value: int) -> None:
        self.count += 1
        self.sum += value
        self.min = value if self.min is None else min(self.min, value)
        self.max = value if self.max is None else max(self.max, value)


class MetricGroup:
    """The metrics of a function and groups of metrics, by name. Flink: MetricGroup.

    Raises BadInput if a name is already used for another kind of metric.
    """

    __slots__ = ("_groups", "_metrics")

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str | None], MetricGroup] = {}
        self._metrics: dict[str, Counter | Meter | Distribution | Callable[[], int]] = {}

    def add_group(self, name: str, extra: str | None = None) -> MetricGroup:
        """Returns the group of this name, or of this key and value; creates it on the first call."""
        return self._groups.setdefault((name, extra), MetricGroup())

    def counter(self, name: str) -> Counter:
        metric = self._metrics.setdefault(name, Counter())
        if not isinstance(metric, Counter):
            raise _taken(name, metric)
        return metric

    def meter(self, name: str, time_span_in_seconds: int = 60) -> Meter:
        metric = self._metrics.setdefault(name, Meter())
        if not isinstance(metric, Meter):
            raise _taken(name, metric)
        return metric

    def distribution(self, name: str) -> Distribution:
        metric = self._metrics.setdefault(name, Distribution())
        if not isinstance(metric, Distribution):
            raise _taken(name, metric)
        return metric

    def gauge(self, name: str, obj: Callable[[], int]) -> None:
        """Registers a number that is computed when it is read."""
        if not callable(obj):
            raise BadInput(f"metric {name!r}: a gauge is a function without arguments, got {obj!r:.60}")
        self._metrics[name] = obj


def _taken(name: str, found: object) -> BadInput:
    return BadInput(f"metric {name!r} is a {type(found).__name__} already: give the two different names")

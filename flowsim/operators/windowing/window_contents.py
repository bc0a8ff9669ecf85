"""The contents of a window: all records, or an accumulator. Flink: InternalAppendingState and its kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from mypy_extensions import mypyc_attr

from flowsim.errors import BadInput
from flowsim.operators.stream_operator import Value

Pane = object
"""The contents of one key and window. Only the ``WindowContents`` that created a pane can read it."""


class AggregateFunction(Protocol):
    """Folds the records of a window into an accumulator. Flink: AggregateFunction."""

    def create_accumulator(self) -> object: ...

    def add(self, value: Value, accumulator: object) -> object:
        """Returns the accumulator with ``value`` added; the result may be the same object."""

    def get_result(self, accumulator: object) -> Value: ...


class MergingAggregateFunction(AggregateFunction, Protocol):
    """An aggregate function for merging windows. Flink: AggregateFunction."""

    def merge(self, acc_a: object, acc_b: object) -> object:
        """Merges two accumulators; the result may be one of them."""


@mypyc_attr(allow_interpreted_subclasses=True)
class WindowContents:
    """Creates, extends, merges and reads panes.

    A pane that is None counts as missing, as in Flink's state: the next record creates a new pane, and the window does
    not fire.
    """

    __slots__ = ()

    def create(self, value: Value) -> Pane:
        """Creates a pane with one record."""
        raise NotImplementedError

    def add(self, value: Value, pane: Pane) -> Pane:
        """Adds a record and returns the pane, which may be the same object."""
        raise NotImplementedError

    def check_can_merge(self) -> None:
        """Raises BadInput unless ``merge`` is possible; called for merging windows."""
        raise NotImplementedError

    def merge(self, pane: Pane, other: Pane) -> Pane:
        """Merges two panes and returns the result, which may be the first pane.

        The second pane is not used afterwards.
        """
        raise NotImplementedError

    def result(self, pane: Pane) -> object:
        """Returns the argument of the window function; None means that the function is not called."""
        raise NotImplementedError


class ListContents(WindowContents):
    """Keeps every record, in the order of arrival. Flink: ListState."""

    __slots__ = ()

    def create(self, value: Value) -> Pane:
        return [value]

    def add(self, value: Value, pane: Pane) -> Pane:
        # No isinstance assertion: it would take a tenth of a record's time in a tumbling window (25 of 250 ns).
        pane.append(value)  # type: ignore[attr-defined]
        return pane

    def check_can_merge(self) -> None:
        """Does nothing: lists can always merge."""

    def merge(self, pane: Pane, other: Pane) -> Pane:
        assert isinstance(pane, list)
        assert isinstance(other, list)
        pane.extend(other)
        return pane

    def result(self, pane: Pane) -> object:
        assert isinstance(pane, list)
        # A copy: a window function that changes its argument must not affect a later firing.
        return list(pane)


class ReducingContents(WindowContents):
    """Keeps one value, reduced with each new record. Flink: ReducingState."""

    __slots__ = ("_reduce",)

    def __init__(self, reduce_function: Callable[[Value, Value], Value]) -> None:
        self._reduce = reduce_function

    def create(self, value: Value) -> Pane:
        return value

    def add(self, value: Value, pane: Pane) -> Pane:
        return self._reduce(pane, value)

    def check_can_merge(self) -> None:
        """Does nothing: reduced values can always merge."""

    def merge(self, pane: Pane, other: Pane) -> Pane:
        return self._reduce(pane, other)

    def result(self, pane: Pane) -> object:
        return pane


class AggregatingContents(WindowContents):
    """Keeps an accumulator. Flink: AggregatingState."""

    __slots__ = ("_function", "_add")

    def __init__(self, function: AggregateFunction) -> None:
        self._function = function
        self._add = function.add

    def create(self, value: Value) -> Pane:
        return self._add(value, self._function.create_accumulator())

    def add(self, value: Value, pane: Pane) -> Pane:
        return self._add(value, pane)

    def result(self, pane: Pane) -> object:
        return self._function.get_result(pane)

    def check_can_merge(self) -> None:
        """Raises BadInput unless the function has ``merge``."""
        if not callable(getattr(self._function, "merge", None)):
            raise BadInput(
                f"{type(self._function).__name__} has no merge(acc_a, acc_b), which merging windows need: "
                "define it to return the combined accumulator"
            )

    def merge(self, pane: Pane, other: Pane) -> Pane:
        function: MergingAggregateFunction = self._function  # type: ignore[assignment]  # checked by check_can_merge
        return function.merge(pane, other)
